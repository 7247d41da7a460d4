package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// SequenceConfig holds the settings of sequences that are drawn from a replay, as many as its batch.
type SequenceConfig struct {
	BurnIn int  `min:"0" max:"2048" doc:"Steps over which only the memory is brought up to date; no gradient passes through them."`
	Steps  int  `min:"1" max:"2048" doc:"Steps that are learned from."`
	Stored bool `doc:"Sequences begin where trajectories began, with the memory that acted there; otherwise anywhere, with zeros."`
}

// DefaultSequences are the settings of R2D2 (S. Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning", 2019):
// 80 steps after a burn-in of 40, from stored memories. Trajectories of 40 steps make sequences overlap as there, and a batch has 64.
func DefaultSequences() SequenceConfig {
	return SequenceConfig{BurnIn: 40, Steps: 80, Stored: true}
}

// steps returns the steps of a sequence with that which has only an observation: S.
func (c SequenceConfig) steps() int { return c.BurnIn + c.Steps + 1 }

// check returns an error if sequences cannot be drawn from a replay whose rings hold the transitions of `lanes` environments.
func (c SequenceConfig) check(replay ReplayConfig, lanes int) error {
	switch need := c.steps() * lanes; {
	case replay.Prioritized:
		return config.Invalid("replay.prioritized", "sequences are drawn uniformly; want false")
	case replay.Capacity < need:
		return config.Invalid("replay.capacity", "%d transitions of %d environments, where sequences have %d steps; want at least %d",
			replay.Capacity, lanes, c.steps(), need)
	}
	return nil
}

// checkUnused returns an error if sequences are set beside a network without memory, which learns from transitions; the zero value has none.
func (c SequenceConfig) checkUnused(network nn.Model) error {
	usual := DefaultSequences()
	if c == (SequenceConfig{}) || c == usual {
		return nil
	}
	key, want := "stored", any(usual.Stored)
	switch {
	case c.BurnIn != usual.BurnIn:
		key, want = "burn_in", usual.BurnIn
	case c.Steps != usual.Steps:
		key, want = "steps", usual.Steps
	}
	return config.Invalid("sequences."+key, "network %v has no memory, and learns from single transitions; want a layer of type \"gru\" or \"lstm\", "+
		"or the default, %v", network, want)
}

// ReplaySequences draws sequences of consecutive steps of an environment from a replay, for agents with memory.
//
// Sequences go over the ends of episodes, as in flashbax and Stoix, and the memory is zeroed there; R2D2's and Acme's end there and
// are padded, which leaves few steps to learn from where episodes are short. After a truncated episode, its true next observation is a step of
// its own, and so is the observation after the last step: everywhere a step bootstraps from the value of the next step, computed by the
// same pass. No sequence goes over the point where a member became a copy of another, or where a row was dropped.
//
// First rows are drawn uniformly, with replacement, among those that enough rows of their environment follow. While a replay holds none, or so
// few that 64 tries miss them (sequences of over 900 steps: fewer tries), sequences are void: no step has a transition.
//
// Memories are stored once a trajectory, not once a row, as R2D2 stores them once in 40 steps: a memory is larger than most observations (a GRU
// of 128 units: 512 bytes), and rollouts have them only there. Sequences with stored memories therefore begin at the first steps of trajectories.
type ReplaySequences struct {
	replay *Replay
	cfg    SequenceConfig
	stream uint32

	after  *engine.Tensor // [rings, C] u32: the environment's next row
	latest *engine.Tensor // [rings, lanes] u32: one more than the environment's row in the trajectory before; 0: none
	stored *storedMemory  // nil: sequences begin with zeros

	row, place *engine.Tensor // [M, S, B] u32: see shaders/rl/replay_sequence_draw.comp
	batch      SequenceBatch
}

