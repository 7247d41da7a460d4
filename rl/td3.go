package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// TD3Config are the settings of TD3. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type TD3Config struct {
	OffPolicyConfig
	CriticConfig

	ActorLearningRate  float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate float64 `min:"0" max:"1" doc:"Step size of the critics' optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`
	ExplorationNoise   float64 `min:"0" doc:"Deviation of the noise added to actions, in units of half the action range, per member." member:"uniform 0 1"`
	TargetNoise        float64 `min:"0" doc:"Deviation of the noise added to the target policy's actions, per member." member:"uniform 0 1"`
	NoiseClip          float64 `min:"0" doc:"The target policy's noise is clipped to ± this value, per member." member:"uniform 0 1"`
	PolicyDelay        float64 `min:"1" max:"1000" doc:"Critic updates per update of actor and targets, on average, per member." member:"uniform 1 5"`

	DelayTargets        bool    `doc:"Targets of the critics move with the actor, as in the paper; otherwise in every update (QDax)."`
	TargetActor         bool    `doc:"Next actions are chosen by a target actor, which follows the actor; otherwise by the actor itself (FastTD3, PQL)."`
	ExplorationLevels   int     `min:"1" max:"4096" doc:"Number of deviations from exploration_noise to exploration_noise_max, spread over the environments."`
	ExplorationNoiseMax float64 `min:"0" doc:"Largest deviation if exploration_levels is above 1, per member." member:""`
	WeightDecay         float64 `min:"0" max:"1" doc:"Weight decay; above 0, the optimizer is AdamW; 0: Adam."`
}

// DefaultTD3 has the paper's settings (S. Fujimoto et al., 2018, section 6.1 and appendix C) with CleanRL's learning
// rates and batch, which are those of the authors' later code. Priors are fastpbrl's (A. Flajolet et al., 2022).
// FastTD3 (Y. Seo et al., 2025) and PQL (Z. Li et al., 2023), for many environments, are settings of it: many
// environments, few updates of large batches, atoms, no target actor, a large tau, several exploration levels, weight
// decay (configs/fast-td3-halfcheetah.toml).
func DefaultTD3() TD3Config {
	return TD3Config{
		OffPolicyConfig: defaultOffPolicy(), CriticConfig: defaultCritic(),
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, Tau: 0.005, ExplorationNoise: 0.1, TargetNoise: 0.2, NoiseClip: 0.5, PolicyDelay: 2,
		DelayTargets: true, TargetActor: true, ExplorationLevels: 1, ExplorationNoiseMax: 0.4,
	}
}

// Validate checks constraints across fields.
func (c TD3Config) Validate() error {
	if c.ExplorationLevels > 1 && c.Environments%c.ExplorationLevels != 0 {
		return config.Invalid("exploration_levels", "%d deviations for %d environments; want a divisor of environments", c.ExplorationLevels, c.Environments)
	}
	if err := c.OffPolicyConfig.Validate(); err != nil {
		return err
	}
	return c.CriticConfig.Validate()
}

// Fits implements Fitting.
func (c TD3Config) Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	return c.fitsDeterministic("td3", env, network, replay, c.Atoms)
}

// NewTD3 makes a workflow of twin delayed deep deterministic policy gradient (S. Fujimoto et al., "Addressing Function Approximation Error
// in Actor-Critic Methods", 2018, algorithm 1). Init or a checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: those of NewDDPG.
func NewTD3(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg TD3Config, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultOffPolicyNetwork(), opts)
	return newOffPolicy(ctx, "td3", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newDeterministic(o, parts, cfg.deterministic())
	})
}

// deterministic returns the settings of the learner.
func (c TD3Config) deterministic() deterministicConfig {
	return deterministicConfig{
		twins: 2, actorRate: c.ActorLearningRate, criticRate: c.CriticLearningRate, tau: c.Tau, explorationNoise: c.ExplorationNoise,
		delay: c.PolicyDelay, promptTargets: !c.DelayTargets, smooths: true, targetNoise: c.TargetNoise, noiseClip: c.NoiseClip,
		critic: c.CriticConfig, ownNext: !c.TargetActor, levels: c.ExplorationLevels, noiseMost: c.ExplorationNoiseMax, weightDecay: c.WeightDecay,
	}
}
