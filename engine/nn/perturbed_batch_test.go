package nn

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPerturbedBatch: low-rank networks that share a batch equal those whose matrices are formed in float64: dense ones and convolutions, with and without
// a product for all networks, in parts of the batch that do not divide it.
func TestPerturbedBatch(t *testing.T) {
	const part = 4 // images at a time, of batches of more
	for name, c := range map[string]perturbedCase{
		"dense": {model: MLP{In: 15, Hidden: []int{21, 9}, Out: 7, Activation: Tanh}, rank: 2, members: 2, each: 5, rows: 11},
		"wide": {model: MLP{In: 70, Hidden: []int{37, 24}, Out: 10, Activation: ReLU}, rank: 1, members: 1, each: 6, rows: 33, first: 3, mirrored: true,
			capacity: 33},
		"linear": {model: MLP{In: 9, Out: 5}, rank: 3, members: 2, each: 3, rows: 6},
		"images": {model: Sequential{In: Shape{7, 9, 1}, Hidden: []LayerConfig{window(6, 5, 1, Same, ReLU), {Kind: MaxPool, Kernel: 2},
			window(5, 3, 1, Same, Tanh)}, Out: 10}, rank: 1, members: 2, each: 4, rows: 9, mirrored: true},
		"diagonal": {model: Sequential{In: Shape{8, 6, 4}, Hidden: []LayerConfig{window(8, 3, 2, Valid, GELU), units(13, Tanh)}, Out: 3}, rank: 5, members: 1,
			each: 3, rows: 7, diagonal: true},
		"pool": {model: Sequential{In: Shape{8, 8, 1}, Hidden: []LayerConfig{{Kind: AveragePool, Kernel: 2}, units(12, Tanh)}, Out: 4}, rank: 2, members: 2,
			each: 3, rows: 5},
		"layer norm": {model: Sequential{In: Shape{6, 5, 2}, Hidden: []LayerConfig{window(7, 3, 1, Same, ReLU), units(9, Tanh)}, Out: 4, LayerNorm: true},
			rank: 2, members: 2, each: 3, rows: 6},
	} {
		if c.capacity == 0 {
			c.capacity = part
		}
		t.Run(name, c.runBatch)
		c.apart = true
		t.Run(name+" apart", c.runBatch)
	}
}

func (c perturbedCase) runBatch(t *testing.T) {
	x := c.make(t, func(s *engine.State) (*Network, error) {
		return NewPerturbedBatch(s, c.model, c.rank, c.members, c.each, c.capacity)
	})
	s, m, b := x.state, engine.Members(c.members), engine.Axis("row", c.rows)
	l := x.network.form.(*layered)
	l.apart = c.apart
	in, out := c.model.Inputs().Size(), c.model.Outputs()
	inputs := s.Scratch("batch", engine.Float32, m, b, engine.Axis("feature", in))
	outputs := s.Scratch("outputs", engine.Float32, m, Networks(c.each), b, engine.Axis("output", out))
	values := normals(inputs.Len())
	fill(t, inputs, values)
	fill(t, outputs, nil)
	poisonScratch(t, l)
	for _, scratch := range []*engine.Tensor{l.start.product, l.start.patches} {
		if scratch != nil {
			fill(t, scratch, nil)
		}
	}
	record(t, s, func(r *engine.Recorder) {
		x.network.Evaluate(r, x.weights, Inputs{Parts: []*engine.Tensor{inputs}}, outputs)
	})
	got := read(t, outputs)
	for member := range c.members {
		for network := range c.each {
			ref := newReference(c.model, x.params)
			ref.row = x.formed(member, network)
			for i := range c.rows {
				at := (member*c.each+network)*c.rows + i
				closeTo(t, "outputs", widened(got[at*out:][:out]), ref.forward(widened(values[(member*c.rows+i)*in:][:in])))
			}
		}
	}
}

// TestPerturbedBatchErrors: what is no batch of a network without memory is refused.
func TestPerturbedBatchErrors(t *testing.T) {
	s := testState(t)
	model := Recurrent{In: 3, Out: 2, Cell: GRU, Units: 4}
	if _, err := NewPerturbedBatch(s, model, 1, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "has memory") {
		t.Errorf("%v: %v; want that it has memory", model, err)
	}
	c := perturbedCase{model: MLP{In: 3, Out: 2}, rank: 1, members: 2, each: 4}
	x := c.make(t, func(s *engine.State) (*Network, error) {
		return NewPerturbedBatch(s, c.model, c.rank, c.members, c.each, 5)
	})
	m, feature := engine.Members(c.members), engine.Axis("feature", 3)
	outputs := x.state.Scratch("outputs", engine.Float32, m, Networks(c.each), engine.Axis("row", 5), engine.Axis("output", 2))
	batch := x.state.Scratch("batch", engine.Float32, m, engine.Axis("row", 5), feature)
	for name, in := range map[string]Inputs{
		"own rows":   {Parts: []*engine.Tensor{x.state.Scratch("rows", engine.Float32, m, Networks(c.each), engine.Axis("row", 5), feature)}},
		"more rows":  {Parts: []*engine.Tensor{x.state.Scratch("more", engine.Float32, m, engine.Axis("row", 6), feature)}},
		"normalized": {Parts: []*engine.Tensor{batch}, Normalizer: x.state.Scratch("normalizer", engine.Float32, m, engine.Axis("moment", 2), feature)},
	} {
		if _, err := x.state.Engine().Record(name, func(r *engine.Recorder) { x.network.Evaluate(r, x.weights, in, outputs) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
