package nn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// Two open passes of one network, with an evaluation between them, do not affect each other. The second has no use for outputs, which only layers write.
func TestPassesOpen(t *testing.T) {
	for _, layered := range []bool{false, true} {
		for _, net := range []MLP{
			{In: 5, Out: 2, Hidden: []int{12, 8}, Activation: Tanh},
			{In: 5, Out: 2, Hidden: []int{7, 8}, Activation: Swish, LayerNorm: true},
		} {
			t.Run(fmt.Sprint(net, "/layered ", layered), func(t *testing.T) {
				s := testState(t)
				c := networkCase{net: net, layered: layered, members: 3, inner: 11, first: 3}
				a := c.fixture(t, s.Sub("a"))
				b := c.fixture(t, s.Sub("b"))
				first, err := a.network.NewPass(s.Sub("first"), a.rows)
				if err != nil {
					t.Fatal(err)
				}
				second, err := a.network.NewPass(s.Sub("second"), b.rows)
				if err != nil {
					t.Fatal(err)
				}
				aside := s.Scratch("aside", engine.Float32, a.outputs.Dims()...)
				record(t, s, func(r *engine.Recorder) {
					first.Forward(r, a.w, a.inputs, a.outputs)
					written := second.Open(r, b.w, b.inputs, b.outputs)
					if written != layered {
						t.Errorf("outputs written: %v", written)
					}
					a.network.Evaluate(r, b.w, a.inputs, aside)
					first.Backward(r, a.atOutputs, a.gradients)
					second.Backward(r, b.atOutputs, b.gradients)
					if !written {
						b.network.Evaluate(r, b.w, b.inputs, b.outputs)
					}
				})
				a.check(t, true)
				b.check(t, true)
			})
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	s := testState(t)
	net := MLP{In: 3, Out: 2, Hidden: []int{7}}
	const members, rows = 2, 6
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor {
		return s.Tensor(name, engine.Float32, append([]engine.Dim{engine.Members(members)}, dims...)...)
	}
	row := engine.Axis("parameter", Align(net.Size()))
	params, narrow := tensor("params", row), tensor("narrow", engine.Axis("parameter", Align(net.Size())-4))
	x, y := tensor("x", engine.Axis("row", rows), engine.Axis("in", 3)), tensor("y", engine.Axis("row", rows), engine.Axis("out", 2))
	two, five := tensor("two", engine.Axis("row", rows), engine.Axis("in", 2)), tensor("five", engine.Axis("row", 5), engine.Axis("in", 3))
	short, many := tensor("short", engine.Axis("out", 2*5)), tensor("many", engine.Axis("row", rows+1), engine.Axis("out", 2))
	long := tensor("long", engine.Axis("row", rows+1), engine.Axis("in", 3))
	gradient := s.Tensor("gradient", engine.Float32, engine.Axis("split", 1), engine.Members(members), row)
	others := s.Tensor("others", engine.Float32, engine.Members(3), engine.Axis("row", rows), engine.Axis("in", 3))
	trajectory := s.Tensor("trajectory", engine.Float32, engine.Time(2), engine.Members(members), engine.Axis("environment", 3), engine.Axis("in", 3))
	values := s.Tensor("values", engine.Float32, engine.Time(2), engine.Members(members), engine.Axis("environment", 3), engine.Axis("out", 2))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	w := Weights{Params: params}
	of := func(parts ...*engine.Tensor) Inputs { return Inputs{Parts: parts} }
	forward := func(w Weights, in Inputs, outputs *engine.Tensor) func(*engine.Recorder, *Pass) {
		return func(r *engine.Recorder, p *Pass) { p.Forward(r, w, in, outputs) }
	}
	backward := func(at *engine.Tensor, g Gradients) func(*engine.Recorder, *Pass) {
		return func(r *engine.Recorder, p *Pass) {
			p.Forward(r, w, of(x), y)
			p.Backward(r, at, g)
		}
	}
	for _, c := range []struct {
		name, want string
		f          func(*engine.Recorder, *Pass)
	}{
		{"outputs too short", "short", forward(w, of(x), short)},
		{"normalizer", "normalizer short", forward(w, Inputs{Parts: []*engine.Tensor{x}, Normalizer: short}, y)},
		{"ends", "ends values", forward(w, Inputs{Parts: []*engine.Tensor{x}, Ends: values}, y)},
		{"no inputs", "0 parts", forward(w, of(), y)},
		{"three parts", "3 parts", forward(w, of(x, x, x), y)},
		{"features of parts", "5 features; want 3", forward(w, of(x, two), y)},
		{"rows of parts", "five", forward(w, of(five), y)},
		{"members of inputs", "others", forward(w, of(others), y)},
		{"rows beyond the pass", "7 rows; it has room for 6", forward(w, of(long), many)},
		{"trajectories", "not contiguous", forward(w, of(trajectory), values)},
		{"parameters too few", "rows of 40; want at least 44", forward(Weights{Params: narrow}, of(x), y)},
		{"base", "multiples of 4", forward(Weights{Params: params, Base: 2}, of(x), y)},
		{"backward first", "not open", func(r *engine.Recorder, p *Pass) { p.Backward(r, y, Gradients{Params: gradient}) }},
		{"backward twice", "not open", func(r *engine.Recorder, p *Pass) {
			p.Forward(r, w, of(x), y)
			p.Backward(r, y, Gradients{Params: gradient})
			p.Backward(r, y, Gradients{Params: gradient})
		}},
		{"backward of a released pass", "not open", func(r *engine.Recorder, p *Pass) {
			p.Forward(r, w, of(x), y)
			p.Release()
			p.Backward(r, y, Gradients{Params: gradient})
		}},
		{"forward of an open pass", "overwrites", func(r *engine.Recorder, p *Pass) {
			p.Forward(r, w, of(x), y)
			p.Forward(r, w, of(x), y)
		}},
		{"gradient of outputs", "gradient short", backward(short, Gradients{Params: gradient})},
		{"gradient of a vector", "gradient short", backward(y, Gradients{Params: short})},
		{"gradient at inputs", "gradient y", backward(y, Gradients{Inputs: []*engine.Tensor{y}})},
		{"gradient at a second part", "2 parts of the inputs, which have 1", backward(y, Gradients{Inputs: []*engine.Tensor{x, x}})},
		{"gradient of a pass that does not learn", "does not learn", func(r *engine.Recorder, p *Pass) {
			p.Forward(r, w, of(x), y)
			p.Gradient(r, y)
		}},
		{"no gradient", "without a gradient", backward(y, Gradients{Inputs: []*engine.Tensor{nil}})},
	} {
		for _, layered := range []bool{false, true} {
			n := networkCase{net: net, layered: layered, members: members, stack: 1}.network(t, s.Sub(fmt.Sprint(c.name, layered)), rows)
			pass, err := n.NewPass(s.Sub(fmt.Sprint(c.name, layered, "pass")), rows)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Engine().Record(c.name, func(r *engine.Recorder) { c.f(r, pass) }); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, layered %v: error %v; want one with %q", c.name, layered, err, c.want)
			}
		}
	}
}

// A pass accepts another Forward after Release, or after its recording ended.
func TestPassAgain(t *testing.T) {
	s := testState(t)
	f := networkCase{net: MLP{In: 3, Out: 2, Hidden: []int{7}, Activation: Tanh}, members: 2, inner: 5}.fixture(t, s)
	pass, err := f.network.NewPass(s, f.rows)
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, func(r *engine.Recorder) { pass.Forward(r, f.w, f.inputs, f.outputs) })
	record(t, s, func(r *engine.Recorder) {
		pass.Forward(r, f.w, f.inputs, f.outputs)
		pass.Release()
		pass.Forward(r, f.w, f.inputs, f.outputs)
		pass.Backward(r, f.atOutputs, f.gradients)
	})
	f.check(t, true)
}

