package hybrid

import "github.com/evorl/evorl/engine"

// perturbation explores as in M. Jaderberg et al., 2017: every hyperparameter of a replaced member is multiplied by
// one of two factors, or drawn from its prior.
type perturbation struct{ factor, resample float64 }

func (*perturbation) observe(*engine.Recorder, *PBT) {}

func (e *perturbation) explore(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	for _, name := range p.names {
		prior := p.cfg.Search[name]
		low, high := prior.coordinates()
		r.Dispatch(perturbKernel{
			Source: p.parent.Range(), Clock: p.Clock().Tensor().Range(), Values: p.inner.Hyper().Lookup(name).Range(),
			Members: n, Seed: r.Engine().Seed(), Stream: p.stream("perturb", name),
			Prior: uint32(prior.Prior), Low: float32(low), High: float32(high), Factor: float32(e.factor), Resample: float32(e.resample),
		}.call((n+7)/8, 1, 1))
	}
}
