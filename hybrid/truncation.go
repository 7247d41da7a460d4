package hybrid

import "github.com/evorl/evorl/engine"

// truncation is the exchange of Jaderberg et al., 2017: the worst are replaced by random ones of the best, whose hyperparameters are
// then perturbed.
type truncation struct{ top, bottom int }

// newTruncation turns shares of a population into numbers of members.
func newTruncation(members int, top, bottom float64) *truncation {
	count := func(share float64) int { return max(1, int(share*float64(members)+1e-9)) } // 0.29 · 100 is 29
	t := &truncation{top: min(count(top), members)}
	if bottom > 0 {
		t.bottom = min(count(bottom), members-t.top)
	}
	return t
}

func (t *truncation) name() string { return "pbt" }

func (t *truncation) choose(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	r.Dispatch(truncationKernel{
		Rank: p.rank.Range(), Clock: p.Clock().Tensor().Range(), Source: p.parent.Range(),
		Members: n, Top: uint32(t.top), Bottom: uint32(t.bottom), Seed: r.Engine().Seed(), Stream: p.stream("select", ""),
	}.call((n+7)/8, 1, 1))
}

func (t *truncation) explore(r *engine.Recorder, p *PBT, name string, values *engine.Tensor) {
	n, prior := uint32(p.fitness.Len()), p.cfg.Search[name]
	low, high := prior.coordinates()
	r.Dispatch(perturbKernel{
		Source: p.parent.Range(), Clock: p.Clock().Tensor().Range(), Values: values.Range(),
		Members: n, Seed: r.Engine().Seed(), Stream: p.stream("perturb", name),
		Prior: uint32(prior.Prior), Low: float32(low), High: float32(high), Factor: float32(p.cfg.Perturb), Resample: float32(p.cfg.Resample),
	}.call((n+7)/8, 1, 1))
}
