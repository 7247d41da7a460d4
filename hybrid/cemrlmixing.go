package hybrid

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// mixed is importance mixing of the candidates that do not learn.
type mixed struct {
	*ec.Mixing
	population *population
	learners   *engine.Tensor         // [M, L] u32
	open       *engine.Tensor         // [M, N] u32: 1: does not learn
	closed     *engine.Tensor         // [M, L] u32: zero
	rows       func(*engine.Recorder) // records the metrics
}

func newMixed(p *population, learners *engine.Tensor) (*mixed, error) {
	s := p.state.Sub("mixing")
	mixing, err := p.generation.NewMixing(s, p.agents.Clock())
	if err != nil {
		return nil, err
	}
	x := &mixed{Mixing: mixing, population: p, learners: learners, rows: mixing.Rows(p.agents.Metrics().Sub("", p.each))}
	x.open = s.Scratch("open", engine.Uint32, p.candidates.fitness.Dims()...)
	x.closed = engine.Constant(s, "closed", func() []uint32 { return make([]uint32, learners.Len()) }, learners.Dims()...)
	p.candidates.evaluated = mixing.Restore
	return x, p.candidates.Skip(mixing.Reused())
}

// record records mixing the candidates. Some of them are going to learn if the phase says so.
func (x *mixed) record(r *engine.Recorder, learning bool) {
	p := x.population
	r.Fill(x.open, 1)
	if learning {
		p.generation.Replace(r, x.open, x.learners, x.closed)
	}
	x.Record(r, p.candidates.rows, x.open)
}

// remember records keeping the evaluated candidates for the next iteration.
func (x *mixed) remember(r *engine.Recorder) {
	p := x.population
	x.Remember(r, p.candidates.rows, p.candidates.fitness, x.open)
	x.rows(r)
}
