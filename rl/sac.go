package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// SACConfig are the settings of SAC. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type SACConfig struct {
	OffPolicyConfig
	CriticConfig

	ActorLearningRate       float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate      float64 `min:"0" max:"1" doc:"Step size of the critics' optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	TemperatureLearningRate float64 `min:"0" max:"1" doc:"Step size of the temperature's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                     float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`

	LearnTemperature bool    `doc:"The temperature is learned so that the policy has the target entropy."`
	Temperature      float64 `above:"0" doc:"Weight of the entropy, per member; a learned temperature's initial value, the same for all." member:""`
	TargetEntropy    float64 `doc:"Target entropy of a learned temperature, per action dimension, per member." member:"uniform -2 -0.2"`

	TargetEntropyScale float64 `min:"0" max:"1" doc:"Target entropy of n discrete actions, as a fraction of log n, per member." member:"uniform 0.1 0.98"`
}

// DefaultSAC has the settings of the paper's second version (T. Haarnoja et al., 2018, table 1): a learned
// temperature, with initial value 1 as in Stable-Baselines3; what it leaves open is CleanRL's. For discrete actions
// the target entropy is that of CleanRL's sac_atari.py, 0.89 of the largest; P. Christodoulou, 2019, and EvoRL have
// 0.98. Priors are fastpbrl's (A. Flajolet et al., 2022).
func DefaultSAC() SACConfig {
	c := SACConfig{
		OffPolicyConfig: defaultOffPolicy(), CriticConfig: defaultCritic(),
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, TemperatureLearningRate: 3e-4, Tau: 0.005,
		LearnTemperature: true, Temperature: 1, TargetEntropy: -1, TargetEntropyScale: 0.89,
	}
	c.LearningStarts = 5000
	return c
}

// Validate checks constraints across fields.
func (c SACConfig) Validate() error {
	if !c.ClippedDouble {
		return config.Invalid("clipped_double", "sac uses the smaller of both critics' values; want true")
	}
	if err := c.OffPolicyConfig.Validate(); err != nil {
		return err
	}
	return c.CriticConfig.Validate()
}

// Fits implements Fitting.
func (c SACConfig) Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	if err := given(env); err != nil {
		return err
	}
	switch {
	case env.Action.IsDiscrete() && replay.Prioritized:
		return config.Invalid("replay.prioritized", "sac supports neither priorities nor importance weights; want false")
	case env.Action.IsDiscrete() && c.Atoms != 0:
		return config.Invalid("sac.atoms", "critics of discrete actions output values; want 0")
	case env.Action.IsDiscrete():
		actor, critic := network.actorAndCritic(env, network.head(env.Action), 0)
		return c.fits(network, replay, actor, critic)
	case !network.StateDependentStd:
		return config.Invalid("network.state_dependent_std", "the actor of sac outputs the deviations; want true")
	}
	return c.fitsContinuous("sac", env, network, replay, c.Atoms)
}

// sac is the learner of SAC with continuous actions.
type sac struct {
	*actorCritic
	temperatures
	cfg                   SACConfig
	nextStream, ownStream uint32 // random streams of the next actions, and of the actor's own

	atTwins, atLogProb *engine.Tensor // gradients with respect to actions, [P, 2, B, A], and to log-probabilities, [P, B]
	entropyRow         *engine.Tensor // metric [P]

	fused     int            // updates per dispatch; 0: an update is several dispatches
	gradients *engine.Tensor // [P, row] of a fused update: of the critics, then of the actor
	sums      *engine.Tensor // [2, P] of a fused update: the actor's loss and the temperature
}

// NewSAC makes a workflow of soft actor-critic (T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications",
// 2018, algorithm 1). The actor outputs the log standard deviations, from min_log_std to max_log_std. With discrete
// actions it is the algorithm of P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019: critics
// output the values of all actions, and expectations over actions are sums. Init or a checkpoint must fill its state
// before the first Step. Close it after use.
//
// Errors: settings out of range, *vk.OutOfMemoryError if the members need more memory than the device has (nothing is
// allocated then), and those of compiling an environment given as GLSL.
func NewSAC(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg SACConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultSACNetwork(), opts)
	return newOffPolicy(ctx, "sac", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		if env.Action.IsDiscrete() {
			return newDiscreteSAC(o, parts, cfg)
		}
		return newSAC(o, parts, cfg)
	})
}

