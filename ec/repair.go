package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
)

// repair puts candidates that leave the bounds of a space onto them, for algorithms that know nothing of bounds; nil: there is nothing to do.
type repair struct{ bounds *bounds }

func newRepair(s *engine.State, space Space) *repair {
	if !space.Bounded() || space.Open {
		return nil
	}
	return &repair{newBounds(s, space)}
}

// constants writes what is neither saved nor changes.
func (p *repair) constants(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.bounds.constants(ctx)
}

// record records repairing candidates [.., row].
func (p *repair) record(r *engine.Recorder, candidates *engine.Tensor) {
	if p == nil {
		return
	}
	b := p.bounds
	count := candidates.Len() / 4
	groups := r.Share(1, count)
	r.Dispatch(repairKernel{
		Candidates: candidates.Range(), Low: b.low.Range(), LowTexels: b.low.Range(), High: b.high.Range(), HighTexels: b.high.Range(),
		Dim: uint32(b.space.Dim), Count: uint32(candidates.Len() / b.space.Row()), Bounded: b.is(), LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, 1, 1))
}

// inside is a strategy whose candidates are repaired.
type inside struct {
	Strategy
	repair *repair
}

// Candidates implements Strategy.
func (s inside) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	s.Strategy.Candidates(r, pick, into)
	s.repair.record(r, into)
}

// nearest puts numbers [.., dim] of the host that leave the bounds onto them, in place.
func (s Space) nearest(values []float32) {
	if !s.Bounded() || s.Open {
		return
	}
	for i, v := range values {
		values[i] = min(max(v, s.Low[i%s.Dim]), s.High[i%s.Dim])
	}
}
