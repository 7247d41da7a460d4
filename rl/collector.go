package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Collector runs policies in their environments and keeps the transitions of an iteration.
type Collector struct {
	behaviour
	rollout *envs.Joined
	clock   engine.Clock
	acting  engine.Clock  // by which parts act apart from each other
	lagged  *lagged       // nil: the present weights act
	remote  *remoteActors // that fill the rollouts instead; nil: this device does

	arrivals *arrivals // nil: each iteration has a trajectory of every part

	hosted    bool             // the host steps the environments
	continued []*engine.Tensor // [M, E, …] each: what goes on from an episode's steps in one trajectory to those in the next; 0: nothing

	found                               *envs.Found    // nil: the environment has no sets
	returns, lengths, diverged, leftOut *engine.Tensor // metrics [M]; leftOut is nil without a normalizer
}

// behaviour is the policy that a collector runs, with the normalization of its transitions.
type behaviour struct {
	policy     *envs.Policy
	explorer   *envs.Policy   // acts instead of the policy; nil: the policy acts
	explorers  int            // explorers per member, which share its environments; 0: one
	normalizer *nn.Normalizer // of the policy's observations; nil: none
	rewards    *rewardScale   // nil: none
	motion     *motion        // nil: motion is not rewarded
	parts      int            // of each member's environments, with rollouts of their own; 0: one
	lag        int            // iterations by which the weights that act are behind

	asynchronous bool // trajectories are taken as they come, by weights that are lag iterations behind at most
	replays      bool // what was learned from is learned from again
}

func newCollector(
	ctx context.Context, s *engine.State, clock engine.Clock, m *engine.Metrics,
	b behaviour, env *envs.Environment, cfg envs.RolloutConfig,
) (*Collector, error) {
	cfg.Trajectory, cfg.Policy = true, b.policy
	rollout, err := envs.NewJoined(ctx, s, env, max(b.parts, 1), cfg)
	if err != nil {
		return nil, err
	}
	c := &Collector{behaviour: b, rollout: rollout, clock: clock, acting: clock, hosted: env.SteppedByHost()}
	if b.rewards != nil {
		c.continued = append(c.continued, b.rewards.carried)
	}
	if b.asynchronous {
		c.arrivals = newArrivals(s.Sub("arrivals"), m, max(b.parts, 1), b.lag, b.replays)
		c.acting = c.arrivals.clock
	} else {
		c.lagged = newLagged(s.Sub("behaviour"), clock, m, c.acts(), cfg.Members, b.lag)
	}
	c.returns, c.lengths, c.diverged = m.Row(engine.ReturnMetric), m.Row("episode/length"), m.Row("episode/diverged")
	c.found = envs.NewFound(s, env, cfg.Members)
	c.found.Rows(m)
	if b.normalizer != nil {
		c.leftOut = m.Row("observation/left_out")
	}
	return c, s.Err()
}

// Trajectory returns the transitions of the last iteration.
func (c *Collector) Trajectory() *envs.Trajectory { return &c.rollout.Trajectory }

// RecordFirst records the start of a run's first episodes.
func (c *Collector) RecordFirst(r *engine.Recorder) {
	if c.remote != nil && c.hosted { // they begin where they act, and need not be here as well
		c.recordRenew(r)
		return
	}
	c.rollout.RecordReset(r)
}

// acts returns the policy that acts.
func (c *Collector) acts() *envs.Policy {
	switch {
	case c.lagged != nil:
		return c.lagged.acts
	case c.explorer != nil:
		return c.explorer
	}
	return c.policy
}

// Record records an iteration's steps. Rewards are scaled if the agent scales them.
func (c *Collector) Record(r *engine.Recorder) {
	c.recordSteps(r)
	c.recordNext(r)
}

// recordNext records that other weights act next, if those that act are behind.
func (c *Collector) recordNext(r *engine.Recorder) {
	if c.lagged != nil {
		c.lagged.record(r)
	}
}

// recordSteps is Record but for recordNext.
func (c *Collector) recordSteps(r *engine.Recorder) {
	if c.remote != nil {
		r.Host("trajectories of actors", c.remote.collect)
		c.rollout.Join(r)
	} else {
		c.RecordHere(r)
	}
	if c.motion != nil {
		c.motion.Record(r, c.Trajectory())
	}
	if c.rewards != nil {
		c.rewards.Record(r, c.Trajectory())
	}
}

// RecordHere records the steps of an iteration on this device, as outside of the iterations.
func (c *Collector) RecordHere(r *engine.Recorder) {
	c.rollout.Record(r, c.clock, c.acts())
	c.recordCut(r)
}

// RecordWeights records, once the first weights are there, that they act first.
func (c *Collector) RecordWeights(r *engine.Recorder) {
	if c.lagged != nil {
		c.lagged.begin(r)
	}
}

// RecordRandom records an iteration's steps with actions that are uniform over the action space.
func (c *Collector) RecordRandom(r *engine.Recorder) {
	c.rollout.Record(r, c.clock, nil)
	c.recordCut(r)
}

// RecordMoments records adding the observations to the normalizer's moments, if there is a normalizer. Steps that are no transitions are left out of a
// replay's moments; without one, copies of transitions are in their place by now (voids).
func (c *Collector) RecordMoments(r *engine.Recorder) {
	switch {
	case c.normalizer == nil:
	case c.replays:
		c.normalizer.RecordTransitions(r, c.rollout.Obs, c.rollout.Done)
	default:
		c.normalizer.Record(r, c.rollout.Obs)
	}
}

// Finish records what follows the updates: the metrics of the episodes that ended, and adding the observations to the
// normalizer's moments. The moments change only here, so that the whole iteration uses the normalization with which
// its actions were chosen.
func (c *Collector) Finish(r *engine.Recorder) {
	c.RecordMoments(r)
	if n := c.normalizer; n != nil {
		engine.Mean(r, c.leftOut, n.LeftOut(), nil, float32(n.LeftOut().Size("feature")))
	}
	c.rollout.RecordReturns(r, c.returns, c.lengths)
	c.rollout.RecordDiverged(r, c.diverged)
	c.found.Record(r, c.rollout.Parts()[0])
}
