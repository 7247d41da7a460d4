package rl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// actorCritic holds the actor and the critics of every member, the common part of DDPG, TD3 and SAC. A member's
// critics are a stack with one row of an optimizer. Critics of continuous actions have actions as inputs;
// critics of discrete actions have one output per action.
type actorCritic struct {
	cfg     NetworkConfig
	scope   *engine.State
	clock   engine.Clock
	members int
	actors  int     // actors per member, which share its critics
	batch   int     // transitions per update of an actor
	rows    int     // transitions of all actors of a member, in an update of its critics
	twins   int     // critics per member
	head    nn.Head // of the actor, without exploration

	form     *lane.Updates   // makes many updates in one dispatch; nil: none
	together bool            // the workflow's members share critics: they are the actors of 1 member
	metrics  *engine.Metrics // with one value per member with critics

	actor, critics *network
	targetCritics  *engine.Tensor // [M, twins, row]
	normalizer     *nn.Normalizer // nil: none
	rewardScale    *engine.Tensor // [M]
	tau            *engine.Tensor // [M]
	actorTau       *engine.Tensor // [M · actors]
	copies         []actorCopies  // empty if members have one actor

	actions, atActions  *engine.Tensor // [M, B, D]
	logProb             *engine.Tensor // [M, B]
	nextValues          *engine.Tensor // [M, twins, B, …]: of the targets
	chosen              *engine.Tensor // [M, twins, B]: values of the actions taken
	distribution        *distribution  // outputs [M, twins, B, atoms], with the values as means; nil: none
	loss                *engine.Tensor // [M, B]: squared errors of the critics
	lossRow, valueRow   *engine.Tensor // metrics [M]
	normRow, refusedRow *engine.Tensor
}

// actorCriticConfig holds the sizes and learning rates of an actorCritic.
type actorCriticConfig struct {
	learnerParts
	twins                 int
	head                  nn.Head
	actorRate, criticRate *engine.Tensor // [M]
	tau                   *engine.Tensor // [M]
	critic                CriticConfig   // of continuous actions
	criticMaxNorm         float64        // gradients of critics are scaled down to this norm; 0: no limit
	form                  *lane.Updates  // of many updates in one dispatch; nil: none
}

// actorCopies is a hyperparameter of members, copied for each of their actors.
type actorCopies struct{ of, each *engine.Tensor } // [M], [M · actors]

func newActorCritic(o *OffPolicy, c actorCriticConfig) (*actorCritic, error) {
	s := o.State().Sub("agent")
	c.actorRate, c.criticRate = o.rates.of("actor_learning_rate", c.actorRate), o.rates.of("critic_learning_rate", c.criticRate)
	s = c.form.Scope(s)
	members, actors := o.cfg.Members, max(c.actors, 1)
	if c.together {
		members, actors = 1, members
	}
	a := &actorCritic{
		cfg: c.network, scope: s, clock: o.Clock(), members: members, actors: actors, batch: c.batch, rows: actors * c.batch, twins: c.twins, head: c.head,
		rewardScale: c.rewardScale, tau: c.tau, metrics: o.Metrics(), together: c.together,
		form: c.form,
	}
	if c.together {
		// The critics use the first agent's values; none of these can be varied.
		a.tau, c.criticRate, a.metrics = c.tau.Index(0), c.criticRate.Index(0), o.Metrics().Sub("", actors)
	}
	actor, critic := a.cfg.actorAndCritic(c.env, a.head, c.critic.Atoms)
	of := agentConfig{members: a.members * a.actors, rows: a.batch, optimizer: c.optimizer, rate: a.forActors(s, "learning_rate", c.actorRate)}
	a.actorTau = a.forActors(s, "tau", c.tau)
	var err error
	if a.actor, err = newNetwork(s.Sub("actor"), actor, nn.Align(actor.Size()), of); err != nil {
		return nil, err
	}
	of.members, of.rows, of.rate, of.optimizer.MaxNorm = a.members, a.rows, c.criticRate, c.criticMaxNorm
	row := nn.Align(critic.Size())
	if a.critics, err = newStack(s.Sub("critics"), critic, a.twins, a.twins*row, of); err != nil {
		return nil, err
	}
	a.targetCritics = s.Tensor("target_critics", engine.Float32, engine.Members(a.members), nn.Networks(a.twins), engine.Axis("parameter", row))
	if a.cfg.NormalizeObs {
		a.normalizer = nn.NewNormalizer(s, a.members, c.env.ObsSize())
	}
	a.makeTensors(o.State().Sub("update"))
	a.makeDistribution(o.State().Sub("update"), c.critic)
	m := a.metrics
	a.lossRow, a.valueRow = m.Row("loss/critic"), m.Row("value/mean")
	a.normRow, a.refusedRow = m.Row("gradient/norm"), m.Row("gradient/refused")
	return a, s.Err()
}

