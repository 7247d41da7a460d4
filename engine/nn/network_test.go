package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
)

// The reference's backward pass agrees with central differences of its forward pass. The numbers are the same in every run: a draw
// may have max pooling's kink within a difference, or a layer norm that is too curved for it.
func TestReferenceGradient(t *testing.T) {
	dice = diceOf(t.Name())
	var nets []Model
	for _, norm := range []bool{false, true} {
		for _, activation := range []Activation{Linear, Tanh, ELU, Swish, GELU} { // not relu, which has a kink
			nets = append(nets, MLP{In: 3, Out: 2, Hidden: []int{5, 4}, Activation: activation, LayerNorm: norm})
		}
		nets = append(nets, Sequential{
			In: Shape{5, 4, 2}, Out: 2, Activation: Tanh, LayerNorm: norm,
			Hidden: []LayerConfig{
				{Kind: Convolution, Channels: 3, Kernel: 3, Stride: 2, Padding: Same},
				window(2, 2, 1, Valid, Swish), pooling(AveragePool, 2, 1, Same), pooling(MaxPool, 2, 1, Same),
			},
		})
	}
	nets = append(nets, Sequential{In: Shape{3}, Out: 2, LayerNorm: true, Hidden: []LayerConfig{
		of(LayerNorm, Tanh), of(Residual, Tanh), {Kind: Residual, Units: 4},
	}})
	for _, net := range nets {
		r := newReference(net, normals(net.Size()))
		x, dy := make([]float64, net.Inputs().Size()), []float64{1, -0.5}
		for i := range x {
			x[i] = dice.NormFloat64()
		}
		loss := func() (sum float64) {
			for o, y := range r.forward(x) {
				sum += dy[o] * y
			}
			return sum
		}
		got := make([]float64, net.Size())
		loss()
		dx := r.backward(dy, got)
		difference := func(at *float64) float64 {
			const h = 1e-5
			was := *at
			*at = was + h
			up := loss()
			*at = was - h
			down := loss()
			*at = was
			return (up - down) / (2 * h)
		}
		for i := range got {
			if want := difference(&r.row[i]); math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%v: parameter %d: gradient %v, difference %v", net, i, got[i], want)
			}
		}
		for i := range dx {
			if want := difference(&x[i]); math.Abs(dx[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%v: input %d: gradient %v, difference %v", net, i, dx[i], want)
			}
		}
	}
}

// networkCase is a network in one form, evaluated on one batch.
type networkCase struct {
	net       Model
	layered   bool // false: the form that New chooses
	gpu       bool // layered as on GPUs
	groups    int  // workgroups along x that the device allows, of a layered network; 0: its own
	members   int
	stack     int // networks per member; 0: 1
	outer     int // more than 1: forward pass only; 0: 1
	inner     int // rows per network in each outer block
	capacity  int // 0: all rows
	normalize bool
	first     int  // features of the first of two parts; 0: one part
	own       bool // each network of a stack has separate rows in the second part
	splits    int

	withoutParams bool   // do not compute the gradient of the parameters
	without       []bool // parts of the inputs without a gradient
}

// networkFixture holds a case's tensors on the device and their values.
type networkFixture struct {
	networkCase
	network            *Network
	row                int
	features           []int // of each input part
	rows, networks     int   // per network, over all members
	w                  Weights
	inputs             Inputs
	outputs, atOutputs *engine.Tensor
	gradients          Gradients
	pv, nv, dv         []float32   // parameters, normalizer, gradient at the outputs
	xv                 [][]float32 // parts of the inputs
}

const (
	testBase  = 8
	testLimit = 1.5
)

