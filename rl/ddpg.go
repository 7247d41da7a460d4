package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// DDPGConfig are the settings of DDPG. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type DDPGConfig struct {
	OffPolicyConfig

	ActorLearningRate  float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate float64 `min:"0" max:"1" doc:"Step size of the critic's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`
	ExplorationNoise   float64 `min:"0" doc:"Deviation of the noise added to actions, in units of half the action range, per member." member:"uniform 0 1"`
	CriticMaxGradNorm  float64 `min:"0" doc:"Largest norm of the critic's gradient, which is scaled down to it; 0: no limit."`
}

// DefaultDDPG has the settings of CleanRL, which EvoRL shares except for its gradient clipping: one environment, one
// update per step, normal noise. The paper (T. P. Lillicrap et al., 2016, section 7) differs in the learning rates
// (1e-4 and 1e-3), tau (0.001), the batch (64) and the noise (Ornstein-Uhlenbeck).
func DefaultDDPG() DDPGConfig {
	return DDPGConfig{
		OffPolicyConfig:   defaultOffPolicy(),
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, Tau: 0.005, ExplorationNoise: 0.1,
	}
}

// defaultOffPolicy has what CleanRL's DDPG, TD3 and SAC have in common; rollouts of 50 steps are fastpbrl's (A.
// Flajolet et al., 2022).
func defaultOffPolicy() OffPolicyConfig {
	return OffPolicyConfig{
		Members: 1, Environments: 1, RolloutLength: 50, UpdatesPerStep: 1, LearningStarts: 25000, Discount: 0.99, RewardScale: 1,
	}
}

// Fits implements Fitting.
func (c DDPGConfig) Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	return c.fitsDeterministic("ddpg", env, network, replay, 0)
}

// NewDDPG makes a workflow of deep deterministic policy gradient (T. P. Lillicrap et al., "Continuous control with
// deep reinforcement learning", 2016). It is TD3 with one critic, without target smoothing or delay. Init or a
// checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, an environment without continuous actions, *vk.OutOfMemoryError if the members need
// more memory than the device has (nothing is allocated then), and those of compiling an environment given as GLSL.
func NewDDPG(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg DDPGConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultOffPolicyNetwork(), opts)
	return newOffPolicy(ctx, "ddpg", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newDeterministic(o, parts, deterministicConfig{
			twins: 1, actorRate: cfg.ActorLearningRate, criticRate: cfg.CriticLearningRate, tau: cfg.Tau, explorationNoise: cfg.ExplorationNoise,
			criticMaxNorm: cfg.CriticMaxGradNorm,
		})
	})
}
