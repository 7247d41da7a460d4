package evorl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Policy is a member's policy with everything that another program needs to act with it: layers applied to the
// observation in turn, x → activation(norm(x · weight + bias)), the last one without norm and activation.
// tools/peers/transfer.py is such a program. evorl export --policy writes it as JSON; ONNX and Tensors return other
// forms.
type Policy struct {
	Format    string `json:"format"` // policyFormat
	Workflow  string `json:"workflow"`
	Env       string `json:"env"`
	Iteration int    `json:"iteration"`
	Member    int    `json:"member"`
	Digest    string `json:"digest"` // of the checkpoint

	TimeLimit    int `json:"time_limit"`    // environment steps of an episode; 0: the environment's own
	ActionRepeat int `json:"action_repeat"` // environment steps for which an action is repeated

	Space       *PolicySpace       `json:"space,omitempty"`
	Observation *PolicyObservation `json:"observation"` // normalization of observations; null: none
	Activation  nn.Activation      `json:"activation"`  // linear, relu, tanh, elu, swish, gelu
	Layers      []PolicyLayer      `json:"layers"`
	Action      PolicyAction       `json:"action"`
}

// policyFormat must change if programs that read the previous format would act wrongly. Policies whose layers are not all dense, or have activations
// of their own, have another one.
const (
	policyFormat = "evorl policy 2"
	imageFormat  = "evorl policy 3"
)

// inputs returns the number of the network's inputs.
func (p *Policy) inputs() int {
	if w := p.Layers[0].Window; w != nil {
		return w.Height * w.Width * w.Channels
	}
	switch l := p.Layers[0]; l.kind() {
	case nn.Activated, nn.LayerNorm: // as many as it has values
		return l.Shape.Size()
	case nn.OneHot: // the tokens
		return l.Shape[1]
	}
	return len(p.Layers[0].Weight)
}

// memory returns the number of floats that the policy carries from step to step.
func (p *Policy) memory() (floats int) {
	layers, _ := p.network()
	for _, l := range layers {
		floats += l.Memory()
	}
	return floats
}

// network returns the layers and a row with their parameters.
func (p *Policy) network() (layers []nn.Layer, row []float32) {
	place := func(values ...[]float32) int {
		at := len(row)
		for _, v := range values {
			row = append(row, v...)
		}
		return at
	}
	for i, l := range p.Layers {
		layer := nn.Layer{
			Kind: l.kind(), In: len(l.Weight), Out: len(l.Bias), Hidden: i < len(p.Layers)-1, Norms: l.Scale != nil, Skip: l.Skip,
			Weight: place(l.Weight...), Bias: place(l.Bias), Scale: place(l.Scale), Shift: place(l.Shift),
			Recurrent: place(l.Recurrent...), RecurrentBias: place(l.RecurrentBias),
		}
		if w := l.Window; w != nil {
			layer.Window = nn.Window{
				Height: w.Height, Width: w.Width, Channels: w.Channels, Kernel: w.Kernel, Stride: w.Stride, Top: w.Top, Left: w.Left,
				OutHeight: w.OutHeight, OutWidth: w.OutWidth,
			}
			layer.Shape = nn.Shape{w.OutHeight, w.OutWidth, layer.Out}
		}
		if n := len(l.Shape); n > 0 {
			layer.Out = l.Shape[n-1]
			if layer.Shape = nil; n == 3 {
				layer.Shape = l.Shape
			}
		}
		if layer.Hidden {
			layer.Activation = p.activation(l)
		}
		layers = append(layers, layer)
	}
	return layers, row
}

// outputs returns the number of the network's outputs.
func (p *Policy) outputs() int { return len(p.Layers[len(p.Layers)-1].Bias) }

// PolicySpace is the space of observations.
type PolicySpace struct {
	Shape nn.Shape   `json:"shape"` // [observations] or [height, width, channels]
	Type  nn.Element `json:"type"`  // float32; or uint8 and bit: multiples of 1/255 from 0 to 1, and zeros and ones, which the network takes as floats
	Low   []Number   `json:"low"`   // one bound, or one for each element; null: unbounded
	High  []Number   `json:"high"`
}

// PolicyObservation is x → clip((x - mean) · scale, ±limit).
type PolicyObservation struct {
	Mean  []float32 `json:"mean"`
	Scale []float32 `json:"scale"` // reciprocal deviations
	Limit float32   `json:"limit"`
}

