package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Replay stores transitions on the device and draws batches of them, from one ring per member or one for all (L.-J. Lin,
// "Self-Improving Reactive Agents Based on Reinforcement Learning, Planning and Teaching", 1992). If it is saved, a
// resumed run draws the same batches as an uninterrupted one.
//
// Rows are appended in order of time. A row has the true next observation, and whether the episode terminated or was
// truncated there, so that truncated episodes bootstrap. Observations are stored once: a row is linked to the next row of its
// episode, whose observation is its next observation. Only where no row follows, the next observation is stored too (replayEnds).
//
// Bytes and bits are stored as such, and of stacked frames only the newest (envs.Space). Batches have floats and whole stacks.
type Replay struct {
	cfg   ReplayConfig
	rings int
	store replayStore

	actions int          // of a transition: A
	parts   []replayPart // observations and actions

	reward *engine.Tensor // [rings, C]
	done   *engine.Tensor // [rings, C] u32: envs.Done
	link   *engine.Tensor // [rings, C] u32: where the next observation is; see shaders/rl/replay.glsl
	back   *engine.Tensor // [rings, C] u32: the row before in the episode; nil: frames are not stacked
	head   *engine.Tensor // [rings, 2] u32: the next row to write, the number of rows
	reach  *engine.Tensor // [rings] u32: of the last trajectory, as many newest rows may have priorities
	ends   *replayEnds

	sequences *ReplaySequences // nil: none are drawn

	own      *ReplaySource // of Append
	appended int           // transitions that the trajectories of all sources append to a ring
	widest   int           // most lanes of a source

	priorities *priorities    // nil: rows are drawn uniformly
	initial    *initialErrors // of the own source's rows; nil: their first priorities are the largest

	batch  ReplayBatch
	many   ReplayBatch    // of sampleMany
	share  *engine.Tensor // [M]: fraction of the batch that is drawn; nil with priorities: all
	stream uint32
	others uint32 // likewise, of other rows

	normalizer *nn.Normalizer // of the batches' observations; nil: none
	limit      float64
}

// replayChunk is the number of a trajectory's rows that a workgroup appends (shaders/rl/replay.glsl).
const replayChunk = 1024

// gatheredRows returns how many rows of a batch a workgroup gathers.
func gatheredRows(r *engine.Recorder) uint32 {
	if r.Engine().Device().Info().Type == vk.CPU {
		return 8 // so that its threads share a small batch
	}
	return 32
}

// NewReplay makes an empty replay for trajectories of t's shape, [T, M, E, …]. It adds the drawn fraction of batches
// or, with priorities, their exponents to hyper.
//
// Errors: settings out of range; a capacity of less than two trajectories, which the links between rows need, or of
// more than the device's kernels can bind.
func NewReplay(s *engine.State, hyper *engine.Hyper, t envs.Trajectory, cfg ReplayConfig) (*Replay, error) {
	return newReplay(s, hyper, t, cfg, s.Engine().Device().Info().Limits.MaxStorageRange)
}

// newReplay is NewReplay with at most `most` bytes per tensor of observations or actions.
func newReplay(s *engine.State, hyper *engine.Hyper, t envs.Trajectory, cfg ReplayConfig, most uint64) (*Replay, error) {
	if err := config.Check(cfg); err != nil {
		return nil, fmt.Errorf("rl: replay: %w", err)
	}
	horizon, members, environments, ok := t.Reward.Split(engine.MemberAxis)
	if !ok || t.Obs.Len()%t.Reward.Len() != 0 || t.Action.Len()%t.Reward.Len() != 0 {
		return nil, fmt.Errorf("rl: replay of trajectories with rewards %v, observations %v; want [T, M, E] and [T, M, E, O]", t.Reward, t.Obs)
	}
	store, err := storeOf(t, cfg)
	if err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	y := &Replay{
		cfg: cfg, rings: members, store: store, actions: t.Action.Len() / t.Reward.Len(),
		stream: s.Stream("sample"), others: s.Stream("sample of others"),
	}
	if cfg.Shared {
		y.rings = 1
	}
	if err := cfg.checkCapacity(members, environments, horizon); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	y.own = y.newSource(s, horizon, members, environments, y.makeNewest(s, members, environments))
	if err := y.makeRing(s, t.Action.Type(), most); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	y.batch = y.newBatch(s.Sub("batch"), cfg.Batch, engine.Members(members))
	if cfg.Prioritized {
		y.priorities = newPriorities(s, hyper, cfg, members, environments)
		y.batch.Weight, y.batch.priorities = y.priorities.weight, y.priorities
	} else {
		y.share = hyper.Add("batch_share", cfg.BatchShare)
	}
	return y, s.Err()
}

// Config returns the settings of the replay.
func (y *Replay) Config() ReplayConfig { return y.cfg }

// ring returns the axis of rings.
func (y *Replay) ring() engine.Dim {
	if y.cfg.Shared {
		return engine.Axis("ring", 1)
	}
	return engine.Members(y.rings)
}

// tensor makes a tensor of the rings, [rings, …].
func (y *Replay) tensor(s *engine.State, name string, typ engine.DType, dims ...engine.Dim) *engine.Tensor {
	return y.cfg.keep(s, !y.cfg.Inherit, name, typ, append([]engine.Dim{y.ring()}, dims...)...)
}

// makeRing makes the tensors that store transitions.
func (y *Replay) makeRing(s *engine.State, actions engine.DType, most uint64) error {
	row := engine.Axis("row", y.cfg.Capacity)
	y.reward, y.done = y.tensor(s, "reward", engine.Float32, row), y.tensor(s, "done", engine.Uint32, row)
	y.link, y.head = y.tensor(s, "link", engine.Uint32, row), y.tensor(s, "head", engine.Uint32, engine.Axis("count", 2))
	if y.store.frames > 1 {
		y.back = y.tensor(s, "back", engine.Uint32, row)
	}
	y.reach = s.Scratch("reach", engine.Uint32, y.ring())
	y.ends = y.makeEnds(s)
	return y.makeParts(s, actions, most)
}

// Clear records emptying the replay.
func (y *Replay) Clear(r *engine.Recorder) {
	r.Fill(y.head, 0)
	r.Fill(y.own.newest.row, 0)
	y.ends.clear(r)
	if y.sequences != nil {
		y.sequences.clear(r)
	}
	if y.priorities != nil {
		r.Fill(y.priorities.priority, 0)
		r.Fill(y.priorities.sums, 0)
	}
}

// Append records storing a trajectory's transitions in place of the oldest ones. Rows that are not transitions
// (envs.Void) are dropped, and so are those with a number that is not finite, which are marked as void. fresh means
// that the trajectory begins with new episodes; otherwise its first steps continue the previous trajectory.
func (y *Replay) Append(r *engine.Recorder, t envs.Trajectory, fresh bool) {
	y.append(r, y.own, t, fresh)
}

func (y *Replay) append(r *engine.Recorder, from *ReplaySource, t envs.Trajectory, fresh bool) {
	rows := from.slots.Len() / y.rings
	if t.Reward.Len() != rows*y.rings || !y.fits(t.Obs, t.Action, t.Reward) {
		r.Fail(fmt.Errorf("rl: replay of %v cannot append a trajectory of %v; want the shape it was made for, %d transitions", y.parts[0].obs, t.Obs, rows*y.rings))
		return
	}
	chunks, rings, n, lanes := uint32(from.counts.Len()/y.rings), uint32(y.rings), uint32(rows), uint32(from.lanes)
	size := r.WorkgroupFor(replayChunk * (y.store.features + y.actions) / replayCopied)
	checked := y.store.features // for numbers that are not finite
	if y.store.packed {
		checked = 0
	}
	r.Dispatch(replayCountKernel{
		Obs: t.Obs.Range(), NextObs: t.NextObs.Range(), Action: t.Action.Range(), Reward: t.Reward.Range(),
		Done: t.Done.Range(), Counts: from.counts.Range(), Rows: n, Lanes: lanes, Features: uint32(checked), Actions: uint32(y.actions), Workgroup: size,
	}.call(chunks, rings, 1))
	r.Dispatch(replayBeginKernel{
		Counts: from.counts.Range(), Head: y.head.Range(), Begins: from.begins.Range(), Reach: y.reach.Range(),
		Rings: rings, Chunks: chunks, Capacity: uint32(y.cfg.Capacity), Most: uint32(y.cfg.Capacity - y.margin()),
	}.call((rings+63)/64, 1, 1))
	k := replayAppendKernel{
		Obs: t.Obs.Range(), Action: t.Action.Range(), Reward: t.Reward.Range(), Done: t.Done.Range(), Begins: from.begins.Range(),
		ToReward: y.reward.Range(), ToDone: y.done.Range(), Link: y.link.Range(), Slots: from.slots.Range(),
		Rows: n, Lanes: lanes, Capacity: uint32(y.cfg.Capacity), Features: uint32(y.store.features), Channels: uint32(y.store.channels),
		Actions: uint32(y.actions), ReplayFormat: uint32(y.store.format), ReplayPacked: y.store.packed, Frames: uint32(y.store.frames), Workgroup: size,
	}
	if y.back != nil {
		k.Back = y.back.Range()
	}
	for _, part := range y.parts {
		if part.rows == 0 {
			break
		}
		k.ToObs, k.ToAction = part.obs.Range(), part.action.Range()
		k.PartFirst, k.PartSize, k.PartRows = uint32(part.first), uint32(part.size), uint32(part.rows)
		r.Dispatch(k.call(chunks, rings, 1))
	}
	if y.sequences != nil {
		y.sequences.append(r, from, t)
	}
	y.linkRows(r, from, t, fresh)
	y.appendEnds(r, from, t, size)
	if y.priorities != nil {
		var errors *engine.Tensor
		if y.initial != nil && from == y.own {
			errors = y.errorsOf(r, from.slots)
		}
		y.priorities.insert(r, from.slots, y.head, y.reach, errors)
	}
}

// linkRows records linking the rows of a trajectory to the next ones of their episodes.
func (y *Replay) linkRows(r *engine.Recorder, from *ReplaySource, t envs.Trajectory, fresh bool) {
	k := replayLinkKernel{
		Done: t.Done.Range(), Slots: from.slots.Range(), Link: y.link.Range(), Ended: from.ended.Range(), Counts: from.endCounts.Range(),
		Rows: uint32(from.slots.Len() / y.rings), Lanes: uint32(from.lanes), Capacity: uint32(y.cfg.Capacity), Environments: uint32(from.environments),
		Ends: uint32(y.ends.slots), Fresh: fresh, Workgroup: r.Workgroup(),
	}
	if from.newest != nil {
		k.Newest, k.Owner = from.newest.row.Range(), from.newest.owner.Range()
	}
	if y.back != nil {
		k.Back = y.back.Range()
	}
	r.Dispatch(k.call(uint32((from.elements()+replayChunk-1)/replayChunk), uint32(y.rings), 1))
}

// replayCopied is the number of elements of a row's copy that cost as much as one element counted by
// Recorder.WorkgroupFor.
const replayCopied = 16
