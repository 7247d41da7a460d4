package problem

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Actors makes the search for actors of reinforcement learning a problem: candidates are rows of networks with the given head, which has no
// parameters of its own, and act by its mode. All of a population's candidates are evaluated at once, by an Experience. cfg.Sample and
// cfg.Bins are of no effect.
func Actors(env *envs.Environment, options envs.Options, network NetworkConfig, head nn.Head, cfg PolicyConfig) ec.Problem {
	p := Policy(env, options, network, cfg).(*policy)
	p.cfg.Sample, p.cfg.Bins, p.actor = false, 0, &head
	return p
}

// Experience is the evaluation of Actors: what its last recording saw is experience to learn from.
type Experience interface {
	ec.Evaluation
	// Trajectory is [T, M P, E, …], of whole episodes: steps after their ends are envs.Void. Actions are envs.Applied.
	Trajectory() *envs.Trajectory
	ec.Acting
}

// Trajectory implements Experience.
func (e *rollouts) Trajectory() *envs.Trajectory { return &e.rollout.Trajectory }
