package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// The reference's way back against central differences of its way forward.
func TestReferenceGradient(t *testing.T) {
	for _, activation := range []Activation{Linear, Tanh, ELU, Swish} { // relu has a kink
		for _, norm := range []bool{false, true} {
			net := MLP{In: 3, Out: 2, Hidden: []int{5, 4}, Activation: activation, LayerNorm: norm}
			r := newReference(net, normals(net.Size()))
			x, dy := []float64{0.3, -1.2, 0.7}, []float64{1, -0.5}
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
}

// networkCase is a network in one of its forms on one batch.
type networkCase struct {
	net       MLP
	layered   bool // else the form that New chooses
	members   int
	outer     int // more than 1: forward only
	inner     int // rows of a member in each of outer blocks
	capacity  int // 0: all rows
	normalize bool
	splits    int
}

func (c networkCase) run(t *testing.T) {
	s := testState(t)
	net, rows := c.net, c.outer*c.inner
	capacity := c.capacity
	if capacity == 0 {
		capacity = rows
	}
	var network Network
	var err error
	if c.layered {
		network, err = NewLayered(s, net, c.members, capacity)
	} else {
		network, err = New(s, net, c.members, capacity)
	}
	if err != nil {
		t.Fatal(err)
	}
	const base, limit = 8, 1.5
	row := Align(base + net.Size() + 3)
	p := engine.Members(c.members)
	params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", row))
	axes := func(last string, n int) []engine.Dim {
		if c.outer == 1 {
			return []engine.Dim{p, engine.Axis("row", c.inner), engine.Axis(last, n)}
		}
		return []engine.Dim{engine.Time(c.outer), p, engine.Axis("row", c.inner), engine.Axis(last, n)}
	}
	inputs, outputs := s.Tensor("inputs", engine.Float32, axes("in", net.In)...), s.Tensor("outputs", engine.Float32, axes("out", net.Out)...)
	dOutputs, dInputs := s.Tensor("d_outputs", engine.Float32, axes("out", net.Out)...), s.Tensor("d_inputs", engine.Float32, axes("in", net.In)...)
	splits := max(c.splits, 1)
	gradient := s.Tensor("gradient", engine.Float32, engine.Axis("split", splits), p, engine.Axis("parameter", row))
	normalizer := s.Tensor("normalizer", engine.Float32, p, engine.Axis("moment", 2), engine.Axis("in", net.In))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	pv, xv, dv, nv := normals(params.Len()), normals(inputs.Len()), normals(outputs.Len()), normals(normalizer.Len())
	for i := range pv {
		pv[i] *= 0.5
	}
	fill(t, params, pv)
	fill(t, inputs, xv)
	fill(t, dOutputs, dv)
	fill(t, normalizer, nv)
	for _, x := range []*engine.Tensor{outputs, gradient, dInputs} {
		fill(t, x, nil)
	}
	w := Weights{Params: params, Base: base}
	if !c.normalize {
		normalizer = nil
	}
	record(t, s, func(r *engine.Recorder) {
		network.Forward(r, w, normalizer, limit, inputs, outputs)
		if c.outer == 1 {
			network.Backward(r, w, dOutputs, gradient, dInputs)
		}
	})

	yv, gv, dxv := read(t, outputs), read(t, gradient), read(t, dInputs)
	for m := range c.members {
		ref := newReference(net, pv[m*row+base:])
		sum := make([]float64, net.Size())
		var got, want []float64
		for i := range rows {
			at := (i/c.inner*c.members+m)*c.inner + i%c.inner
			x := make([]float64, net.In)
			for k := range x {
				x[k] = float64(xv[at*net.In+k])
				if c.normalize {
					v := float64(nv[m*2*net.In+k])
					x[k] = min(max((x[k]-v)*float64(nv[(m*2+1)*net.In+k]), -limit), limit)
				}
			}
			y, dy := ref.forward(x), make([]float64, net.Out)
			for o := range y {
				got, want = append(got, float64(yv[at*net.Out+o])), append(want, y[o])
				dy[o] = float64(dv[at*net.Out+o])
			}
			dx := ref.backward(dy, sum)
			if c.outer == 1 {
				for k := range dx {
					got, want = append(got, float64(dxv[at*net.In+k])), append(want, dx[k])
				}
			}
		}
		closeTo(t, fmt.Sprintf("member %d: outputs and gradients at inputs", m), got, want)
		if c.outer > 1 {
			continue
		}
		got = make([]float64, net.Size())
		for part := range splits {
			for i := range row {
				g := gv[(part*c.members+m)*row+i]
				if inside := i >= base && i < base+net.Size(); inside {
					got[i-base] += float64(g)
				} else if !isPoison(g) {
					t.Fatalf("member %d: float %d of the row, outside the network, was written", m, i)
				}
			}
		}
		closeTo(t, fmt.Sprintf("member %d: gradients of parameters", m), got, sum)
	}
}

// closeTo compares, the largest element being the scale of errors.
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

// Every activation with and without layer normalization, in both forms.
func TestNetworkActivations(t *testing.T) {
	for _, activation := range []Activation{ReLU, Tanh, ELU, Swish} {
		for _, norm := range []bool{false, true} {
			// An instrumented kernel takes seconds to compile: these two have all that the others have.
			if testing.Short() && !(activation == Tanh && !norm || activation == Swish && norm) {
				continue
			}
			net := MLP{In: 4, Out: 2, Hidden: []int{8, 12}, Activation: activation, LayerNorm: norm}
			t.Run(fmt.Sprint(net, "/stationary"), func(t *testing.T) {
				networkCase{net: net, members: 3, outer: 1, inner: 13, normalize: norm, splits: 2}.run(t)
			})
			t.Run(fmt.Sprint(net, "/layered"), func(t *testing.T) {
				networkCase{net: net, layered: true, members: 3, outer: 1, inner: 13, normalize: norm, splits: 2}.run(t)
			})
		}
	}
}

// Networks of all shapes, by the form that New chooses or by the other.
func TestNetworkShapes(t *testing.T) {
	for _, c := range []networkCase{
		{net: MLP{In: 5, Out: 3}, members: 2, outer: 1, inner: 11, normalize: true},
		{net: MLP{In: 5, Out: 1, Hidden: []int{5}, Activation: Tanh}, members: 2, outer: 1, inner: 9},
		{net: MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Swish, LayerNorm: true}, members: 2, outer: 1, inner: 13, splits: 2},
		{net: MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: ReLU}, members: 2, outer: 1, inner: 9},
		{net: MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: ReLU}, layered: true, members: 2, outer: 1, inner: 20, splits: 3},
		{net: MLP{In: 4, Out: 2, Hidden: []int{32, 32}, Activation: Swish, LayerNorm: true}, members: 1, outer: 1, inner: 9},
		{net: MLP{In: 6, Out: 9, Hidden: []int{33, 17, 9}, Activation: ELU, LayerNorm: true}, members: 2, outer: 1, inner: 10},
		{net: MLP{In: 7, Out: 4, Hidden: []int{256, 256}, Activation: ReLU}, members: 2, outer: 1, inner: 17},
		{net: MLP{In: 3, Out: 2, Hidden: []int{256, 256}, Activation: Tanh, LayerNorm: true}, members: 1, outer: 1, inner: 5},
	} {
		if testing.Short() && len(c.net.Hidden) > 0 && c.net.Hidden[0] > 33 {
			continue
		}
		t.Run(fmt.Sprint(c.net, "/", c.layered), c.run)
	}
}

