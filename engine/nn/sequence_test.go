package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// recurrentReference evaluates a recurrent network in float64 and back-propagates through time.
type recurrentReference struct {
	before, after *reference
	cell          Layer
	row           []float64
	steps         []referenceStep
}

// referenceStep is a step of the cell: inputs of the network, memory that counted, products of its inputs, gates, h U + bias of a GRU's n, state.
type referenceStep struct {
	x, h, c, z, gate, inner, next, cell []float64
	begins                              bool
}

func newRecurrentReference(t testing.TB, m Model, row []float32) *recurrentReference {
	before, cell, after, err := cellOf(m)
	if err != nil {
		t.Fatal(err)
	}
	r := &recurrentReference{before: newReference(before, row), after: newReference(after, row), cell: cell}
	r.row = r.before.row
	return r
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// step evaluates a step from memory and returns the outputs and the memory after it.
func (r *recurrentReference) step(x, memory []float64, begins bool) (y, next []float64) {
	u, gates := r.cell.Out, r.cell.Kind.gates()
	if begins {
		memory = make([]float64, len(memory))
	}
	s := referenceStep{x: x, h: memory[:u], begins: begins, z: r.before.forward(x)}
	product := make([]float64, gates*u)
	for j := range product {
		for k, h := range s.h {
			product[j] += h * r.row[r.cell.Recurrent+k*gates*u+j]
		}
	}
	s.gate, s.next = make([]float64, gates*u), make([]float64, u)
	if r.cell.Kind == LSTM {
		s.c, s.cell = memory[u:], make([]float64, u)
		for j := range product {
			s.gate[j] = logistic(s.z[j] + product[j])
			if j/u == 2 {
				s.gate[j] = math.Tanh(s.z[j] + product[j])
			}
		}
		for j := range u {
			s.cell[j] = s.gate[u+j]*s.c[j] + s.gate[j]*s.gate[2*u+j]
			s.next[j] = s.gate[3*u+j] * math.Tanh(s.cell[j])
		}
		next = append(append(next, s.next...), s.cell...)
	} else {
		s.inner = make([]float64, u)
		for j := range u {
			s.gate[j], s.gate[u+j] = logistic(s.z[j]+product[j]), logistic(s.z[u+j]+product[u+j])
			s.inner[j] = product[2*u+j] + r.row[r.cell.RecurrentBias+j]
			s.gate[2*u+j] = math.Tanh(s.z[2*u+j] + s.gate[j]*s.inner[j])
			s.next[j] = (1-s.gate[u+j])*s.gate[2*u+j] + s.gate[u+j]*s.h[j]
		}
		next = s.next
	}
	r.steps = append(r.steps, s)
	return r.after.forward(s.next), next
}

// backward adds the gradients of the parameters to sum, and returns those at the inputs of all steps and at the first memory.
func (r *recurrentReference) backward(dy [][]float64, sum []float64) (dx [][]float64, memory []float64) {
	u, gates := r.cell.Out, r.cell.Kind.gates()
	dx, dh, dc := make([][]float64, len(r.steps)), make([]float64, u), make([]float64, u)
	for t := len(r.steps) - 1; t >= 0; t-- {
		s := r.steps[t]
		r.after.forward(s.next)
		for j, v := range r.after.backward(dy[t], sum) {
			dh[j] += v
		}
		dz, dp, last, lastCell := make([]float64, gates*u), make([]float64, gates*u), make([]float64, u), make([]float64, u)
		for j := range u {
			if r.cell.Kind == LSTM {
				i, f, g, o, y := s.gate[j], s.gate[u+j], s.gate[2*u+j], s.gate[3*u+j], math.Tanh(s.cell[j])
				d := dc[j] + dh[j]*o*(1-y*y)
				dz[j], dz[u+j], dz[2*u+j], dz[3*u+j] = d*g*i*(1-i), d*s.c[j]*f*(1-f), d*i*(1-g*g), dh[j]*y*o*(1-o)
				lastCell[j] = d * f
				continue
			}
			reset, z, n := s.gate[j], s.gate[u+j], s.gate[2*u+j]
			dn := dh[j] * (1 - z) * (1 - n*n)
			dz[j], dz[u+j], dz[2*u+j] = dn*s.inner[j]*reset*(1-reset), dh[j]*(s.h[j]-n)*z*(1-z), dn
			last[j] = dh[j] * z
		}
		copy(dp, dz)
		for j := range u {
			if r.cell.Kind == GRU {
				dp[2*u+j] *= s.gate[j]
				sum[r.cell.RecurrentBias+j] += dp[2*u+j]
			}
		}
		for j, d := range dp {
			for k := range u {
				sum[r.cell.Recurrent+k*gates*u+j] += s.h[k] * d
				last[k] += d * r.row[r.cell.Recurrent+k*gates*u+j]
			}
		}
		r.before.forward(s.x)
		dx[t] = r.before.backward(dz, sum)
		dh, dc = last, lastCell
		if s.begins {
			dh, dc = make([]float64, u), make([]float64, u)
		}
	}
	if r.cell.Kind == LSTM {
		dh = append(dh, dc...)
	}
	return dx, dh
}

// TestRecurrentReference: the reference's backward pass agrees with central differences of its forward pass.
func TestRecurrentReference(t *testing.T) {
	for _, kind := range []Kind{LSTM, GRU} {
		m := Recurrent{In: 2, Out: 2, Before: []int{3}, Cell: kind, Units: 3, After: []int{2}, Activation: Tanh}
		r := newRecurrentReference(t, m, normals(m.Size()))
		r.after.row = r.row // one row for all
		memory, x, dy := make([]float64, m.Memory()), make([][]float64, 5), make([][]float64, 5)
		for i, v := range normals(len(memory)) {
			memory[i] = float64(v)
		}
		for i := range x {
			v := normals(4)
			x[i], dy[i] = []float64{float64(v[0]), float64(v[1])}, []float64{float64(v[2]), float64(v[3])}
		}
		loss := func() (sum float64) {
			r.steps = nil
			next := memory
			for i := range x {
				var y []float64
				y, next = r.step(x[i], next, i == 3)
				sum += y[0]*dy[i][0] + y[1]*dy[i][1]
			}
			return sum
		}
		loss()
		got := make([]float64, m.Size())
		dx, dm := r.backward(dy, got)
		check := func(what string, at *float64, got float64) {
			const h = 1e-5
			was := *at
			*at = was + h
			up := loss()
			*at = was - h
			want := (up - loss()) / (2 * h)
			*at = was
			if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%v: %s: gradient %v, difference %v", kind, what, got, want)
			}
		}
		for i := range got {
			check(fmt.Sprint("parameter ", i), &r.row[i], got[i])
		}
		for i := range x {
			for k := range x[i] {
				check(fmt.Sprintf("input %d of step %d", k, i), &x[i][k], dx[i][k])
			}
		}
		for i := range memory {
			check(fmt.Sprint("memory ", i), &memory[i], dm[i])
		}
	}
}