// makeTensors makes what an update computes. The outputs of actors are [M, B, Out], of critics [M, twins, B, 1], of discrete
// actions [M, twins, B, D].
func (a *actorCritic) makeTensors(s *engine.State) {
	p, twins, b := engine.Members(a.members), nn.Networks(a.twins), engine.Axis("transition", a.rows)
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Float32, dims...) }
	a.actor.learn(s.Sub("actor"), a.actor.params(), p, b)
	a.critics.learn(s.Sub("critics"), a.critics.params(), p, twins, b)
	action := engine.Axis("action", a.head.Words())
	a.actions, a.atActions = tensor("actions", p, b, action), tensor("gradient_at_actions", p, b, action)
	a.logProb, a.loss = tensor("log_prob", p, b), tensor("loss", p, b)
	a.nextValues = tensor("next_values", a.critics.outputs.Dims()...)
	if a.chosen = a.critics.outputs; a.critics.Model().Outputs() > 1 {
		a.chosen = tensor("chosen_values", p, twins, b)
	}
}

// forActors returns a hyperparameter [M] for the actors, [M · actors].
func (a *actorCritic) forActors(s *engine.State, name string, of *engine.Tensor) *engine.Tensor {
	if a.actors == 1 || a.together {
		return of
	}
	each := s.Scratch("actors/"+name, engine.Float32, engine.Members(a.members*a.actors))
	a.copies = append(a.copies, actorCopies{of, each})
	return each
}

// perActor returns a tensor [M, actors · B, …] in the actors' shape, [M · actors, B, …].
func (a *actorCritic) perActor(x *engine.Tensor) *engine.Tensor {
	if a.actors == 1 {
		return x
	}
	return x.View(append([]engine.Dim{engine.Members(a.members * a.actors), engine.Axis("transition", a.batch)}, x.Dims()[2:]...)...)
}

// ofCritics returns a batch for the critics: if agents learn together, the rows of all belong to one member.
func (a *actorCritic) ofCritics(b ReplayBatch) ReplayBatch {
	if !a.together {
		return b
	}
	for _, x := range []**engine.Tensor{&b.Obs, &b.Action, &b.Reward, &b.NextObs, &b.Factor} {
		*x = (*x).View(append([]engine.Dim{engine.Members(a.members), engine.Axis("transition", a.rows)}, (*x).Dims()[2:]...)...)
	}
	return b
}

// inputs returns a batch's observations, and actions unless nil, as inputs of networks.
func inputs(obs, actions *engine.Tensor) nn.Inputs {
	if actions == nil {
		return nn.Inputs{Parts: []*engine.Tensor{obs}}
	}
	return nn.Inputs{Parts: []*engine.Tensor{obs, actions}}
}

// policy returns the actor with a head, as rollouts take it.
func (a *actorCritic) policy(head nn.Head) *envs.Policy {
	p := &envs.Policy{Weights: a.actor.weights(), Network: a.actor.Model(), Head: head, ObsLimit: float32(a.cfg.ObsLimit)}
	if a.normalizer != nil {
		p.Normalizer = a.normalizer.Values()
	}
	return p
}

// headBatch returns outputs of the actor with the random numbers of an update.
func (a *actorCritic) headBatch(u update, stream uint32) nn.HeadBatch {
	return nn.HeadBatch{Parameters: a.actor.weights(), Outputs: a.actor.outputs, Draws: nn.Draws{Stream: stream, Clock: a.clock, Update: u.number}}
}

// evaluateTargets records the values of the next actions, which are in a.actions, by the target critics.
func (a *actorCritic) evaluateTargets(r *engine.Recorder, b ReplayBatch) {
	a.critics.Evaluate(r, nn.Weights{Params: a.targetCritics}, inputs(b.NextObs, a.actions), a.nextValues)
}

