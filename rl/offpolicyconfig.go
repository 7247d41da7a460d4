package rl

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// OffPolicyConfig holds the settings that off-policy algorithms share; their configurations embed it. Fields with the
// tag member are tensors [M] on the device, which PBT may vary.
type OffPolicyConfig struct {
	Members        int     `min:"1" max:"1048576" doc:"Number of agents, M, trained simultaneously."`
	Environments   int     `min:"1" max:"1048576" doc:"Environments per member, E."`
	RolloutLength  int     `min:"1" max:"32768" doc:"Steps per environment and iteration, T."`
	UpdatesPerStep float64 `above:"0" max:"1024" doc:"Updates per member and environment step; T × E × this must be an integer."`
	LearningStarts int     `min:"0" max:"1073741824" doc:"Environment steps per member with random actions before the first update, rounded up to whole rollouts."`

	Discount    float64 `min:"0" max:"1" doc:"Discount factor gamma of rewards, per member." member:"horizon 2 7"`
	RewardScale float64 `above:"0" doc:"Factor of rewards in targets, per member." member:""`

	Actors int `min:"1" max:"65536" doc:"Parts of each member's environments, with random numbers of their own: other devices and machines can act in them."`
	Lag    int `min:"0" max:"64" doc:"Iterations by which the weights that act are older than those that learn; from 1 on actors elsewhere act while this learns."`

	Asynchronous bool `doc:"Take the trajectories that come first, with weights at most lag iterations old, and wait for no slow actor; no run repeats another."`

	ScheduleConfig
}

// Validate checks constraints across fields.
func (c OffPolicyConfig) Validate() error {
	if err := c.ScheduleConfig.Validate(); err != nil {
		return err
	}
	if c.Environments%c.Actors != 0 {
		return config.Invalid("actors", "%d parts of %d environments; want a divisor of them", c.Actors, c.Environments)
	}
	_, err := c.updates()
	return err
}

// steps returns the environment steps per member and iteration.
func (c OffPolicyConfig) steps() int { return c.RolloutLength * c.Environments }

// Apart returns the parts of the environments in which others can act, and the lag of the weights that act.
func (c OffPolicyConfig) Apart() (actors, lag int) { return c.Actors, c.Lag }

// Chance returns whether trajectories are taken as they come, so that no run repeats another.
func (c OffPolicyConfig) Chance() bool { return c.Asynchronous }

// warmup returns the number of rollouts of random actions before the first iteration.
func (c OffPolicyConfig) warmup() int { return (c.LearningStarts + c.steps() - 1) / c.steps() }

// updates returns the updates per iteration.
func (c OffPolicyConfig) updates() (int, error) {
	n := c.UpdatesPerStep * float64(c.steps())
	whole := max(math.Round(n), 1)
	switch {
	case math.Abs(n-whole) > 1e-6*whole:
		return 0, config.Invalid("updates_per_step", "%g updates for each of a member's %d environment steps per iteration (rollout_length × environments) "+
			"are %g updates; want an integer of at least 1: the nearest is updates_per_step = %g", c.UpdatesPerStep, c.steps(), n, whole/float64(c.steps()))
	case whole > maxUpdates:
		return 0, config.Invalid("updates_per_step", "%g updates per iteration; want at most %d", whole, maxUpdates)
	}
	return int(whole), nil
}

// maxUpdates is the largest number of updates per iteration, which are submitted as one program.
const maxUpdates = 1 << 20

// Algorithm is the configuration of an algorithm.
type Algorithm interface {
	// Check checks the configuration against the parts with which the algorithm is made, before any device work. Errors
	// are as of config.Invalid, with the full key.
	Check(with Parts) error
}

// Parts are what an algorithm is made with.
type Parts struct {
	Env     *envs.Environment
	Network NetworkConfig
	Replay  ReplayConfig // on-policy algorithms ignore it
	// Sequences are what networks with memory learn from; DQN's only.
	Sequences SequenceConfig
	Agents    int            // number of agents that a hybrid is made of; algorithms have it themselves
	Schedule  ScheduleConfig // of the agents that a hybrid is made of
	Noise     Exploration    // of the same
}

// Exploration is the noise by which agents with deterministic actors explore; the zero value is of others.
type Exploration struct {
	Noise, Usual float64 // deviation, and its default
	Levels       int     // number of deviations, of which Noise is the smallest
}

// checkEnvironment returns an error if there is no environment.
func (p Parts) checkEnvironment() error {
	if err := engine.Require(map[string]any{"environment": p.Env}); err != nil {
		return fmt.Errorf("rl: %w", err)
	}
	return nil
}

// actorAndCritic returns the networks of an actor-critic; atoms are the critics'.
func (p Parts) actorAndCritic(atoms int) (actor, critic nn.Model) {
	return p.Network.actorAndCritic(p.Env, p.Network.head(p.Env.Action), atoms)
}

