package rl

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// NetworkConfig describes the hidden layers of an agent's networks; the environment gives inputs and outputs.
type NetworkConfig struct {
	nn.Config

	Shared       Sharing      `doc:"Layers that actor and critic of ppo, a2c and impala share: none, all before their outputs, or those up to the recurrent cell."`
	CriticHidden []int        `min:"1" max:"8192" doc:"Units per hidden layer of the critics if they differ from the actor's; []: they do not."`
	Precision    nn.Precision `doc:"Matrix products of updates: float32, or float16 with sums in float32 on devices with cooperative matrices."`
	ActorGain    float64      `above:"0" doc:"Factor of the initial weights of the actor's output."`
	CriticGain   float64      `above:"0" doc:"Factor of the initial weights of the critic's output."`
	LogStd       float64      `min:"-10" max:"3" doc:"Initial log standard deviation of continuous actions, in units of half the action range."`
	Squash       bool         `doc:"Continuous actions are squashed by tanh into the action range."`

	StateDependentStd bool    `doc:"The actor outputs log standard deviations, from min_log_std to max_log_std; otherwise they are parameters."`
	MinLogStd         float64 `min:"-20" max:"2" doc:"Lower limit of state-dependent log standard deviations."`
	MaxLogStd         float64 `min:"-20" max:"3" doc:"Upper limit of state-dependent log standard deviations."`
	Bins              int     `min:"0" max:"256" doc:"Evenly spaced values per continuous action, whose logits the actor outputs; 0: actions are not discretized."`

	NormalizeObs    bool    `doc:"Observations are normalized to mean 0 and deviation 1 by running moments."`
	ObsLimit        float64 `above:"0" doc:"Normalized observations are clipped to ± this value."`
	NormalizeReward bool    `doc:"Rewards are divided by the running deviation of discounted returns."`
	RewardLimit     float64 `above:"0" doc:"Normalized rewards are clipped to ± this value."`
}

// DefaultNetwork has the settings of PureJaxRL and CleanRL: two layers of 64 with tanh, orthogonal initial weights,
// small ones at the actor's output (M. Andrychowicz et al., "What Matters In On-Policy Reinforcement Learning?",
// 2021).
func DefaultNetwork() NetworkConfig {
	return NetworkConfig{
		Config:    nn.Config{Hidden: []int{64, 64}, Activation: nn.Tanh, Initializer: nn.Orthogonal, HiddenGain: 1.4142135623730951},
		ActorGain: 0.01, CriticGain: 1, MinLogStd: -5, MaxLogStd: 2, ObsLimit: 10, RewardLimit: 10,
	}
}

// DefaultOffPolicyNetwork has the settings of CleanRL's DDPG, TD3 and SAC: two layers of 256 with ReLU, PyTorch's
// initial weights.
func DefaultOffPolicyNetwork() NetworkConfig {
	return NetworkConfig{
		Config:    nn.Config{Hidden: []int{256, 256}, Activation: nn.ReLU, Initializer: nn.FanInUniform, HiddenGain: 1},
		ActorGain: 1, CriticGain: 1, Squash: true, MinLogStd: -5, MaxLogStd: 2, ObsLimit: 10, RewardLimit: 10,
	}
}

// DefaultSACNetwork is DefaultOffPolicyNetwork with state-dependent log standard deviations, from -5 to 2, as in
// CleanRL's SAC.
func DefaultSACNetwork() NetworkConfig {
	c := DefaultOffPolicyNetwork()
	c.StateDependentStd = true
	return c
}

// Validate checks constraints across fields.
func (c NetworkConfig) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	if c.HiddenGain == 0 {
		return config.Invalid("hidden_gain", "0 leaves no gradient; want above 0")
	}
	if len(c.CriticHidden) > nn.MaxHidden {
		return config.Invalid("critic_hidden", "%d hidden layers; want at most %d", len(c.CriticHidden), nn.MaxHidden)
	}
	if c.Shared != ShareNone && len(c.CriticHidden) > 0 {
		return config.Invalid("critic_hidden", "hidden layers %v of the critic, which shares those of the actor; want [], or shared = %q", c.CriticHidden, ShareNone)
	}
	if c.StateDependentStd && !(c.MinLogStd < c.MaxLogStd) {
		return config.Invalid("max_log_std", "%g is not above min_log_std, %g", c.MaxLogStd, c.MinLogStd)
	}
	if c.Bins == 1 {
		return config.Invalid("bins", "1 bin leaves no choice of actions; want 0, or at least 2")
	}
	return nil
}

// checkPrecision returns an error if the precision would change no product of the networks in updates of that many transitions;
// from names the settings that determine their number. If a critic learns from several actors' batches, one batch counts.
func (c NetworkConfig) checkPrecision(transitions int, from string, networks ...nn.Model) error {
	const least = nn.Float16Least
	halves := func(m nn.Model) bool { return nn.Halves(m, transitions) }
	switch {
	case c.Precision != nn.Float16 || slices.ContainsFunc(networks, halves):
		return nil
	case transitions < least:
		return config.Invalid("network.precision", "float16 needs at least %d transitions per update, and %s gives %d: "+
			"products with fewer than %d rows, columns or terms stay in float32; want \"float32\", or more transitions",
			least, from, transitions, least)
	}
	return config.Invalid("network.precision", "float16 has no effect on networks %v, none of whose layers has %d inputs and %d outputs: "+
		"products with fewer rows, columns or terms stay in float32; want \"float32\", or wider layers, such as hidden = [64, 64]",
		networks, least, least)
}

