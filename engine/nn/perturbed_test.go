package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// perturbedCase is networks of low-rank perturbations to compare with float64.
type perturbedCase struct {
	model         Model
	rank          int
	members, each int // networks of a member
	rows          int // of a network
	first         int
	mirrored      bool
	head          int // parameters behind the model's
	normalize     bool
	capacity      int  // rows of a member that are computed at once; 0: all
	diagonal      bool // every matrix has a deviation of its own
	apart         bool // a kernel of its own completes the products
}

// parametersOf lists the parameters of a model's row, and those of a head behind them.
func parametersOf(model Model, head int) (all []Parameter) {
	for _, l := range model.Layers() {
		all = append(all, l.Parameters()...)
	}
	if head > 0 {
		all = append(all, Parameter{Name: "head", At: model.Size(), Columns: head})
	}
	return all
}

// TestPerturbed: networks of low-rank perturbations equal those whose matrices are formed in float64.
func TestPerturbed(t *testing.T) {
	for name, c := range map[string]perturbedCase{
		"one":        {model: MLP{In: 4, Hidden: []int{8}, Out: 2, Activation: Tanh}, rank: 1, members: 1, each: 1, rows: 1},
		"odd":        {model: MLP{In: 5, Hidden: []int{13, 7}, Out: 3, Activation: Tanh}, rank: 2, members: 3, each: 7, rows: 5, head: 3},
		"mirrored":   {model: MLP{In: 3, Hidden: []int{33, 18}, Out: 1, Activation: ReLU}, rank: 1, members: 2, each: 10, rows: 3, mirrored: true},
		"half pairs": {model: MLP{In: 7, Hidden: []int{40, 24}, Out: 6, Activation: Swish}, rank: 3, members: 2, each: 6, rows: 4, first: 5, mirrored: true, head: 1},
		"wide":       {model: MLP{In: 17, Hidden: []int{256, 256}, Out: 6, Activation: Tanh}, rank: 1, members: 1, each: 12, rows: 2, first: 2, mirrored: true},
		"panels":     {model: MLP{In: 18, Hidden: []int{70, 41, 24}, Out: 10, Activation: Tanh}, rank: 5, members: 2, each: 9, rows: 3, first: 3, mirrored: true},
		"long":       {model: MLP{In: 300, Hidden: []int{33}, Out: 12, Activation: ReLU}, rank: 2, members: 2, each: 18, rows: 1, capacity: 17},
		"diagonal": {model: MLP{In: 7, Hidden: []int{21, 13, 30}, Out: 3, Activation: Tanh}, rank: 2, members: 2, each: 12, rows: 2,
			mirrored: true, diagonal: true},
		"normalized": {model: MLP{In: 6, Hidden: []int{20}, Out: 2, Activation: Tanh}, rank: 4, members: 2, each: 3, rows: 6, normalize: true},
		"layer norm": {model: MLP{In: 6, Hidden: []int{20, 9}, Out: 2, Activation: Tanh, LayerNorm: true}, rank: 2, members: 2, each: 5, rows: 3},
		"linear":     {model: MLP{In: 9, Out: 5}, rank: 32, members: 2, each: 3, rows: 2},
		"slices":     {model: MLP{In: 5, Hidden: []int{16, 16}, Out: 3, Activation: GELU}, rank: 1, members: 2, each: 5, rows: 4, mirrored: true, capacity: 7},
		"images": {model: Sequential{In: Shape{7, 6, 3}, Hidden: []LayerConfig{window(5, 3, 1, Same, ReLU), {Kind: MaxPool, Kernel: 2}, units(11, Tanh)}, Out: 4},
			rank: 2, members: 2, each: 3, rows: 2, mirrored: true},
		"residual": {model: Sequential{In: Shape{6, 6, 2}, Hidden: []LayerConfig{window(4, 3, 1, Same, ReLU), {Kind: Residual}}, Out: 3, LayerNorm: true},
			rank: 1, members: 2, each: 2, rows: 3},
	} {
		t.Run(name, c.run)
		c.apart = true
		t.Run(name+" apart", c.run)
	}
}

