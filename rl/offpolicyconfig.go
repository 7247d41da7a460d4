package rl

import (
	"math"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// OffPolicyConfig are the settings that off-policy algorithms share; the configuration of each embeds them. Fields with the tag member are
// tensors [P] on the device, which PBT may vary.
type OffPolicyConfig struct {
	Members        int     `min:"1" max:"1048576" doc:"Agents trained at once, P."`
	Environments   int     `min:"1" max:"1048576" doc:"Environments of each member, E."`
	RolloutLength  int     `min:"1" max:"32768" doc:"Steps of each environment an iteration, T."`
	UpdatesPerStep float64 `above:"0" max:"1024" doc:"Updates of a member for each of its environment steps; T × E × this is a whole number."`
	LearningStarts int     `min:"0" max:"1073741824" doc:"Environment steps of a member by random actions before the first update, in whole rollouts."`

	Discount    float64 `min:"0" max:"1" doc:"Weight of the reward one step later, per member." member:"horizon 2 7"`
	RewardScale float64 `above:"0" doc:"Factor of rewards in target values, per member." member:""`
}

// Validate checks constraints across fields.
func (c OffPolicyConfig) Validate() error {
	_, err := c.updates()
	return err
}

// steps is the environment steps of a member an iteration.
func (c OffPolicyConfig) steps() int { return c.RolloutLength * c.Environments }

// warmup is how many rollouts of random actions come before the first iteration.
func (c OffPolicyConfig) warmup() int { return (c.LearningStarts + c.steps() - 1) / c.steps() }

// updates is the updates of an iteration.
func (c OffPolicyConfig) updates() (int, error) {
	n := c.UpdatesPerStep * float64(c.steps())
	whole := max(math.Round(n), 1)
	switch {
	case math.Abs(n-whole) > 1e-6*whole:
		return 0, config.Invalid("updates_per_step", "%g updates for each of the %d environment steps of a member an iteration (rollout_length × environments) "+
			"are %g updates; want a whole number, at least 1: the nearest is updates_per_step = %g", c.UpdatesPerStep, c.steps(), n, whole/float64(c.steps()))
	case whole > maxUpdates:
		return 0, config.Invalid("updates_per_step", "%g updates an iteration; want at most %d", whole, maxUpdates)
	}
	return int(whole), nil
}

// maxUpdates of an iteration are submitted as one program.
const maxUpdates = 1 << 20

// Fitting is the configuration of an off-policy algorithm.
type Fitting interface {
	// Fits checks the configuration against the environment, the networks and the replay, before any device work. Errors are those of
	// config.Invalid, with the key from the top level.
	Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error
}

// fits checks what all off-policy algorithms have in common.
func (c OffPolicyConfig) fits(network NetworkConfig, replay ReplayConfig) error {
	if network.NormalizeReward {
		return config.Invalid("network.normalize_reward", "rewards of different times would have different units in the replay; want false, and reward_scale")
	}
	return replay.holds(c.Members, c.Environments, c.RolloutLength)
}

// fitsContinuous checks what algorithms with an actor of continuous actions have in common.
func (c OffPolicyConfig) fitsContinuous(name string, env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	switch {
	case env.Action.IsDiscrete():
		return config.Invalid("env", "%s acts continuously, and %q has actions %v; want an environment with a box of actions, such as env = \"Pendulum-v1\"",
			name, env.Name, env.Action)
	case network.Bins != 0:
		return config.Invalid("network.bins", "%s needs the gradient at actions, and bins have none; want 0", name)
	case replay.Prioritized:
		return config.Invalid("replay.prioritized", "%s takes its batches as equally weighted, and tells no errors; want false", name)
	case !network.Squash:
		return config.Invalid("network.squash", "the actions of %s pass tanh; want true", name)
	}
	return c.fits(network, replay)
}
