package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// deterministic is the learner of DDPG and TD3.
type deterministic struct {
	*actorCritic
	explorer      nn.Head        // the head with exploration noise
	spread        *spread        // nil: all environments of a member explore with one deviation
	targetActor   *engine.Tensor // [P, row]; nil: none, the actor itself chooses the next actions
	smoothing     *smoothing     // nil: none
	delay         *delay         // nil: none
	promptTargets bool           // the targets of the critics follow in every update, not only those of the actor
	diversity     *diversity     // nil: none

	first      *nn.Network // the first critic of every member, whose value is in the actor's loss; nil: that of distributions is
	firstPass  *nn.Pass
	firstValue *engine.Tensor // [P, B, 1]: of the actor's actions
	unvalued   *engine.Tensor // [P, B, O]: observations of the last update, if it does not write firstValue; nil: it does
	ascent     *engine.Tensor // [P, B, 1]: the gradient of the actor's loss with respect to it, -1 / B
	actorRow   *engine.Tensor // metric [P]

	fused     int            // updates per dispatch; 0: an update is several dispatches
	gradients *engine.Tensor // [P, row] of a fused update: of the critics, then of the actor
}

// deterministicConfig holds the settings of DDPG and TD3.
type deterministicConfig struct {
	twins                 int
	actorRate, criticRate float64
	tau, explorationNoise float64

	delay                  float64 // 0: none
	promptTargets          bool
	criticMaxNorm          float64 // 0: no limit
	smooths                bool    // target policy smoothing
	targetNoise, noiseClip float64

	diversity   *diversityConfig // nil: agents learn independently of each other
	critic      CriticConfig
	ownNext     bool    // there is no target actor
	levels      int     // of exploration; 0 or 1: one
	noiseMost   float64 // of the levels
	weightDecay float64 // above 0: the optimizer is AdamW
}

func newDeterministic(o *OffPolicy, parts learnerParts, c deterministicConfig) (*deterministic, error) {
	h, s := o.Hyper(), o.State()
	head := nn.Head{Kind: nn.Deterministic, Size: parts.env.Action.Size(), Squash: true}
	if c.weightDecay > 0 {
		parts.optimizer.Rule, parts.optimizer.WeightDecay = optim.AdamW, c.weightDecay
	}
	d := &deterministic{explorer: head, promptTargets: c.promptTargets, fused: fusesDeterministic(o, parts, c)}
	ac, err := newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: c.twins, head: head, critic: c.critic,
		actorRate: h.Add("actor_learning_rate", c.actorRate), criticRate: h.Add("critic_learning_rate", c.criticRate), tau: h.Add("tau", c.tau),
		criticMaxNorm: c.criticMaxNorm, contiguous: d.fused > 0,
	})
	if err != nil {
		return nil, err
	}
	d.actorCritic = ac
	d.explorer.Noise = h.Add("exploration_noise", c.explorationNoise)
	if c.levels > 1 {
		d.spread = newSpread(s.Sub("spread"), c.levels, d.explorer.Noise, h.Add("exploration_noise_max", c.noiseMost), ac.actor.params())
	}
	if !c.ownNext {
		d.targetActor = ac.scope.Tensor("target_actor", engine.Float32, ac.actor.params().Dims()...)
	}
	if c.smooths {
		d.smoothing = &smoothing{noise: h.Add("target_noise", c.targetNoise), clip: h.Add("noise_clip", c.noiseClip), stream: s.Stream("smoothing")}
	}
	if c.delay > 0 {
		d.delay = newDelay(s, h, ac, c.delay)
	}
	if c.diversity != nil {
		d.diversity = newDiversity(s.Sub("update"), o, ac, *c.diversity)
	}
	d.actorRow = ac.metrics.Row("loss/actor")
	if d.distribution != nil {
		return d, s.Err()
	}
	return d, d.makeFirst(s.Sub("update"))
}

