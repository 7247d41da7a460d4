package ec

import (
	"slices"

	"github.com/evorl/evorl/engine"
)

// repair moves candidates that leave the bounds of a space to the nearest point inside, for algorithms that do not
// keep bounds; nil: there is nothing to do.
type repair struct{ bounds *bounds }

func newRepair(s *engine.State, space Space) *repair {
	if !space.Bounded() || space.Open {
		return nil
	}
	return &repair{newBounds(s, space)}
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
		Candidates: candidates.Range(), Low: b.low.Range(), High: b.high.Range(),
		Dim: uint32(b.space.Dim), Count: uint32(candidates.Len() / b.space.Row()), Bounded: b.space.Bounded(), LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, 1, 1))
}

// clamped are numbers [.., dim] of the host, those that leave the bounds moved onto them.
func (s Space) clamped(values []float32) []float32 {
	values = slices.Clone(values)
	s.clamp(values)
	return values
}

// clamp moves numbers [.., dim] of the host that leave the bounds onto them, in place.
func (s Space) clamp(values []float32) {
	if !s.Bounded() || s.Open {
		return
	}
	for i, v := range values {
		values[i] = min(max(v, s.Low[i%s.Dim]), s.High[i%s.Dim])
	}
}