// descendCritics records an update of the critics towards the smallest value of the next actions in a.nextValues. Unless
// temperature is nil, this value includes the entropy term, with the log-probabilities in a.logProb; a logarithmic
// temperature is the first of four.
func (a *actorCritic) descendCritics(r *engine.Recorder, b ReplayBatch, temperature *engine.Tensor, logarithms bool) {
	a.critics.pass.Forward(r, a.critics.weights(), inputs(b.Obs, b.Action), a.critics.outputs)
	size, groups := r.Invocations(a.rows)
	k := qLossKernel{
		Reward: b.Reward.Range(), Factor: b.Factor.Range(), NextValue: a.nextValues.Range(), RewardScale: a.rewardScale.Range(),
		Value: a.critics.outputs.Range(), AtValue: a.critics.atOutputs.Range(), Loss: a.loss.Range(),
		Rows: uint32(a.rows), Critics: uint32(a.twins), LocalSizeX: size,
	}
	if temperature != nil {
		k.Temperature, k.LogTemperature, k.NextLogProb = temperature.Range(), logarithms, a.logProb.Range()
	}
	if a.distribution != nil {
		a.distribution.loss(r, a, k)
	} else {
		r.Dispatch(k.call(groups, uint32(a.members), 1))
	}
	a.critics.optimizer.Step(r, a.critics.pass.Gradient(r, a.critics.atOutputs))
}

// behaviour implements learner: the actor acts by its own head.
func (a *actorCritic) behaviour() behaviour {
	return behaviour{policy: a.policy(a.head), normalizer: a.normalizer}
}

// block implements learner: all updates are the same.
func (a *actorCritic) block(int) int { return 1 }

// explore implements learner: exploration needs nothing beyond the head.
func (a *actorCritic) explore(*engine.Recorder) {}

func (a *actorCritic) many() *lane.Updates { return a.form }

// inLanes describes actor and critics to the form of many updates.
func (a *actorCritic) inLanes() lane.ActorCritic {
	return lane.ActorCritic{
		Actor: a.actor.optimizer, Critics: a.critics.optimizer, TargetCritics: a.targetCritics, Twins: a.twins,
		Inputs: a.critics.Model().Inputs().Size(), Outputs: a.actor.Model().Outputs(),
		Clock: a.clock, RewardScale: a.rewardScale, Tau: a.tau, Value: a.critics.outputs, Loss: a.loss, LogProb: a.logProb,
	}
}

func (a *actorCritic) restart(r *engine.Recorder) { a.actor.optimizer.Reset(r) }

// prepare implements learner: hyperparameters of members are copied for each of their actors.
func (a *actorCritic) prepare(r *engine.Recorder) {
	for _, c := range a.copies {
		for i := range c.each.Len() {
			r.Copy(c.each.Index(i), c.of.Index(i/a.actors))
		}
	}
}

func (a *actorCritic) policies() []*engine.Tensor {
	all := []*engine.Tensor{a.actor.params()}
	if a.normalizer != nil {
		all = append(all, a.normalizer.Inherited()...)
	}
	return all
}

func (a *actorCritic) renew(r *engine.Recorder, source *engine.Tensor) {
	if a.actors > 1 {
		r.Fail(fmt.Errorf("rl: members of %d actors have no policy to inherit", a.actors))
		return
	}
	a.actor.optimizer.Renew(r, source)
}

func (a *actorCritic) recordMetrics(r *engine.Recorder) {
	engine.Mean(r, a.lossRow, a.loss, nil, 1)
	engine.Mean(r, a.valueRow, a.chosen, nil, 1)
	r.Copy(a.normRow, a.critics.optimizer.Norm())
	engine.CopyCounts(r, a.refusedRow, a.critics.optimizer.Refused())
}

// init implements learner; targets begin as copies.
func (a *actorCritic) init(ctx context.Context) error {
	actor, critics := make([]float32, a.actor.params().Len()), make([]float32, a.critics.params().Len())
	actorRow, criticRow := len(actor)/(a.members*a.actors), len(critics)/(a.members*a.twins)
	for p := range a.members {
		rng := engine.NewRng(a.scope.Engine().Seed(), a.scope.Stream("init"), uint32(p), 0, 0)
		for i := range a.actors {
			a.actor.Model().Init(actor[(p*a.actors+i)*actorRow:][:actorRow], a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.ActorGain, rng)
		}
		for i := range a.twins {
			a.critics.Model().Init(critics[(p*a.twins+i)*criticRow:][:criticRow], a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.CriticGain, rng)
		}
	}
	err := errors.Join(
		a.actor.params().WriteFloat32(ctx, actor), a.critics.params().WriteFloat32(ctx, critics), a.targetCritics.WriteFloat32(ctx, critics))
	if a.normalizer != nil {
		err = errors.Join(err, a.normalizer.Init(ctx))
	}
	return err
}
