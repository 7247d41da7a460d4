package hybrid

import "github.com/evorl/evorl/engine"

// truncation selects as in M. Jaderberg et al., 2017: the worst are replaced by random ones of the best.
type truncation struct{ top, bottom int }

// newTruncation converts fractions of the population into numbers of members.
func newTruncation(members int, top, bottom float64) *truncation {
	count := func(share float64) int { return max(1, int(share*float64(members)+1e-9)) } // 0.29 · 100 must be 29
	t := &truncation{top: min(count(top), members)}
	if bottom > 0 {
		t.bottom = min(count(bottom), members-t.top)
	}
	return t
}

func (t *truncation) choose(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	r.Dispatch(truncationKernel{
		Rank: p.rank.Range(), Clock: p.Clock().Tensor().Range(), Source: p.parent.Range(),
		Members: n, Top: uint32(t.top), Bottom: uint32(t.bottom), Seed: r.Engine().Seed(), Stream: p.stream("select", ""),
	}.call((n+7)/8, 1, 1))
}