// network makes the network of a case in the requested form.
func (c networkCase) network(t *testing.T, s *engine.State, rows int) *Network {
	t.Helper()
	n, err := NewStack(s, c.net, c.members, c.stack, rows)
	if c.layered {
		if n, err = newNetwork(c.net, c.members, c.stack, rows); err == nil {
			n, err = n.byLayers(s)
		}
	}
	if l, ok := n.form.(*layered); ok && c.gpu {
		l.info = asGPU(l.info)
	}
	if l, ok := n.form.(*layered); ok && c.groups > 0 {
		l.info.Limits.MaxGroups[0] = uint32(c.groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// axes returns the axes of rows of features: separate for every network, or shared by a member's networks.
func (c networkCase) axes(own bool, last string, n int) []engine.Dim {
	var dims []engine.Dim
	if c.outer > 1 {
		dims = append(dims, engine.Time(c.outer))
	}
	dims = append(dims, engine.Members(c.members))
	if own && c.stack > 1 {
		dims = append(dims, Networks(c.stack))
	}
	return append(dims, engine.Axis("row", c.inner), engine.Axis(last, n))
}

func (c networkCase) fixture(t *testing.T, s *engine.State) *networkFixture {
	t.Helper()
	c.stack, c.outer, c.splits = max(c.stack, 1), max(c.outer, 1), max(c.splits, 1)
	f := &networkFixture{networkCase: c, rows: c.outer * c.inner, networks: c.members * c.stack, features: []int{c.net.Inputs().Size()}}
	capacity := c.capacity
	if capacity == 0 {
		capacity = f.rows
	}
	f.network = f.networkCase.network(t, s, capacity)
	if c.first > 0 {
		f.features = []int{c.first, c.net.Inputs().Size() - c.first}
	}
	f.row = Align(testBase + c.net.Size() + 3)
	p := []engine.Dim{engine.Members(c.members)}
	if c.stack > 1 {
		p = append(p, Networks(c.stack))
	}
	row := append(p, engine.Axis("parameter", f.row))
	params := s.Tensor("params", engine.Float32, row...)
	f.w = Weights{Params: params, Base: testBase}
	f.outputs = s.Tensor("outputs", engine.Float32, f.axes(true, "out", c.net.Outputs())...)
	f.atOutputs = s.Tensor("at_outputs", engine.Float32, f.axes(true, "out", c.net.Outputs())...)
	f.gradients.Params = s.Tensor("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", c.splits)}, row...)...)
	f.inputs.Limit = testLimit
	for i, n := range f.features {
		own := c.own && i == 1
		f.inputs.Parts = append(f.inputs.Parts, s.Tensor(fmt.Sprint("inputs_", i), engine.Float32, f.axes(own, "in", n)...))
		f.gradients.Inputs = append(f.gradients.Inputs, s.Tensor(fmt.Sprint("at_inputs_", i), engine.Float32, f.axes(true, "in", n)...))
	}
	normalizer := s.Tensor("normalizer", engine.Float32, engine.Members(c.members), engine.Axis("moment", 2), engine.Axis("in", f.features[0]))
	if c.normalize {
		f.inputs.Normalizer = normalizer
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	f.pv, f.nv, f.dv = normals(params.Len()), normals(normalizer.Len()), normals(f.outputs.Len())
	for i := range f.pv {
		f.pv[i] *= 0.5
	}
	fill(t, params, f.pv)
	fill(t, normalizer, f.nv)
	fill(t, f.atOutputs, f.dv)
	for _, x := range f.inputs.Parts {
		f.xv = append(f.xv, normals(x.Len()))
		fill(t, x, f.xv[len(f.xv)-1])
	}
	for _, x := range append(f.gradients.Inputs, f.outputs, f.gradients.Params) {
		fill(t, x, nil)
	}
	return f
}

// wanted returns the gradients that the case asks for.
func (f *networkFixture) wanted() Gradients {
	g := Gradients{Params: f.gradients.Params, Inputs: append([]*engine.Tensor(nil), f.gradients.Inputs...)}
	if f.withoutParams {
		g.Params = nil
	}
	for i, without := range f.without {
		if without {
			g.Inputs[i] = nil
		}
	}
	return g
}

// place returns the index of row i of network n among the rows of all networks.
func (f *networkFixture) place(n, networks, i int) int {
	return (i/f.inner*networks+n)*f.inner + i%f.inner
}

// input returns row i of network n in float64, normalized.
func (f *networkFixture) input(n, i int) []float64 {
	var x []float64
	for part, features := range f.features {
		at := f.place(n/f.stack, f.members, i)
		if f.own && part == 1 {
			at = f.place(n, f.networks, i)
		}
		for k := range features {
			v := float64(f.xv[part][at*features+k])
			if f.normalize && part == 0 {
				m := n / f.stack
				v = (v - float64(f.nv[2*m*features+k])) * float64(f.nv[(2*m+1)*features+k])
				v = min(max(v, -testLimit), testLimit)
			}
			x = append(x, v)
		}
	}
	return x
}

// check compares the outputs, and the gradients if back is true, with the reference.
func (f *networkFixture) check(t *testing.T, back bool) {
	t.Helper()
	net := f.net
	yv, gv := read(t, f.outputs), read(t, f.gradients.Params)
	var dxv [][]float32
	for _, x := range f.gradients.Inputs {
		dxv = append(dxv, read(t, x))
	}
	for n := range f.networks {
		ref := newReference(net, f.pv[n*f.row+testBase:])
		sum := make([]float64, net.Size())
		var got, want []float64
		for i := range f.rows {
			at := f.place(n, f.networks, i)
			y, dy := ref.forward(f.input(n, i)), make([]float64, net.Outputs())
			for o := range y {
				got, want = append(got, float64(yv[at*net.Outputs()+o])), append(want, y[o])
				dy[o] = float64(f.dv[at*net.Outputs()+o])
			}
			dx := ref.backward(dy, sum)
			for part, features := range f.features {
				for k := range features {
					v := dxv[part][at*features+k]
					if back && f.wanted().Inputs[part] != nil {
						got, want = append(got, float64(v)), append(want, dx[k])
					} else if !isPoison(v) {
						t.Fatalf("network %d: the gradient at input part %d was written", n, part)
					}
				}
				dx = dx[features:]
			}
		}
		closeTo(t, fmt.Sprintf("network %d: outputs and gradients at inputs", n), got, want)
		f.checkParams(t, n, gv, sum, back && !f.withoutParams)
	}
}

// checkParams compares the gradient of network n's parameters, added over splits, with sum. It also checks that no
// other element was written.
func (f *networkFixture) checkParams(t *testing.T, n int, values []float32, sum []float64, wanted bool) {
	t.Helper()
	got := make([]float64, len(sum))
	for part := range f.splits {
		for i := range f.row {
			g := values[(part*f.networks+n)*f.row+i]
			if inside := i >= testBase && i < testBase+len(sum); inside && wanted {
				got[i-testBase] += float64(g)
			} else if !isPoison(g) {
				t.Fatalf("network %d: float %d of the row, outside the network, was written", n, i)
			}
		}
	}
	if wanted {
		closeTo(t, fmt.Sprintf("network %d: gradients of parameters", n), got, sum)
	}
}

// step records a pass and the gradients that the case asks for.
func (f *networkFixture) step(pass *Pass) func(r *engine.Recorder) {
	return func(r *engine.Recorder) {
		pass.Forward(r, f.w, f.inputs, f.outputs)
		pass.Backward(r, f.atOutputs, f.wanted())
	}
}

func (c networkCase) run(t *testing.T) {
	s := testState(t)
	c.fixture(t, s).run(t, s)
}

// run evaluates the network and, where it can, makes a pass back and evaluates it again; it checks all that they wrote.
func (f *networkFixture) run(t *testing.T, s *engine.State) {
	t.Helper()
	if f.outer > 1 || f.capacity > 0 {
		record(t, s, func(r *engine.Recorder) { f.network.Evaluate(r, f.w, f.inputs, f.outputs) })
		f.check(t, false)
		return
	}
	pass, err := f.network.NewPass(s, f.rows)
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, f.step(pass))
	f.check(t, true)
	fill(t, f.outputs, nil)
	record(t, s, func(r *engine.Recorder) { f.network.Evaluate(r, f.w, f.inputs, f.outputs) })
	f.check(t, true)
}