// sequenceCase is a pass over sequences.
type sequenceCase struct {
	m                           Model
	members, stack, steps, rows int
	trajectory, normalize       bool // [T, M, B, …], else [M, T, B, …]
	first                       int  // features of the first of two parts; 0: one part
	splits                      int
	form                        func(info vk.Info, c cell, rows int) *scanForm
	begins                      int // words by which the first step begins an episode, for each row: 1 of a member, or one of each network; 0: none does
}

// at returns the index of a row of network n, of n networks, in a tensor of all steps.
func (c sequenceCase) at(n, networks, t, row int) int {
	if c.trajectory {
		return (t*networks+n)*c.rows + row
	}
	return (n*c.steps+t)*c.rows + row
}

func (c sequenceCase) run(t *testing.T) {
	s, networks := testState(t), c.members*c.stack
	net, err := NewStack(s, c.m, c.members, c.stack, c.rows)
	if err != nil {
		t.Fatal(err)
	}
	_, layer, _, err := cellOf(c.m)
	if err != nil {
		t.Fatal(err)
	}
	q, err := net.newSequence(s.Sub("sequence"), c.steps, c.rows, c.form(s.Engine().Device().Info(), cell{layer, networks}, c.rows))
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := q.NewAhead(s.Sub("ahead"))
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(name string, typ engine.DType, own bool, last ...engine.Dim) *engine.Tensor {
		dims := []engine.Dim{engine.Members(c.members)}
		if own && c.stack > 1 {
			dims = append(dims, Networks(c.stack))
		}
		if time := engine.Time(c.steps); c.trajectory {
			dims = append([]engine.Dim{time}, dims...)
		} else {
			dims = append(dims, time)
		}
		return s.Tensor(name, typ, append(append(dims, engine.Environments(c.rows)), last...)...)
	}
	row := Align(testBase + c.m.Size() + 3)
	features := []int{c.m.Inputs().Size()}
	if c.first > 0 {
		features = []int{c.first, c.m.Inputs().Size() - c.first}
	}
	in, grads := Inputs{Limit: testLimit}, SequenceGradients{}
	var xv, nextv [][]float32
	var nexts []*engine.Tensor // inputs ahead
	for i, f := range features {
		nexts = append(nexts, tensor(fmt.Sprint("next", i), engine.Float32, false, engine.Axis("feature", f)))
		nextv = append(nextv, normals(nexts[i].Len()))
		x := tensor(fmt.Sprint("x", i), engine.Float32, false, engine.Axis("feature", f))
		in.Parts, xv = append(in.Parts, x), append(xv, normals(x.Len()))
		grads.Inputs = append(grads.Inputs, tensor(fmt.Sprint("dx", i), engine.Float32, true, engine.Axis("feature", f)))
	}
	p := []engine.Dim{engine.Members(c.members), Networks(c.stack)}
	params := s.Tensor("params", engine.Float32, append(p, engine.Axis("parameter", row))...)
	grads.Params = s.Tensor("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", c.splits)}, params.Dims()...)...)
	memory := append(p, engine.Axis("row", c.rows), engine.Axis("float", c.m.Memory()))
	in.Memory, grads.Memory = s.Tensor("memory", engine.Float32, memory...), s.Tensor("dmemory", engine.Float32, memory...)
	stepped := s.Tensor("stepped", engine.Float32, memory...)
	done := tensor("done", engine.Uint32, false)
	out, dout := tensor("y", engine.Float32, true, engine.Axis("out", c.m.Outputs())), tensor("dy", engine.Float32, true, engine.Axis("out", c.m.Outputs()))
	nextOut := tensor("next_y", engine.Float32, true, engine.Axis("out", c.m.Outputs()))
	normalizer := s.Tensor("normalizer", engine.Float32, engine.Members(c.members), engine.Axis("moment", 2), engine.Axis("feature", features[0]))
	if c.normalize {
		in.Normalizer = normalizer
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	pv, nv, mv, dv := normals(params.Len()), normals(normalizer.Len()), normals(in.Memory.Len()), normals(dout.Len())
	for i := range pv {
		pv[i] *= float32(1 / math.Sqrt(float64(max(4, q.cell.Out)))) // states of larger weights are chaotic
	}
	ends := make([]uint32, done.Len())
	for i := range ends {
		if rand.IntN(9) == 0 {
			ends[i] = 1 + rand.Uint32N(3)
		}
	}
	if err := done.WriteUint32(t.Context(), ends); err != nil {
		t.Fatal(err)
	}
	words := make([]uint32, networks*c.rows)
	if c.begins > 0 {
		dims := append(p[:1:1], engine.Axis("row", c.rows))
		if c.begins > 1 {
			dims = append(p[:2:2], engine.Axis("row", c.rows))
		}
		in.Begins = Begins{Words: s.Tensor("begins", engine.Uint32, dims...), Bits: 3}
		drawn := make([]uint32, in.Begins.Words.Len())
		for i := range drawn {
			drawn[i] = rand.Uint32N(2) * (3 + uint32(i%2)) // 3 and 4; 3 has such bits
		}
		if err := in.Begins.Words.WriteUint32(t.Context(), drawn); err != nil {
			t.Fatal(err)
		}
		for i := range words {
			words[i] = drawn[i/c.rows*c.begins/c.stack*c.rows+i%c.rows] & 3
		}
	}
	for i, x := range in.Parts {
		fill(t, x, xv[i])
		fill(t, nexts[i], nextv[i])
		fill(t, grads.Inputs[i], nil)
	}
	for x, v := range map[*engine.Tensor][]float32{
		params: pv, normalizer: nv, in.Memory: mv, dout: dv, stepped: mv, out: nil, grads.Params: nil, grads.Memory: nil,
		q.gates: nil, q.hidden: nil, q.kept: nil, q.memories: nil, q.memory: nil, q.product: nil, q.carried: nil, q.direct: nil, q.atHidden: nil,
		nextOut: nil, ahead.memories: nil, ahead.product: nil, q.packed: nil,
	} {
		if x != nil {
			fill(t, x, v)
		}
	}
	w := Weights{Params: params, Base: testBase}
	record(t, s, func(r *engine.Recorder) {
		q.Forward(r, w, in, done, out)
		ahead.Record(r, Inputs{Parts: nexts, Normalizer: in.Normalizer, Limit: in.Limit}, nextOut)
		q.Backward(r, dout, grads)
	})
	nextYv := read(t, nextOut)
	yv, gv, dmv, last := read(t, out), read(t, grads.Params), read(t, grads.Memory), read(t, q.Memory())
	var dxv [][]float32
	for _, x := range grads.Inputs {
		dxv = append(dxv, read(t, x))
	}
	for i, v := range read(t, in.Memory) {
		if v != mv[i] {
			t.Fatal("the starting memory was changed")
		}
	}
	h := c.m.Memory()
	for n := range networks {
		sum := make([]float64, c.m.Size())
		var got, want []float64
		for b := range c.rows {
			ref := newRecurrentReference(t, c.m, pv[n*row+testBase:])
			memory, dy := make([]float64, h), make([][]float64, c.steps)
			for k := range memory {
				memory[k] = float64(mv[(n*c.rows+b)*h+k])
			}
			for step := range c.steps {
				inputs := func(values [][]float32) (x []float64) {
					for part, f := range features {
						at := c.at(n/c.stack, c.members, step, b)
						for k := range f {
							v := float64(values[part][at*f+k])
							if c.normalize && part == 0 {
								m := n / c.stack
								v = min(max((v-float64(nv[2*m*f+k]))*float64(nv[(2*m+1)*f+k]), -testLimit), testLimit)
							}
							x = append(x, v)
						}
					}
					return x
				}
				var y []float64
				y, memory = ref.step(inputs(xv), memory, step == 0 && words[n*c.rows+b] != 0 || step > 0 && ends[c.at(n/c.stack, c.members, step-1, b)] != 0)
				at := c.at(n, networks, step, b) * c.m.Outputs()
				for o := range y {
					got, want = append(got, float64(yv[at+o])), append(want, y[o])
					dy[step] = append(dy[step], float64(dv[at+o]))
				}
				apart := *ref
				y, _ = apart.step(inputs(nextv), memory, false)
				for o := range y {
					got, want = append(got, float64(nextYv[at+o])), append(want, y[o])
				}
			}
			dx, dm := ref.backward(dy, sum)
			for k := range dm {
				at := (n*c.rows+b)*h + k
				got, want = append(got, float64(dmv[at]), float64(last[at])), append(want, dm[k], memory[k])
			}
			for step, d := range dx {
				for part, f := range features {
					for k := range f {
						got, want = append(got, float64(dxv[part][c.at(n, networks, step, b)*f+k])), append(want, d[k])
					}
					d = d[f:]
				}
			}
		}
		closeTo(t, fmt.Sprintf("network %d: outputs, memory and gradients at inputs", n), got, want)
		f := networkFixture{networkCase: networkCase{splits: c.splits}, networks: networks, row: row}
		f.checkParams(t, n, gv, sum, true)
	}
	if !c.trajectory || c.normalize || c.first > 0 || c.stack > 1 {
		return
	}
	// Step by step, the outputs and the memory are the same.
	now := s.Scratch("now", engine.Float32, append([]engine.Dim{engine.Members(c.members)}, engine.Environments(c.rows), engine.Axis("out", c.m.Outputs()))...)
	clear := s.Scratch("clear", engine.Uint32, engine.Members(c.members), engine.Environments(c.rows))
	if err := clear.WriteUint32(t.Context(), make([]uint32, clear.Len())); err != nil {
		t.Fatal(err)
	}
	all := s.Tensor("all", engine.Float32, out.Dims()...)
	record(t, s, func(r *engine.Recorder) {
		for step := range c.steps {
			begins := Begins{Words: clear}
			if step > 0 {
				begins.Words = done.Index(step - 1)
			}
			net.Evaluate(r, w, Inputs{Parts: []*engine.Tensor{in.Parts[0].Index(step)}, Memory: stepped, Begins: begins}, now)
			r.Copy(all.Index(step), now)
		}
	})
	for i, v := range read(t, all) {
		if math.Abs(float64(v-yv[i])) > 1e-5*(1+math.Abs(float64(v))) {
			t.Fatalf("output %d is %v step by step, and %v as a sequence", i, v, yv[i])
		}
	}
	for i, v := range read(t, stepped) {
		if math.Abs(float64(v-last[i])) > 1e-5 {
			t.Fatalf("memory %d is %v step by step, and %v after the sequence", i, v, last[i])
		}
	}
}