// storedMemory is a ring of memories, a chunk for each of the newest trajectories that the replay holds whole.
type storedMemory struct {
	chunks int
	memory *engine.Tensor // [rings, chunks, lanes, H]
	start  *engine.Tensor // [rings, chunks, lanes] u32: the row of the first step; shaders/rl/replay.glsl
	chunk  *engine.Tensor // [rings, 2] u32: the chunk to write next, chunks held
	drawn  *engine.Tensor // [M, B] u32: which memory a sequence begins with
}

// SequenceBatch holds the sequences that are drawn for every member.
type SequenceBatch struct {
	Index  *engine.Tensor // [M, B] u32: the ring's first row; 2³² - 1: the sequence is void
	Memory *engine.Tensor // [M, B, H]: with which the first step was taken; nil: zeros
	BurnIn SequenceSteps  // the first steps; without tensors if there are none
	// Learn are the steps after them: SequenceConfig.Steps, and one that has only an observation.
	Learn SequenceSteps
	// Begins is not 0 where the first step of Learn begins an episode, [M, B] u32; nil without burn-in.
	Begins *engine.Tensor
}

// SequenceSteps are consecutive steps of sequences, the time axis before the sequences.
type SequenceSteps struct {
	Obs    *engine.Tensor // [M, T, B, O]: normalized if Replay.Normalize was called
	Action *engine.Tensor // [M, T, B, D]
	Reward *engine.Tensor // [M, T, B]: of one step
	Done   *engine.Tensor // [M, T, B] u32: envs.Done; Void: the step is no transition, but has an observation
	// Ends is not 0 where the next step begins with a memory of zeros, [M, T, B] u32: where Done is Terminated or Void.
	Ends *engine.Tensor

	places *engine.Tensor // of Obs, [M, T, B, frames] u32; nil: the kernel that reads the steps reads them
}

// NewSequences prepares a replay for drawing sequences; call it once, before anything is appended. With SequenceConfig.Stored the trajectories that
// are appended have a Memory of t's size. Its tensors are in s.
//
// Errors: settings out of range; a prioritized replay; sequences longer than what a replay keeps of an environment; stored memories without a
// Memory in t, or in a replay with other sources.
func (y *Replay) NewSequences(s *engine.State, t envs.Trajectory, cfg SequenceConfig) (*ReplaySequences, error) {
	if err := config.Check(cfg); err != nil {
		return nil, fmt.Errorf("rl: sequences: %w", err)
	}
	if err := cfg.check(y.cfg, y.own.lanes); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	rows := y.own.slots.Len() / y.rings
	steps := cfg.steps()
	switch {
	case y.sequences != nil:
		return nil, fmt.Errorf("rl: a replay of %v has sequences already; want one NewSequences", y.parts[0].obs)
	case cfg.Stored && t.Memory == nil:
		return nil, fmt.Errorf("rl: sequences that begin with stored memories, where trajectories have none; want a policy with memory, or stored = false")
	case cfg.Stored && y.appended > rows:
		return nil, fmt.Errorf("rl: sequences that begin with stored memories in a replay with several sources; want one source, or stored = false")
	}
	q := &ReplaySequences{replay: y, cfg: cfg, stream: s.Stream("sequences")}
	q.after = y.tensor(s, "after", engine.Uint32, engine.Axis("row", y.cfg.Capacity))
	q.latest = y.tensor(s, "latest", engine.Uint32, engine.Axis("lane", y.own.lanes))
	p, b := engine.Members(y.batch.Obs.Size(engine.MemberAxis)), engine.Axis("sequence", y.cfg.Batch)
	if cfg.Stored {
		m := &storedMemory{chunks: y.cfg.Capacity / rows}
		chunk, lane := engine.Axis("chunk", m.chunks), engine.Axis("lane", y.own.lanes)
		floats := engine.Axis("float", t.Memory.Len()/(y.rings*y.own.lanes))
		m.memory = y.tensor(s, "memory", engine.Float32, chunk, lane, floats)
		m.start, m.chunk = y.tensor(s, "start", engine.Uint32, chunk, lane), y.tensor(s, "chunk", engine.Uint32, engine.Axis("count", 2))
		m.drawn = s.Scratch("drawn_memory", engine.Uint32, p, b)
		q.stored, q.batch.Memory = m, s.Scratch("batch_memory", engine.Float32, p, b, floats)
	}
	q.row, q.place = s.Scratch("batch_row", engine.Uint32, p, engine.Time(steps), b), s.Scratch("batch_place", engine.Uint32, p, engine.Time(steps), b)
	q.batch.Index = s.Scratch("batch_index", engine.Uint32, p, b)
	if cfg.BurnIn > 0 {
		q.batch.BurnIn, q.batch.Begins = y.newSteps(s.Sub("burn_in"), p, cfg.BurnIn, b), s.Scratch("begins", engine.Uint32, p, b)
	}
	q.batch.Learn = y.newSteps(s.Sub("learn"), p, cfg.Steps+1, b)
	y.sequences = q
	return q, s.Err()
}

