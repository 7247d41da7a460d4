package nn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestBranchGradients: a network with a branch has the outputs of both, and the gradient of a loss of both, in float64 the sum of those of two networks;
// floats between the trunk's and the branch's are not written. By itself a branch has the same outputs, however few rows its network was made for. These
// networks are too narrow for panels.
func TestBranchGradients(t *testing.T) {
	branches(t, MLP{In: 5, Out: 3, Hidden: []int{7}, Activation: Tanh}, MLP{In: 5, Out: 2, Hidden: []int{8, 6}, Activation: GELU, LayerNorm: true})
}

// TestBranches is TestBranchGradients of wider networks, and behind layers of other kinds.
func TestBranches(t *testing.T) {
	branches(t, MLP{In: 6, Out: 19, Hidden: []int{9, 24}, Activation: Swish},
		Sequential{In: Shape{6, 5, 2}, Out: 4, Hidden: []LayerConfig{window(5, 3, 2, Same, ReLU), units(9, ELU)}},
		Sequential{In: Shape{5, 4, 1}, Out: 3, Hidden: []LayerConfig{window(3, 2, 1, Valid, Tanh)}},
		Sequential{In: Shape{7}, Out: 2, Hidden: []LayerConfig{units(8, Tanh), {Kind: Residual, Units: 5}, of(Activated, Tanh)}})
}

func branches(t *testing.T, trunks ...Model) {
	for i, trunk := range trunks {
		for _, gpu := range []bool{false, true} {
			for _, out := range []int{1, 3} {
				t.Run(fmt.Sprint(trunk, "/", out, "/gpu ", gpu), func(t *testing.T) {
					branchCase{branch: Branch{Trunk: trunk, Out: out, At: Align(trunk.Size() + 2)}, gpu: gpu, members: 1 + i%3, rows: 21 - i, splits: 1 + i%2}.run(t)
				})
			}
		}
	}
}

type branchCase struct {
	branch                Branch
	gpu                   bool
	members, rows, splits int
}

func (c branchCase) run(t *testing.T) {
	s := testState(t)
	b, in, width := c.branch, c.branch.Inputs().Size(), []int{c.branch.Trunk.Outputs(), c.branch.Out}
	n, err := NewBranched(s, b, c.members, c.rows)
	if err != nil {
		t.Fatal(err)
	}
	if l := n.form.(*layered); c.gpu {
		l.info = asGPU(l.info)
	}
	pass, err := n.NewPass(s, c.rows)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := New(s.Sub("alone"), b, c.members, 1+c.rows/2)
	if err != nil {
		t.Fatal(err)
	}
	if !alone.Layered() {
		t.Error("a branch's parameters do not follow each other; want it computed layer by layer")
	}
	m, row := engine.Members(c.members), Align(testBase+b.Size()+1)
	tensor := func(name string, out int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, m, engine.Axis("row", c.rows), engine.Axis("out", out))
	}
	w := Weights{Params: s.Tensor("params", engine.Float32, m, engine.Axis("parameter", row)), Base: testBase}
	gradient := s.Tensor("gradient", engine.Float32, engine.Axis("split", c.splits), m, engine.Axis("parameter", row))
	x, again := tensor("x", in), tensor("again", b.Out)
	var y, dy [2]*engine.Tensor
	var dv [2][]float32
	for k, what := range []string{"trunk", "branch"} {
		y[k], dy[k] = tensor(what, width[k]), tensor("at_"+what, width[k])
		fill(t, y[k], nil)
		dv[k] = normals(dy[k].Len())
		fill(t, dy[k], dv[k])
	}
	pv, xv := normals(w.Params.Len()), normals(x.Len())
	for i := range pv {
		pv[i] *= 0.5
	}
	fill(t, w.Params, pv)
	fill(t, x, xv)
	fill(t, gradient, nil)
	fill(t, again, nil)
	pass.Branch(y[1], dy[1])
	inputs := Inputs{Parts: []*engine.Tensor{x}}
	record(t, s, func(r *engine.Recorder) {
		pass.Forward(r, w, inputs, y[0])
		pass.Backward(r, dy[0], Gradients{Params: gradient})
		alone.Evaluate(r, w, inputs, again)
	})
	gv := read(t, gradient)
	for p := range c.members {
		var got, want []float64
		sum := make([]float64, b.Size())
		for k, net := range []Model{b.Trunk, b} {
			ref, yv, more := newReference(net, pv[p*row+testBase:]), read(t, y[k]), read(t, again)
			for i := p * c.rows; i < (p+1)*c.rows; i++ {
				var xs, d []float64
				for j := range in {
					xs = append(xs, float64(xv[i*in+j]))
				}
				for o, v := range ref.forward(xs) {
					at := i*width[k] + o
					got, want, d = append(got, float64(yv[at])), append(want, v), append(d, float64(dv[k][at]))
					if k == 1 {
						got, want = append(got, float64(more[at])), append(want, v)
					}
				}
				ref.backward(d, sum)
			}
		}
		closeTo(t, fmt.Sprintf("member %d: outputs", p), got, want)
		branchGradients(t, b, gv, p, c.members, row, sum)
	}
}

