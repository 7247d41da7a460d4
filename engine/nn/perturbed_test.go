package nn

import (
	"math"
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

// perturbedNets are the networks of a case with random parameters.
type perturbedNets struct {
	perturbedCase
	state           *engine.State
	network         *Network
	weights         Weights
	row             int
	sigma           []float32
	params, factors []float32
	vectors         []float32
}

// make makes a case's networks, by the given function.
func (c perturbedCase) make(t *testing.T, of func(*engine.State) (*Network, error)) *perturbedNets {
	t.Helper()
	x := c.weigh(t, parametersOf(c.model, c.head), c.model.Size()+c.head)
	var err error
	if x.network, err = of(x.state); err != nil {
		t.Fatal(err)
	}
	return x
}

// weigh makes random weights of networks of the given parameters, so many in all.
func (c perturbedCase) weigh(t *testing.T, parameters []Parameter, size int) *perturbedNets {
	t.Helper()
	s := testState(t)
	x := &perturbedNets{perturbedCase: c, state: s, row: Align(size)}
	layout, err := NewLowRank(parameters, c.rank)
	if err != nil {
		t.Fatal(err)
	}
	params := s.Scratch("params", engine.Float32, engine.Members(c.members), engine.Axis("parameter", x.row))
	x.sigma = []float32{0.3, 0.2, 0.4}[:c.members]
	if c.diagonal {
		x.sigma = make([]float32, c.members*x.row)
		for i := range x.sigma {
			x.sigma[i] = 0.1 + float32(i%x.row)/float32(x.row)
		}
	}
	p := NewPerturbation(s, layout, c.members, c.each, vector(t, s, "deviation", len(x.sigma), x.sigma), c.mirrored)
	p.First = c.first
	x.params, x.factors, x.vectors = normals(params.Len()), normals(p.Factors.Len()), normals(p.Vectors.Len())
	fill(t, params, x.params)
	fill(t, p.Factors, x.factors)
	fill(t, p.Vectors, x.vectors)
	x.weights = Weights{Params: params, Perturbation: p}
	return x
}

// formed returns the parameters of a network in float64.
func (x *perturbedNets) formed(member, network int) []float64 {
	draw, sign := network, 1.0
	if x.mirrored {
		draw, sign = (x.first+network)/2-x.first/2, 1-2*float64((x.first+network)%2)
	}
	p := x.weights.Perturbation
	layout := p.Layout
	factors := x.factors[(member*p.Draws()+draw)*layout.Rank*layout.Component:][:layout.Rank*layout.Component]
	mean, vectors := widened(x.params[member*x.row:][:x.row]), x.vectors[(member*x.each+network)*p.Vectors.Size("float"):]
	return layout.form(mean, factors, vectors, func(m LowRankMatrix) float64 {
		if x.diagonal {
			return sign * float64(x.sigma[member*x.row+m.At])
		}
		return sign * float64(x.sigma[member])
	})
}

// poisonScratch fills what layers leave behind with poison.
func poisonScratch(t *testing.T, l *layered) {
	t.Helper()
	for _, scratch := range append(l.scratch, l.inputs, l.projections) {
		fill(t, scratch, nil)
	}
}

func (c perturbedCase) run(t *testing.T) {
	x := c.make(t, func(s *engine.State) (*Network, error) {
		return NewPerturbed(s, c.model, c.rank, c.members, c.each, c.rows)
	})
	s, m := x.state, engine.Members(c.members)
	l := x.network.form.(*layered)
	l.apart = c.apart
	if c.capacity > 0 {
		l.capacity = c.capacity
	}
	in, out := c.model.Inputs().Size(), c.model.Outputs()
	inputs := s.Scratch("inputs", engine.Float32, m, Networks(c.each), engine.Axis("row", c.rows), engine.Axis("feature", in))
	outputs := s.Scratch("outputs", engine.Float32, m, Networks(c.each), engine.Axis("row", c.rows), engine.Axis("output", out))
	values := normals(inputs.Len())
	fill(t, inputs, values)
	fill(t, outputs, nil)
	poisonScratch(t, l)
	given := Inputs{Parts: []*engine.Tensor{inputs}}
	moments := normals(c.members * 2 * in)
	if c.normalize {
		given.Normalizer, given.Limit = s.Scratch("normalizer", engine.Float32, m, engine.Axis("moment", 2), engine.Axis("feature", in)), 1.5
		fill(t, given.Normalizer, moments)
	}
	record(t, s, func(r *engine.Recorder) { x.network.Evaluate(r, x.weights, given, outputs) })
	got := read(t, outputs)
	for member := range c.members {
		for network := range c.each {
			ref := newReference(c.model, x.params)
			ref.row = x.formed(member, network)
			for i := range c.rows {
				at := (member*c.each+network)*c.rows + i
				sample := make([]float64, in)
				for k := range sample {
					sample[k] = float64(values[at*in+k])
					if c.normalize {
						mean, rstd := float64(moments[member*2*in+k]), float64(moments[(member*2+1)*in+k])
						sample[k] = min(1.5, max(-1.5, (sample[k]-mean)*rstd))
					}
				}
				closeTo(t, "outputs", widened(got[at*out:][:out]), ref.forward(sample))
			}
		}
	}
}

// widened returns numbers in float64.
func widened(x []float32) (wide []float64) {
	for _, v := range x {
		wide = append(wide, float64(v))
	}
	return wide
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
	if _, err := NewLowRank([]Parameter{{Columns: 4}}, 1); err == nil {
		t.Error("parameters without a matrix have a perturbation of rank 1")
	}
	for _, rank := range []int{0, MaxRank + 1} {
		if _, err := NewLowRank(parametersOf(MLP{In: 2, Out: 2}, 0), rank); err == nil {
			t.Errorf("there is a perturbation of rank %d", rank)
		}
	}
}
