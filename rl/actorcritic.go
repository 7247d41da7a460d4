package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// ActorCritic is an actor and a critic of every member. A member's parameters are one row: the actor's network, for continuous
// actions the log standard deviations, and the critic's network.
type ActorCritic struct {
	scope         *engine.State
	cfg           NetworkConfig
	head          nn.Head
	actor, critic nn.MLP
	criticBase    int

	params     *engine.Tensor // [P, row]
	normalizer *nn.Normalizer // nil: none
}

func newActorCritic(s *engine.State, env *envs.Environment, cfg NetworkConfig, members int) (*ActorCritic, error) {
	a := &ActorCritic{scope: s, cfg: cfg, head: cfg.head(env.Action)}
	a.actor, a.critic = cfg.mlp(env.ObsSize(), a.head.Outputs()), cfg.mlp(env.ObsSize(), 1)
	if err := a.actor.Check(); err != nil {
		return nil, err
	}
	a.criticBase = nn.Align(a.actor.Size() + a.head.Parameters())
	if cfg.NormalizeObs {
		a.normalizer = nn.NewNormalizer(s, members, env.ObsSize())
	}
	return a, s.Err()
}

// row is the number of floats of a member's parameters.
func (a *ActorCritic) row() int { return nn.Align(a.criticBase + a.critic.Size()) }

// init draws the members' initial parameters.
func (a *ActorCritic) init(ctx context.Context) error {
	members, row := a.params.Size(engine.MemberAxis), a.params.Size("parameter")
	all := make([]float32, members*row)
	for p := range members {
		params := all[p*row : (p+1)*row]
		rng := engine.NewRng(a.scope.Engine().Seed(), a.scope.Stream("init"), uint32(p), 0, 0)
		a.actor.Init(params, a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.ActorGain, rng)
		a.critic.Init(params[a.criticBase:], a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.CriticGain, rng)
		for i := range a.head.Parameters() {
			params[a.actor.Size()+i] = float32(a.cfg.LogStd)
		}
	}
	if err := a.params.WriteFloat32(ctx, all); err != nil {
		return err
	}
	if a.normalizer == nil {
		return nil
	}
	return a.normalizer.Init(ctx)
}

// policy is the actor as rollouts take it.
func (a *ActorCritic) policy() *envs.Policy {
	return &envs.Policy{
		Weights: nn.Weights{Params: a.params}, Network: a.actor, Head: a.head,
		Normalizer: a.normalizerValues(), ObsLimit: float32(a.cfg.ObsLimit),
	}
}

func (a *ActorCritic) normalizerValues() *engine.Tensor {
	if a.normalizer == nil {
		return nil
	}
	return a.normalizer.Values()
}
