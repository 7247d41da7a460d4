package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// deterministic is the learner of DDPG and TD3.
type deterministic struct {
	*actorCritic
	explorer    nn.Head        // the head with exploration noise
	targetActor *engine.Tensor // [P, row]

	first      *nn.Network // the first critic of every member
	firstPass  *nn.Pass
	firstValue *engine.Tensor // [P, B, 1]: of the actor's actions
	ascend     *engine.Tensor // [P, B, 1]: the gradient of its loss there, -1 / B
	actorRow   *engine.Tensor // metric [P]
}

// deterministicConfig are the settings of DDPG and TD3.
type deterministicConfig struct {
	twins                 int
	actorRate, criticRate float64
	tau, explorationNoise float64
}

func newDeterministic(o *OffPolicy, parts learnerParts, c deterministicConfig) (*deterministic, error) {
	if err := checkContinuous(o.name, parts.env, parts.network); err != nil {
		return nil, err
	}
	h := o.Hyper()
	head := nn.Head{Kind: nn.Deterministic, Size: parts.env.Action.Size(), Squash: true}
	ac, err := newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: c.twins, head: head,
		actorRate: h.Add("actor_learning_rate", c.actorRate), criticRate: h.Add("critic_learning_rate", c.criticRate), tau: h.Add("tau", c.tau),
	})
	if err != nil {
		return nil, err
	}
	d := &deterministic{actorCritic: ac, explorer: head}
	d.explorer.Noise = h.Add("exploration_noise", c.explorationNoise)
	s := o.State()
	d.targetActor = s.Sub("agent").Tensor("target_actor", engine.Float32, ac.actor.params().Dims()...)
	if d.first, err = nn.New(s.Sub("update/first"), ac.critics.MLP(), ac.members, ac.batch); err != nil {
		return nil, err
	}
	if d.firstPass, err = d.first.NewPass(s.Sub("update/first"), ac.batch); err != nil {
		return nil, err
	}
	dims := []engine.Dim{engine.Members(ac.members), engine.Axis("transition", ac.batch), engine.Axis("value", 1)}
	d.firstValue = s.Sub("update").Scratch("first_value", engine.Float32, dims...)
	d.ascend = engine.Constant(s.Sub("update"), "gradient_at_first_value", engine.Same(ac.members*ac.batch, -1/float32(ac.batch)), dims...)
	d.actorRow = o.Metrics().Row("loss/actor")
	return d, s.Err()
}

// behaviour implements learner.
func (d *deterministic) behaviour() behaviour {
	return behaviour{policy: d.policy(d.explorer), normalizer: d.normalizer}
}

// block implements learner.
func (d *deterministic) block(int) int { return 1 }

// update implements learner.
func (d *deterministic) update(r *engine.Recorder, u update) {
	d.nextActions(r, u)
	d.critics.optimizer.Follow(d.targetCritics, d.tau)
	d.descendCritics(r, u, nil, false)
	d.actor.optimizer.Follow(d.targetActor, d.tau)
	d.descendActor(r, u)
}

// nextActions records the target actor's actions after the batch's transitions.
func (d *deterministic) nextActions(r *engine.Recorder, u update) {
	d.actor.Evaluate(r, nn.Weights{Params: d.targetActor}, d.inputs(u.batch.NextObs, nil), d.outputs)
	b := d.headBatch(u, 0)
	b.Mode = true
	d.head.Sample(r, b, d.actions, d.logProb)
}

// descendActor records an update of the actor, whose loss is minus the first critic's mean value of its actions.
func (d *deterministic) descendActor(r *engine.Recorder, u update) {
	obs := u.batch.Obs
	d.actor.pass.Forward(r, d.actor.weights(), d.inputs(obs, nil), d.outputs)
	b := d.headBatch(u, 0)
	b.Mode = true
	d.head.Sample(r, b, d.actions, d.logProb)
	d.firstPass.Forward(r, d.critics.weights(), d.inputs(obs, d.actions), d.firstValue)
	d.firstPass.Backward(r, d.ascend, nn.Gradients{Inputs: []*engine.Tensor{nil, d.atActions}})
	d.head.Backward(r, b, nn.HeadGradients{Action: d.atActions, Outputs: d.atOutputs})
	d.actor.pass.Backward(r, d.atOutputs, nn.Gradients{Params: d.actorGradient})
	d.actor.optimizer.Record(r, d.actorGradient)
}

// recordMetrics implements learner.
func (d *deterministic) recordMetrics(r *engine.Recorder) {
	d.actorCritic.recordMetrics(r)
	engine.Mean(r, d.actorRow, d.firstValue, nil, -1)
}

// init implements learner.
func (d *deterministic) init(ctx context.Context) error {
	if err := d.actorCritic.init(ctx); err != nil {
		return err
	}
	actor, err := d.actor.params().ReadFloat32(ctx)
	return errors.Join(err, d.targetActor.WriteFloat32(ctx, actor))
}