// ofSeats names the factor of an environment's seats in the product that is a number of transitions; "" with one agent.
func ofSeats(env *envs.Environment) string {
	if env.Seats() == 1 {
		return ""
	}
	return " × agents"
}

// checkArrivals returns an error if a replay of the algorithm with that name cannot take trajectories as they come, each as if it began new episodes.
func (c OffPolicyConfig) checkArrivals(name string, with Parts, memory bool) error {
	if !c.Asynchronous {
		return nil
	}
	if err := checkAsynchronous(name, with, c.Lag, memory); err != nil {
		return err
	}
	switch key := name + ".asynchronous"; {
	case with.Network.NormalizeObs:
		return config.Invalid(key, "moments of observations (network.normalize_obs) take a trajectory of every part in each iteration: want false in one of them")
	case with.Env.Observation.Frames > 1:
		return config.Invalid(key, "the frames of %q before a trajectory are of the one before, which may be missing: want false", with.Env.Name)
	case with.Replay.EndShare*float64(c.RolloutLength) < 1:
		return config.Invalid(key, "every trajectory of %d steps has a last row without a next row, and replay.end_share has room for one of %.4g rows: want longer "+
			"trajectories (%s.rollout_length), a larger share, or false", c.RolloutLength, 1/with.Replay.EndShare, name)
	}
	return nil
}

// check makes the checks that all off-policy algorithms have in common; networks are those that learn.
func (c OffPolicyConfig) check(name string, with Parts, networks ...nn.Model) error {
	if err := c.checkArrivals(name, with, false); err != nil {
		return err
	}
	for _, m := range networks {
		if m.Memory() > 0 {
			return config.Invalid("network."+with.Network.Key(), "network %v has memory; ppo, a2c, impala, dqn and searches learn with one, other agents without", m)
		}
	}
	return c.checkParts(with, with.Replay.Batch, "replay.batch", networks...)
}

// checkSequences is check for a network with memory, which learns from sequences.
func (c OffPolicyConfig) checkSequences(with Parts, network nn.Model) error {
	replay, lanes := with.Replay, c.Environments*with.Env.Seats()
	switch {
	case replay.Steps != 1:
		return config.Invalid("replay.steps", "returns of %d steps, and networks with memory learn from those of one; want 1", replay.Steps)
	case replay.BatchShare != 1:
		return config.Invalid("replay.batch_share", "sequences are drawn whole; want 1")
	}
	if replay.Shared {
		lanes *= c.Members
	}
	if err := with.Sequences.check(replay, lanes); err != nil {
		return err
	}
	return c.checkParts(with, replay.Batch*(with.Sequences.Steps+1), "replay.batch × (sequences.steps + 1)", network)
}

// checkParts checks networks that learn from a number of transitions per update, which `from` names, and the replay.
func (c OffPolicyConfig) checkParts(with Parts, transitions int, from string, networks ...nn.Model) error {
	if with.Network.NormalizeReward {
		return config.Invalid("network.normalize_reward", "rewards in the replay would have different scales; want false, and reward_scale instead")
	}
	if with.Network.Shared != ShareNone {
		return config.Invalid("network.shared", "actors and critics that learn from a replay have networks of their own; want %q, or ppo, a2c or impala", ShareNone)
	}
	if err := with.Network.check(transitions, from, networks...); err != nil {
		return err
	}
	if err := with.Env.CheckParts(max(c.Actors, 1), c.Environments); err != nil {
		return config.Invalid("env", "%v", err)
	}
	return with.Replay.checkCapacity(c.Members, c.Environments*with.Env.Seats(), c.RolloutLength)
}

// checkContinuous makes the checks that algorithms with an actor of continuous actions have in common. atoms are the critics'.
func (c OffPolicyConfig) checkContinuous(name string, with Parts, atoms int) error {
	switch {
	case with.Env.Action.IsDiscrete():
		return config.Invalid("env", "%s needs continuous actions, and %q has actions %v; want an environment with a box of actions, such as env = \"Pendulum-v1\"",
			name, with.Env.Name, with.Env.Action)
	case with.Network.Bins != 0:
		return config.Invalid("network.bins", "%s needs the gradient with respect to actions, and bins have none; want 0", name)
	case with.Replay.Prioritized:
		return config.Invalid("replay.prioritized", "%s supports neither priorities nor importance weights; want false", name)
	case !with.Network.Squash:
		return config.Invalid("network.squash", "%s squashes actions by tanh; want true", name)
	case with.Network.LogStd != 0:
		return config.Invalid("network.log_std", "no parameter of the actor of %s is a deviation; want 0", name)
	}
	actor, critic := with.actorAndCritic(atoms)
	return c.check(name, with, actor, critic)
}
