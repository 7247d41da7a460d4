package nn

import (
	"testing"

	"github.com/evorl/evorl/engine"
)

// Parts of so many rows that rows times parts exceeds 32 bits leave out none.
func TestEvaluateManyRows(t *testing.T) {
	const steps, rows = 3, 1 << 20
	s := testState(t)
	model := MLP{In: 1, Out: 1, Hidden: []int{1}, Activation: ReLU}
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Tensor(name, engine.Float32, dims...) }
	member := engine.Members(1)
	params := tensor("params", member, engine.Axis("parameter", Align(model.Size())))
	x := tensor("x", engine.Time(steps), member, engine.Axis("row", rows), engine.Axis("feature", 1))
	y := tensor("y", engine.Time(steps), member, engine.Axis("row", rows), engine.Axis("output", 1))
	net, err := New(s, model, 1, rows)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := net.form.(*inLanes); !ok || uint64(n.splits(steps*rows))*steps*rows < 1<<32 {
		t.Fatalf("%T; want a network in lanes, with so many parts that the product exceeds 32 bits", net.form)
	}
	values, ones := make([]float32, x.Len()), make([]float32, params.Len())
	for i := range values {
		values[i] = float32(1 + i%1001)
	}
	for i := range ones {
		ones[i] = 1
	}
	fill(t, x, values)
	fill(t, params, ones)
	fill(t, y, nil)
	record(t, s, func(r *engine.Recorder) {
		net.Evaluate(r, Weights{Params: params}, Inputs{Parts: []*engine.Tensor{x}}, y)
	})
	for i, got := range read(t, y) {
		if want := values[i] + 2; got != want { // two weights and two biases of 1
			t.Fatalf("output %d is %g; want %g", i, got, want)
		}
	}
}
