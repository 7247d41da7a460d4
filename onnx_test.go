package evorl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/records"
)

// writeModels makes TestONNX write the models for tools/reference/onnx_rows.py.
var writeModels = flag.String("onnx-models", "", "write the models and rows of TestONNX to this folder")

// modelCase is a policy by its parts; its parameters are random.
type modelCase struct {
	name       string
	in         int
	hidden     []int
	activation nn.Activation
	norms      bool
	normalized bool
	outputs    int
	action     PolicyAction
	image      nn.Shape         // of observations; nil: vectors
	convs      []nn.LayerConfig // before the hidden layers
	model      nn.Model         // instead of all these layers
}

// window returns how layer i goes over its image, nil if it is dense.
func (c modelCase) window(i int) *PolicyWindow {
	if i >= len(c.convs) {
		return nil
	}
	w := nn.Sequential{In: c.image, Hidden: c.convs, Out: 1}.Layers()[i].Window
	return &PolicyWindow{w.Height, w.Width, w.Channels, w.Kernel, w.Stride, w.Top, w.Left, w.Bottom(), w.Right(), w.OutHeight, w.OutWidth}
}

func modelCases() []modelCase {
	inf := Number(math.Inf(1))
	low, high := []Number{-2, -1, -inf}, []Number{2, 3, inf}
	box := func(head nn.HeadKind) PolicyAction {
		return PolicyAction{Head: head.String(), Size: 3, Low: low, High: high}
	}
	choices := func(head nn.HeadKind, n int) PolicyAction {
		return PolicyAction{Head: head.String(), Size: n, Discrete: true}
	}
	greedy := func(atoms int, dueling bool) PolicyAction {
		a := choices(nn.EpsilonGreedy, 4)
		a.Atoms, a.Dueling = atoms, dueling
		return a
	}
	squashed, binned, of := box(nn.Gaussian), box(nn.Binned), box(nn.Deterministic)
	squashed.Squash, of.Squash, binned.Bins = true, true, 5
	conv := func(channels, kernel, stride int, padding nn.Padding) nn.LayerConfig {
		return nn.LayerConfig{Kind: nn.Convolution, Channels: channels, Kernel: kernel, Stride: stride, Padding: padding}
	}
	cases := []modelCase{
		{name: "image", in: 7 * 6 * 3, hidden: []int{9}, activation: nn.ReLU, normalized: true, outputs: 3, action: choices(nn.Categorical, 3),
			image: nn.Shape{7, 6, 3}, convs: []nn.LayerConfig{conv(5, 3, 2, nn.Same), conv(4, 2, 1, nn.Valid)}},
		{name: "image-norms", in: 5 * 8 * 2, activation: nn.Swish, norms: true, outputs: 3, action: of,
			image: nn.Shape{5, 8, 2}, convs: []nn.LayerConfig{conv(6, 2, 3, nn.Same)}},
	}
	pool := func(kind nn.Kind, kernel, stride int, padding nn.Padding) nn.LayerConfig {
		return nn.LayerConfig{Kind: kind, Kernel: kernel, Stride: stride, Padding: padding}
	}
	cases = append(cases, modelCase{name: "pools", in: 9 * 8 * 2, normalized: true, outputs: 3, action: of, model: nn.Sequential{
		In: nn.Shape{9, 8, 2}, Out: 3, Activation: nn.Tanh, Hidden: []nn.LayerConfig{
			pool(nn.AveragePool, 3, 1, nn.Same), conv(5, 2, 1, nn.Valid), pool(nn.MaxPool, 3, 2, nn.Same), {Units: 7}, // after a pool
		},
	}})
	layer := func(kind nn.Kind, units int) nn.LayerConfig { return nn.LayerConfig{Kind: kind, Units: units} }
	of.Squash = false
	for _, c := range []struct {
		name   string
		in     nn.Shape
		norms  bool
		hidden []nn.LayerConfig
	}{
		{"residual", nn.Shape{6, 5, 3}, false, []nn.LayerConfig{
			conv(4, 3, 1, nn.Same), pool(nn.MaxPool, 3, 2, nn.Same), layer(nn.Residual, 0), layer(nn.Residual, 0), layer(nn.Activated, 0),
			layer(nn.Dense, 8), layer(nn.Residual, 5),
		}},
		{"residual-norms", nn.Shape{5}, true, []nn.LayerConfig{layer(nn.Residual, 7), layer(nn.Dense, 6), layer(nn.Residual, 0)}},
		{"layer-norm", nn.Shape{4, 3, 2}, false, []nn.LayerConfig{
			layer(nn.LayerNorm, 0), conv(5, 2, 1, nn.Valid), layer(nn.LayerNorm, 0), layer(nn.Dense, 9), layer(nn.LayerNorm, 0),
		}},
		{"tokens", nn.Shape{4}, false, []nn.LayerConfig{{Kind: nn.Embedding, Vocabulary: 6, Units: 3}, layer(nn.Dense, 7)}},
		{"gru", nn.Shape{5}, false, []nn.LayerConfig{layer(nn.Dense, 6), layer(nn.GRU, 7), layer(nn.Dense, 8)}},
		{"lstm-image", nn.Shape{4, 4, 2}, false, []nn.LayerConfig{conv(3, 2, 1, nn.Valid), layer(nn.LSTM, 5)}},
	} {
		cases = append(cases, modelCase{name: c.name, in: c.in.Size(), outputs: 3, action: of,
			model: nn.Sequential{In: c.in, Out: 3, Activation: nn.Swish, LayerNorm: c.norms, Hidden: c.hidden}})
	}
	return append(cases, []modelCase{
		{name: "categorical", in: 4, hidden: []int{9, 7}, activation: nn.Tanh, norms: false, normalized: true, outputs: 3, action: choices(nn.Categorical, 3)},
		{name: "gaussian", in: 5, hidden: []int{8}, activation: nn.ReLU, norms: false, normalized: false, outputs: 3, action: box(nn.Gaussian)},
		{name: "gaussian-squashed-state", in: 5, hidden: []int{11, 6}, activation: nn.Swish, norms: true, normalized: true, outputs: 6, action: squashed},
		{name: "deterministic", in: 3, hidden: []int{10}, activation: nn.ELU, norms: true, normalized: false, outputs: 3, action: of},
		{name: "gelu", in: 5, hidden: []int{9, 7}, activation: nn.GELU, norms: true, normalized: true, outputs: 3, action: of},
		{name: "linear", in: 7, hidden: nil, activation: nn.Linear, norms: false, normalized: true, outputs: 3, action: box(nn.Deterministic)},
		{name: "values", in: 4, hidden: []int{6, 5, 4}, activation: nn.ReLU, norms: false, normalized: false, outputs: 4, action: greedy(1, false)},
		{name: "dueling", in: 4, hidden: []int{6}, activation: nn.ReLU, norms: false, normalized: true, outputs: 5, action: greedy(1, true)},
		{name: "atoms", in: 4, hidden: []int{6}, activation: nn.Tanh, norms: true, normalized: false, outputs: 4 * 7, action: greedy(7, false)},
		{name: "atoms-dueling", in: 4, hidden: []int{6}, activation: nn.Swish, norms: false, normalized: true, outputs: 5 * 7, action: greedy(7, true)},
		{name: "binned", in: 6, hidden: []int{8, 8}, activation: nn.Tanh, norms: false, normalized: true, outputs: 15, action: binned},
	}...)
}

