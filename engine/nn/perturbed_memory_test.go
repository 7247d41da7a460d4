package nn

import (
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPerturbedMemory: low-rank networks with memory take the steps of those whose matrices are formed in float64: cells alone, between layers and after
// convolutions, with few and many rows, of which some begin episodes.
func TestPerturbedMemory(t *testing.T) {
	for name, c := range map[string]perturbedCase{
		"one": {model: Recurrent{In: 3, Out: 2, Cell: GRU, Units: 5}, rank: 1, members: 1, each: 1, rows: 1},
		"gru": {model: Recurrent{In: 9, Out: 5, Before: []int{11}, Cell: GRU, Units: 13, After: []int{7}, Activation: Tanh}, rank: 2, members: 2, each: 7,
			rows: 5},
		"lstm":       {model: Recurrent{In: 5, Out: 3, Cell: LSTM, Units: 21}, rank: 1, members: 2, each: 6, rows: 3, first: 5, mirrored: true, head: 2},
		"lstm fours": {model: Recurrent{In: 5, Out: 3, Cell: LSTM, Units: 12}, rank: 2, members: 2, each: 4, rows: 3, mirrored: true},
		"half pairs": {model: Recurrent{In: 17, Out: 9, Cell: GRU, Units: 32}, rank: 5, members: 1, each: 6, rows: 4, first: 3, mirrored: true},
		"diagonal": {model: Recurrent{In: 4, Out: 6, Before: []int{30}, Cell: LSTM, Units: 10, Activation: ReLU}, rank: 3, members: 2, each: 8, rows: 3,
			mirrored: true, diagonal: true},
		"normalized": {model: Recurrent{In: 6, Out: 2, Cell: GRU, Units: 19}, rank: 4, members: 2, each: 3, rows: 6, normalize: true},
		"images": {model: Sequential{In: Shape{5, 4, 3}, Hidden: []LayerConfig{window(5, 3, 1, Same, ReLU), {Kind: GRU, Units: 9}, units(6, Tanh)}, Out: 4},
			rank: 2, members: 2, each: 3, rows: 4, mirrored: true},
		"layer norm": {model: Sequential{In: Shape{7}, Hidden: []LayerConfig{units(9, Tanh), {Kind: LSTM, Units: 6}, units(5, Tanh)}, Out: 3, LayerNorm: true},
			rank: 1, members: 2, each: 4, rows: 5},
	} {
		t.Run(name, c.runMemory)
		c.apart = true
		t.Run(name+" apart", c.runMemory)
	}
}

func (c perturbedCase) runMemory(t *testing.T) {
	const steps = 3
	x := c.make(t, func(s *engine.State) (*Network, error) {
		return NewPerturbed(s, c.model, c.rank, c.members, c.each, c.rows)
	})
	s, f := x.state, x.network.form.(*recurrent)
	f.before.apart, f.after.apart = c.apart, c.apart
	in, out, floats := c.model.Inputs().Size(), c.model.Outputs(), c.model.Memory()
	axes := func(more ...engine.Dim) []engine.Dim {
		return append([]engine.Dim{engine.Members(c.members), Networks(c.each), engine.Axis("row", c.rows)}, more...)
	}
	inputs := s.Scratch("inputs", engine.Float32, axes(engine.Axis("feature", in))...)
	outputs := s.Scratch("outputs", engine.Float32, axes(engine.Axis("output", out))...)
	memory, begins := s.Scratch("memory", engine.Float32, axes(engine.Axis("float", floats))...), s.Scratch("begins", engine.Uint32, axes()...)
	given := Inputs{Parts: []*engine.Tensor{inputs}, Memory: memory, Begins: Begins{Words: begins}}
	moments := normals(c.members * 2 * in)
	if c.normalize {
		given.Normalizer, given.Limit = s.Scratch("normalizer", engine.Float32, engine.Members(c.members), engine.Axis("moment", 2), engine.Axis("feature", in)), 1.5
		fill(t, given.Normalizer, moments)
	}
	program, err := s.Engine().Record(t.Name(), func(r *engine.Recorder) { x.network.Evaluate(r, x.weights, given, outputs) })
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	rows := c.members * c.each * c.rows
	kept, words := make([][]float64, rows), make([]uint32, rows)
	for step := range steps {
		values := normals(inputs.Len())
		fill(t, inputs, values)
		fill(t, outputs, nil)
		poisonScratch(t, f.before)
		poisonScratch(t, f.after)
		for _, scratch := range []*engine.Tensor{f.gates, f.product, f.hidden, f.projections} {
			fill(t, scratch, nil)
		}
		for i := range words {
			words[i] = 0
			if step == 0 || (step+i)%3 == 0 { // at first the memory is poison
				words[i], kept[i] = 4, make([]float64, floats)
			}
		}
		if err := begins.WriteUint32(t.Context(), words); err != nil {
			t.Fatal(err)
		}
		if step == 0 {
			fill(t, memory, nil)
		}
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, after := read(t, outputs), read(t, memory)
		for i := range rows {
			member := i / (c.each * c.rows)
			host, err := NewHost(c.model.Layers(), x.params[member*x.row:][:x.row], in)
			if err != nil {
				t.Fatal(err)
			}
			host.row = x.formed(member, i/c.rows%c.each)
			sample := widened(values[i*in:][:in])
			for k := range sample {
				if c.normalize {
					sample[k] = min(1.5, max(-1.5, (sample[k]-float64(moments[member*2*in+k]))*float64(moments[(member*2+1)*in+k])))
				}
			}
			want := host.Evaluate(sample, kept[i])
			closeTo(t, "outputs", widened(got[i*out:][:out]), want)
			closeTo(t, "memory", widened(after[i*floats:][:floats]), kept[i])
		}
	}
}