// fitsDeterministic checks the networks of DDPG and TD3. atoms are those of the critics.
func (c OffPolicyConfig) fitsDeterministic(name string, env *envs.Environment, network NetworkConfig, replay ReplayConfig, atoms int) error {
	if network.StateDependentStd {
		return config.Invalid("network.state_dependent_std", "the actor of %s outputs no deviation; want false", name)
	}
	return c.fitsContinuous(name, env, network, replay, atoms)
}

// makeFirst makes the backward pass through the first critics to actions.
func (d *deterministic) makeFirst(s *engine.State) (err error) {
	if d.first, err = nn.New(s.Sub("first"), d.critics.Model(), d.members, d.rows); err != nil {
		return err
	}
	if d.firstPass, err = d.first.NewPass(s.Sub("first"), d.rows); err != nil {
		return err
	}
	dims := []engine.Dim{engine.Members(d.members), engine.Axis("transition", d.rows), engine.Axis("value", 1)}
	d.firstValue = s.Scratch("first_value", engine.Float32, dims...)
	d.ascent = engine.Constant(s, "gradient_at_first_value", engine.Same(d.members*d.rows, -1/float32(d.batch)), dims...)
	if uint64(d.actor.params().StackBytes()) > s.Engine().Device().Info().Limits.MaxStorageRange {
		d.fused = 0 // a kernel cannot bind all parameters
	}
	if d.fused > 0 {
		row := d.critics.params().Size("parameter") + d.actor.params().Size("parameter")
		d.gradients = s.Cleared("gradients", engine.Float32, engine.Members(d.members), engine.Axis("parameter", row))
	}
	return s.Err()
}

// behaviour implements learner.
func (d *deterministic) behaviour() behaviour {
	b := behaviour{policy: d.policy(d.explorer), normalizer: d.normalizer}
	if d.spread != nil {
		b.explorer, b.explorers = d.spread.policy(*b.policy), d.spread.levels
	}
	return b
}

// explore implements learner.
func (d *deterministic) explore(r *engine.Recorder) {
	if d.spread != nil {
		d.spread.record(r, d.actor.params())
	}
}

// block implements learner: the number of critic updates per actor update.
func (d *deterministic) block(updates int) int {
	if d.delay == nil {
		return 1
	}
	return d.delay.block(updates)
}

// update implements learner: algorithm 1 of S. Fujimoto et al., 2018; with one critic, of T. P. Lillicrap et al., 2016.
func (d *deterministic) update(r *engine.Recorder, u update) {
	u.batch = d.ofCritics(u.batch)
	if u.pass == ActorsOnly {
		d.actor.optimizer.Follow(d.targetActor, d.actorTau)
		d.descendActor(r, u)
		return
	}
	now, tau, actorTau := true, d.tau, d.actorTau
	if d.delay != nil {
		now, tau, actorTau = d.delay.record(r, d.tau, d.actorTau, u)
		d.actor.optimizer.Only(d.delay.mask(u.block))
	}
	d.nextActions(r, u)
	d.critics.optimizer.Follow(nil, nil)
	if d.promptTargets {
		tau = d.tau
	}
	if now || d.promptTargets {
		d.critics.optimizer.Follow(d.targetCritics, tau)
	}
	d.descendCritics(r, u, nil, false)
	if now && u.pass == Both {
		if d.targetActor != nil {
			d.actor.optimizer.Follow(d.targetActor, actorTau)
		}
		d.descendActor(r, u)
	}
}

// nextActions records the actions at the next observations, by the target actor or the actor itself.
func (d *deterministic) nextActions(r *engine.Recorder, u update) {
	weights := d.actor.weights()
	if d.targetActor != nil {
		weights.Params = d.targetActor
	}
	d.actor.Evaluate(r, weights, inputs(d.perActor(u.batch.NextObs), nil), d.perActor(d.outputs))
	b := d.headBatch(u, 0)
	if d.smoothing != nil {
		d.smoothing.record(r, b, d.actions, d.head.Size)
		return
	}
	b.Mode = true
	d.head.Sample(r, b, d.actions, d.logProb)
}