func newSAC(o *OffPolicy, parts learnerParts, c SACConfig) (*sac, error) {
	if parts.objectives > 1 {
		return nil, parts.oneActor()
	}
	head := parts.network.head(parts.env.Action)
	fused := fusesSoft(o, parts, c, head)
	ac, t, err := newSoft(o, parts, c, head, fused > 0)
	if err != nil {
		return nil, err
	}
	s, m := o.State(), o.Metrics()
	a := &sac{actorCritic: ac, temperatures: t, cfg: c, nextStream: s.Stream("next_action"), ownStream: s.Stream("own_action"), fused: fused}
	a.targetEntropy = o.Hyper().Add("target_entropy", c.TargetEntropy)
	p, b := engine.Members(a.members), engine.Axis("transition", a.rows)
	scratch := s.Sub("update")
	a.atTwins = scratch.Scratch("gradient_at_twins_actions", engine.Float32, p, nn.Networks(2), b, engine.Axis("action", a.head.Size))
	a.atLogProb = scratch.Scratch("gradient_at_log_prob", engine.Float32, p, b)
	a.entropyRow = m.Row("policy/entropy")
	a.makeFused(scratch)
	return a, s.Err()
}

// behaviour implements learner.
func (a *sac) behaviour() behaviour {
	return behaviour{policy: a.policy(a.head), normalizer: a.normalizer}
}

// block implements learner.
func (a *sac) block(int) int { return 1 }

// update implements learner: algorithm 1.
func (a *sac) update(r *engine.Recorder, u update) {
	a.actor.Evaluate(r, a.actor.weights(), inputs(a.perActor(u.batch.NextObs), nil), a.perActor(a.outputs))
	a.head.Sample(r, a.headBatch(u, a.nextStream), a.actions, a.logProb)
	a.descendCritics(r, u, a.temperature, a.learned()) // equations 5 and 6
	a.descendActor(r, u)
}

// descendActor records an update of the actor (equations 7 to 9) and, if it is learned, of the temperature (equation
// 18), with one sample of actions. Of several actors with the same critics, each has the loss of its own batch.
func (a *sac) descendActor(r *engine.Recorder, u update) {
	obs, b := u.batch.Obs, a.headBatch(u, a.ownStream)
	a.actor.pass.Forward(r, a.actor.weights(), inputs(a.perActor(obs), nil), a.perActor(a.outputs))
	a.head.Sample(r, b, a.actions, a.logProb)
	a.critics.pass.Forward(r, a.critics.weights(), inputs(obs, a.actions), a.values)
	values, atValues := a.values, a.atValues
	if d := a.distribution; d != nil {
		d.value(r, a.actorCritic)
		values, atValues = d.means, d.atMeans
	}
	k := softActorKernel{
		Value: values.Range(), LogProb: a.logProb.Range(), Temperature: a.temperature.Range(), Entropy: a.targetEntropy.Range(),
		AtValue: atValues.Range(), AtLogProb: a.atLogProb.Range(), Loss: a.actorRow.Range(), Applied: a.temperatureRow.Range(),
		Rows: uint32(a.rows), Batch: uint32(a.batch), Dimensions: uint32(a.head.Size), LogTemperature: a.learned(), Workgroup: r.WorkgroupFor(a.rows),
	}
	if a.atLog != nil {
		k.AtLog = a.atLog.Range()
	}
	r.Dispatch(k.call(uint32(a.members), 1, 1))
	if a.distribution != nil {
		a.distribution.slope(r, a.actorCritic, atValues)
	}
	a.critics.pass.InputGradients(r, a.atValues, nil, a.atTwins)
	a.head.Backward(r, b, nn.HeadGradients{Action: a.atTwins, LogProb: a.atLogProb, Outputs: a.atOutputs})
	a.descend(r, a.actor, a.actor.pass.Gradient(r, a.perActor(a.atOutputs)))
}

// inherit implements learner.
func (a *sac) inherit(r *engine.Recorder, source *engine.Tensor) {
	a.actorCritic.inherit(r, source)
	a.temperatures.inherit(r, source)
}

// recordMetrics implements learner.
func (a *sac) recordMetrics(r *engine.Recorder) {
	a.actorCritic.recordMetrics(r)
	engine.Mean(r, a.entropyRow, a.logProb, nil, -1)
	if a.fused > 0 {
		r.Copy(a.actorRow, a.sums.Index(0))
		r.Copy(a.temperatureRow, a.sums.Index(1))
	}
}

// init implements learner.
func (a *sac) init(ctx context.Context) error {
	return errors.Join(a.actorCritic.init(ctx), a.temperatures.init(ctx))
}
