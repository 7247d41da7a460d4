package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// A2CConfig are the settings of A2C. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type A2CConfig struct {
	Members       int `min:"1" max:"1048576" doc:"Number of agents, P, trained simultaneously."`
	Environments  int `min:"1" max:"1048576" doc:"Environments per member, E."`
	RolloutLength int `min:"1" max:"32768" doc:"Steps per environment and iteration, T: one update."`

	LearningRate  float64 `min:"0" max:"1" doc:"Step size of the optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Discount      float64 `min:"0" max:"1" doc:"Discount factor gamma of rewards, per member." member:"horizon 2 12"`
	GAELambda     float64 `min:"0" max:"1" doc:"Decay lambda of generalized advantage estimation, per member; 1: none." member:"horizon 1 12"`
	ActorWeight   float64 `min:"0" doc:"Weight of the actor's loss, per member." member:"log_uniform 0.01 10"`
	CriticWeight  float64 `min:"0" doc:"Weight of the critic's loss, per member." member:"log_uniform 0.01 10"`
	EntropyWeight float64 `doc:"Weight of the entropy bonus, per member." member:"log_uniform 1e-5 1"`

	Optimizer        optim.Rule `doc:"Update rule: sgd, rmsprop, adam, adamw, clipup."`
	OptimizerEpsilon float64    `above:"0" doc:"Added to the optimizer's denominator."`
	MaxGradNorm      float64    `min:"0" doc:"Largest norm of the joint gradient of actor and critic, which is scaled down to it; 0: no limit."`
	ScheduleConfig

	NormalizeAdvantage bool `doc:"Advantages are normalized to mean 0 and deviation 1 in each update."`
}

// DefaultA2C has the paper's settings, sixteen actors, five steps and RMSProp, with the clipping and entropy weight of
// Stable-Baselines3.
func DefaultA2C() A2CConfig {
	return A2CConfig{
		Members: 1, Environments: 16, RolloutLength: 5,
		LearningRate: 7e-4, Discount: 0.99, GAELambda: 1, ActorWeight: 1, CriticWeight: 0.5,
		Optimizer: optim.RMSProp, OptimizerEpsilon: 1e-5, MaxGradNorm: 0.5,
	}
}

// Fits implements Fitting.
func (c A2CConfig) Fits(env *envs.Environment, network NetworkConfig, _ ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	return c.ppo().common().fits(env, network, "rollout_length × environments")
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
		Members: c.Members, Environments: c.Environments, RolloutLength: c.RolloutLength, Epochs: 1, Minibatches: 1,
		LearningRate: c.LearningRate, Discount: c.Discount, GAELambda: c.GAELambda, ClipEpsilon: unclipped,
		ActorWeight: c.ActorWeight, CriticWeight: c.CriticWeight, EntropyWeight: c.EntropyWeight,
		Optimizer: c.Optimizer, OptimizerEpsilon: c.OptimizerEpsilon, MaxGradNorm: c.MaxGradNorm, ScheduleConfig: c.ScheduleConfig,
		NormalizeAdvantage: c.NormalizeAdvantage,
	}
}

// unclipped is a ClipEpsilon that never clips.
const unclipped = 1e30
