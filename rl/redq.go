package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// REDQConfig are the settings of REDQ. Fields with the tag member are tensors [M] on the device, which PBT may vary.
type REDQConfig struct {
	OffPolicyConfig

	Critics        int `min:"2" max:"64" doc:"Critics per member, N."`
	Subset         int `min:"1" max:"64" doc:"Target critics, drawn at random in every update, whose smallest value is in the target, M."`
	PolicyInterval int `min:"1" max:"1024" doc:"Updates of the critics, G, for each update of actor and temperature."`

	ActorLearningRate       float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate      float64 `min:"0" max:"1" doc:"Step size of the critics' optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	TemperatureLearningRate float64 `min:"0" max:"1" doc:"Step size of the temperature's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                     float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`

	LearnTemperature bool    `doc:"The temperature is learned so that the policy has the target entropy."`
	Temperature      float64 `above:"0" doc:"Weight of the entropy, per member; a learned temperature's initial value, the same for all." member:""`
	TargetEntropy    float64 `doc:"Target entropy of a learned temperature, per action dimension, per member." member:"uniform -2 -0.2"`
}

// DefaultREDQ has the paper's settings (X. Chen et al., 2021, section 2 and appendix): ten critics, two of them for the target, twenty updates of the
// critics per environment step, one of the actor; what it shares with SAC is as in the paper's SAC. The paper's target entropies are MBPO's, which
// differ between environments; here it is SAC's, -1 per dimension.
func DefaultREDQ() REDQConfig {
	c := REDQConfig{
		OffPolicyConfig: defaultOffPolicy(), Critics: 10, Subset: 2, PolicyInterval: 20,
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, TemperatureLearningRate: 3e-4, Tau: 0.005,
		LearnTemperature: true, Temperature: 1, TargetEntropy: -1,
	}
	c.UpdatesPerStep, c.LearningStarts = 20, 5000
	return c
}

// Validate checks constraints across fields.
func (c REDQConfig) Validate() error {
	if c.Subset > c.Critics {
		return config.Invalid("subset", "a subset of %d of %d critics; want at most all", c.Subset, c.Critics)
	}
	if err := c.OffPolicyConfig.Validate(); err != nil {
		return err
	}
	if updates, err := c.updates(); err != nil || updates%c.PolicyInterval != 0 {
		return config.Invalid("policy_interval", "an update of the actor after every %d of an iteration's %d updates "+
			"(rollout_length × environments × updates_per_step); want a divisor of them", c.PolicyInterval, updates)
	}
	return nil
}

// Check implements Algorithm.
func (c REDQConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	if !with.Env.Action.IsDiscrete() && !with.Network.StateDependentStd {
		return config.Invalid("network.state_dependent_std", "the actor of redq outputs the deviations; want true")
	}
	return c.checkContinuous("redq", with, 0)
}

// soft returns the settings that REDQ shares with SAC.
func (c REDQConfig) soft() SACConfig {
	return SACConfig{
		OffPolicyConfig: c.OffPolicyConfig, ActorLearningRate: c.ActorLearningRate, CriticLearningRate: c.CriticLearningRate,
		TemperatureLearningRate: c.TemperatureLearningRate, Tau: c.Tau,
		LearnTemperature: c.LearnTemperature, Temperature: c.Temperature, TargetEntropy: c.TargetEntropy,
	}
}

// NewREDQ makes a workflow of randomized ensembled double Q-learning (X. Chen, C. Wang, Z. Zhou, K. Ross, "Randomized Ensembled Double Q-Learning:
// Learning Fast Without a Model", 2021, algorithm 1): SAC with continuous actions, N critics, and many updates per environment step. Init or a
// checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: as NewSAC, and an environment without continuous actions.
func NewREDQ(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg REDQConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultSACNetwork(), opts)
	return newOffPolicy(ctx, "redq", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newREDQ(o, parts, cfg)
	})
}

// redq is the learner of REDQ: SAC's with another target and another loss of the actor.
type redq struct {
	*sac
	cfg    REDQConfig
	stream uint32 // of the subsets
}

func newREDQ(o *OffPolicy, parts learnerParts, c REDQConfig) (*redq, error) {
	if err := parts.oneActor(); err != nil {
		return nil, err
	}
	soft, err := newSoftActor(o, parts, c.soft(), c.Critics, nil)
	if err != nil {
		return nil, err
	}
	return &redq{sac: soft, cfg: c, stream: o.State().Stream("subset")}, nil
}

// block implements learner: the actor learns in the last update of a block.
func (a *redq) block(int) int { return a.cfg.PolicyInterval }

// update implements learner: lines 6 to 12 of algorithm 1.
func (a *redq) update(r *engine.Recorder, u update) {
	a.sampleNext(r, u)
	a.evaluateTargets(r, u.batch)
	a.chooseTargets(r, u)                                    // lines 7 and 8
	a.descendCritics(r, u.batch, a.temperature, a.learned()) // lines 8 to 11
	if u.at == u.block-1 {
		a.descendActor(r, u) // line 12
	}
}

// chooseTargets records replacing the target critics' values by the smallest of a random subset.
func (a *redq) chooseTargets(r *engine.Recorder, u update) {
	size, groups := r.Invocations(a.rows)
	r.Dispatch(redqTargetKernel{
		NextValue: a.nextValues.Range(), Clock: a.clock.Tensor().Range(), Update: u.number.Range(),
		Rows: uint32(a.rows), Seed: r.Engine().Seed(), Stream: a.stream, Critics: uint32(a.cfg.Critics), Subset: uint32(a.cfg.Subset), LocalSizeX: size,
	}.call(groups, uint32(a.members), 1))
}

// descendActor records an update of the actor towards the mean value of all critics and, if it is learned, of the temperature.
func (a *redq) descendActor(r *engine.Recorder, u update) {
	own := a.sampleOwn(r, u)
	k := redqActorKernel{
		Value: a.critics.outputs.Range(), LogProb: a.logProb.Range(), Temperature: a.temperature.Range(), Entropy: a.targetEntropy.Range(),
		AtValue: a.critics.atOutputs.Range(), AtLogProb: a.atLogProb.Range(), Loss: a.actorRow.Range(), Applied: a.temperatureRow.Range(),
		Rows: uint32(a.rows), Dimensions: uint32(a.head.Size), Critics: uint32(a.cfg.Critics),
		LogTemperature: a.learned(), Workgroup: r.WorkgroupFor(a.cfg.Critics * a.rows),
	}
	if a.atLog != nil {
		k.AtLog = a.atLog.Range()
	}
	r.Dispatch(k.call(uint32(a.members), 1, 1))
	a.followCritics(r, own)
}