// TestSequence compares sequences with ends in the middle with float64: outputs, outputs ahead, the last memory, and gradients of parameters, at the
// inputs and at the first memory. Steps are unrolled, or in a repeated block.
func TestSequence(t *testing.T) {
	for _, c := range []sequenceCase{
		{
			m:       Recurrent{In: 4, Out: 3, Before: []int{5}, Cell: GRU, Units: 7, After: []int{6}, Activation: ReLU},
			members: 2, stack: 1, steps: 64, rows: 4, trajectory: true, splits: 2,
		},
		{
			m: Sequential{In: Shape{4, 3, 2}, Out: 2, Activation: Tanh, Hidden: []LayerConfig{
				window(5, 2, 1, Valid, Tanh), pooling(MaxPool, 2, 1, Valid), {Kind: LSTM, Units: 7}, {Kind: Residual, Units: 5}, units(6, Tanh),
			}},
			members: 2, stack: 2, steps: 9, rows: 3, trajectory: true, splits: 2, begins: 1,
		},
		{m: Recurrent{In: 4, Out: 2, Cell: LSTM, Units: 9, Activation: Tanh}, members: 3, stack: 1, steps: 64, rows: 8, trajectory: true, splits: 1},
		{
			m:       Recurrent{In: 5, Out: 1, Before: []int{9, 4}, Cell: LSTM, Units: 5, Activation: Swish},
			members: 2, stack: 2, steps: 64, rows: 3, normalize: true, first: 2, splits: 3, begins: 1,
		},
		{
			m:       Recurrent{In: 5, Out: 2, Cell: GRU, Units: 33, After: []int{17}, Activation: Tanh},
			members: 2, stack: 2, steps: 9, rows: 3, trajectory: true, normalize: true, first: 3, splits: 2, begins: 2,
		},
		{
			m:       Recurrent{In: 3, Out: 2, Cell: GRU, Units: 18, Activation: Tanh},
			members: 1, stack: 1, steps: 150, rows: 8, trajectory: true, normalize: true, splits: 1,
		},
		{m: Recurrent{In: 3, Out: 2, Cell: GRU, Units: 36, Activation: Tanh}, members: 2, stack: 1, steps: 9, rows: 12, trajectory: true, splits: 1},
		{m: Recurrent{In: 3, Out: 2, Cell: LSTM, Units: 32, Activation: Tanh}, members: 1, stack: 2, steps: 70, rows: 5, splits: 1, begins: 2},
		{m: Recurrent{In: 3, Out: 2, Cell: LSTM, Units: 18, Activation: Tanh}, members: 2, stack: 1, steps: 140, rows: 1, splits: 1, begins: 1},
	} {
		for name, form := range scanForms {
			c.form = form
			t.Run(fmt.Sprint(c.m, "/", c.steps, "/", name), c.run)
		}
	}
}