// PolicyLayer is an affine map; with Scale and Shift it is followed by layer normalization. With Window it is a convolution: the map is applied at
// every place of the window to the floats under it, row by row, pixel by pixel, channel by channel, and normalization is over the channels of a place.
// Images, and the values of convolutions, are [height][width][channels], in which order a dense layer takes them. Layers of another type have what
// that type of [[network.layers]] says: a pool has its window and no weights, "activation" only its activation, a cell its gates as outputs. With a
// cell the policy carries memory from step to step, zeros at the beginning of an episode.
type PolicyLayer struct {
	Type  *nn.Kind `json:"type,omitempty"`  // absent: a convolution with Window, otherwise dense
	Shape nn.Shape `json:"shape,omitempty"` // of the values of layers with a type: [units] or [height, width, channels]
	Skip  int      `json:"skip,omitempty"`  // the values of the layer so many before it are added to the affine outputs; absent: none

	Weight [][]float32 `json:"weight"` // [in][out]; null: none
	Bias   []float32   `json:"bias"`   // [out]
	Scale  []float32   `json:"scale,omitempty"`
	Shift  []float32   `json:"shift,omitempty"`

	Recurrent     [][]float32 `json:"recurrent,omitempty"`      // [state][gates], of cells: nn.Recurrent has the equations
	RecurrentBias []float32   `json:"recurrent_bias,omitempty"` // [state], of GRUs

	Window     *PolicyWindow  `json:"window,omitempty"`
	Activation *nn.Activation `json:"activation,omitempty"` // if it is not the policy's
}

// kind returns the layer's type.
func (l PolicyLayer) kind() nn.Kind {
	switch {
	case l.Type != nil:
		return *l.Type
	case l.Window != nil:
		return nn.Convolution
	}
	return nn.Dense
}

// PolicyWindow is how a convolution or pool goes over its image: see nn.Window.
type PolicyWindow struct {
	Height    int `json:"height"` // of the image
	Width     int `json:"width"`
	Channels  int `json:"channels"`
	Kernel    int `json:"kernel"` // rows and columns of the window
	Stride    int `json:"stride"`
	Top       int `json:"top"` // rows and columns of zeros around the image
	Left      int `json:"left"`
	Bottom    int `json:"bottom"`
	Right     int `json:"right"`
	OutHeight int `json:"out_height"` // places of the window
	OutWidth  int `json:"out_width"`
}

// activation returns the activation after a hidden layer.
func (p *Policy) activation(l PolicyLayer) nn.Activation {
	if l.Activation != nil {
		return *l.Activation
	}
	return p.Activation
}

// PolicyAction turns the outputs y into the most likely action, of Size choices or dimensions.
//
// Discrete: the index of the largest of the first Size outputs. With Atoms above 1 each action has that many outputs;
// its value is the mean atom index under their softmax, and the action has the largest value. With Dueling the
// outputs of actions are advantages, followed by the outputs of the state value, as many as one action has; each
// action's outputs are the state's plus its own minus their mean over the actions.
//
// Continuous: (low + high) / 2 + (high - low) / 2 · y, where y passes tanh first if Squash; y itself in a dimension
// without bounds. With Bins above 1 every dimension has Bins outputs; the index i of the largest gives y = 2 i /
// (bins - 1) - 1. Otherwise outputs after the first Size are log standard deviations.
type PolicyAction struct {
	Head     string    `json:"head"` // nn.HeadKind: categorical, gaussian, deterministic, epsilon_greedy, binned
	Discrete bool      `json:"discrete"`
	Size     int       `json:"size"`
	Low      []Number  `json:"low,omitempty"` // null: unbounded
	High     []Number  `json:"high,omitempty"`
	Squash   bool      `json:"squash"`
	Bins     int       `json:"bins"`
	Atoms    int       `json:"atoms"`
	Dueling  bool      `json:"dueling"`
	LogStd   []float32 `json:"log_std,omitempty"` // of the exploration of a Gaussian head, if they do not depend on the state

	// Those of a Gaussian head that depend on the state are LogStdLow + (LogStdHigh - LogStdLow) (tanh(h) + 1) / 2 of the outputs h after the means.
	LogStdLow  float32 `json:"log_std_low,omitempty"`
	LogStdHigh float32 `json:"log_std_high,omitempty"`
}

// scales returns the middle and half width of the range of each dimension; 0 and 1 if unbounded.
func (a PolicyAction) scales() (middle, half []float32) {
	for i, low := range a.Low {
		m, h := float32(0), float32(1)
		if width := float64(a.High[i] - low); !math.IsInf(width, 0) {
			m, h = float32(low+a.High[i])/2, float32(a.High[i]-low)/2
		}
		middle, half = append(middle, m), append(half, h)
	}
	return middle, half
}

