package ec

import (
	"slices"

	"github.com/evorl/evorl/engine"
)

// repair moves candidates outside the bounds of a space to the nearest point inside, for algorithms that may leave
// the bounds; nil: nothing to do.
type repair struct{ bounds *bounds }

func newRepair(s *engine.State, space Space) *repair {
	if !space.Closed() {
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
		Dim: uint32(b.space.Dim), Count: uint32(candidates.Len() / b.space.Row()), Bounded: true, LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, 1, 1))
}

// clamped returns values [.., dim] clamped to the bounds.
func (s Space) clamped(values []float32) []float32 {
	values = slices.Clone(values)
	s.clamp(values)
	return values
}

// clamp clamps values [.., dim] to the bounds in place.
func (s Space) clamp(values []float32) {
	if !s.Closed() {
		return
	}
	for i, v := range values {
		values[i] = min(max(v, s.Low[i%s.Dim]), s.High[i%s.Dim])
	}
}