// closeTo compares values; tolerances are relative to the largest element.
func closeTo(t *testing.T, what string, got, want []float64) {
	t.Helper()
	size := 1.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 3e-5*size) {
			t.Fatalf("%s: element %d: %v, want %v", what, i, got[i], want[i])
		}
	}
}

// forms runs a case in both forms.
func (c networkCase) forms(t *testing.T, name string) {
	for form, layered := range map[string]bool{"lanes": false, "layered": true} {
		c.layered = layered
		t.Run(name+"/"+form, c.run)
	}
}

// Every activation, with and without layer normalization, in both forms.
func TestNetworkActivations(t *testing.T) {
	for _, activation := range []Activation{ReLU, Tanh, ELU, Swish, GELU} {
		for _, norm := range []bool{false, true} {
			// An instrumented kernel takes seconds to compile; these two cases cover the code paths of the others.
			if testing.Short() && !(activation == Tanh && !norm || activation == Swish && norm) {
				continue
			}
			net := MLP{In: 4, Out: 2, Hidden: []int{8, 12}, Activation: activation, LayerNorm: norm}
			networkCase{net: net, members: 3, inner: 13, normalize: norm, splits: 2}.forms(t, fmt.Sprint(net))
		}
	}
}

// Networks of many shapes, in the form that New chooses and in the other.
func TestNetworkShapes(t *testing.T) {
	for _, c := range []networkCase{
		{net: MLP{In: 5, Out: 3}, members: 2, inner: 11, normalize: true},
		{net: MLP{In: 5, Out: 1, Hidden: []int{5}, Activation: Tanh}, members: 2, inner: 9},
		{net: MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Swish, LayerNorm: true}, members: 2, inner: 13, splits: 2},
		{net: MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: ReLU}, members: 2, inner: 9},
		{net: MLP{In: 4, Out: 2, Hidden: []int{7, 32}, Activation: Tanh}, members: 2, inner: 9},
		{net: MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: ReLU}, layered: true, members: 2, inner: 20, splits: 3},
		{net: MLP{In: 4, Out: 2, Hidden: []int{32, 32}, Activation: Swish, LayerNorm: true}, members: 1, inner: 9},
		{net: MLP{In: 6, Out: 9, Hidden: []int{33, 17, 9}, Activation: ELU, LayerNorm: true}, members: 2, inner: 10},
		{net: MLP{In: 7, Out: 4, Hidden: []int{256, 256}, Activation: ReLU}, members: 2, inner: 17},
		{net: MLP{In: 3, Out: 2, Hidden: []int{256, 256}, Activation: Tanh, LayerNorm: true}, members: 1, inner: 5},
	} {
		if testing.Short() && c.net.Layers()[0].Out > 33 {
			continue
		}
		t.Run(fmt.Sprint(c.net, "/", c.layered), c.run)
	}
}

