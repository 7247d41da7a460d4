package hybrid

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// NewPBTCSO makes PBT-CSO over a workflow, which it owns: PBT that exchanges by competitive swarm optimization (B.
// Zheng et al., "EvoRL", 2025, section 5.2.3; R. Cheng, Y. Jin, 2015). Members are paired at random; the worse one
// copies the state of the better one, and its hyperparameters move towards the better one's with their own velocity.
// Top, Bottom, Perturb and Resample of the configuration have no effect, and an Exploit or Explore other than the
// default is an error.
func NewPBTCSO(ctx context.Context, inner engine.Trainable, cfg PBTConfig) (*PBT, error) {
	return newPBT(ctx, inner, cfg, func(p *PBT, s *engine.State) (exchange, error) {
		if cfg.Exploit != Truncation || cfg.Explore != Perturbation {
			return exchange{}, config.Invalid("exploit", "pbt-cso has its own exchange; want neither exploit nor explore")
		}
		e := &swarm{velocity: map[string]*engine.Tensor{}}
		for _, name := range p.names {
			// A student moves from its own hyperparameters, with its own velocity.
			inner.Hyper().Lookup(name).Own()
			e.velocity[name] = s.Sub("velocity").Tensor(name, engine.Float32, engine.Members(inner.Describe().Members)).Own()
		}
		return exchange{"pbt-cso", e, e}, nil
	})
}

type swarm struct {
	velocity map[string]*engine.Tensor // [M] each, along the prior's coordinate; initially zero
}

func (e *swarm) choose(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	r.Dispatch(pairingKernel{
		Rank: p.rank.Range(), Clock: p.Clock().Tensor().Range(), Source: p.parent.Range(),
		Members: n, Seed: r.Engine().Seed(), Stream: p.stream("pair", ""),
	}.call(((n+1)/2+7)/8, 1, 1))
}

func (e *swarm) observe(*engine.Recorder, *PBT) {}

func (e *swarm) explore(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	for _, name := range p.names {
		prior := p.cfg.Search[name]
		low, high := prior.coordinates()
		r.Dispatch(swarmKernel{
			Source: p.parent.Range(), Clock: p.Clock().Tensor().Range(), Values: p.inner.Hyper().Lookup(name).Range(), Velocity: e.velocity[name].Range(),
			Members: n, Seed: r.Engine().Seed(), Stream: p.stream("swarm", name),
			Prior: uint32(prior.Prior), Low: float32(low), High: float32(high),
		}.call((n+7)/8, 1, 1))
	}
}
