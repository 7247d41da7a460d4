package problem

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Actors makes the search for actors of reinforcement learning a problem. Candidates are parameter rows of networks
// with the given head, which must have no parameters of its own, and act by its mode. All candidates of a population
// are evaluated at once, by an Experience. cfg.Sample and cfg.Bins have no effect.
func Actors(env *envs.Environment, options envs.Options, network NetworkConfig, head nn.Head, cfg PolicyConfig) ec.Problem {
	p := Policy(env, options, network, cfg).(*policy)
	p.cfg.Sample, p.cfg.Bins, p.actor = false, 0, &head
	return p
}

// DescribedActors is Actors for quality-diversity algorithms: candidates also have descriptors.
func DescribedActors(
	env *envs.Environment, options envs.Options, network NetworkConfig, head nn.Head, cfg PolicyConfig, behaviour BehaviourConfig,
) (ec.Problem, error) {
	p, err := DescribedPolicy(env, options, network, cfg, behaviour)
	if err != nil {
		return nil, err
	}
	p.(*policy).actor = &head
	p.(*policy).cfg.Sample, p.(*policy).cfg.Bins = false, 0
	return p, nil
}

// Experience is the evaluation of Actors. The trajectory of its last recording is experience to learn from.
type Experience interface {
	ec.Evaluation
	// Trajectory returns [T, M N, E, …] of whole episodes: steps after the end of an episode are envs.Void. Actions
	// are envs.Applied.
	Trajectory() *envs.Trajectory
	// Skip sets which candidates are not evaluated, [M, N] u32: those that are not 0. They take no steps, their
	// fitness is NaN, and all their transitions are envs.Void. Call it before anything is recorded.
	Skip(candidates *engine.Tensor) error
	ec.Acting
}

func (e *rollouts) Trajectory() *envs.Trajectory { return &e.rollout.Trajectory }

func (e *rollouts) Skip(candidates *engine.Tensor) error { return e.rollout.Skip(candidates) }