// Policy reads the policy of a member.
func (r *Restored) Policy(ctx context.Context, member int) (*Policy, error) {
	if err := r.check(member); err != nil {
		return nil, err
	}
	ev, err := r.evaluator(ctx)
	if err != nil {
		return nil, err
	}
	of := ev.Policy()
	params, normalizer, err := of.Member(ctx, member)
	if err != nil {
		return nil, err
	}
	p := rowPolicy(r.cfg, of, params, normalizer)
	p.Iteration, p.Member, p.Digest = r.Iteration(), member, r.checkpoint.Manifest.Digest
	return p, nil
}

// rowPolicy returns a policy of a configuration's task with a row of parameters and its normalizer, nil: none.
func rowPolicy(cfg *Config, of *envs.Policy, params, normalizer []float32) *Policy {
	p := &Policy{
		Format: policyFormat, Workflow: cfg.Run.Workflow, Env: cfg.Run.Env, TimeLimit: cfg.Environment.TimeLimit, ActionRepeat: cfg.Environment.Repeat(),
		Activation: of.Network.Layers()[0].Activation, Action: PolicyAction{
			Head: of.Head.Kind.String(), Size: of.Head.Size, Squash: of.Head.Squash && of.Head.Kind != nn.Binned,
			Bins: of.Head.Bins, Atoms: of.Head.Atoms, Dueling: of.Head.Dueling,
		},
	}
	if n := of.Head.Parameters(); n > 0 {
		p.Action.LogStd = params[of.Network.Size():][:n]
	}
	if of.Head.StateDependent {
		p.Action.LogStdLow, p.Action.LogStdHigh = of.Head.LogStdLow, of.Head.LogStdHigh
	}
	if n := of.Network.Inputs().Size(); normalizer != nil {
		p.Observation = &PolicyObservation{normalizer[:n], normalizer[n:], of.ObsLimit}
	}
	for _, l := range of.Network.Layers() {
		layer := policyLayer(l, params)
		if l.Hidden && l.Activation != p.Activation {
			layer.Activation = &l.Activation
		}
		if layer.Type != nil || layer.Window != nil || layer.Activation != nil || layer.Skip > 0 {
			p.Format = imageFormat
		}
		p.Layers = append(p.Layers, layer)
	}
	space := cfg.Env().Observation
	p.Space = &PolicySpace{Shape: space.Shape(), Type: space.Element, Low: compact(bounds(space.Low)), High: compact(bounds(space.High))}
	space = cfg.Env().Action
	p.Action.Discrete = space.IsDiscrete()
	p.Action.Low, p.Action.High = bounds(space.Low), bounds(space.High)
	return p
}

// policyLayer returns a layer with its parameters, read from a row.
func policyLayer(l nn.Layer, row []float32) (layer PolicyLayer) {
	layer.Skip = l.Skip
	if l.Kind != nn.Dense && l.Kind != nn.Convolution {
		layer.Type, layer.Shape = &l.Kind, l.Shape
		if l.Shape == nil {
			layer.Shape = nn.Shape{l.Out}
		}
	}
	if w := l.Window; w.Kernel > 0 {
		layer.Window = &PolicyWindow{
			w.Height, w.Width, w.Channels, w.Kernel, w.Stride, w.Top, w.Left, w.Bottom(), w.Right(), w.OutHeight, w.OutWidth,
		}
	}
	for _, a := range l.Parameters() {
		values := row[a.At:][:a.Len()]
		switch a.Name {
		case "weight":
			layer.Weight = slices.Collect(slices.Chunk(values, a.Columns))
		case "bias":
			layer.Bias = values
		case "recurrent.weight":
			layer.Recurrent = slices.Collect(slices.Chunk(values, a.Columns))
		case "recurrent.bias":
			layer.RecurrentBias = values
		case "norm.weight":
			layer.Scale = values
		case "norm.bias":
			layer.Shift = values
		}
	}
	return layer
}

// compact returns one bound if all are equal.
func compact(of []Number) []Number {
	if len(of) > 0 && !slices.ContainsFunc(of, func(b Number) bool { return b != of[0] }) {
		return of[:1]
	}
	return of
}

func bounds(of []float32) []Number {
	var out []Number
	for _, v := range of {
		out = append(out, Number(v))
	}
	return out
}

