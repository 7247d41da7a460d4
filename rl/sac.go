package rl

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// SACConfig are the settings of SAC. Fields with the tag member are tensors [M] on the device, which PBT may vary.
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
// the target entropy is as in CleanRL's sac_atari.py, 0.89 of the largest; P. Christodoulou, 2019, and EvoRL have
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

// Check implements Algorithm.
func (c SACConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	switch {
	case with.Env.Action.IsDiscrete() && with.Replay.Prioritized:
		return config.Invalid("replay.prioritized", "sac supports neither priorities nor importance weights; want false")
	case with.Env.Action.IsDiscrete() && c.Atoms != 0:
		return config.Invalid("sac.atoms", "critics of discrete actions output values; want 0")
	case with.Env.Action.IsDiscrete():
		if err := with.Network.checkHead(with.Env.Action, true); err != nil {
			return err
		}
		actor, critic := with.actorAndCritic(0)
		return c.check("sac", with, actor, critic)
	case !with.Network.StateDependentStd:
		return config.Invalid("network.state_dependent_std", "the actor of sac outputs the deviations; want true")
	}
	return c.checkContinuous("sac", with, c.Atoms)
}

// NewSAC makes a workflow of soft actor-critic (T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications",
// 2018, algorithm 1). The actor outputs the log standard deviations, from min_log_std to max_log_std. With discrete
// actions it is the algorithm of P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019: critics
// output the values of all actions, and expectations over actions are sums. Init or a checkpoint must fill its state
// before the first Step. Close it after use.
//
// Errors: settings out of range, *vk.OutOfMemoryError if the members need more memory than the device has (nothing is
// allocated then), and compiler errors of an environment given as GLSL.
func NewSAC(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg SACConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultSACNetwork(), opts)
	return newOffPolicy(ctx, "sac", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		if env.Action.IsDiscrete() {
			return newDiscreteSAC(o, parts, cfg)
		}
		return newSAC(o, parts, cfg)
	})
}

// sac is the learner of SAC with continuous actions.
type sac struct {
	*soft
	nextStream, ownStream uint32 // random streams of the next actions, and of the actor's own

	atCritics, atLogProb *engine.Tensor // gradients with respect to actions, [M, critics, B, D], and to log-probabilities, [M, B]
}

func newSAC(o *OffPolicy, parts learnerParts, c SACConfig) (*sac, error) {
	head := parts.network.head(parts.env.Action)
	model := parts.network.model(nn.Shape{parts.env.ObsSize() + parts.env.Action.Size()}, head.Outputs())
	a, err := newSoftActor(o, parts, c, 2, lane.PlanSoft(parts.inLanes(o, c.Atoms == 0), model, head))
	if err != nil {
		return nil, err
	}
	a.form.Soft(o.State().Sub("update"), lane.Soft{
		ActorCritic: a.inLanes(), Head: a.head, NextStream: a.nextStream, OwnStream: a.ownStream, TargetEntropy: a.targetEntropy,
		Temperature: a.temperature, Heat: a.heat, ActorLoss: a.actorRow, Applied: a.temperatureRow,
	})
	return a, o.State().Err()
}

// newSoftActor makes a learner with the given number of critics per member.
func newSoftActor(o *OffPolicy, parts learnerParts, c SACConfig, critics int, form *lane.Updates) (*sac, error) {
	if parts.objectives > 1 {
		return nil, parts.oneActor()
	}
	common, err := newSoft(o, parts, c, parts.network.head(parts.env.Action), critics, form)
	if err != nil {
		return nil, err
	}
	s := o.State()
	a := &sac{soft: common, nextStream: s.Stream("next_action"), ownStream: s.Stream("own_action")}
	a.targetEntropy = o.Hyper().Add("target_entropy", c.TargetEntropy)
	p, b := engine.Members(a.members), engine.Axis("transition", a.rows)
	scratch := s.Sub("update")
	a.atCritics = scratch.Scratch("gradient_at_twins_actions", engine.Float32, p, nn.Networks(critics), b, engine.Axis("action", a.head.Size))
	a.atLogProb = scratch.Scratch("gradient_at_log_prob", engine.Float32, p, b)
	a.entropyRow = o.Metrics().Row("policy/entropy")
	return a, s.Err()
}

// update implements learner: the gradient steps of algorithm 1.
func (a *sac) update(r *engine.Recorder, u update) {
	a.sampleNext(r, u)
	a.evaluateTargets(r, u.batch)
	a.descendCritics(r, u.batch, a.temperature, a.learned()) // equations 5 and 6
	a.descendActor(r, u)
}

// sampleNext records actions of the policy at the next observations, and their log-probabilities.
func (a *sac) sampleNext(r *engine.Recorder, u update) {
	a.actor.Evaluate(r, a.actor.weights(), inputs(a.perActor(u.batch.NextObs), nil), a.perActor(a.actor.outputs))
	a.head.Sample(r, a.headBatch(u, a.nextStream), a.actions, a.logProb)
}

// descendActor records an update of the actor (equations 7 to 9) and, if it is learned, of the temperature (equation
// 18), with one sample of actions. Of several actors with the same critics, each has the loss of its own batch.
func (a *sac) descendActor(r *engine.Recorder, u update) {
	own := a.sampleOwn(r, u)
	values, atValues := a.critics.outputs, a.critics.atOutputs
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
	a.followCritics(r, own)
}

