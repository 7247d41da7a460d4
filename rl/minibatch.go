package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// minibatches divides each member's transitions of an iteration into minibatches, again in every epoch: they are
// slices of a permutation of the transitions, or of whole trajectories (environments). The permutation is computed
// from (member, iteration, epoch), not stored (shaders/rl/minibatch.glsl).
type minibatches struct {
	trajectory *envs.Trajectory
	estimates  *estimates
	clock      engine.Clock
	stream     uint32 // of the permutations

	horizon, members, environments int
	epochs, count                  int // passes over the transitions; minibatches per pass
	trajectories                   bool
	rows                           int // transitions of the largest minibatch

	order   *engine.Tensor // [epochs, P, T * E] u32: the permutations, if updates are fused, which read them often; nil: computed where needed
	moments *engine.Tensor // [epochs * count, P, 2]: of the advantages; nil: advantages are not normalized
	obs     *engine.Tensor // [P, rows, O]: observations of a minibatch; nil if no network needs them gathered
}

// minibatch is the minibatch of one update; update [1] u32 is its number, counted over all epochs.
type minibatch struct {
	*minibatches
	update *engine.Tensor
}

func newMinibatches(s *engine.State, clock engine.Clock, c onPolicyConfig) *minibatches {
	return &minibatches{
		clock: clock, stream: s.Stream("minibatch"),
		horizon: c.horizon, members: c.members, environments: c.environments, epochs: c.epochs, count: c.minibatches,
		trajectories: c.trajectories, rows: c.rows(),
	}
}

// normalizeAdvantage allocates the moments by which advantages are normalized.
func (m *minibatches) normalizeAdvantage(s *engine.State) {
	m.moments = s.Scratch("advantage_moments", engine.Float32, engine.Axis("update", m.epochs*m.count), engine.Members(m.members), engine.Axis("moment", 2))
}

// storeOrder allocates the permutations of an iteration.
func (m *minibatches) storeOrder(s *engine.State) {
	m.order = s.Scratch("order", engine.Uint32, engine.Axis("epoch", m.epochs), engine.Members(m.members), engine.Axis("transition", m.horizon*m.environments))
}

// recordOrder records the permutations of an iteration, if they are stored.
func (m *minibatches) recordOrder(r *engine.Recorder) {
	if m.order == nil {
		return
	}
	n := m.horizon * m.environments
	k := minibatchOrderKernel{
		Clock: m.clock.Tensor().Range(), Order: m.order.Range(), Horizon: uint32(m.horizon), Environments: uint32(m.environments),
		Seed: r.Engine().Seed(), Stream: m.stream, Trajectories: m.trajectories, Workgroup: r.WorkgroupFor(n),
	}
	r.Dispatch(k.call((uint32(n)+k.Workgroup-1)/k.Workgroup, uint32(m.members), uint32(m.epochs)))
}

// observations allocates a minibatch's observations [P, rows, O].
func (m *minibatches) observations(s *engine.State, name string, env *envs.Environment) *engine.Tensor {
	return s.Scratch(name, engine.Float32, engine.Members(m.members), engine.Axis("transition", m.rows), engine.Axis("feature", env.ObsSize()))
}

// recordMoments records the moments of the advantages of every minibatch, if advantages are normalized.
func (m *minibatches) recordMoments(r *engine.Recorder) {
	if m.moments == nil {
		return
	}
	k := advantageMomentsKernel{
		Advantage: m.estimates.advantage.Range(), Clock: m.clock.Tensor().Range(), Moments: m.moments.Range(),
		Horizon: uint32(m.horizon), Environments: uint32(m.environments), Minibatches: uint32(m.count),
		Seed: r.Engine().Seed(), Stream: m.stream, Trajectories: m.trajectories, Workgroup: r.WorkgroupFor(m.rows),
	}
	if m.order != nil {
		k.Order = m.order.Range()
	}
	r.Dispatch(k.call(uint32(m.members), uint32(m.epochs*m.count), 1))
}

// recordObs records gathering and normalizing the minibatch's observations, if a network needs them gathered.
func (m minibatch) recordObs(r *engine.Recorder, a *Agent) {
	if m.obs == nil {
		return
	}
	m.gather(r, a, m.trajectory.Obs, m.obs)
}

// gather records gathering the minibatch's rows [P, rows, O] of observations [T, P, E, O], normalized.
func (m minibatch) gather(r *engine.Recorder, a *Agent, obs, rows *engine.Tensor) {
	k := minibatchRowsKernel{
		Obs: obs.Range(), Clock: m.clock.Tensor().Range(), Batch: rows.Range(),
		Horizon: uint32(m.horizon), Environments: uint32(m.environments), Features: uint32(rows.Size("feature")), Rows: uint32(m.rows),
		Seed: r.Engine().Seed(), Stream: m.stream, Update: m.update.Range(), Minibatches: uint32(m.count), Trajectories: m.trajectories,
		ObsLimit: float32(a.cfg.ObsLimit),
	}
	if values := a.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	const line = 64
	r.Dispatch(k.call((k.Rows+line-1)/line, uint32(m.members), 1))
}