// policy makes the case's policy, always the same.
func (c modelCase) policy() *Policy {
	rng := rand.New(rand.NewPCG(7, uint64(len(c.name))))
	random := func(n int, scale, about float64) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(about + scale*rng.NormFloat64())
		}
		return out
	}
	p := &Policy{Format: policyFormat, Workflow: "none", Env: c.name, Activation: c.activation, Action: c.action, ActionRepeat: 1}
	if c.normalized {
		p.Observation = &PolicyObservation{Mean: random(c.in, 1, 0), Scale: random(c.in, 0.2, 1), Limit: 5}
	}
	if c.model != nil {
		row := random(c.model.Size(), 0.4, 0)
		for _, l := range c.model.Layers() {
			layer := policyLayer(l, row)
			layer.Activation = &l.Activation
			p.Layers = append(p.Layers, layer)
		}
		return p
	}
	in := c.in
	for i := range len(c.convs) + len(c.hidden) + 1 {
		n := c.outputs
		l := PolicyLayer{Window: c.window(i)}
		switch dense := i - len(c.convs); {
		case l.Window != nil:
			n, in = c.convs[i].Channels, l.Window.Kernel*l.Window.Kernel*l.Window.Channels
		case dense < len(c.hidden):
			n = c.hidden[dense]
		}
		l.Bias = random(n, 0.5, 0)
		for range in {
			l.Weight = append(l.Weight, random(n, 1/math.Sqrt(float64(in)), 0))
		}
		if c.norms && i < len(c.convs)+len(c.hidden) {
			l.Scale, l.Shift = random(n, 0.2, 1), random(n, 0.2, 0)
		}
		p.Layers, in = append(p.Layers, l), n
		if l.Window != nil {
			in = l.Window.OutHeight * l.Window.OutWidth * n
		}
	}
	return p
}