// newSteps allocates consecutive steps of sequences.
func (y *Replay) newSteps(s *engine.State, p engine.Dim, steps int, b engine.Dim) SequenceSteps {
	tensor := func(name string, typ engine.DType, of ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, typ, append([]engine.Dim{p, engine.Time(steps), b}, of...)...)
	}
	return SequenceSteps{
		Obs:    tensor("obs", engine.Float32, engine.Axis("feature", y.store.features)),
		Action: tensor("action", y.batch.Action.Type(), engine.Axis("action", y.actions)),
		Reward: tensor("reward", engine.Float32), Done: tensor("done", engine.Uint32), Ends: tensor("ends", engine.Uint32),
		places: y.placesOf(s, "places", steps*b.Size, p, engine.Time(steps), b),
	}
}

// Config returns the settings of the sequences.
func (q *ReplaySequences) Config() SequenceConfig { return q.cfg }

// Batch returns the tensors that Sample writes.
func (q *ReplaySequences) Batch() SequenceBatch { return q.batch }

// tries returns how many rows are tried for a sequence. lavapipe leaves an invocation's loops after 65,535 iterations.
func (q *ReplaySequences) tries() int {
	const most, iterations = 64, 60_000
	return min(most, iterations/q.cfg.steps())
}

// clear records emptying.
func (q *ReplaySequences) clear(r *engine.Recorder) {
	r.Fill(q.latest, 0)
	if q.stored != nil {
		r.Fill(q.stored.chunk, 0)
	}
}

// append records connecting the rows of a trajectory, between replay_append and linkRows.
func (q *ReplaySequences) append(r *engine.Recorder, from *ReplaySource, t envs.Trajectory) {
	y, rows := q.replay, uint32(from.slots.Len()/q.replay.rings)
	size, groups := r.Invocations(from.lanes)
	k := replayAfterKernel{
		Slots: from.slots.Range(), After: q.after.Range(), Rows: rows, Lanes: uint32(from.lanes), Capacity: uint32(y.cfg.Capacity),
		Environments: uint32(from.environments), LocalSizeX: size,
	}
	if from.newest != nil {
		k.Owner, k.Latest = from.newest.owner.Range(), q.latest.Range()
	}
	if m := q.stored; m != nil {
		floats := m.memory.Size("float")
		if t.Memory == nil || t.Memory.Len() != y.rings*from.lanes*floats {
			r.Fail(fmt.Errorf("rl: replay of sequences cannot append a trajectory with memory %v; want %d floats for each environment", t.Memory, floats))
			return
		}
		size, groups := r.Invocations(from.lanes * floats)
		r.Dispatch(replayMemoryKernel{
			Memory: t.Memory.Range(), Slots: from.slots.Range(), Chunk: m.chunk.Range(), ToMemory: m.memory.Range(), Start: m.start.Range(),
			Rows: rows, Lanes: uint32(from.lanes), Floats: uint32(floats), Chunks: uint32(m.chunks), LocalSizeX: size,
		}.call(groups, uint32(y.rings), 1))
		k.Chunk, k.Chunks = m.chunk.Range(), uint32(m.chunks)
	}
	r.Dispatch(k.call(groups, uint32(y.rings), 1))
}