func (c perturbedCase) run(t *testing.T) {
	s := testState(t)
	size := c.model.Size() + c.head
	row := Align(size)
	layout, err := NewLowRank(parametersOf(c.model, c.head), c.rank)
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewPerturbed(s, c.model, c.rank, c.members, c.each, c.rows)
	if err != nil {
		t.Fatal(err)
	}
	l := n.form.(*layered)
	l.apart = c.apart
	if c.capacity > 0 {
		l.capacity = c.capacity
	}
	m := engine.Members(c.members)
	params := s.Scratch("params", engine.Float32, m, engine.Axis("parameter", row))
	sigma := []float32{0.3, 0.2, 0.4}[:c.members]
	if c.diagonal {
		sigma = make([]float32, c.members*row)
		for i := range sigma {
			sigma[i] = 0.1 + float32(i%row)/float32(row)
		}
	}
	deviation := vector(t, s, "deviation", len(sigma), sigma)
	p := NewPerturbation(s, layout, c.members, c.each, deviation, c.mirrored)
	p.First = c.first
	in, out := c.model.Inputs().Size(), c.model.Outputs()
	inputs := s.Scratch("inputs", engine.Float32, m, Networks(c.each), engine.Axis("row", c.rows), engine.Axis("feature", in))
	outputs := s.Scratch("outputs", engine.Float32, m, Networks(c.each), engine.Axis("row", c.rows), engine.Axis("output", out))
	x, w, f, v := normals(inputs.Len()), normals(params.Len()), normals(p.Factors.Len()), normals(p.Vectors.Len())
	fill(t, inputs, x)
	fill(t, params, w)
	fill(t, p.Factors, f)
	fill(t, p.Vectors, v)
	fill(t, outputs, nil)
	for _, scratch := range append(l.scratch, l.inputs, l.projections) {
		fill(t, scratch, nil)
	}
	given := Inputs{Parts: []*engine.Tensor{inputs}}
	moments := normals(c.members * 2 * in)
	if c.normalize {
		given.Normalizer, given.Limit = s.Scratch("normalizer", engine.Float32, m, engine.Axis("moment", 2), engine.Axis("feature", in)), 1.5
		fill(t, given.Normalizer, moments)
	}
	record(t, s, func(r *engine.Recorder) { n.Evaluate(r, Weights{Params: params, Perturbation: p}, given, outputs) })
	got := read(t, outputs)
	for member := range c.members {
		for network := range c.each {
			draw, sign := network, 1.0
			if c.mirrored {
				draw, sign = (c.first+network)/2-c.first/2, 1-2*float64((c.first+network)%2)
			}
			factors := f[(member*p.Draws()+draw)*layout.Rank*layout.Component:][:layout.Rank*layout.Component]
			ref := newReference(c.model, w[member*row:][:row])
			formed := layout.form(ref.row, factors, v[(member*c.each+network)*p.Vectors.Size("float"):], func(m LowRankMatrix) float64 {
				if c.diagonal {
					return sign * float64(sigma[member*row+m.At])
				}
				return sign * float64(sigma[member])
			})
			ref.row = formed
			for i := range c.rows {
				at := (member*c.each+network)*c.rows + i
				sample := make([]float64, in)
				for k := range sample {
					sample[k] = float64(x[at*in+k])
					if c.normalize {
						mean, rstd := float64(moments[member*2*in+k]), float64(moments[(member*2+1)*in+k])
						sample[k] = min(1.5, max(-1.5, (sample[k]-mean)*rstd))
					}
				}
				var outcome []float64
				for _, y := range got[at*out:][:out] {
					outcome = append(outcome, float64(y))
				}
				closeTo(t, "outputs", outcome, ref.forward(sample))
			}
		}
	}
}

// form returns W + s A Bᵀ / √r for matrices, and the vectors in their places.
func (p *LowRank) form(row []float64, factors, vectors []float32, s func(LowRankMatrix) float64) []float64 {
	out := append([]float64(nil), row...)
	for _, m := range p.Matrices {
		for i := range m.Rows {
			for j := range m.Columns {
				for q := range p.Rank {
					of := factors[q*p.Component:]
					if at := m.At + i*m.Columns + j; at < len(out) {
						out[at] += s(m) / math.Sqrt(float64(p.Rank)) * float64(of[m.A+i]) * float64(of[m.B+j])
					}
				}
			}
		}
	}
	for _, v := range p.Vectors {
		for j := range v.Columns {
			if at := v.At + j; at < len(out) {
				out[at] = float64(vectors[v.Offset+j])
			}
		}
	}
	return out
}

// TestPerturbedErrors: what cannot be perturbed is refused.
func TestPerturbedErrors(t *testing.T) {
	s := testState(t)
	model := Recurrent{In: 3, Out: 2, Cell: GRU, Units: 4}
	if _, err := NewPerturbed(s, model, 1, 1, 2, 3); err == nil || !strings.Contains(err.Error(), "has memory") {
		t.Errorf("%v: %v; want that it has memory", model, err)
	}
	if _, err := NewLowRank([]Parameter{{Columns: 4}}, 1); err == nil {
		t.Error("parameters without a matrix have a perturbation of rank 1")
	}
	for _, rank := range []int{0, MaxRank + 1} {
		if _, err := NewLowRank(parametersOf(MLP{In: 2, Out: 2}, 0), rank); err == nil {
			t.Errorf("there is a perturbation of rank %d", rank)
		}
	}
}
