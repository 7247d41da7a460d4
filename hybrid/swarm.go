package hybrid

import (
	"context"

	"github.com/evorl/evorl/engine"
)

// NewPBTCSO makes PBT-CSO over a workflow, which it owns from then on: PBT whose exchange is competitive swarm optimization (B. Zheng
// et al., "EvoRL", 2025, section 5.2.3; R. Cheng, Y. Jin, 2015). Members meet in random pairs; the worse one takes over the state
// of the better one, and its hyperparameters move towards the better one's with a velocity of their own. Top, Bottom, Perturb and
// Resample of the configuration mean nothing here.
func NewPBTCSO(ctx context.Context, inner engine.Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, s *engine.State) exchanger {
		e := &swarm{velocity: map[string]*engine.Tensor{}}
		for _, name := range p.names {
			// A student moves from its own hyperparameters, with its own velocity.
			inner.Hyper().Lookup(name).Own()
			e.velocity[name] = s.Sub("velocity").Tensor(name, engine.Float32, engine.Members(inner.Describe().Members)).Own()
		}
		return e
	})
}

type swarm struct {
	velocity map[string]*engine.Tensor // [P] each, along the prior's coordinate; zero at first
}

func (e *swarm) name() string { return "pbt-cso" }

func (e *swarm) choose(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	r.Dispatch(pairingKernel{
		Rank: p.rank.Range(), Clock: p.Clock().Tensor().Range(), Source: p.parent.Range(),
		Members: n, Seed: r.Engine().Seed(), Stream: p.stream("pair", ""),
	}.call(((n+1)/2+7)/8, 1, 1))
}

func (e *swarm) explore(r *engine.Recorder, p *PBT, name string, values *engine.Tensor) {
	n, prior := uint32(p.fitness.Len()), p.cfg.Search[name]
	low, high := prior.coordinates()
	r.Dispatch(swarmKernel{
		Source: p.parent.Range(), Clock: p.Clock().Tensor().Range(), Values: values.Range(), Velocity: e.velocity[name].Range(),
		Members: n, Seed: r.Engine().Seed(), Stream: p.stream("swarm", name),
		Prior: uint32(prior.Prior), Low: float32(low), High: float32(high),
	}.call((n+7)/8, 1, 1))
}