// TestNetworkNarrow tests the backward step of last layers with few outputs, for which software drivers have a kernel: with more
// units than a workgroup takes, rows that do not fill a turn of its loop, splits without rows, and without gradients of parameters.
func TestNetworkNarrow(t *testing.T) {
	for _, c := range []networkCase{
		{net: MLP{In: 3, Out: 6, Hidden: []int{37}, Activation: Swish}, members: 2, inner: 21, splits: 2},
		{net: MLP{In: 3, Out: 8, Hidden: []int{9, 70}, Activation: Tanh}, members: 1, stack: 2, inner: 9, splits: 4},
		{net: MLP{In: 3, Out: 1, Hidden: []int{35}, Activation: ELU}, members: 3, inner: 1},
		{net: MLP{In: 3, Out: 4, Hidden: []int{33}, Activation: ReLU}, members: 2, inner: 12, withoutParams: true},
		{net: MLP{In: 4, Out: 2, Hidden: []int{8, 34}, Activation: GELU}, members: 2, inner: 11, splits: 2},
	} {
		c.layered = true
		t.Run(fmt.Sprint(c.net), c.run)
	}
}

// TestNetworkManyRows: batches of more rows than lavapipe allows loop iterations per invocation, in one split: for the sums of
// columns, and for last layers with few outputs.
func TestNetworkManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds of processor time and more; make validate runs it")
	}
	for _, c := range []networkCase{
		{net: MLP{In: 1, Out: 9, Hidden: []int{4}, Activation: ReLU}, members: 1, inner: 66000, splits: 1},
		{net: MLP{In: 1, Out: 5, Hidden: []int{4}, Activation: ReLU}, members: 1, inner: 262200, withoutParams: true},
	} {
		c.layered = true
		t.Run(fmt.Sprint(c.net), c.run)
	}
}

