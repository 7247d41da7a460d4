package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// A2CConfig are the settings of A2C. Fields with the tag member are tensors [M] on the device, which PBT may vary.
type A2CConfig struct {
	OnPolicyConfig

	GAELambda          float64 `min:"0" max:"1" doc:"Decay lambda of generalized advantage estimation, per member; 1: none." member:"horizon 1 12"`
	NormalizeAdvantage bool    `doc:"Advantages are normalized to mean 0 and deviation 1 in each update."`
}

// DefaultA2C has the paper's settings, sixteen actors, five steps and RMSProp, with the clipping and entropy weight of
// Stable-Baselines3.
func DefaultA2C() A2CConfig {
	return A2CConfig{
		OnPolicyConfig: OnPolicyConfig{
			Members: 1, Environments: 16, RolloutLength: 5, LearningRate: 7e-4, Discount: 0.99, ActorWeight: 1, CriticWeight: 0.5,
			Optimizer: optim.RMSProp, OptimizerEpsilon: 1e-5, StillAction: -1, MaxGradNorm: 0.5, GradientParts: 1, Actors: 1,
		},
		GAELambda: 1,
	}
}

// Check implements Algorithm.
func (c A2CConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	if c.Asynchronous {
		return config.Invalid("a2c.asynchronous", "trajectories that are taken as they come are of older weights, and nothing bounds the ratio of probabilities "+
			"that would correct for it: want false, or ppo, which clips it, or impala")
	}
	if c.Lag > 0 {
		return config.Invalid("a2c.lag", "the weights that act lag %d iterations behind, and nothing bounds the ratio of probabilities that would correct for it: "+
			"want 0, or ppo, which clips it, or impala", c.Lag)
	}
	return c.ppo().common().check(with, "a2c", "rollout_length × environments")
}

// NewA2C makes a synchronous advantage actor-critic workflow (V. Mnih et al., "Asynchronous Methods for Deep
// Reinforcement Learning", 2016). A2C is PPO with one epoch, one minibatch and no clipping (S. Huang et al., "A2C is a
// special case of PPO", 2022), so the workflow is a PPO named "a2c".
func NewA2C(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg A2CConfig, opts ...Option) (*PPO, error) {
	return newPPO(ctx, "a2c", cfg, eng, env, cfg.ppo(), opts)
}

// ppo returns the settings of PPO.
func (c A2CConfig) ppo() PPOConfig {
	return PPOConfig{
		OnPolicyConfig: c.OnPolicyConfig, Epochs: 1, Minibatches: 1, GAELambda: c.GAELambda, ClipEpsilon: unclipped, NormalizeAdvantage: c.NormalizeAdvantage,
	}
}

// unclipped is a ClipEpsilon that never clips.
const unclipped = 1e30