// observations returns random rows and extreme ones.
func (c modelCase) observations() (rows [][]float32) {
	rng := rand.New(rand.NewPCG(11, uint64(len(c.name))))
	for _, scale := range []float64{1, 1, 1, 1, 1, 10, 1000, 1e6} {
		row := make([]float32, c.in)
		for i := range row {
			row[i] = float32(scale * rng.NormFloat64())
		}
		rows = append(rows, row)
	}
	rows = append(rows, make([]float32, c.in))
	ends := make([]float32, c.in)
	for i := range ends {
		ends[i] = float32(1 - 2*(i%2))
	}
	if c.name == "tokens" {
		for r := range rows {
			for i := range rows[r] {
				rows[r][i] = float32((i*i + 3*r) % 7) // 6 is none
			}
		}
	}
	return append(rows, ends)
}

// memories returns random memories for rows of observations.
func (c modelCase) memories(rows int) (all [][]float32) {
	rng := rand.New(rand.NewPCG(13, uint64(len(c.name))))
	for range rows {
		row := make([]float32, c.policy().memory())
		for i := range row {
			row[i] = float32(rng.NormFloat64())
		}
		all = append(all, row)
	}
	return all
}

// act computes the action in float64 by the documentation of Policy, and the memory after the step. scores are nil for continuous actions.
func act(p *Policy, obs, memory []float32) (action, scores, next []float64) {
	x := records.Widen(obs)
	if o := p.Observation; o != nil {
		for i := range x {
			x[i] = min(max((x[i]-float64(o.Mean[i]))*float64(o.Scale[i]), -float64(o.Limit)), float64(o.Limit))
		}
	}
	var all [][]float64
	for i, l := range p.Layers {
		var values []float64
		if of := typed[l.kind()]; of != nil {
			values = of(l, x)
		} else {
			for _, x := range patches(l.Window, x) {
				values = append(values, multiplied(x, l.Weight, l.Bias)...)
			}
		}
		if k := l.kind(); k == nn.GRU || k == nn.LSTM {
			values, next = stepped(l, values, records.Widen(memory))
		}
		if l.Skip > 0 {
			for j, v := range all[i-l.Skip] {
				values[j] += v
			}
		}
		if n := len(l.Scale); n > 0 {
			for at := 0; at < len(values); at += n {
				copy(values[at:], normalized(values[at:at+n], records.Widen(l.Scale), records.Widen(l.Shift), 1e-6))
			}
		}
		if x = values; i == len(p.Layers)-1 {
			break
		}
		for o := range x {
			x[o] = activated(p.activation(l), x[o])
		}
		all = append(all, x)
	}
	if p.Action.Discrete {
		scores = scored(p.Action, x)
		return []float64{float64(records.Largest(scores))}, scores, next
	}
	return controlled(p.Action, x), nil, next
}

