package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// DQNConfig are the settings of DQN. Fields with the tag member are tensors [P] on the device, which PBT may vary. The
// replay's settings steps (n-step returns) and prioritized also belong to the algorithm.
type DQNConfig struct {
	OffPolicyConfig

	LearningRate   float64 `min:"0" max:"1" doc:"Step size of Adam, per member." member:"log_uniform 3e-5 3e-3"`
	TargetInterval float64 `min:"1" max:"1e6" doc:"Number of updates between updates of the target network, per member." member:""`
	Tau            float64 `min:"0" max:"1" doc:"Polyak coefficient of such an update; 1: copies. Per member." member:""`

	ExplorationStart float64 `min:"0" max:"1" doc:"Initial probability of a random action, per member." member:""`
	ExplorationEnd   float64 `min:"0" max:"1" doc:"Probability of a random action after exploration_steps, per member." member:"log_uniform 0.01 0.2"`
	ExplorationSteps int     `min:"1" max:"1073741824" doc:"Environment steps per member over which that probability changes linearly."`

	Double  bool `doc:"The network, not its target, chooses the next action (H. van Hasselt et al., 2016)."`
	Dueling bool `doc:"The network outputs the state's value and advantages (Z. Wang et al., 2016)."`

	NoisyStd float64 `min:"0" max:"10" doc:"Initial deviation of the parameters' learned noise, times the square root of a layer's inputs; 0: no noise."`

	Atoms    int     `min:"0" max:"256" doc:"Atoms of the distribution of returns (M. G. Bellemare et al., 2017); 0: the network outputs values."`
	MinValue float64 `doc:"Lowest atom."`
	MaxValue float64 `doc:"Highest atom."`

	Huber            float64 `min:"0" doc:"Size of errors above which the loss is linear, without atoms; 0: always quadratic."`
	OptimizerEpsilon float64 `above:"0" doc:"Added to Adam's denominator."`
	MaxGradNorm      float64 `min:"0" doc:"Largest norm of the gradient, which is scaled down to it; 0: no limit."`
}

// DefaultDQN has the settings of CleanRL's dqn.py for classic control: an update every 10 steps, copied to the targets
// every 500 steps, epsilon from 1 to 0.05 over half of 500,000 steps. If atoms are requested, their range is that of
// its c51.py.
func DefaultDQN() DQNConfig {
	return DQNConfig{
		OffPolicyConfig: OffPolicyConfig{
			Members: 1, Environments: 1, RolloutLength: 10, UpdatesPerStep: 0.1, LearningStarts: 10000,
			Discount: 0.99, RewardScale: 1,
		},
		LearningRate: 2.5e-4, TargetInterval: 50, Tau: 1, ExplorationStart: 1, ExplorationEnd: 0.05, ExplorationSteps: 250000,
		MinValue: -100, MaxValue: 100, OptimizerEpsilon: 1e-8,
	}
}

// DefaultDQNNetwork has the settings of CleanRL's dqn.py: layers of 120 and 84 with ReLU, PyTorch's initial weights.
func DefaultDQNNetwork() NetworkConfig {
	c := DefaultOffPolicyNetwork()
	c.Hidden = []int{120, 84}
	return c
}

// DefaultDQNReplay has the settings of CleanRL's dqn.py: 10,000 transitions and batches of 128. Its priorities are
// DefaultReplay's.
func DefaultDQNReplay() ReplayConfig {
	c := DefaultReplay()
	c.Capacity, c.Batch = 10000, 128
	return c
}

// Validate checks constraints across fields.
func (c DQNConfig) Validate() error {
	switch {
	case c.Atoms == 1:
		return config.Invalid("atoms", "a distribution of 1 atom is constant; want 0, or at least 2")
	case c.Atoms > 0 && !(c.MinValue < c.MaxValue):
		return config.Invalid("max_value", "%g is not above min_value, %g", c.MaxValue, c.MinValue)
	case c.Atoms > 0 && c.Huber > 0:
		return config.Invalid("huber", "the loss of distributions is a cross-entropy without a threshold; want 0 with atoms")
	}
	return c.OffPolicyConfig.Validate()
}

// head returns the head that turns the network's outputs into actions.
func (c DQNConfig) head(actions int) nn.Head {
	return nn.Head{Kind: nn.EpsilonGreedy, Size: actions, Atoms: c.Atoms, Dueling: c.Dueling}
}

// Fits implements Fitting.
func (c DQNConfig) Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	if !env.Action.IsDiscrete() {
		return config.Invalid("env", "dqn needs discrete actions, and %q has actions %v; want an environment with discrete actions, "+
			"such as env = \"CartPole-v1\"", env.Name, env.Action)
	}
	if len(network.CriticHidden) > 0 {
		return config.Invalid("network.critic_hidden", "dqn has one network, of hidden layers %v, and no critic besides; want []", network.Hidden)
	}
	return c.fits(network, replay, network.model(env.ObsSize(), c.head(env.Action.Size()).Outputs()))
}

// NewDQN makes a workflow of deep Q-learning (V. Mnih et al., "Human-level control through deep reinforcement
// learning", 2015). With double, dueling, atoms, noisy networks (noise_std 0.5, epsilon 0) and a prioritized replay of
// n-step returns it is Rainbow (M. Hessel et al., "Rainbow: Combining Improvements in Deep Reinforcement Learning",
// 2018). A rollout uses one draw of the noise for all environments of a member. Init or a checkpoint must fill its
// state before the first Step. Close it after use.
//
// Errors: settings out of range, an environment without discrete actions, *vk.OutOfMemoryError if the members need
// more memory than the device has (nothing is allocated then), and those of compiling an environment given as GLSL.
func NewDQN(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg DQNConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultDQNNetwork(), append([]Option{Replays(DefaultDQNReplay())}, opts...))
	return newOffPolicy(ctx, "dqn", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newQLearner(o, parts, cfg)
	})
}