// Tensors returns the policy's arrays, by layer, and its metadata, for checkpoint.WriteSafetensors. The names and
// shapes are as of PyTorch's linear, convolutional and normalizing layers:
//
//	observation.mean, observation.scale           [observations], if normalized
//	layers.0.weight, layers.0.bias                [out, in], [out]
//	layers.0.weight                               [channels, channels of the image, rows, columns], of a convolution
//	layers.0.norm.weight, layers.0.norm.bias      [out], of hidden layers with layer normalization
//	action.middle, action.half                    [dimensions], of continuous actions
//	log_std                                       [dimensions], of Gaussian heads whose deviations do not depend on the state
//
// Convolutions are over images [channels, height, width], and a dense layer after one takes its values in that order. The observation's moments stay in
// the order of the observation, [height, width, channels]. The metadata have layers.0.stride, and layers.0.padding: the zeros to the left and the right of
// the image, above and below it, as torch.nn.functional.pad takes them; layers.0.activation, if it is not the policy's; and layers.0.type of layers
// that are neither dense nor convolutions, with layers.0.kernel of pools and layers.0.choices of one_hot; layers.0.image, "height,width,channels", of layers
// over images; and layers.0.skip, as in Policy. Cells have layers.0.recurrent.weight [gates, state] and, of GRUs, layers.0.recurrent.bias [state].
//
// The metadata are the number of inputs, the fields of Policy and PolicyAction as text, by their names in JSON, and observation_limit.
func (p *Policy) Tensors() ([]checkpoint.Tensor, map[string]string) {
	var tensors []checkpoint.Tensor
	add := func(name string, values []float32, shape ...int) {
		data := make([]byte, 0, 4*len(values))
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		tensors = append(tensors, checkpoint.Tensor{Name: name, DType: checkpoint.F32, Shape: shape, Data: bytes.NewReader(data)})
	}
	facts := p.facts()
	if o := p.Observation; o != nil {
		add("observation.mean", o.Mean, len(o.Mean))
		add("observation.scale", o.Scale, len(o.Scale))
		facts["observation_limit"] = strconv.FormatFloat(float64(o.Limit), 'g', -1, 32)
	}
	layers, row := p.network()
	arrays := nn.Arrays(layers, row)
	for i, l := range p.Layers {
		name := fmt.Sprintf("layers.%d.", i)
		for _, a := range arrays[i] {
			add(name+a.Name, a.Values, a.Shape...)
		}
		if w := l.Window; w != nil {
			facts[name+"stride"] = strconv.Itoa(w.Stride)
			facts[name+"padding"] = fmt.Sprintf("%d,%d,%d,%d", w.Left, w.Right, w.Top, w.Bottom)
		}
		if image := imageOf(layers[i]); image != nil {
			facts[name+"image"] = strings.Trim(strings.ReplaceAll(fmt.Sprint(image), " ", ","), "[]")
		}
		if l.Type != nil {
			facts[name+"type"] = l.Type.String()
			if *l.Type == nn.OneHot {
				facts[name+"choices"] = strconv.Itoa(layers[i].Out)
			}
			if w := l.Window; w != nil {
				facts[name+"kernel"] = strconv.Itoa(w.Kernel)
			}
		}
		if l.Skip > 0 {
			facts[name+"skip"] = strconv.Itoa(l.Skip)
		}
		if l.Activation != nil {
			facts[name+"activation"] = l.Activation.String()
		}
	}
	facts["inputs"] = strconv.Itoa(p.inputs())
	a := p.Action
	if middle, half := a.scales(); middle != nil {
		add("action.middle", middle, a.Size)
		add("action.half", half, a.Size)
	}
	if a.LogStd != nil {
		add("log_std", a.LogStd, a.Size)
	}
	if p.spreads() {
		facts["log_std_low"] = strconv.FormatFloat(float64(a.LogStdLow), 'g', -1, 32)
		facts["log_std_high"] = strconv.FormatFloat(float64(a.LogStdHigh), 'g', -1, 32)
	}
	facts["layers"], facts["activation"], facts["head"] = strconv.Itoa(len(p.Layers)), p.Activation.String(), a.Head
	facts["discrete"], facts["size"], facts["squash"] = strconv.FormatBool(a.Discrete), strconv.Itoa(a.Size), strconv.FormatBool(a.Squash)
	facts["bins"], facts["atoms"], facts["dueling"] = strconv.Itoa(a.Bins), strconv.Itoa(a.Atoms), strconv.FormatBool(a.Dueling)
	return tensors, facts
}

// imageOf returns the image that a layer is over, [height, width, channels]; nil: it is over a vector.
func imageOf(l nn.Layer) []int {
	switch w := l.Window; {
	case w.Kernel > 0:
		return []int{w.Height, w.Width, w.Channels}
	case l.Kind == nn.Activated || l.Kind == nn.LayerNorm:
		return l.Shape
	}
	return nil
}