// sampleOwn records actions of the policy at the observations, which are its outputs as a batch, and opens a pass of the critics with them.
func (a *sac) sampleOwn(r *engine.Recorder, u update) nn.HeadBatch {
	obs, b := u.batch.Obs, a.headBatch(u, a.ownStream)
	a.actor.pass.Forward(r, a.actor.weights(), inputs(a.perActor(obs), nil), a.perActor(a.actor.outputs))
	a.head.Sample(r, b, a.actions, a.logProb)
	a.critics.pass.Forward(r, a.critics.weights(), inputs(obs, a.actions), a.critics.outputs)
	return b
}

// followCritics records the gradient of the actor's loss through the actions and log-probabilities (equation 10), and the steps of actor and
// temperature. The loss gradients with respect to the critics' outputs and the log-probabilities are in a.critics.atOutputs and a.atLogProb.
func (a *sac) followCritics(r *engine.Recorder, own nn.HeadBatch) {
	a.critics.pass.InputGradients(r, a.critics.atOutputs, nil, a.atCritics)
	a.head.Backward(r, own, nn.HeadGradients{Action: a.atCritics, LogProb: a.atLogProb, Outputs: a.actor.atOutputs})
	a.step(r, a.actor.pass.Gradient(r, a.perActor(a.actor.atOutputs)))
}

func (a *sac) recordMetrics(r *engine.Recorder) {
	a.actorCritic.recordMetrics(r)
	engine.Mean(r, a.entropyRow, a.logProb, nil, -1)
	a.form.Measure(r)
}

// soft is what SAC's learners share: an actor, critics with targets that follow in every update, and the members' entropy weights, their temperatures.
// These are either learned so that policies have a target entropy, or fixed (T. Haarnoja et al., 2018, section 5). Actors that share critics share
// the temperature too, since the critics' values include the entropy with one weight; its loss is the mean over the actors.
type soft struct {
	*actorCritic
	first float64        // initial temperature, if it is learned
	begin *engine.Tensor // [M, 4]: the initial logarithms; nil: not learned

	temperature   *engine.Tensor   // [M]; if learned, its logarithm [M, 4], only the first of four is used
	heat          *optim.Optimizer // of the temperature's logarithm; nil: not learned
	group         *optim.Group     // of actor and temperature; nil: not learned, or a member has several actors
	atLog         *engine.Tensor   // [1, M, 4]: gradient of the logarithm
	targetEntropy *engine.Tensor   // [M]: in the learner's unit

	actorRow, temperatureRow, entropyRow *engine.Tensor // metrics [M]
}

// newSoft makes everything but the target entropy and its metric. form makes many updates in one dispatch; nil: none does.
func newSoft(o *OffPolicy, parts learnerParts, c SACConfig, head nn.Head, critics int, form *lane.Updates) (*soft, error) {
	h, s, m := o.Hyper(), o.State(), o.Metrics()
	ac, err := newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: critics, head: head, critic: c.CriticConfig,
		actorRate: h.Add("actor_learning_rate", c.ActorLearningRate), criticRate: h.Add("critic_learning_rate", c.CriticLearningRate), tau: h.Add("tau", c.Tau),
		form: form,
	})
	if err != nil {
		return nil, err
	}
	ac.critics.optimizer.Follow(ac.targetCritics, ac.tau)
	t := &soft{actorCritic: ac, first: c.Temperature}
	rate := o.rates.of("temperature_learning_rate", h.Add("temperature_learning_rate", c.TemperatureLearningRate))
	if c.LearnTemperature {
		t.heat = optim.New(ac.scope.Sub("temperature"), parts.optimizer, rate, 4)
		t.temperature = t.heat.Params()
		t.begin = engine.Constant(s.Sub("agent"), "initial_temperature", t.logarithms, t.temperature.Dims()...)
		t.atLog = s.Sub("update").Scratch("temperature_gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", 1)}, t.temperature.Dims()...)...)
		if ac.actors == 1 {
			t.group, err = optim.NewGroup(0, ac.actor.optimizer, t.heat)
		}
	} else {
		t.temperature = h.Add("temperature", c.Temperature)
	}
	t.actorRow, t.temperatureRow = m.Row("loss/actor"), m.Row("policy/temperature")
	return t, errors.Join(err, s.Err())
}

// learned reports whether the temperatures are learned.
func (t *soft) learned() bool { return t.heat != nil }

// step records an update of the actor by its gradient and, if they are learned, of the temperatures.
func (t *soft) step(r *engine.Recorder, gradient *engine.Tensor) {
	if t.group != nil {
		t.group.Step(r, gradient, t.atLog)
		return
	}
	t.actor.optimizer.Step(r, gradient)
	if t.learned() {
		t.heat.Step(r, t.atLog)
	}
}

func (t *soft) init(ctx context.Context) error {
	err := t.actorCritic.init(ctx)
	if t.learned() {
		err = errors.Join(err, t.temperature.WriteFloat32(ctx, t.logarithms()))
	}
	return err
}

// logarithms returns the logarithms of the initial temperatures, [M, 4], only the first of four is used.
func (t *soft) logarithms() []float32 {
	logs := make([]float32, t.temperature.Len())
	for i := 0; i < len(logs); i += 4 {
		logs[i] = float32(math.Log(t.first))
	}
	return logs
}

// inherit implements learner: learned temperatures begin anew.
func (t *soft) renew(r *engine.Recorder, source *engine.Tensor) {
	t.actorCritic.renew(r, source)
	if t.learned() {
		engine.Renew(r, source, t.temperature, t.begin)
		t.heat.Renew(r, source)
	}
}