func TestNewErrors(t *testing.T) {
	s := testState(t)
	net := MLP{In: 3, Out: 2, Hidden: []int{7}}
	if _, err := New(s, net, 0, 6); err == nil {
		t.Error("a network of no members: no error")
	}
	if _, err := NewStack(s, net, 1, 0, 6); err == nil {
		t.Error("a stack of no networks: no error")
	}
	if _, err := New(s, MLP{In: 3}, 1, 6); err == nil {
		t.Error("a network of no outputs: no error")
	}
	n, err := New(s, net, 1, 6)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.NewPass(s, 7); err == nil {
		t.Error("a pass over more rows than the network has room for: no error")
	}
	// The outputs and inputs of a stack must have the network axis.
	twins, err := NewStack(s, net, 1, 2, 6)
	if err != nil {
		t.Fatal(err)
	}
	p, rows := engine.Members(1), engine.Axis("row", 6)
	w := Weights{Params: s.Tensor("params", engine.Float32, p, Networks(2), engine.Axis("parameter", Align(net.Size())))}
	x := s.Tensor("x", engine.Float32, p, rows, engine.Axis("in", 3))
	three := s.Tensor("three", engine.Float32, p, Networks(3), rows, engine.Axis("in", 3))
	y, flat := s.Tensor("y", engine.Float32, p, Networks(2), rows, engine.Axis("out", 2)), s.Tensor("flat", engine.Float32, p, rows, engine.Axis("out", 2))
	for name, f := range map[string]func(*engine.Recorder){
		"outputs without the axis of networks": func(r *engine.Recorder) { twins.Evaluate(r, w, Inputs{Parts: []*engine.Tensor{x}}, flat) },
		"inputs of three networks":             func(r *engine.Recorder) { twins.Evaluate(r, w, Inputs{Parts: []*engine.Tensor{three}}, y) },
	} {
		if _, err := s.Engine().Record(name, f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPassLearns: Gradient writes what Backward does into a tensor of the pass; the floats behind the parameters are zero.
func TestPassLearns(t *testing.T) {
	for _, layered := range []bool{false, true} {
		s := testState(t)
		f := networkCase{net: MLP{In: 3, Out: 2, Hidden: []int{7}, Activation: Tanh}, layered: layered, members: 2, inner: 5}.fixture(t, s)
		pass, err := f.network.NewPass(s, f.rows)
		if err != nil {
			t.Fatal(err)
		}
		pass.Learn(s.Sub("learn"), f.w.Params)
		other := s.Scratch("other", engine.Float32, pass.Into().Dims()...)
		record(t, s, func(r *engine.Recorder) {
			r.Fill(other, 0)
			pass.Forward(r, f.w, f.inputs, f.outputs)
			if got := pass.Gradient(r, f.atOutputs); got != pass.Into() {
				t.Errorf("Gradient returns %v; want %v", got, pass.Into())
			}
			pass.Forward(r, f.w, f.inputs, f.outputs)
			pass.Backward(r, f.atOutputs, Gradients{Params: other})
		})
		got, err := pass.Into().ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := other.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || slices.Max(got) == 0 {
			t.Errorf("layered %v: the gradient is %v; want %v", layered, got, want)
		}
	}
}
