package rl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// DDPGConfig are the settings of DDPG. Fields with the tag member are tensors [M] on the device, which PBT may vary.
type DDPGConfig struct {
	OffPolicyConfig

	ActorLearningRate  float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate float64 `min:"0" max:"1" doc:"Step size of the critic's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                float64 `min:"0" max:"1" doc:"Polyak coefficient: step of the targets towards the networks per update, per member." member:""`
	ExplorationNoise   float64 `min:"0" doc:"Deviation of the noise added to actions, in units of half the action range, per member." member:"uniform 0 1"`
	CriticMaxGradNorm  float64 `min:"0" doc:"Largest norm of the critic's gradient, which is scaled down to it; 0: no limit."`
}

// DefaultDDPG has CleanRL's learning rates, tau, batch, learning starts and normal noise, with one environment and one
// update per step. Actor and targets are updated as often as the critic, as in the paper; CleanRL updates them every second
// time. EvoRL clips gradients and starts learning after 4,096 steps. The paper (T. P. Lillicrap et al., 2016, section 7) has
// other learning rates (1e-4 and 1e-3), tau (0.001), batch (64) and noise (Ornstein-Uhlenbeck).
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
		Members: 1, Environments: 1, RolloutLength: 50, UpdatesPerStep: 1, LearningStarts: 25000, Discount: 0.99, RewardScale: 1, Actors: 1,
	}
}

// Exploration returns the noise by which the agents explore.
func (c DDPGConfig) Exploration() Exploration {
	return Exploration{c.ExplorationNoise, DefaultDDPG().ExplorationNoise, 1}
}

// Check implements Algorithm.
func (c DDPGConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	return c.checkDeterministic("ddpg", with, 0)
}

// checkDeterministic checks the networks of DDPG and TD3. atoms are the critics'.
func (c OffPolicyConfig) checkDeterministic(name string, with Parts, atoms int) error {
	if with.Network.StateDependentStd {
		return config.Invalid("network.state_dependent_std", "the actor of %s outputs no deviation; want false", name)
	}
	return c.checkContinuous(name, with, atoms)
}

// NewDDPG makes a workflow of deep deterministic policy gradient (T. P. Lillicrap et al., "Continuous control with
// deep reinforcement learning", 2016). It is TD3 with one critic, without target smoothing or delay. Init or a
// checkpoint must fill its state before the first Step. Close it after use.
//
// Errors: settings out of range, an environment without continuous actions, *vk.OutOfMemoryError if the members need
// more memory than the device has (nothing is allocated then), and compiler errors of an environment given as GLSL.
func NewDDPG(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg DDPGConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultOffPolicyNetwork(), opts)
	return newOffPolicy(ctx, "ddpg", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newDDPG(o, parts, cfg)
	})
}

func newDDPG(o *OffPolicy, parts learnerParts, c DDPGConfig) (*deterministic, error) {
	d, err := newDeterministic(o, parts, deterministicConfig{
		critics: 1, actorRate: c.ActorLearningRate, criticRate: c.CriticLearningRate, tau: c.Tau, explorationNoise: c.ExplorationNoise,
		criticMaxNorm: c.CriticMaxGradNorm, targetActor: true, separate: c.CriticMaxGradNorm > 0,
	})
	if err != nil {
		return nil, err
	}
	d.makeTargetActor()
	return d, d.complete(o, lane.Deterministic{})
}

// deterministic is the learner of DDPG, and the part of TD3's and DvD's that these have in common with it.
type deterministic struct {
	*actorCritic
	explorer    nn.Head        // the head with exploration noise
	targetActor *engine.Tensor // μ' [M, row]; nil: none, the actor itself chooses the next actions

	first      *nn.Network // the first critic of every member, in the actor's loss; nil: critics are distributions
	firstPass  *nn.Pass
	firstValue *engine.Tensor // [M, B, 1]: of the actor's actions
	unvalued   *engine.Tensor // [M, B, O]: observations of the last update, if it does not write firstValue; nil: it does
	slope      *engine.Tensor // [M, B, 1]: the gradient of the actor's loss with respect to it, -1 / B
	actorRow   *engine.Tensor // metric [M]
}

// deterministicConfig holds the settings that DDPG and TD3 have in common.
type deterministicConfig struct {
	critics               int // per member
	critic                CriticConfig
	actorRate, criticRate float64
	tau, explorationNoise float64
	criticMaxNorm         float64 // 0: no limit
	targetActor           bool
	separate              bool // settings ask for separate updates
}

// newDeterministic makes actor, critics and their targets; complete makes the rest.
func newDeterministic(o *OffPolicy, parts learnerParts, c deterministicConfig) (*deterministic, error) {
	h, actions := o.Hyper(), parts.env.Action.Size()
	head := nn.Head{Kind: nn.Deterministic, Size: actions, Squash: true}
	plain := !c.separate && c.critic.Atoms == 0 && c.targetActor && !o.with.criticsFirst
	ac, err := newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: c.critics, head: head, critic: c.critic,
		actorRate: h.Add("actor_learning_rate", c.actorRate), criticRate: h.Add("critic_learning_rate", c.criticRate), tau: h.Add("tau", c.tau),
		criticMaxNorm: c.criticMaxNorm,
		form:          lane.PlanDeterministic(parts.inLanes(o, plain), parts.network.model(nn.Shape{parts.env.ObsSize() + actions}, actions)),
	})
	if err != nil {
		return nil, err
	}
	d := &deterministic{actorCritic: ac, explorer: head}
	d.explorer.Noise = h.Add("exploration_noise", c.explorationNoise)
	return d, o.State().Err()
}

// makeTargetActor makes the target of the actor.
func (d *deterministic) makeTargetActor() {
	d.targetActor = d.scope.Tensor("target_actor", engine.Float32, d.actor.params().Dims()...)
}

// complete makes the backward pass through the first critics to actions, and completes the form of many updates; of has what an algorithm adds.
func (d *deterministic) complete(o *OffPolicy, of lane.Deterministic) (err error) {
	d.actorRow = d.metrics.Row("loss/actor")
	if d.distribution != nil {
		return o.State().Err()
	}
	s := o.State().Sub("update")
	if d.first, err = nn.New(s.Sub("first"), d.critics.Model(), d.members, d.rows); err != nil {
		return err
	}
	if d.firstPass, err = d.first.NewPass(s.Sub("first"), d.rows); err != nil {
		return err
	}
	dims := []engine.Dim{engine.Members(d.members), engine.Axis("transition", d.rows), engine.Axis("value", 1)}
	d.firstValue = s.Scratch("first_value", engine.Float32, dims...)
	d.slope = engine.Constant(s, "gradient_at_first_value", engine.Same(d.members*d.rows, -1/float32(d.batch)), dims...)
	of.ActorCritic, of.TargetActor, of.FirstValue = d.inLanes(), d.targetActor, d.firstValue
	d.form.Deterministic(s, of)
	return s.Err()
}

// behaviour implements learner: a = μ(s) plus noise (equation 7).
func (d *deterministic) behaviour() behaviour {
	return behaviour{policy: d.policy(d.explorer), normalizer: d.normalizer}
}

// update implements learner: the loop of algorithm 1.
func (d *deterministic) update(r *engine.Recorder, u update) {
	u.batch = d.ofCritics(u.batch)
	if u.pass != ActorsOnly {
		d.nextOutputs(r, u.batch) // y = r + gamma Q'(s', μ'(s'))
		d.head.Sample(r, d.mode(u), d.actions, d.logProb)
		d.evaluateTargets(r, u.batch)
		d.critics.optimizer.Follow(d.targetCritics, d.tau)
		d.descendCritics(r, u.batch, nil, false) // L = mean (y - Q(s, a))^2
	}
	if u.pass != CriticsOnly {
		d.actor.optimizer.Follow(d.targetActor, d.actorTau)
		d.ascend(r, u, nil)
	}
}

// nextOutputs records the outputs at the next observations of the target actor or, without one, of the actor.
func (d *deterministic) nextOutputs(r *engine.Recorder, b ReplayBatch) {
	weights := d.actor.weights()
	if d.targetActor != nil {
		weights.Params = d.targetActor
	}
	d.actor.Evaluate(r, weights, inputs(d.perActor(b.NextObs), nil), d.perActor(d.actor.outputs))
}

// mode returns the actor's outputs as a batch of actions without noise.
func (d *deterministic) mode(u update) nn.HeadBatch {
	b := d.headBatch(u, 0)
	b.Mode = true
	return b
}

// ascend records an update of the actor by the deterministic policy gradient (equation 6),
//
//	mean of ∇_a Q(s, a) at a = μ(s), times ∇_θ μ(s)
//
// for the first critic, or for both if they are distributions. With a diversity term, all agents use the states of the
// first agent's batch.
func (d *deterministic) ascend(r *engine.Recorder, u update, diverse *diversity) {
	obs := u.batch.Obs
	if diverse != nil {
		for i, each := 1, d.perActor(obs); i < d.actors; i++ {
			r.Copy(each.Index(i), each.Index(0))
		}
	}
	d.actor.pass.Forward(r, d.actor.weights(), inputs(d.perActor(obs), nil), d.perActor(d.actor.outputs))
	b := d.mode(u)
	d.head.Sample(r, b, d.actions, d.logProb)
	atActions := d.atActions
	if d.distribution != nil {
		d.distribution.ascend(r, d.actorCritic, obs)
		atActions = d.distribution.atTwins
	} else {
		if !d.firstPass.Open(r, d.critics.weights(), inputs(obs, d.actions), d.firstValue) {
			d.unvalued = obs
		}
		d.firstPass.InputGradients(r, d.slope, nil, d.atActions)
	}
	if diverse != nil {
		diverse.record(r, d.actions, atActions)
	}
	d.head.Backward(r, b, nn.HeadGradients{Action: atActions, Outputs: d.actor.atOutputs})
	d.actor.optimizer.Step(r, d.actor.pass.Gradient(r, d.perActor(d.actor.atOutputs)))
}

func (d *deterministic) renew(r *engine.Recorder, source *engine.Tensor) {
	d.actorCritic.renew(r, source)
	if d.targetActor != nil {
		engine.Renew(r, source, d.targetActor, d.actor.params())
	}
}

func (d *deterministic) restart(r *engine.Recorder) {
	if d.targetActor != nil {
		r.Copy(d.targetActor, d.actor.params())
	}
	d.actorCritic.restart(r)
}

func (d *deterministic) recordMetrics(r *engine.Recorder) {
	d.actorCritic.recordMetrics(r)
	taken := d.firstValue
	if d.unvalued != nil { // the last update ended with the actor: its actions and the critics are still as in the loss
		d.first.Evaluate(r, d.critics.weights(), inputs(d.unvalued, d.actions), d.firstValue)
	}
	if d.distribution != nil {
		taken = d.distribution.taken
	}
	engine.Mean(r, d.actorRow, taken, nil, -1)
}

// init implements learner: the target is a copy.
func (d *deterministic) init(ctx context.Context) error {
	if err := d.actorCritic.init(ctx); err != nil || d.targetActor == nil {
		return err
	}
	actor, err := d.actor.params().ReadFloat32(ctx)
	return errors.Join(err, d.targetActor.WriteFloat32(ctx, actor))
}

// deterministicActor returns the learner's part with a deterministic actor.
func (d *deterministic) deterministicActor() *deterministic { return d }

// deterministic returns the deterministic part of DDPG's and TD3's learners.
func (o *OffPolicy) deterministic() (*deterministic, error) {
	d, ok := o.learner.(interface{ deterministicActor() *deterministic })
	if !ok {
		return nil, fmt.Errorf("rl: %s has no deterministic actor; want ddpg or td3", o.name)
	}
	return d.deterministicActor(), nil
}

// Adopt sets the parameters of DDPG's and TD3's actors, [M, row], and of their targets.
func (o *OffPolicy) Adopt(ctx context.Context, actors []float32) error {
	d, err := o.deterministic()
	if err != nil {
		return err
	}
	err = d.actor.params().WriteFloat32(ctx, actors)
	if d.targetActor != nil {
		err = errors.Join(err, d.targetActor.WriteFloat32(ctx, actors))
	}
	return err
}
