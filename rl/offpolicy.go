package rl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// OffPolicy is the common part of off-policy algorithms: M members that learn from replayed experience. An iteration is
// one recorded program: T steps of every environment by the exploring policy, which are appended to the replay;
// T · E · updates_per_step updates, each with its own batch; metrics. With Asynchronous the steps are those that have come, T of up to E environments.
//
// In Init every member takes learning_starts environment steps with random actions, rounded up to whole rollouts of
// T · E. They count as environment steps (engine.EnvSteps, Report.EnvSteps), not as iterations. A run that resumes
// without a saved replay (ReplayConfig.Save) takes and counts the same number of steps again, by its current policies.
type OffPolicy struct {
	engine.Base
	name   string
	config Algorithm // as it was made
	env    *envs.Environment
	cfg    OffPolicyConfig
	with   settings

	rates     *rates
	learner   learner
	collector *Collector
	replay    *Replay
	sequences *ReplaySequences // nil: updates are from transitions
	evaluator *envs.Evaluator
	discount  *engine.Tensor                      // [M]
	rewards   func(*engine.Recorder, ReplayBatch) // nil: the environment's

	remake func(ctx context.Context, eng *engine.Engine) (*OffPolicy, error) // to act
}

// newOffPolicy makes an off-policy workflow from an algorithm's configuration and its common part; build makes the
// learner.
func newOffPolicy(
	ctx context.Context, name string, eng *engine.Engine, env *envs.Environment, algorithm Algorithm, cfg OffPolicyConfig, with settings,
	build func(*OffPolicy, learnerParts) (learner, error),
) (*OffPolicy, error) {
	if err := engine.Require(map[string]any{"engine": eng, "environment": env}); err != nil {
		return nil, fmt.Errorf("rl: %s: %w", name, err)
	}
	given := cfg
	remake := func(ctx context.Context, eng *engine.Engine) (*OffPolicy, error) {
		with := with
		with.acting = true
		return newOffPolicy(ctx, name, eng, env, algorithm, given, with, build)
	}
	cfg.Members *= max(with.objectives, 1)
	cfg.Environments *= env.Seats() // to what learns, the seats of an environment are environments
	o := &OffPolicy{Base: engine.NewBase(eng, cfg.Members, maxMetrics), name: name, config: algorithm, env: env, cfg: cfg, with: with, remake: remake}
	if err := o.build(ctx, with, build); err != nil {
		return nil, errors.Join(fmt.Errorf("rl: %s on %q: %w", name, env.Name, err), o.Close())
	}
	o.collector.remote = newRemoteActors(o, env)
	return o, nil
}

func (o *OffPolicy) collects() *Collector { return o.collector }

func (o *OffPolicy) again(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	of, err := o.remake(ctx, eng)
	if err != nil {
		return nil, err // no nil pointer in the interface
	}
	return of, nil
}

// behaviour returns the policy and normalization for the collector.
func (o *OffPolicy) behaviour() behaviour {
	b := o.learner.behaviour()
	b.parts, b.lag, b.asynchronous, b.replays = o.cfg.Actors, o.cfg.Lag, o.cfg.Asynchronous, true
	return b
}

