package rl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// onPolicy is the common part of PPO and IMPALA: agents, the collection of trajectories, minibatches, those that act or compute gradients elsewhere, and the
// life cycle and metrics of the workflow.
type onPolicy struct {
	engine.Base
	name   string
	config Algorithm // as it was made
	env    *envs.Environment
	common onPolicyConfig
	repeat int // environment steps of an action

	agent       *Agent
	collector   *Collector
	minibatches *minibatches
	parts       *gradientParts   // nil: gradients of minibatches are computed whole
	shared      *sharedGradients // nil: on one device
	actorLoss   *lane.Loss
	criticLoss  *lane.Loss
	evaluator   *envs.Evaluator
	opponents   *Opponents // nil: a member plays all seats
	rates       *rates
	rows        onPolicyRows
}

// OnPolicyConfig holds the settings that on-policy algorithms share; their configurations embed it. Fields with the tag member are tensors [M] on the
// device, which PBT may vary.
type OnPolicyConfig struct {
	Members       int `min:"1" max:"1048576" doc:"Number of agents, M, trained simultaneously."`
	Environments  int `min:"1" max:"1048576" doc:"Environments per member, E."`
	RolloutLength int `min:"1" max:"32768" doc:"Steps per environment and iteration, T."`

	LearningRate  float64 `min:"0" max:"1" doc:"Step size of the optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Discount      float64 `min:"0" max:"1" doc:"Discount factor gamma of rewards, per member." member:"horizon 2 12"`
	ActorWeight   float64 `min:"0" doc:"Weight of the actor's loss, per member." member:"log_uniform 0.01 10"`
	CriticWeight  float64 `min:"0" doc:"Weight of the critic's loss, half the squared error, per member." member:"log_uniform 0.01 10"`
	EntropyWeight float64 `doc:"Weight of the entropy bonus, per member." member:"log_uniform 1e-5 1"`

	StillAction  int     `min:"-1" doc:"Discrete action that is to stay, in games of motion; -1: there is none."`
	MotionWeight float64 `doc:"Added to the reward of every step whose action is not still_action, per member; negative for a lazy style." member:""`

	Optimizer        optim.Rule `doc:"Update rule: sgd, rmsprop, adam, adamw, clipup."`
	OptimizerEpsilon float64    `above:"0" doc:"Added to the optimizer's denominator."`
	MaxGradNorm      float64    `min:"0" doc:"Largest norm of the joint gradient of actor and critic, which is scaled down to it; 0: no limit."`
	GradientParts    int        `min:"1" max:"64" doc:"Parts of each minibatch, whose gradients are added in order; several devices can compute them."`

	Actors int `min:"1" max:"65536" doc:"Parts of each member's environments, with random numbers of their own: other devices and machines can act in them."`
	Lag    int `min:"0" max:"64" doc:"Iterations by which the weights that act are older than those that learn; from 1 on actors elsewhere act while this learns."`

	Asynchronous bool `doc:"Take the trajectories that come first, with weights at most lag iterations old, and wait for no slow actor; no run repeats another."`

	ScheduleConfig
}

// Validate checks constraints across fields.
func (c OnPolicyConfig) Validate() error {
	const most = 1 << 31 // that the permutations support
	if n := c.RolloutLength * c.Environments; n > most {
		return config.Invalid("environments", "%d transitions per member and iteration (rollout_length × environments); want at most %d", n, most)
	}
	if c.Environments%c.Actors != 0 {
		return config.Invalid("actors", "%d parts of %d environments; want a divisor of them", c.Actors, c.Environments)
	}
	if c.GradientParts > 1 && (c.Actors > 1 || c.Lag > 0) {
		return config.Invalid("gradient_parts", "%d parts of gradients, with %d actors and a lag of %d: other devices either compute gradients or act; "+
			"want 1, or one actor and no lag", c.GradientParts, c.Actors, c.Lag)
	}
	return c.ScheduleConfig.Validate()
}

// Apart returns the parts of the environments in which others can act, and the lag of the weights that act.
func (c OnPolicyConfig) Apart() (actors, lag int) { return c.Actors, c.Lag }

// Chance returns whether trajectories are taken as they come, so that no run repeats another.
func (c OnPolicyConfig) Chance() bool { return c.Asynchronous }

// Gradients returns the parts of gradients, which other devices can compute.
func (c OnPolicyConfig) Gradients() (parts int) { return c.GradientParts }

// onPolicyConfig holds the settings that the common parts need.
type onPolicyConfig struct {
	OnPolicyConfig
	epochs, minibatches int
	trajectories        bool        // minibatches are of whole trajectories
	criticInput         CriticInput // of PPO
}

// parts returns the parts of each minibatch.
func (c onPolicyConfig) parts() int { return max(c.GradientParts, 1) }

// criticShape returns the shape of what critics see.
func (c onPolicyConfig) criticShape(env *envs.Environment) nn.Shape {
	if c.criticInput == WorldState {
		return nn.Shape{env.Seats() * env.ObsSize()}
	}
	return env.Observation.Shape()
}

// divided returns how many of what minibatches are made of they divide among them: transitions, or whole trajectories of so many transitions each.
func (c onPolicyConfig) divided() (all, each int) {
	if c.trajectories {
		return c.Environments, c.RolloutLength
	}
	return c.RolloutLength * c.Environments, 1
}

// rows returns the transitions of the largest part of a minibatch.
func (c onPolicyConfig) rows() int {
	all, each := c.divided()
	largest := (all + c.minibatches - 1) / c.minibatches
	return (largest + c.parts() - 1) / c.parts() * each
}

// checkParts checks the parts of minibatches.
func (c onPolicyConfig) checkParts(name string, memory bool) error {
	all, _ := c.divided()
	of, what := all/c.minibatches, "transitions"
	if c.trajectories {
		what = "trajectories"
	}
	switch {
	case c.parts() > of:
		return config.Invalid(name+".gradient_parts", "%d parts of minibatches of %d %s; want at most %d", c.parts(), of, what, of)
	case memory && of%c.parts() != 0:
		return config.Invalid(name+".gradient_parts", "%d parts of minibatches of %d %s, with a network that has memory; want a divisor of %d",
			c.parts(), of, what, of)
	}
	return nil
}

// check checks the networks of the algorithm with that name; rows names the settings that determine the transitions of a minibatch.
func (c onPolicyConfig) check(with Parts, name, rows string) error {
	if err := with.Env.CheckParts(c.Actors, c.Environments); err != nil {
		return config.Invalid(name+".actors", "%v", err)
	}
	if c.Asynchronous {
		memory := with.Network.model(with.Env.Observation.Shape(), 1).Memory() > 0
		if err := checkAsynchronous(name, with, c.Lag, memory); err != nil {
			return err
		}
	}
	c.Environments *= with.Env.Seats()
	if err := c.checkMotion(with.Env, name); err != nil {
		return err
	}
	network := with.Network
	if err := network.checkHead(with.Env.Action, false); err != nil {
		return err
	}
	actor, critic := network.policyAndValue(with.Env, network.head(with.Env.Action), c.criticShape(with.Env))
	if err := network.checkLayers(actor); err != nil {
		return err
	}
	if err := c.checkShared(network, actor, name); err != nil {
		return err
	}
	if err := network.checkLayers(critic); err != nil {
		return err
	}
	if actor.Memory() > 0 {
		switch n := with.Env.Seats(); {
		case n > 1:
			return config.Invalid("network."+network.Key(), "network %v has memory, and %q has %d agents, whose steps have gaps; want one agent, or no memory",
				actor, with.Env.Name, n)
		case c.Environments%c.minibatches != 0:
			return config.Invalid(name+".minibatches", "%d minibatches of the trajectories of %d environments, with a network that has memory; "+
				"want a divisor of environments", c.minibatches, c.Environments)
		}
		c.trajectories = true
	}
	if err := c.checkParts(name, actor.Memory() > 0); err != nil {
		return err
	}
	return network.checkPrecision(c.rows(), rows, actor, critic)
}

// checkShared returns an error if actor and critic of the algorithm with that name are to share layers, and cannot.
func (c onPolicyConfig) checkShared(network NetworkConfig, actor nn.Model, name string) error {
	switch {
	case network.Shared == ShareNone:
	case c.criticInput == WorldState:
		return config.Invalid(name+".critic_input", "a critic that sees the world shares no layers with an actor that does not; want %q, or network.shared = %q",
			OwnObservation, ShareNone)
	case len(actor.Layers()) < 2:
		return config.Invalid("network.shared", "network %v has no layers before its outputs to share; want %q, or hidden layers", actor, ShareNone)
	case network.Shared == ShareCell && actor.Memory() == 0:
		return config.Invalid("network.shared", "network %v has no recurrent cell; want %q, %q, or a layer of type \"gru\" or \"lstm\"", actor, ShareNone, ShareAll)
	}
	return nil
}

// onPolicyRows are the metrics [M] of a step, except the collector's. Losses are of the iteration's last
// minibatch.
type onPolicyRows struct {
	actorLoss, criticLoss, entropy, divergence, clipped, norm *engine.Tensor
	// refused counts the gradients since the start of the run that were not finite. It is state of the optimizer: in
	// PBT, copies inherit it.
	refused *engine.Tensor
}

// maxMetrics leaves room for the metrics of an enclosing workflow.
const maxMetrics = 32

// newOnPolicy starts a workflow with its name and its configuration as given.
func newOnPolicy(eng *engine.Engine, env *envs.Environment, name string, config Algorithm, c onPolicyConfig) (onPolicy, error) {
	if err := engine.Require(map[string]any{"engine": eng, "environment": env}); err != nil {
		return onPolicy{}, fmt.Errorf("rl: %s: %w", name, err)
	}
	c.Environments *= env.Seats() // to what learns, the seats of an environment are environments
	return onPolicy{Base: engine.NewBase(eng, c.Members, maxMetrics), name: name, config: config, env: env, common: c}, nil
}

// make checks the configuration, for A2C as PPO's, and the options, and makes the workflow: build makes what learns, record records an iteration.
func (o *onPolicy) make(
	ctx context.Context, cfg any, opts []Option, build func(NetworkConfig) error, record func(*engine.Recorder, func(*engine.Recorder)),
) error {
	with := newSettings(settings{network: DefaultNetwork()}, opts)
	err := errors.Join(config.Check(cfg), with.check())
	if err == nil {
		err = o.config.Check(Parts{Env: o.env, Network: with.network})
	}
	if err == nil {
		o.replays(with.network)
		err = build(with.network)
	}
	if err == nil {
		err = o.complete(ctx, with, record)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("rl: %s on %q: %w", o.name, o.env.Name, err), o.Close())
	}
	return nil
}

// replays makes minibatches of whole trajectories if the networks have memory.
func (o *onPolicy) replays(network NetworkConfig) {
	if network.model(o.env.Observation.Shape(), 1).Memory() > 0 {
		o.common.trajectories = true
	}
}

// complete makes collector, metrics and evaluator around the learner. record records an iteration.
func (o *onPolicy) complete(ctx context.Context, with settings, record func(*engine.Recorder, func(*engine.Recorder))) (err error) {
	c, s, m, behaves := o.common, o.State(), o.Metrics(), o.agent.behaviour()
	if with.pool.Opponents > 0 {
		if c.Lag > 0 {
			return config.Invalid(o.name+".lag", "the weights of agents with pools of opponents lag %d iterations behind: want 0", c.Lag)
		}
		if o.opponents, err = newOpponents(s.Sub("opponents"), o.env, o.agent, c, with); err != nil {
			return err
		}
		behaves.policy = o.opponents.policy
	}
	behaves.parts, behaves.lag, behaves.asynchronous = c.Actors, c.Lag, c.Asynchronous
	o.repeat = with.options.Repeat()
	o.collector, err = newCollector(ctx, s.Sub("rollout"), o.Clock(), m, behaves, o.env, envs.RolloutConfig{
		Members: c.Members, Environments: c.Environments / o.env.Seats(), Horizon: c.RolloutLength, Options: with.options,
		Packed: o.packs(),
	})
	if err != nil {
		return err
	}
	if c.StillAction >= 0 {
		o.collector.motion = newMotion(o.Hyper(), c.OnPolicyConfig)
	}
	o.minibatches.Trajectory = o.collector.Trajectory()
	o.rows = onPolicyRows{
		actorLoss: m.Row("loss/actor"), criticLoss: m.Row("loss/critic"), entropy: m.Row("policy/entropy"),
		divergence: m.Row("policy/kl"), clipped: m.Row("policy/clipped"), norm: m.Row("gradient/norm"), refused: m.Row("gradient/refused"),
	}
	if o.evaluator, err = envs.NewEvaluator(ctx, s.Sub("evaluation"), o.env, with.options, o.agent.Policy()); err != nil {
		return err
	}
	if o.opponents != nil {
		o.opponents.evaluate(o.evaluator)
	}
	return o.Complete(engine.Parts{Description: o.description(), Record: record, Init: o.begin, Evaluator: o.evaluator})
}

// packs reports whether trajectories may have packed observations: all that read them gather minibatches, or evaluate networks layer by layer.
func (o *onPolicy) packs() bool {
	a := o.agent
	return o.minibatches.Obs != nil && a.actor.Layered() && a.critic.Layered() && a.normalizer == nil && o.env.Seats() == 1
}

// buildAgent makes the agent in the scope s, and its optimizers with the learning rate [M].
func (o *onPolicy) buildAgent(s *engine.State, cfg NetworkConfig, rate *engine.Tensor) (err error) {
	c := o.common
	o.rates = newRates(s, o.Clock(), c.ScheduleConfig, c.Environments, c.RolloutLength)
	rule := optim.Default(c.Optimizer)
	rule.Epsilon = c.OptimizerEpsilon
	if c.Optimizer == optim.ClipUp {
		rule.MaxNorm = c.MaxGradNorm // ClipUp limits its velocity instead, of actor and critic separately
	}
	o.agent, err = newAgent(s, o.env, agentConfig{
		network: cfg, members: c.Members, rows: o.minibatches.Rows, horizon: c.RolloutLength, environments: c.Environments, critic: c.criticShape(o.env),
		optimizer: rule, rate: o.rates.of("learning_rate", rate), maxNorm: c.MaxGradNorm,
	})
	return err
}

// joinLosses makes the losses of actor and critic one if these share layers.
func (o *onPolicy) joinLosses() {
	if o.agent.shares() {
		o.actorLoss.Join(o.criticLoss)
	}
}

// recordMinibatches records an update of actor and critic for every minibatch of every epoch, by a form that makes all of them if it is on. prepare
// records what the losses of separate updates need first.
func (o *onPolicy) recordMinibatches(r *engine.Recorder, form *lane.Policy, prepare func(r *engine.Recorder, m minibatch)) {
	actor, critic := o.agent.actor.optimizer, o.agent.critic.optimizer
	if form.Record(r, &o.minibatches.Minibatches, actor, critic, o.actorLoss, o.criticLoss, o.common.MaxGradNorm) {
		return
	}
	if o.parts != nil {
		o.parts.begin(r, prepare)
	}
	r.Repeat(o.common.epochs*o.common.minibatches, func(r *engine.Recorder, i engine.Counter) {
		actor, critic := o.recordMinibatch(r, i.Tensor(), prepare)
		o.agent.Step(r, actor, critic)
	})
}

// recordMinibatch records the gradients [splits, M, row] of actor and critic over the minibatch of an update; if they share layers, the actor's is that of
// both, and the critic's nil.
func (o *onPolicy) recordMinibatch(r *engine.Recorder, update *engine.Tensor, prepare func(r *engine.Recorder, m minibatch)) (actor, critic *engine.Tensor) {
	if o.parts != nil {
		return o.parts.record(r, update)
	}
	mb := minibatch{o.minibatches, update, 0}
	prepare(r, mb)
	if actor = o.actorLoss.Gradient(r, mb.inLanes()); !o.criticLoss.Joined() {
		critic = o.criticLoss.Gradient(r, mb.inLanes())
	}
	return actor, critic
}

// reads returns what an iteration's updates read: the clock, hyperparameters, parameters and the optimizers' state, the trajectory, and what the
// algorithm adds.
func (o *onPolicy) reads(of onPolicyWorkflow) []*engine.Tensor {
	all, t := append(of.reads(), o.Clock().Tensor()), o.collector.Trajectory()
	for _, name := range o.Hyper().Names() {
		all = append(all, o.Hyper().Lookup(name))
	}
	for _, n := range o.agent.learning() {
		all = append(append(all, n.optimizer.Rows()...), n.optimizer.Updates(), n.optimizer.Refused())
	}
	if values := o.agent.normalizerValues(); values != nil {
		all = append(all, values)
	}
	all = append(all, t.Obs, t.Action, t.LogProb)
	if o.common.trajectories {
		all = append(all, t.Done)
	}
	if o.agent.actor.memory != nil {
		all = append(all, t.Memory)
	}
	if of := o.agent.critic.memory; of != nil && of.critic.first != nil {
		all = append(all, of.critic.first)
		if t.Begins.Words != nil {
			all = append(all, t.Begins.Words)
		}
	}
	return all
}

func (o *onPolicy) learns() *onPolicy { return o }

func (o *onPolicy) collects() *Collector { return o.collector }

// share lets the engine's other devices, and workers of its crew, act for the workflow, or the devices compute parts of its gradients: it has parts of one
// of both at most.
func (o *onPolicy) share(of onPolicyWorkflow) {
	o.collector.remote = newRemoteActors(of, o.env)
	o.shared = newSharedGradients(of)
}

// mean records a metric [M] from the parts [splits, M] of a minibatch's mean, which are added.
func (o *onPolicy) mean(r *engine.Recorder, to, parts *engine.Tensor) {
	engine.Mean(r, to, parts, nil, float32(parts.Size("split")))
}

// losses returns the losses [4, splits, M] of the last minibatch (lane.Loss.Sums).
func (o *onPolicy) losses() (actor, critic *engine.Tensor) {
	if o.parts != nil {
		return o.parts.actor.total, o.parts.critic.total
	}
	return o.actorLoss.Sums, o.criticLoss.Sums
}

func (o *onPolicy) recordMetrics(r *engine.Recorder) {
	if o.parts != nil {
		o.parts.recordLosses(r)
	}
	actor, critic := o.losses()
	for i, row := range []*engine.Tensor{o.rows.actorLoss, o.rows.entropy, o.rows.divergence, o.rows.clipped} {
		o.mean(r, row, actor.Index(i))
	}
	o.mean(r, o.rows.criticLoss, critic.Index(0))
	r.Copy(o.rows.norm, o.agent.actor.optimizer.Norm())
	engine.CopyCounts(r, o.rows.refused, o.agent.actor.optimizer.Refused())
}

// description describes the run's learner and environment.
func (o *onPolicy) description() engine.Description {
	c := o.common
	return engine.Description{
		Workflow: o.name, Environment: o.env.Name, Members: c.Members, StepsPerIter: c.Members * c.Environments * c.RolloutLength * o.repeat,
	}
}

// begin starts a run: new parameters, new episodes.
func (o *onPolicy) begin(ctx context.Context) error {
	begin, err := o.State().Engine().Record(o.name+": first episodes", func(r *engine.Recorder) {
		o.collector.RecordFirst(r)
		if o.opponents != nil {
			o.opponents.Refresh(r)
		}
		o.collector.RecordWeights(r)
	})
	if err != nil {
		return err
	}
	defer begin.Free()
	return errors.Join(o.agent.init(ctx), begin.Run(ctx))
}

// Evaluator runs the members' policies: deterministic actions in new episodes.
func (o *onPolicy) Evaluator() *envs.Evaluator { return o.evaluator }

// Agent returns the actors and critics of all members.
func (o *onPolicy) Agent() *Agent { return o.agent }

// Opponents returns the pools of opponents; nil without the option Pool.
func (o *onPolicy) Opponents() *Opponents { return o.opponents }

// Environment returns the environment in which the agents act.
func (o *onPolicy) Environment() *envs.Environment { return o.env }

// Fitness implements engine.Trainable: the mean return of evaluation episodes.
func (o *onPolicy) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	return o.evaluator.Fitness(ctx, s, o.Clock(), episodes)
}

// Config implements engine.Trainable: the configuration with which the workflow was made.
func (o *onPolicy) Config() any { return o.config }