// multiplied returns x · weight + bias.
func multiplied(x []float64, weight [][]float32, bias []float32) []float64 {
	y := make([]float64, len(weight[0]))
	copy(y, records.Widen(bias))
	for j, row := range weight {
		for o, w := range row {
			y[o] += x[j] * float64(w)
		}
	}
	return y
}

// stepped returns the state and the memory of a cell after a step, by the equations of nn.Recurrent; z are the products of its inputs.
func stepped(l PolicyLayer, z, memory []float64) (state, next []float64) {
	n := len(l.Recurrent)
	product := multiplied(memory[:n], l.Recurrent, nil)
	gate := func(g, i int) float64 { return 1 / (1 + math.Exp(-z[g*n+i]-product[g*n+i])) }
	for i := range n {
		if l.kind() == nn.LSTM {
			c := gate(1, i)*memory[n+i] + gate(0, i)*math.Tanh(z[2*n+i]+product[2*n+i])
			state, next = append(state, gate(3, i)*math.Tanh(c)), append(next, c)
			continue
		}
		candidate := math.Tanh(z[2*n+i] + gate(0, i)*(product[2*n+i]+float64(l.RecurrentBias[i])))
		state = append(state, (1-gate(1, i))*candidate+gate(1, i)*memory[i])
	}
	return state, append(slices.Clone(state), next...)
}

// typed computes layers of other types than dense and conv.
var typed = map[nn.Kind]func(l PolicyLayer, x []float64) []float64{
	nn.MaxPool:     func(l PolicyLayer, x []float64) []float64 { return pooledImage(l.Window, x, true) },
	nn.AveragePool: func(l PolicyLayer, x []float64) []float64 { return pooledImage(l.Window, x, false) },
	nn.Activated:   func(_ PolicyLayer, x []float64) []float64 { return slices.Clone(x) },
	nn.LayerNorm:   func(_ PolicyLayer, x []float64) []float64 { return slices.Clone(x) },
	nn.OneHot: func(l PolicyLayer, x []float64) (out []float64) {
		for _, token := range x {
			for k := range l.Shape[2] {
				hot := 0.0
				if token == float64(k) {
					hot = 1
				}
				out = append(out, hot)
			}
		}
		return out
	},
}

// pooledImage pools an image [height, width, channels].
func pooledImage(w *PolicyWindow, x []float64, largest bool) (out []float64) {
	image := transposed(array{[]int{1, w.Height, w.Width, w.Channels}, x}, []int{0, 3, 1, 2})
	pooled := pooled(image, []int{w.Stride, w.Stride}, []int{w.Top, w.Left, w.Bottom, w.Right}, []int{w.Kernel, w.Kernel}, largest)
	return transposed(pooled, []int{0, 2, 3, 1}).v
}

// patches returns the floats under a window at each of its places; without a window, all of x.
func patches(w *PolicyWindow, x []float64) (out [][]float64) {
	if w == nil {
		return [][]float64{x}
	}
	for p := range w.OutHeight * w.OutWidth {
		patch := make([]float64, w.Kernel*w.Kernel*w.Channels)
		for i := range patch {
			c, kx, ky := i%w.Channels, i/w.Channels%w.Kernel, i/w.Channels/w.Kernel
			row, column := p/w.OutWidth*w.Stride+ky-w.Top, p%w.OutWidth*w.Stride+kx-w.Left
			if row >= 0 && row < w.Height && column >= 0 && column < w.Width {
				patch[i] = x[(row*w.Width+column)*w.Channels+c]
			}
		}
		out = append(out, patch)
	}
	return out
}