// scanForms are the forms of a cell's steps. Every device runs them all.
var scanForms = map[string]func(vk.Info, cell, int) *scanForm{
	"chosen": chooseScan,
	"steps":  func(vk.Info, cell, int) *scanForm { return nil },
	"groups": func(info vk.Info, c cell, rows int) *scanForm { return scanInGroups(asGPU(info), c, rows) },
	"groups that read weights, in parts": func(info vk.Info, c cell, rows int) *scanForm {
		f := scanInGroups(asGPU(info), c, rows)
		f.held, f.steps = false, 4
		return f
	},
	"lanes in parts": func(info vk.Info, c cell, rows int) *scanForm {
		f := scanInLanes(info, c, rows)
		if f != nil {
			f.steps = 4
		}
		return f
	},
}

func TestSequenceErrors(t *testing.T) {
	s := testState(t)
	m := Recurrent{In: 3, Out: 2, Cell: GRU, Units: 4}
	net, err := New(s, m, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.NewPass(s, 3); err == nil || !strings.Contains(err.Error(), "want a Sequence") {
		t.Errorf("a pass of a network with memory: %v", err)
	}
	dense, err := New(s.Sub("dense"), MLP{In: 3, Out: 2}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dense.NewSequence(s, 4, 3); err == nil || !strings.Contains(err.Error(), "want one recurrent cell") {
		t.Errorf("a sequence of a network without memory: %v", err)
	}
	if _, err := net.NewSequence(s, 0, 3); err == nil {
		t.Error("a sequence of no steps")
	}
	q, err := net.NewSequence(s.Sub("sequence"), 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	p, b := engine.Members(2), engine.Axis("row", 3)
	w := Weights{Params: s.Tensor("params", engine.Float32, p, engine.Axis("parameter", Align(m.Size())))}
	x, y := s.Tensor("x", engine.Float32, p, b, engine.Axis("in", 3)), s.Tensor("y", engine.Float32, p, b, engine.Axis("out", 2))
	short := s.Tensor("short", engine.Float32, p, engine.Axis("row", 2))
	xs := s.Tensor("xs", engine.Float32, p, engine.Time(4), b, engine.Axis("in", 3))
	ys := s.Tensor("ys", engine.Float32, p, engine.Time(4), b, engine.Axis("out", 2))
	in := Inputs{Parts: []*engine.Tensor{x}}
	for want, f := range map[string]func(r *engine.Recorder){
		"evaluated without its memory": func(r *engine.Recorder) { net.Evaluate(r, w, in, y) },
		"evaluated with memory": func(r *engine.Recorder) {
			net.Evaluate(r, w, Inputs{Parts: in.Parts, Memory: short}, y)
		},
		"a sequence with outputs": func(r *engine.Recorder) { q.Forward(r, w, in, nil, y) },
		"not open":                func(r *engine.Recorder) { q.Backward(r, y, SequenceGradients{}) },
		"without a gradient": func(r *engine.Recorder) {
			q.Forward(r, w, Inputs{Parts: []*engine.Tensor{xs}}, nil, ys)
			q.Backward(r, ys, SequenceGradients{})
		},
		"begins episodes by": func(r *engine.Recorder) {
			q.Forward(r, w, Inputs{Parts: []*engine.Tensor{xs}, Begins: Begins{Words: short}}, nil, ys)
		},
		"from memory": func(r *engine.Recorder) { q.Forward(r, w, Inputs{Parts: []*engine.Tensor{xs}, Memory: short}, nil, ys) },
	} {
		if _, err := s.Engine().Record("wrong", f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