// TestNetworkManyGroups: normalized layers and copied inputs of more rows than a dispatch has workgroups for.
func TestNetworkManyGroups(t *testing.T) {
	c := networkCase{net: MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Tanh, LayerNorm: true}, layered: true, members: 2, normalize: true, groups: 2}
	c.inner = 5*64 + 3
	t.Run("a pass", c.run)
	c.outer = 2
	t.Run("trajectories", c.run)
}

// Trajectories [T, M, E, …], in chunks smaller than the number of rows.
func TestNetworkTrajectories(t *testing.T) {
	for _, normalize := range []bool{false, true} {
		net := MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Tanh}
		c := networkCase{net: net, members: 2, outer: 5, inner: 3, capacity: 4, normalize: normalize}
		c.forms(t, fmt.Sprint("normalize ", normalize))
		c.stack, c.first = 2, 2
		c.forms(t, fmt.Sprint("normalize ", normalize, " twins of parts"))
	}
}

// With the ends of episodes, rows at ends and of the last step have the same outputs as otherwise, to the last bit. Networks in lanes leave the others as
// they are.
func TestNetworkEnds(t *testing.T) {
	net := MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Tanh}
	for _, c := range []networkCase{
		{net: net, members: 2, outer: 1, inner: 3}, {net: net, members: 3, outer: 67, inner: 5, normalize: true},
		{net: net, members: 1, outer: 700, inner: 3}, {net: net, members: 2, outer: 9, inner: 5, layered: true},
	} {
		for _, share := range []float64{0, 0.05, 0.5, 1} {
			s := testState(t)
			f := c.fixture(t, s)
			ends := s.Tensor("ends", engine.Uint32, engine.Time(f.outer), engine.Members(f.members), engine.Environments(f.inner))
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			record(t, s, func(r *engine.Recorder) { f.network.Evaluate(r, f.w, f.inputs, f.outputs) })
			all := read(t, f.outputs)
			words := make([]uint32, ends.Len())
			for i := range words {
				if rand.Float64() < share {
					words[i] = 1 + rand.Uint32N(3)
				}
			}
			if err := ends.WriteUint32(t.Context(), words); err != nil {
				t.Fatal(err)
			}
			fill(t, f.outputs, nil)
			in := f.inputs
			in.Ends = ends
			record(t, s, func(r *engine.Recorder) { f.network.Evaluate(r, f.w, in, f.outputs) })
			for i, y := range read(t, f.outputs) {
				row := i / net.Out
				switch needed := words[row] != 0 || row >= (f.outer-1)*f.members*f.inner; {
				case needed && y != all[i]:
					t.Fatalf("%v, share %v: row %d: %v, want %v", c, share, row, y, all[i])
				case !needed && !c.layered && !isPoison(y):
					t.Fatalf("%v, share %v: row %d, which is not needed, is %v", c, share, row, y)
				}
			}
		}
	}
}

// Inputs of two parts, with gradients at both, one or none of them, with and without the parameters' gradient.
func TestNetworkParts(t *testing.T) {
	wide := MLP{In: 7, Out: 3, Hidden: []int{6, 9}, Activation: Tanh}
	norm := MLP{In: 7, Out: 3, Hidden: []int{9}, Activation: Swish, LayerNorm: true}
	for _, c := range []networkCase{
		{net: wide, members: 1, inner: 11, first: 5, splits: 2},
		{net: wide, members: 3, inner: 11, first: 4, withoutParams: true, without: []bool{true, false}},
		{net: wide, members: 17, inner: 5, first: 1, withoutParams: true},
		{net: wide, members: 3, inner: 7, first: 3, normalize: true, without: []bool{false, true}},
		{net: norm, members: 3, inner: 9, first: 6, splits: 3},
		{net: norm, members: 2, inner: 9, first: 2, normalize: true, withoutParams: true, without: []bool{true}},
		{net: wide, members: 2, inner: 11, capacity: 3, first: 5},
		{net: norm, members: 2, inner: 11, capacity: 3, first: 5},
	} {
		c.forms(t, fmt.Sprintf("%v/%d members/first %d/normalize %v/without %v %v", c.net, c.members, c.first, c.normalize, c.withoutParams, c.without))
	}
	networkCase{net: MLP{In: 5, Out: 2}, members: 3, inner: 7, first: 2, splits: 2}.run(t)
	networkCase{net: MLP{In: 5, Out: 2}, members: 3, inner: 7, first: 2, without: []bool{true}}.run(t)
}