// Trajectories [T, P, E, …], in turns of fewer rows than there are.
func TestNetworkTrajectories(t *testing.T) {
	for _, layered := range []bool{false, true} {
		for _, normalize := range []bool{false, true} {
			net := MLP{In: 3, Out: 2, Hidden: []int{7, 6}, Activation: Tanh}
			networkCase{net: net, layered: layered, members: 2, outer: 5, inner: 3, capacity: 4, normalize: normalize}.run(t)
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	s := testState(t)
	net := MLP{In: 3, Out: 2, Hidden: []int{7}}
	p := engine.Members(2)
	params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", Align(net.Size())))
	x, y := s.Tensor("x", engine.Float32, p, engine.Axis("in", 3*6)), s.Tensor("y", engine.Float32, p, engine.Axis("out", 2*6))
	short := s.Tensor("short", engine.Float32, p, engine.Axis("out", 2*5))
	gradient := s.Tensor("gradient", engine.Float32, engine.Axis("split", 1), p, engine.Axis("parameter", Align(net.Size())))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	w := Weights{Params: params}
	for name, f := range map[string]func(*engine.Recorder, Network){
		"outputs too short": func(r *engine.Recorder, n Network) { n.Forward(r, w, nil, 0, x, short) },
		"normalizer":        func(r *engine.Recorder, n Network) { n.Forward(r, w, short, 1, x, y) },
		"backward first":    func(r *engine.Recorder, n Network) { n.Backward(r, w, y, gradient, nil) },
		"gradient of outputs": func(r *engine.Recorder, n Network) {
			n.Forward(r, w, nil, 0, x, y)
			n.Backward(r, w, short, gradient, nil)
		},
		"gradient of a vector": func(r *engine.Recorder, n Network) { n.Forward(r, w, nil, 0, x, y); n.Backward(r, w, y, short, nil) },
	} {
		for _, layered := range []bool{false, true} {
			n, err := New(s, net, 2, 6)
			if layered {
				n, err = NewLayered(s, net, 2, 6)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Engine().Record(name, func(r *engine.Recorder) { f(r, n) }); err == nil {
				t.Errorf("%s, layered %v: no error", name, layered)
			}
		}
	}
	if _, err := New(s, net, 0, 6); err == nil {
		t.Error("a network of no members")
	}
	if _, err := New(s, MLP{In: 3}, 1, 6); err == nil {
		t.Error("a network of no outputs")
	}
}