func (o *OffPolicy) build(ctx context.Context, with settings, build func(*OffPolicy, learnerParts) (learner, error)) (err error) {
	c, s, m, hyper := o.cfg, o.State(), o.Metrics(), o.Hyper()
	if err := errors.Join(config.Check(o.config), with.check()); err != nil {
		return err
	}
	if err := o.config.Check(Parts{Env: o.env, Network: with.network, Replay: *with.replay, Sequences: with.sequenceConfig()}); err != nil {
		return err
	}
	if (c.Actors > 1 || c.Lag > 0) && (with.actors > 1 || with.objectives > 1) {
		return config.Invalid(o.name+".actors", "%d parts of the environments, and a lag of %d, of agents that another method trains; want 1 and 0", c.Actors, c.Lag)
	}
	o.discount = hyper.Add("discount", c.Discount)
	o.rates = newRates(s, o.Clock(), c.ScheduleConfig, c.Environments, c.RolloutLength)
	parts := learnerParts{
		env: o.env, network: with.network, batch: with.replay.Batch, actors: max(with.actors, 1), objectives: max(with.objectives, 1),
		sequences: with.sequenceConfig(), optimizer: optim.DefaultAdam, rewardScale: hyper.Add("reward_scale", c.RewardScale),
	}
	if o.learner, err = build(o, parts); err != nil {
		return err
	}
	if _, err := o.deterministic(); with.criticsFirst && err != nil {
		return config.Invalid("cem-rl.critics_first", "updates of the critics come first; want ddpg, or td3 with policy_delay = 1")
	}
	m.CountSteps()
	if parts.objectives > 1 {
		m = m.Sub("agents/", 1)
	}
	o.collector, err = newCollector(ctx, s.Sub("rollout"), o.Clock(), m, o.behaviour(), o.env, envs.RolloutConfig{
		Members: c.Members, Environments: c.Environments / o.env.Seats(), Horizon: c.RolloutLength, Options: with.options, Actions: envs.Applied,
		Policies: o.learner.behaviour().explorers,
	})
	if err != nil {
		return err
	}
	if q := o.collector.arrivals; q != nil {
		q.count = func(ctx context.Context, n int) error {
			return o.Metrics().CountNow(ctx, n*o.taken()/c.Actors)
		}
	}
	replay := *with.replay
	replay.Batch *= parts.actors
	if with.acting {
		replay.Capacity = o.leastCapacity(replay)
	}
	if o.replay, err = NewReplay(s.Sub("replay"), hyper, *o.collector.Trajectory(), replay); err != nil {
		return err
	}
	owner := o.replay.own.newest.owner
	if replay.Inherit && !o.env.KeepsEpisodes() {
		owner.Own() // a ring that is taken over goes on with its episodes, which the environments take over too
	} else {
		s.OnRevive(func(r *engine.Recorder) { r.Fill(owner, 0) }) // others have filled the ring since
	}
	o.collector.continued = append(o.collector.continued, owner)
	if o.learner.behaviour().policy.Network.Memory() > 0 {
		if o.sequences, err = o.replay.NewSequences(s.Sub("replay").Sub("sequences"), *o.collector.Trajectory(), *with.sequences); err != nil {
			return err
		}
	}
	if replay.InitialPriority == ErrorPriority && !with.acting {
		o.replay.prioritize(s.Sub("replay").Sub("new"), o.discount, o.learner.(initialLearner).initialErrors(s.Sub("replay").Sub("new"), o.replay))
	}
	if many := o.learner.many(); many.On() {
		o.replay.makeMany(s.Sub("replay"), many.Together)
	}
	o.replay.Normalize(o.learner.behaviour().normalizer, with.network.ObsLimit)
	policy := *o.learner.behaviour().policy
	policy.Head.Noise = nil // evaluations do not explore
	if o.evaluator, err = envs.NewEvaluator(ctx, s.Sub("evaluation"), o.env, with.options, &policy); err != nil {
		return err
	}
	if !with.replay.Save {
		s.OnResume(o.refill)
	}
	return o.Complete(engine.Parts{Description: o.description(), Record: o.Record, Init: o.begin, Evaluator: o.evaluator})
}

// leastCapacity returns the capacity of a replay that is not used.
func (o *OffPolicy) leastCapacity(replay ReplayConfig) int {
	most := replay.Capacity
	for replay.Capacity = 1; replay.Capacity < most; replay.Capacity *= 2 {
		with := Parts{Env: o.env, Network: o.with.network, Replay: replay, Sequences: o.with.sequenceConfig()}
		if config.Check(replay) == nil && o.config.Check(with) == nil {
			return replay.Capacity
		}
	}
	return most
}

// Exploration returns the noise by which the agents explore; the zero value if they do without.
func (o *OffPolicy) Exploration() Exploration {
	if of, ok := o.config.(interface{ Exploration() Exploration }); ok {
		return of.Exploration()
	}
	return Exploration{}
}

// Schedule returns the course of the agents' learning rates.
func (o *OffPolicy) Schedule() ScheduleConfig { return o.cfg.ScheduleConfig }

// description describes the run's learner and environment.
func (o *OffPolicy) description() engine.Description {
	return engine.Description{Workflow: o.name, Environment: o.env.Name, Members: o.cfg.Members, StepsPerIter: o.taken()}
}

// begin starts a run: new parameters, new episodes, and experience by random actions.
func (o *OffPolicy) begin(ctx context.Context) error {
	if err := o.learner.init(ctx); err != nil {
		return err
	}
	return o.run(ctx, ": first experience", func(r *engine.Recorder) {
		o.collector.RecordFirst(r)
		collect := o.collector.RecordRandom
		if o.sequences != nil { // that begin with the policy's memory
			o.recordWeights(r)
			collect = o.actHere
		}
		o.recordExperience(r, collect, o.learner.behaviour().policy)
		o.recordWeights(r)
	})
}

// refill fills a replay that is not in checkpoints, with as many steps as at the start of a run, by the current
// policies.
func (o *OffPolicy) refill(ctx context.Context) error {
	return o.run(ctx, ": new experience", func(r *engine.Recorder) {
		o.replay.Clear(r)
		if o.with.actors > 1 { // these act only at random
			o.recordExperience(r, o.collector.RecordRandom, o.learner.behaviour().policy)
			return
		}
		o.recordExperience(r, o.actHere, o.collector.acts())
	})
}

// recordWeights records that the first weights act first, if those that act are behind.
func (o *OffPolicy) recordWeights(r *engine.Recorder) {
	if o.collector.lagged != nil {
		o.learner.explore(r)
		o.collector.RecordWeights(r)
	}
}

// actHere is act outside of the iterations.
func (o *OffPolicy) actHere(r *engine.Recorder) {
	o.learner.explore(r)
	o.collector.RecordHere(r)
}

