package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// memory is what a network with memory learns by. Minibatches are whole trajectories, which are replayed from the memory before their first step,
// without burn-in; gradients pass through all their steps.
type memory struct {
	sequence *nn.Sequence   // over a minibatch
	batch    *engine.Tensor // [M, B, H]: the memory before the first step of a minibatch's trajectories
	critic   *criticMemory  // nil: an actor's
}

// criticMemory is the memory that a critic carries beside the actor's. Rollouts have no critic: after one, a pass over the whole trajectory goes on
// from where the pass before ended, by the critic that has the values of this trajectory. Updates change it as they change the actor, whose memory
// stays likewise.
//
// A critic that shares the actor's layers shares its memory, which rollouts keep: it carries none.
type criticMemory struct {
	whole, minibatch *nn.Ahead      // values of next observations along trajectories [T, M, E], and along a minibatch
	pass             *nn.Sequence   // over trajectories
	carried          *engine.Tensor // [M, E, H]: after the last step; nil: it is the actor's
	first            *engine.Tensor // [M, E, H]: carried before the first step of the trajectory; nil likewise
}

// newMemory makes the passes of an actor or a critic over minibatches.
func newMemory(s *engine.State, net *nn.Network, c agentConfig) (*memory, error) {
	width := c.rows / c.horizon
	q, err := net.NewSequence(s.Sub("sequence"), c.horizon, width)
	if err != nil {
		return nil, err
	}
	batch := s.Scratch("batch_memory", engine.Float32, engine.Members(c.members), engine.Axis("row", width), engine.Axis("float", net.Model().Memory()))
	return &memory{sequence: q, batch: batch}, s.Err()
}

// newCriticMemory makes what a critic carries along.
func newCriticMemory(s *engine.State, env *envs.Environment, n *network, c agentConfig) (*criticMemory, error) {
	m := &criticMemory{}
	var err error
	whole := s.Sub("trajectory")
	if m.pass, err = n.NewSequence(whole, c.horizon, c.environments); err != nil {
		return nil, err
	}
	if m.whole, err = m.pass.NewAhead(whole.Sub("ahead")); err != nil {
		return nil, err
	}
	if m.minibatch, err = n.memory.sequence.NewAhead(s.Sub("ahead")); err != nil {
		return nil, err
	}
	if c.network.Shared != ShareNone {
		return m, s.Err()
	}
	dims := []engine.Dim{engine.Members(c.members), engine.Environments(c.environments), engine.Axis("float", n.Model().Memory())}
	m.carried, m.first = s.Tensor("memory", engine.Float32, dims...), s.Scratch("first_memory", engine.Float32, dims...)
	if env.KeepsEpisodes() {
		m.carried.Own()
	}
	return m, s.Err()
}

// sequence returns the pass over minibatches of a network with memory, nil of others.
func (n *network) sequence() *nn.Sequence {
	if n.memory == nil {
		return nil
	}
	return n.memory.sequence
}

// firstMemory returns the memory [M, B, H] with which that pass begins.
func (n *network) firstMemory() *engine.Tensor {
	if n.memory == nil {
		return nil
	}
	return n.memory.batch
}

// nextValues records the values of a minibatch's next observations [M, rows, O], normalized, to [M, rows, 1]: of critics with memory after the forward
// pass of their loss.
func (n *network) nextValues(r *engine.Recorder, nextObs, values *engine.Tensor) {
	inputs := nn.Inputs{Parts: []*engine.Tensor{nextObs}}
	if n.memory != nil {
		n.memory.critic.minibatch.Record(r, inputs, values)
		return
	}
	n.Evaluate(r, n.weights(), inputs, values)
}

// record records the values of a trajectory and opens the pass; the memory after its last step is carried on, if it is the critic's own.
func (m *criticMemory) record(r *engine.Recorder, w nn.Weights, inputs nn.Inputs, t *envs.Trajectory, values *engine.Tensor) {
	if m.carried == nil {
		inputs.Memory = t.Memory // zero already where an episode begins
		m.pass.Forward(r, w, inputs, t.Done, values)
		return
	}
	r.Copy(m.first, m.carried)
	inputs.Memory, inputs.Begins = m.first, t.Begins
	m.pass.Forward(r, w, inputs, t.Done, values)
	r.Copy(m.carried, m.pass.Memory())
}

// endEpisodes allocates where the episodes of a minibatch end, if a network has memory.
func (m *minibatches) endEpisodes(s *engine.State, a *Agent) {
	if a.actor.memory != nil || a.critic.memory != nil {
		m.Ends = s.Scratch("ends", engine.Uint32, engine.Members(m.Members), engine.Axis("transition", m.Rows))
	}
}

// recordMemory records what networks with memory need of a minibatch: where episodes end, and the memory before the first step.
func (m minibatch) recordMemory(r *engine.Recorder, a *Agent) {
	size, groups := r.Invocations(m.Rows)
	r.Dispatch(minibatchEndsKernel{
		Done: m.Trajectory.Done.Range(), Clock: m.Clock.Tensor().Range(), Update: m.update.Range(), Ends: m.Ends.Range(),
		Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Rows: uint32(m.Rows),
		Seed: r.Engine().Seed(), Stream: m.Stream, Minibatches: uint32(m.Count), Part: uint32(m.part), Parts: uint32(m.Parts), Trajectories: true,
		LocalSizeX: size,
	}.call(groups, uint32(m.Members), 1))
	if of := a.actor.memory; of != nil {
		m.gatherMemory(r, m.Trajectory.Memory, nn.Begins{}, of.batch) // zero already where an episode begins
	}
	if of := a.critic.memory; of != nil && of.critic.first != nil {
		m.gatherMemory(r, of.critic.first, m.Trajectory.Begins, of.batch)
	}
}

// gatherMemory records gathering the memory [M, E, H] before the first step of the minibatch's trajectories.
func (m minibatch) gatherMemory(r *engine.Recorder, from *engine.Tensor, begins nn.Begins, to *engine.Tensor) {
	rows, floats := to.Size("row"), to.Size("float")
	size, groups := r.Invocations(rows * floats)
	k := minibatchMemoryKernel{
		Memory: from.Range(), Clock: m.Clock.Tensor().Range(), Update: m.update.Range(), Batch: to.Range(),
		Environments: uint32(m.Environments), Rows: uint32(rows), Floats: uint32(floats),
		Seed: r.Engine().Seed(), Stream: m.Stream, Minibatches: uint32(m.Count), Part: uint32(m.part), Parts: uint32(m.Parts), Trajectories: true,
		LocalSizeX: size,
	}
	if begins.Words != nil {
		k.Begins, k.BeginsBits, k.BeginsZero, k.BeginsAlso = begins.Words.Range(), begins.Bits, begins.Zero, begins.Also
	}
	r.Dispatch(k.call(groups, uint32(m.Members), 1))
}
