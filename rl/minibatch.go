package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/rl/internal/lane"
)

// minibatches divides each member's transitions of an iteration into minibatches, again in every epoch: they are
// slices of a permutation of the transitions, or of whole trajectories (environments). The permutation is computed
// from (member, iteration, epoch), not stored (shaders/rl/minibatch.glsl).
type minibatches struct{ lane.Minibatches }

// minibatch is a part of the minibatch of one update; update [1] u32 is the update's number, counted over all epochs.
type minibatch struct {
	*minibatches
	update *engine.Tensor
	part   int
}

// inLanes returns the minibatch for losses.
func (m minibatch) inLanes() lane.Minibatch {
	return lane.Minibatch{Minibatches: &m.Minibatches, Update: m.update, Part: m.part}
}

func newMinibatches(s *engine.State, clock engine.Clock, c onPolicyConfig) *minibatches {
	return &minibatches{lane.Minibatches{
		Clock: clock, Stream: s.Stream("minibatch"),
		Horizon: c.RolloutLength, Members: c.Members, Environments: c.Environments, Epochs: c.epochs, Count: c.minibatches,
		Trajectories: c.trajectories, Parts: c.parts(), Rows: c.rows(),
	}}
}

// normalizeAdvantage allocates the moments by which advantages are normalized.
func (m *minibatches) normalizeAdvantage(s *engine.State) {
	m.Moments = s.Scratch("advantage_moments", engine.Float32, engine.Axis("update", m.Epochs*m.Count), engine.Members(m.Members), engine.Axis("moment", 2))
}

// recordOrder records the permutations of an iteration, if they are stored.
func (m *minibatches) recordOrder(r *engine.Recorder) {
	if m.Order == nil {
		return
	}
	n := m.Horizon * m.Environments
	k := minibatchOrderKernel{
		Clock: m.Clock.Tensor().Range(), Order: m.Order.Range(), Horizon: uint32(m.Horizon), Environments: uint32(m.Environments),
		Seed: r.Engine().Seed(), Stream: m.Stream, Trajectories: m.Trajectories, Workgroup: r.WorkgroupFor(n),
	}
	r.Dispatch(k.call((uint32(n)+k.Workgroup-1)/k.Workgroup, uint32(m.Members), uint32(m.Epochs)))
}

// inputs allocates a minibatch's inputs of networks [M, rows, features].
func (m *minibatches) inputs(s *engine.State, name string, features int) *engine.Tensor {
	return s.Scratch(name, engine.Float32, engine.Members(m.Members), engine.Axis("transition", m.Rows), engine.Axis("feature", features))
}

// recordMoments records the moments of the advantages of every minibatch, if advantages are normalized.
func (m *minibatches) recordMoments(r *engine.Recorder) {
	if m.Moments == nil {
		return
	}
	k := advantageMomentsKernel{
		Advantage: m.Advantage.Range(), Clock: m.Clock.Tensor().Range(), Moments: m.Moments.Range(),
		Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Minibatches: uint32(m.Count),
		Seed: r.Engine().Seed(), Stream: m.Stream, Trajectories: m.Trajectories, Workgroup: r.WorkgroupFor(m.Rows * m.Parts),
	}
	if m.Order != nil {
		k.Order = m.Order.Range()
	}
	r.Dispatch(k.call(uint32(m.Members), uint32(m.Epochs*m.Count), 1))
}

// recordInputs records gathering and normalizing the minibatch's observations, if a network needs them gathered, and what networks with memory need.
func (m minibatch) recordInputs(r *engine.Recorder, a *Agent) {
	if m.Obs != nil {
		m.gather(r, a.inputs(m.Trajectory, m.Trajectory.Obs), m.Obs)
	}
	if m.StateRows != nil {
		m.gather(r, a.world.inputs(), m.StateRows)
	}
	if m.Ends != nil {
		m.recordMemory(r, a)
	}
}

// gather records gathering the minibatch's rows [M, rows, features] of inputs [T, M, E, features], unpacked and normalized.
func (m minibatch) gather(r *engine.Recorder, in nn.Inputs, rows *engine.Tensor) {
	k := minibatchRowsKernel{
		Obs: in.Parts[0].Range(), Clock: m.Clock.Tensor().Range(), Batch: rows.Range(),
		Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Features: uint32(rows.Size("feature")), Rows: uint32(m.Rows),
		Seed: r.Engine().Seed(), Stream: m.Stream, Update: m.update.Range(), Minibatches: uint32(m.Count), Trajectories: m.Trajectories,
		Part: uint32(m.part), Parts: uint32(m.Parts), ObsLimit: in.Limit, Element: uint32(in.Element),
	}
	if in.Normalizer != nil {
		k.Normalizer = in.Normalizer.Range()
	}
	info := r.Engine().Device().Info()
	if k.Features%4 == 0 && k.Rows <= info.Limits.MaxGroups[1] {
		k.gatherQuads(r, uint32(m.Members))
		return
	}
	const line = 64
	r.Dispatch(k.call((k.Rows+line-1)/line, uint32(m.Members), 1))
}

// gatherQuads records the kernel that gathers four features an invocation.
func (k minibatchRowsKernel) gatherQuads(r *engine.Recorder, members uint32) {
	q := minibatchRowsQuadKernel{
		Obs: k.Obs, Normalizer: k.Normalizer, Clock: k.Clock, Batch: k.Batch, Update: k.Update,
		Horizon: k.Horizon, Environments: k.Environments, Features: k.Features, Rows: k.Rows, Seed: k.Seed, Stream: k.Stream,
		Minibatches: k.Minibatches, ObsLimit: k.ObsLimit, Part: k.Part, Parts: k.Parts, Element: k.Element, Trajectories: k.Trajectories,
		LocalSizeX: r.Workgroup(),
	}
	groups := quadGroups(r, int(k.Features))
	if engine.WideStores(r.Engine().Device().Info()) {
		r.Dispatch(minibatchRowsQuadWideKernel(q).call(groups, k.Rows, members))
	} else {
		r.Dispatch(q.call(groups, k.Rows, members))
	}
}