// Stacks of networks with shared inputs, or with one part separate for each network.
func TestNetworkStacks(t *testing.T) {
	net := MLP{In: 5, Out: 1, Hidden: []int{7, 6}, Activation: ReLU}
	norm := MLP{In: 5, Out: 2, Hidden: []int{6, 10}, Activation: ELU, LayerNorm: true}
	for _, c := range []networkCase{
		{net: net, members: 1, stack: 2, inner: 9, splits: 2},
		{net: net, members: 3, stack: 2, inner: 9, first: 3},
		{net: net, members: 17, stack: 4, inner: 3, first: 4, own: true},
		{net: norm, members: 3, stack: 2, inner: 7, first: 3, own: true, normalize: true},
		{net: norm, members: 3, stack: 3, inner: 7, withoutParams: true},
	} {
		c.forms(t, fmt.Sprintf("%v/%d members/%d networks/first %d", c.net, c.members, c.stack, c.first))
	}
	networkCase{net: MLP{In: 5, Out: 2}, members: 3, stack: 2, inner: 7, first: 2, own: true}.run(t)
}

// A stack of twin critics is bit-identical to two separate networks.
func TestStackEqualsNetworks(t *testing.T) {
	for _, layered := range []bool{false, true} {
		t.Run(fmt.Sprint("layered ", layered), func(t *testing.T) {
			s := testState(t)
			c := networkCase{net: MLP{In: 5, Out: 1, Hidden: []int{12, 8}, Activation: ReLU}, layered: layered, members: 3, stack: 2, inner: 13, first: 3}
			f := c.fixture(t, s)
			pass, err := f.network.NewPass(s, f.rows)
			if err != nil {
				t.Fatal(err)
			}
			record(t, s, func(r *engine.Recorder) {
				pass.Forward(r, f.w, f.inputs, f.outputs)
				pass.Backward(r, f.atOutputs, f.gradients)
			})
			f.check(t, true)
			y, g, da := read(t, f.outputs), read(t, f.gradients.Params), read(t, f.gradients.Inputs[1])
			for twin := range 2 {
				compareTwin(t, f, twin, y, g, da)
			}
		})
	}
}

// compareTwin evaluates one network of each member's stack separately and checks that outputs and gradients are
// bit-identical to the stack's.
func compareTwin(t *testing.T, f *networkFixture, twin int, outputs, gradient, atActions []float32) {
	t.Helper()
	s := testState(t)
	c := f.networkCase
	c.stack = 1
	one := c.fixture(t, s)
	of := func(values []float32) []float32 { // the network's part of the stack's values
		n := len(values) / f.networks
		var own []float32
		for m := range f.members {
			own = append(own, values[(m*f.stack+twin)*n:][:n]...)
		}
		return own
	}
	fill(t, one.w.Params, of(f.pv))
	fill(t, one.atOutputs, of(f.dv))
	for i, x := range one.inputs.Parts {
		fill(t, x, f.xv[i])
	}
	pass, err := one.network.NewPass(s, one.rows)
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, func(r *engine.Recorder) {
		pass.Forward(r, one.w, one.inputs, one.outputs)
		pass.Backward(r, one.atOutputs, one.gradients)
	})
	for what, pair := range map[string][2][]float32{
		"outputs":             {read(t, one.outputs), of(outputs)},
		"gradient":            {read(t, one.gradients.Params), of(gradient)},
		"gradient at actions": {read(t, one.gradients.Inputs[1]), of(atActions)},
	} {
		for i, v := range pair[0] {
			if math.Float32bits(v) != math.Float32bits(pair[1][i]) {
				t.Fatalf("network %d: %s: element %d is %v alone and %v in the stack", twin, what, i, v, pair[1][i])
			}
		}
	}
}