// descendActor records an update of the actor, whose loss is minus the first critic's mean value of its actions; for
// distributions, that of both critics. With a diversity term, all agents use the same states, those of the first
// agent's batch, which replace the others'.
func (d *deterministic) descendActor(r *engine.Recorder, u update) {
	obs := u.batch.Obs
	if d.diversity != nil {
		for i, each := 1, d.perActor(obs); i < d.actors; i++ {
			r.Copy(each.Index(i), each.Index(0))
		}
	}
	d.actor.pass.Forward(r, d.actor.weights(), inputs(d.perActor(obs), nil), d.perActor(d.outputs))
	b := d.headBatch(u, 0)
	b.Mode = true
	d.head.Sample(r, b, d.actions, d.logProb)
	atActions := d.atActions
	if d.distribution != nil {
		d.distribution.ascend(r, d.actorCritic, obs)
		atActions = d.distribution.atTwins
	} else {
		if !d.firstPass.Open(r, d.critics.weights(), inputs(obs, d.actions), d.firstValue) {
			d.unvalued = obs
		}
		d.firstPass.InputGradients(r, d.ascent, nil, d.atActions)
	}
	if d.diversity != nil {
		d.diversity.record(r, d.actions, atActions)
	}
	d.head.Backward(r, b, nn.HeadGradients{Action: atActions, Outputs: d.atOutputs})
	d.actor.optimizer.Record(r, d.actor.pass.Gradient(r, d.perActor(d.atOutputs)))
}

// inherit implements learner.
func (d *deterministic) inherit(r *engine.Recorder, source *engine.Tensor) {
	d.actorCritic.inherit(r, source)
	if d.targetActor != nil {
		engine.Renew(r, source, d.targetActor, d.actor.params())
	}
}

// recordMetrics implements learner.
func (d *deterministic) recordMetrics(r *engine.Recorder) {
	d.actorCritic.recordMetrics(r)
	taken := d.firstValue
	if d.unvalued != nil { // the last update ended with the actor: its actions and the critics are still those of the loss
		d.first.Evaluate(r, d.critics.weights(), inputs(d.unvalued, d.actions), d.firstValue)
	}
	if d.distribution != nil {
		taken = d.distribution.taken
	}
	engine.Mean(r, d.actorRow, taken, nil, -1)
	if d.diversity != nil {
		d.diversity.recordMetrics(r)
	}
}

// init implements learner.
func (d *deterministic) init(ctx context.Context) error {
	if err := d.actorCritic.init(ctx); err != nil || d.targetActor == nil {
		return err
	}
	actor, err := d.actor.params().ReadFloat32(ctx)
	return errors.Join(err, d.targetActor.WriteFloat32(ctx, actor))
}

// smoothing is the noise of the target policy (S. Fujimoto et al., 2018, equation 14).
type smoothing struct {
	noise, clip *engine.Tensor // [P]
	stream      uint32
}

// record records computing smoothed actions from outputs [P, B, A].
func (s *smoothing) record(r *engine.Recorder, b nn.HeadBatch, actions *engine.Tensor, size int) {
	_, members, elements, _ := actions.Split(engine.MemberAxis)
	local, groups := r.Invocations(elements / size)
	k := smoothKernel{
		Output: b.Outputs.Range(), Noise: s.noise.Range(), Clip: s.clip.Range(), Clock: b.Draws.Clock.Tensor().Range(), Update: b.Draws.Update.Range(),
		Action: actions.Range(), Rows: uint32(elements / size), Seed: r.Engine().Seed(), Stream: s.stream, Out: uint32(size), LocalSizeX: local,
	}
	r.Dispatch(k.call(groups, uint32(members), 1))
}