// branchGradients compares the gradient [splits, M, row] of a member's parameters with sum, and checks that other floats are poison still.
func branchGradients(t *testing.T, b Branch, gradient []float32, p, members, row int, sum []float64) {
	t.Helper()
	var got, want []float64
	for i := range row {
		at, own := i-testBase, 0.0
		inside := at >= 0 && at < b.Trunk.Size() || at >= b.At && at < b.Size()
		for part := range len(gradient) / (members * row) {
			v := gradient[(part*members+p)*row+i]
			if own += float64(v); inside == isPoison(v) {
				t.Fatalf("member %d: float %d of the row is %g; written should be true: %v", p, i, v, inside)
			}
		}
		if inside {
			got, want = append(got, own), append(want, sum[at])
		}
	}
	closeTo(t, fmt.Sprintf("member %d: gradients of parameters", p), got, want)
}

// What a network with a branch cannot be, and passes that lack what it needs, are errors that say so.
func TestBranchErrors(t *testing.T) {
	trunk := MLP{In: 3, Out: 2, Hidden: []int{4}, Activation: Tanh}
	for want, b := range map[string]Branch{
		"no hidden layers to share": {Trunk: MLP{In: 3, Out: 2}, Out: 1, At: 8},
		"want at least 26":          {Trunk: trunk, Out: 1, At: 24},
		"0 outputs; want 1":         {Trunk: trunk, At: 28},
		"9 hidden layers":           {Trunk: MLP{In: 3, Out: 2, Hidden: make([]int, 9)}, Out: 1, At: 28},
	} {
		if _, err := NewBranched(testState(t), b, 1, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("branch %+v: error %v; want %q", b, err, want)
		}
	}
	s := testState(t)
	n, err := NewBranched(s, Branch{Trunk: trunk, Out: 1, At: 28}, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := n.NewPass(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(name string, rows, out int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, engine.Members(2), engine.Axis("row", rows), engine.Axis("out", out))
	}
	params, x, y, v, short := tensor("params", 1, 36), tensor("x", 4, 3), tensor("y", 4, 2), tensor("v", 4, 1), tensor("short", 3, 1)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	for _, of := range [][2]*engine.Tensor{{nil, nil}, {v, nil}, {short, v}, {v, short}} {
		pass.Branch(of[0], of[1])
		_, err := s.Engine().Record("test", func(r *engine.Recorder) {
			pass.Forward(r, Weights{Params: params}, Inputs{Parts: []*engine.Tensor{x}}, y)
		})
		if err == nil || !strings.Contains(err.Error(), "want [member 2, rows 4, 1] each") {
			t.Errorf("a pass with outputs of the branch %v: error %v; want their shape", of, err)
		}
	}
}

// TestBranchSequence: passes over sequences of networks with a branch, behind their cell or behind all hidden layers, have the outputs of both and the
// gradient of a loss of both, in float64 the sum of those of two networks. The gradient at the first memory is the sum, too.
func TestBranchSequence(t *testing.T) {
	for i, trunk := range []Recurrent{
		{In: 3, Out: 2, Before: []int{5}, Cell: GRU, Units: 4, After: []int{6}, Activation: Tanh},
		{In: 2, Out: 3, Cell: LSTM, Units: 5, After: []int{4, 7}, Activation: Swish},
		{In: 4, Out: 18, Before: []int{20}, Cell: GRU, Units: 24, After: []int{20}, Activation: Tanh},
	} {
		for _, atCell := range []bool{false, true} {
			b := Branch{Trunk: trunk, Out: 1 + i, At: Align(trunk.Size() + 2), Cell: atCell}
			t.Run(b.String(), func(t *testing.T) { branchSequence(t, b, 1+i%2, 5, 4+i) })
		}
	}
}

func branchSequence(t *testing.T, b Branch, members, steps, rows int) {
	s := testState(t)
	n, err := NewBranched(s, b, members, rows)
	if err != nil {
		t.Fatal(err)
	}
	q, err := n.NewSequence(s.Sub("sequence"), steps, rows)
	if err != nil {
		t.Fatal(err)
	}
	m, row := engine.Members(members), Align(testBase+b.Size()+1)
	params := s.Tensor("params", engine.Float32, m, engine.Axis("parameter", row))
	q.Learn(s, params)
	tensor := func(name string, width int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, m, engine.Time(steps), engine.Environments(rows), engine.Axis("float", width))
	}
	x, memory := tensor("x", b.Inputs().Size()), s.Tensor("memory", engine.Float32, m, engine.Axis("row", rows), engine.Axis("float", b.Memory()))
	atMemory := s.Tensor("at_memory", engine.Float32, memory.Dims()...)
	done := s.Tensor("done", engine.Uint32, m, engine.Time(steps), engine.Environments(rows))
	models := []Model{b.Trunk, b}
	var y, dy [2]*engine.Tensor
	var dv [2][]float32
	for k, name := range []string{"trunk", "branch"} {
		y[k], dy[k] = tensor(name, models[k].Outputs()), tensor("at_"+name, models[k].Outputs())
		dv[k] = normals(dy[k].Len())
		fill(t, y[k], nil)
		fill(t, dy[k], dv[k])
	}
	ends := make([]uint32, done.Len())
	for i := range ends {
		ends[i] = uint32(i % 3 / 2)
	}
	if err := done.WriteUint32(t.Context(), ends); err != nil {
		t.Fatal(err)
	}
	pv, xv, mv := normals(params.Len()), normals(x.Len()), normals(memory.Len())
	for i := range pv {
		pv[i] *= 0.4
	}
	for tensor, v := range map[*engine.Tensor][]float32{params: pv, x: xv, memory: mv, atMemory: nil, q.atHidden: nil, q.Into(): nil} {
		fill(t, tensor, v)
	}
	if q.own != nil {
		fill(t, q.own.at, nil)
	}
	q.Branch(y[1], dy[1])
	record(t, s, func(r *engine.Recorder) {
		q.Forward(r, Weights{Params: params, Base: testBase}, Inputs{Parts: []*engine.Tensor{x}, Memory: memory}, done, y[0])
		q.Backward(r, dy[0], SequenceGradients{Gradients: Gradients{Params: q.Into()}, Memory: atMemory})
	})
	gv, dmv := read(t, q.Into()), read(t, atMemory)
	for p := range members {
		var got, want []float64
		sum, first := make([]float64, b.Size()), make([]float64, rows*b.Memory())
		for k, model := range models {
			yv, in, out := read(t, y[k]), model.Inputs().Size(), model.Outputs()
			for e := range rows {
				ref, h := newRecurrentReference(t, model, pv[p*row+testBase:]), widened(mv[(p*rows+e)*b.Memory():][:b.Memory()])
				var ds [][]float64
				for i := range steps {
					at := (p*steps+i)*rows + e
					var v []float64
					v, h = ref.step(widened(xv[at*in:][:in]), h, i > 0 && ends[at-rows] != 0)
					got, want, ds = append(got, widened(yv[at*out:][:out])...), append(want, v...), append(ds, widened(dv[k][at*out:][:out]))
				}
				_, d := ref.backward(ds, sum)
				for i, v := range d {
					first[e*b.Memory()+i] += v
				}
			}
		}
		got, want = append(got, widened(dmv[p*len(first):][:len(first)])...), append(want, first...)
		closeTo(t, fmt.Sprintf("member %d: outputs, and the gradient at the first memory", p), got, want)
		branchGradients(t, b, gv, p, members, row, sum)
	}
}