// recordExperience records learning_starts environment steps of every member, without updates; by are the policies whose values give them priorities.
func (o *OffPolicy) recordExperience(r *engine.Recorder, collect func(*engine.Recorder), by *envs.Policy) {
	n := o.cfg.warmup()
	if n == 0 {
		return
	}
	r.Repeat(n, func(r *engine.Recorder, _ engine.Counter) {
		collect(r)
		o.keep(r, by, false)
		o.Metrics().AddSteps(r, o.taken())
		o.collector.RecordMoments(r)
		o.Clock().Tick(r, 0, o.cfg.RolloutLength)
	})
}

// run records and runs a program.
func (o *OffPolicy) run(ctx context.Context, what string, record func(*engine.Recorder)) error {
	program, err := o.State().Engine().Record(o.name+what, record)
	if err != nil {
		return err
	}
	defer program.Free()
	return program.Run(ctx)
}

// keep records appending the collected transitions to the replay. by are the policies whose values give them priorities; fresh is as of Replay.Append.
func (o *OffPolicy) keep(r *engine.Recorder, by *envs.Policy, fresh bool) {
	if o.replay.initial != nil {
		o.replay.initial.by = by
	}
	o.replay.Append(r, *o.collector.Trajectory(), fresh)
}

// Record implements engine.Trainable.
func (o *OffPolicy) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	o.Collect(r)
	o.RecordUpdates(r)
	o.Finish(r)
	o.End(r, rows, o.cfg.RolloutLength)
}

// Collect records an iteration's steps by the exploring policies; the transitions are appended to the replay and
// counted. With RecordUpdates and Finish it makes an iteration, for workflows that insert something in between;
// engine.Base.End ends it.
func (o *OffPolicy) Collect(r *engine.Recorder) {
	if o.with.actors > 1 {
		r.Fail(fmt.Errorf("rl: %s: members of %d actors act only at random", o.name, o.with.actors))
		return
	}
	o.learner.explore(r)
	o.collector.recordSteps(r)
	o.keep(r, o.collector.acts(), o.cfg.Asynchronous) // whose place may have had another part's trajectory before
	if !o.cfg.Asynchronous {
		o.Metrics().AddSteps(r, o.taken())
	}
	o.collector.recordNext(r)
}

// Finish records the end of an iteration: metrics, and adding the observations to the normalizer's moments.
func (o *OffPolicy) Finish(r *engine.Recorder) {
	o.collector.Finish(r)
	o.Measure(r)
}

// Measure records the metrics of an iteration's last update.
func (o *OffPolicy) Measure(r *engine.Recorder) { o.learner.recordMetrics(r) }

// Replay returns the replay of the agents.
func (o *OffPolicy) Replay() *Replay { return o.replay }

// Policy returns the exploring policy: actors [M, row] and their head. If its actions are continuous, a row has the
// form of a candidate of a search for policies (ec/problem.Actors).
func (o *OffPolicy) Policy() *envs.Policy { return o.learner.behaviour().policy }

// Network returns the configuration of the agents' networks.
func (o *OffPolicy) Network() NetworkConfig { return o.with.network }

// Options returns the options of the environment.
func (o *OffPolicy) Options() envs.Options { return o.with.options }

// Steps returns the steps per environment and iteration, by which the clock advances, and the environment steps of all
// members.
func (o *OffPolicy) Steps() (clock, all int) {
	return o.cfg.RolloutLength, o.taken()
}

// taken returns the environment steps of all members in an iteration: actions, and their repetitions.
func (o *OffPolicy) taken() int { return o.cfg.Members * o.cfg.steps() * o.with.options.Repeat() }

// Evaluator runs the members' policies: deterministic actions in new episodes.
func (o *OffPolicy) Evaluator() *envs.Evaluator { return o.evaluator }

// Environment returns the environment in which the agents act.
func (o *OffPolicy) Environment() *envs.Environment { return o.env }

// Fitness implements engine.Trainable: the mean return of evaluation episodes.
func (o *OffPolicy) Fitness(ctx context.Context, s *engine.State, episodes int) (engine.Fitness, error) {
	return o.evaluator.Fitness(ctx, s, o.Clock(), episodes)
}

// Policies implements engine.PolicyInheritor: what fastpbrl's PBT copies (A. Flajolet et al., 2022). DQN's networks are its policies.
func (o *OffPolicy) Policies() []*engine.Tensor {
	all := o.learner.policies()
	if l := o.collector.lagged; l != nil {
		all = append(slices.Clone(all), l.past...)
	}
	return all
}

// RenewPolicy implements engine.PolicyInheritor: the optimizer of a copied policy is reset, its target is a copy of it, and a learned temperature has its
// initial value. Critics are unchanged.
func (o *OffPolicy) RenewPolicy(r *engine.Recorder, source *engine.Tensor) {
	o.learner.renew(r, source)
	if a := o.collector.remote; a != nil {
		a.recordReset(r)
	}
}

// Config implements engine.Trainable: the configuration with which the workflow was made.
func (o *OffPolicy) Config() any { return o.config }