// Sample records drawing sequences for every member: sequence b of update u of an iteration is drawn by (seed, member, b, iteration, u). update
// is [1] u32. The next Sample overwrites the batch.
func (q *ReplaySequences) Sample(r *engine.Recorder, clock engine.Clock, update *engine.Tensor) SequenceBatch {
	y, b := q.replay, q.batch
	members := uint32(b.Index.Size(engine.MemberAxis))
	size, groups := r.Invocations(y.cfg.Batch)
	k := replaySequenceDrawKernel{
		Done: y.done.Range(), Link: y.link.Range(), After: q.after.Range(), Head: y.head.Range(), Clock: clock.Tensor().Range(), Update: update.Range(),
		Row: q.row.Range(), Place: q.place.Range(), Index: b.Index.Range(),
		Batch: uint32(y.cfg.Batch), Steps: uint32(q.cfg.steps()), Capacity: uint32(y.cfg.Capacity), Lanes: uint32(y.own.lanes),
		TruncationEnds: y.cfg.TruncationEnds, Own: !y.cfg.Shared, Tries: uint32(q.tries()), Seed: r.Engine().Seed(), Stream: q.stream,
		LocalSizeX: size,
	}
	if m := q.stored; m != nil {
		k.Start, k.Chunk, k.Memory, k.Chunks = m.start.Range(), m.chunk.Range(), m.drawn.Range(), uint32(m.chunks)
	}
	r.Dispatch(k.call(groups, members, 1))
	if q.cfg.BurnIn > 0 {
		q.read(r, b.BurnIn, 0)
	}
	q.read(r, b.Learn, q.cfg.BurnIn)
	return b
}

// read records reading consecutive steps of the sequences drawn, from step `first` on.
func (q *ReplaySequences) read(r *engine.Recorder, to SequenceSteps, first int) {
	y := q.replay
	steps := to.Reward.Size(engine.TimeAxis)
	k := replaySequenceKernel{
		Reward: y.reward.Range(), Done: y.done.Range(), Head: y.head.Range(), Row: q.row.Range(), Place: q.place.Range(),
		ToObs: to.Obs.Range(), ToAction: to.Action.Range(), ToReward: to.Reward.Range(), ToDone: to.Done.Range(), Ends: to.Ends.Range(),
		Batch: uint32(y.cfg.Batch), All: uint32(q.cfg.steps()), First: uint32(first), Steps: uint32(steps),
		Capacity: uint32(y.cfg.Capacity), Features: uint32(y.store.features), Channels: uint32(y.store.channels), Actions: uint32(y.actions),
		TruncationEnds: y.cfg.TruncationEnds, Own: !y.cfg.Shared,
		ReplayFormat: uint32(y.store.format), Frames: uint32(y.store.frames), Workgroup: r.Workgroup(), ReplayRows: gatheredRows(r),
	}
	if first > 0 {
		k.Begins = q.batch.Begins.Range()
	}
	if y.back != nil {
		k.Back = y.back.Range()
	}
	if to.places != nil {
		k.ToPlace = to.places.Range()
	} else if y.normalizer != nil {
		k.Normalizer, k.Limit = y.normalizer.Values().Range(), float32(y.limit)
	}
	if m := q.stored; m != nil {
		k.Memory, k.MemoryAt, k.ToMemory, k.Floats = m.memory.Range(), m.drawn.Range(), q.batch.Memory.Range(), uint32(m.memory.Size("float"))
	}
	for _, part := range y.parts {
		k.Obs = part.obs.Range()
		if k.Action = y.parts[0].action.Range(); part.action != nil {
			k.Action = part.action.Range()
		}
		k.PartFirst, k.PartSize, k.PartRows = uint32(part.first), uint32(part.size), uint32(part.rows)
		r.Dispatch(k.call((k.Steps*k.Batch+k.ReplayRows-1)/k.ReplayRows, uint32(to.Reward.Size(engine.MemberAxis)), 1))
		if to.places != nil {
			y.readObs(r, part, to.places, to.Obs)
		}
	}
}