// actorAndCritic returns the networks of an agent that acts by the head: critics of states and continuous actions have atoms
// outputs, at least one, critics of states alone a value for each action.
func (c NetworkConfig) actorAndCritic(env *envs.Environment, head nn.Head, atoms int) (actor, critic nn.Model) {
	image := env.Observation.Shape()
	actor, critic = c.model(image, head.Outputs()), c.critic(nn.Shape{image.Size() + head.Size}, max(atoms, 1))
	if head.Kind.Discrete() {
		critic = c.critic(image, head.Size)
	}
	return actor, critic
}

// policyAndValue returns the networks of an on-policy agent that acts by the head, whose critic sees inputs of the given shape. A critic that shares the
// actor's layers is a branch of it, behind the head's parameters.
func (c NetworkConfig) policyAndValue(env *envs.Environment, head nn.Head, sees nn.Shape) (actor, critic nn.Model) {
	actor = c.model(env.Observation.Shape(), head.Outputs())
	if c.Shared != ShareNone {
		return actor, nn.Branch{Trunk: actor, Out: 1, At: nn.Align(actor.Size() + head.Parameters()), Cell: c.Shared == ShareCell}
	}
	return actor, c.critic(sees, 1)
}

// critic returns a critic's network.
func (c NetworkConfig) critic(in nn.Shape, out int) nn.Model {
	if len(c.CriticHidden) > 0 {
		c.Hidden, c.Layers, c.Preset = c.CriticHidden, nil, nn.NoPreset
	}
	return c.model(in, out)
}

// alike reports whether actor and critics have the same hidden layers, but not the same network, as kernels that update both need.
func (c NetworkConfig) alike() bool {
	return c.Shared == ShareNone && (len(c.CriticHidden) == 0 || len(c.Layers) == 0 && c.Preset == nn.NoPreset && slices.Equal(c.CriticHidden, c.Hidden))
}

// head returns the actor's head for an action space.
func (c NetworkConfig) head(space envs.Space) nn.Head {
	h := space.Head()
	switch {
	case h.Kind.Discrete():
	case c.Bins > 0:
		h.Kind, h.Bins = nn.Binned, c.Bins
	default:
		h.Squash, h.StateDependent = c.Squash, c.StateDependentStd
		h.LogStdLow, h.LogStdHigh = float32(c.MinLogStd), float32(c.MaxLogStd)
	}
	return h
}

// checkHead returns an error if a setting of continuous actions has no effect on the actor's head and is not its default; where dependent,
// deviations that depend on the state are the default.
func (c NetworkConfig) checkHead(space envs.Space, dependent bool) error {
	discrete, head := space.IsDiscrete(), c.head(space)
	var none string // why no parameter is a deviation
	switch {
	case discrete:
		none = "actions are " + space.String()
	case c.Bins != 0:
		none = fmt.Sprintf("bins = %d makes actions discrete", c.Bins)
	case head.Parameters() == 0:
		none = "the actor outputs deviations (state_dependent_std)"
	}
	switch {
	case discrete && c.Bins != 0:
		return config.Invalid("network.bins", "%d values of each continuous action, and actions are %v; want 0", c.Bins, space)
	case none != "" && c.LogStd != 0:
		return config.Invalid("network.log_std", "an initial deviation of continuous actions, and %s; want 0", none)
	case head.Kind.Discrete() && c.StateDependentStd && !dependent:
		return config.Invalid("network.state_dependent_std", "deviations of continuous actions, and %s; want false", none)
	}
	return nil
}

func (c NetworkConfig) model(in nn.Shape, out int) nn.Model { return c.Model(in, out, c.Precision) }

// check returns an error if a network cannot be made, such as one of convolutions over what is no image, or if the precision has no effect: see
// checkPrecision.
func (c NetworkConfig) check(transitions int, from string, networks ...nn.Model) error {
	if err := c.checkLayers(networks...); err != nil {
		return err
	}
	return c.checkPrecision(transitions, from, networks...)
}

// checkLayers returns an error if a network cannot be made.
func (c NetworkConfig) checkLayers(networks ...nn.Model) error {
	key := "network." + c.Key()
	for _, m := range networks {
		err := m.Check()
		switch {
		case err == nil:
		case key != "network.hidden" && len(m.Inputs()) == 1:
			return config.Invalid(key, "over %d features: %v; critics of observations and actions, or of a world, take all as one vector, and want "+
				"dense layers, or critic_hidden", m.Inputs().Size(), err)
		default:
			return config.Invalid(key, "%v", err)
		}
	}
	return nil
}