func activated(kind nn.Activation, x float64) float64 {
	switch kind {
	case nn.ReLU:
		return max(x, 0)
	case nn.Tanh:
		return math.Tanh(x)
	case nn.ELU:
		return max(x, 0) + math.Expm1(min(x, 0))
	case nn.Swish:
		return x / (1 + math.Exp(-x))
	case nn.GELU:
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return x
}

func scored(a PolicyAction, y []float64) []float64 {
	atoms := max(a.Atoms, 1)
	of := func(action, atom int) float64 { return y[action*atoms+atom] }
	var values []float64
	for k := range a.Size {
		z := make([]float64, atoms)
		for i := range z {
			z[i] = of(k, i)
			if a.Dueling {
				mean := 0.0
				for j := range a.Size {
					mean += of(j, i) / float64(a.Size)
				}
				z[i] += of(a.Size, i) - mean
			}
		}
		value := z[0]
		if atoms > 1 {
			value = 0
			for i, p := range softmax(z) {
				value += p * float64(i)
			}
		}
		values = append(values, value)
	}
	return values
}

func controlled(a PolicyAction, y []float64) (out []float64) {
	for i := range a.Size {
		v := y[i]
		if a.Bins > 1 {
			v = 2*float64(records.Largest(y[i*a.Bins:(i+1)*a.Bins]))/float64(a.Bins-1) - 1
		}
		if a.Squash {
			v = math.Tanh(v)
		}
		if low, high := float64(a.Low[i]), float64(a.High[i]); !math.IsInf(high-low, 0) {
			v = (low+high)/2 + (high-low)/2*v
		}
		out = append(out, v)
	}
	return out
}

// reference is a case of engine/onnx/testdata/onnx.json: results of onnxruntime, written by
// tools/reference/onnx_rows.py.
type reference struct {
	SHA256  string      `json:"sha256"` // of the model
	Action  [][]float64 `json:"action"` // [row]
	Scores  [][]float64 `json:"scores"`
	Memory  [][]float64 `json:"memory"`
	Runtime string      `json:"runtime"`
}

// The graph computes what the documentation of Policy states, both in the interpreter here and in onnxruntime, whose
// results for byte-identical models are in engine/onnx/testdata.
func TestONNX(t *testing.T) {
	var references map[string]reference
	text, err := os.ReadFile("engine/onnx/testdata/onnx.json")
	if err != nil && *writeModels == "" {
		t.Fatal(err)
	}
	if err == nil && json.Unmarshal(text, &references) != nil {
		t.Fatal("engine/onnx/testdata/onnx.json is not JSON")
	}
	for _, c := range modelCases() {
		t.Run(c.name, func(t *testing.T) {
			p, obs := c.policy(), c.observations()
			memory := c.memories(len(obs))
			model := p.ONNX()
			model.ProducerVersion = "test"
			data := model.Encode()
			if *writeModels != "" {
				writeModel(t, c.name, data, obs, memory)
				return
			}
			got := interpret(t, data, obs, memory)
			digest := sha256.Sum256(data)
			want := references[c.name]
			if hex.EncodeToString(digest[:]) != want.SHA256 {
				t.Errorf("the model is another than onnxruntime's results are of: tools/reference/onnx_rows.py makes them again")
			}
			for i, row := range obs {
				action, scores, next := act(p, row, memory[i])
				compare(t, "the documentation", i, got["action"].row(i), action)
				compare(t, "onnxruntime", i, got["action"].row(i), want.Action[i])
				if next != nil {
					compare(t, "the documentation", i, got["next_memory"].row(i), next)
					compare(t, "onnxruntime", i, got["next_memory"].row(i), want.Memory[i])
				}
				if scores != nil {
					name := map[bool]string{false: "logits", true: "values"}[c.action.Head == nn.EpsilonGreedy.String()]
					compare(t, "the documentation", i, got[name].row(i), scores)
					compare(t, "onnxruntime", i, got[name].row(i), want.Scores[i])
				}
			}
		})
	}
}

// compare allows 1e-5 of the largest value of a row, or of 1.
func compare(t *testing.T, with string, row int, got, want []float64) {
	t.Helper()
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range want {
		if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= 1e-5*scale) {
			t.Errorf("row %d: %v; by %s %v", row, got, with, want)
			return
		}
	}
}

func (a array) row(i int) []float64 {
	n := len(a.v) / a.shape[0]
	return a.v[i*n : (i+1)*n]
}

func writeModel(t *testing.T, name string, data []byte, obs, memory [][]float32) {
	t.Helper()
	text, err := json.Marshal(map[string][][]float32{"obs": obs, "memory": memory})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{name + ".onnx": data, name + ".json": text} {
		if err := os.WriteFile(filepath.Join(*writeModels, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
