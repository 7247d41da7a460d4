package rl

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// ReplayConfig holds the settings of a replay.
type ReplayConfig struct {
	Capacity     int          `min:"1" max:"1073741824" doc:"Number of stored transitions, per member or, if shared, in total."`
	Shared       bool         `doc:"All members' transitions go into one ring, from which each member draws its own batches."`
	Batch        int          `min:"1" max:"1048576" doc:"Transitions per member and update."`
	BatchShare   float64      `above:"0" max:"1" doc:"Fraction of the batch that is drawn; the rest repeats it. Per member." member:"uniform 0.1 1"`
	Steps        int          `min:"1" max:"64" doc:"Steps n of the returns before bootstrapping."`
	Inherit      bool         `doc:"A member that becomes a copy of another copies its ring; otherwise it keeps its own."`
	Observations ReplayFormat `doc:"Storage of observations: float32, float16, or bits (features that are 0 or 1)."`

	Save bool `doc:"Checkpoints contain the replay; otherwise a resumed run refills it by its policies, with other random numbers."`

	Prioritized           bool    `doc:"Batches are drawn by proportional priorities of errors (T. Schaul et al., 2016); otherwise uniformly."`
	PriorityExponent      float64 `min:"0" max:"1" doc:"Exponent alpha of priorities; 0: uniform. Per member." member:"uniform 0 1"`
	ImportanceExponent    float64 `min:"0" max:"1" doc:"Exponent beta of importance weights; 1: full correction. Per member." member:"uniform 0 1"`
	ImportanceAnnealSteps int     `min:"0" doc:"Environment steps per member over which beta rises linearly to 1; 0: constant."`
	PriorityEpsilon       float64 `min:"0" doc:"Added to the size of errors. Every priority is at least 2^-16, so that every row can be drawn."`
}

// Validate checks constraints across fields.
func (c ReplayConfig) Validate() error {
	switch {
	case c.Inherit && c.Shared:
		return config.Invalid("inherit", "the members share one ring, so none can be copied; want false")
	case c.Inherit && !c.Save:
		return config.Invalid("inherit", "only state in checkpoints is copied; want save = true, or inherit = false")
	case c.Prioritized && c.BatchShare != 1:
		return config.Invalid("batch_share", "prioritized batches are drawn whole; want 1")
	case c.Prioritized && c.Batch > maxPrioritized:
		return config.Invalid("batch", "%d prioritized transitions; want at most %d", c.Batch, maxPrioritized)
	}
	return nil
}

// holds checks the capacity against the trajectories [T, P, E] that are appended.
func (c ReplayConfig) holds(members, environments, horizon int) error {
	lanes := environments
	if c.Shared {
		lanes *= members
	}
	return c.keeps(horizon*lanes, horizon)
}

// keeps checks the capacity against the transitions that an iteration appends to a ring, in trajectories of `horizon`
// steps.
func (c ReplayConfig) keeps(rows, horizon int) error {
	if c.Capacity < 2*rows || horizon > maxLaneSteps {
		return config.Invalid("replay.capacity", "%d transitions, where an iteration appends %d, in %d steps; "+
			"want at least twice as many, and at most %d steps", c.Capacity, rows, horizon, maxLaneSteps)
	}
	return nil
}

// DefaultReplay is a ring of a million transitions per member, with batches of 256 (CleanRL's and Stable-Baselines3's
// DDPG, TD3 and SAC). A copied member keeps its own ring, as in fastpbrl's PBT (A. Flajolet et al., 2022). Settings of
// prioritized replay are those of T. Schaul et al., 2016, table 3, except epsilon, which is OpenAI Baselines', and
// beta, which is constant.
func DefaultReplay() ReplayConfig {
	return ReplayConfig{
		Capacity: 1_000_000, Batch: 256, BatchShare: 1, Steps: 1, Save: true, PriorityExponent: 0.6, ImportanceExponent: 0.4, PriorityEpsilon: 1e-6,
	}
}

// Replay stores transitions on the device and draws batches of them, from one ring per member or one for all (L.-J. Lin,
// "Self-Improving Reactive Agents Based on Reinforcement Learning, Planning and Teaching", 1992). If it is saved, a
// resumed run draws the same batches as an uninterrupted one.
//
// Rows are appended in order of time. A row contains the true next observation, and whether the episode terminated or
// was truncated there, so that truncated episodes bootstrap. It is linked to the next row of its episode.
type Replay struct {
	cfg   ReplayConfig
	rings int

	features, actions int          // of a transition: O, A
	parts             []replayPart // observations and actions

	reward *engine.Tensor // [rings, C]
	done   *engine.Tensor // [rings, C] u32: envs.Done
	link   *engine.Tensor // [rings, C] u32: the next row of the episode; 2^32 − 1: none
	head   *engine.Tensor // [rings, 2] u32: the next row to write, the number of rows

	own      *ReplaySource // of Append
	appended int           // transitions that the trajectories of all sources append to a ring

	priorities *priorities // nil: rows are drawn uniformly

	batch  ReplayBatch
	many   ReplayBatch    // of sampleMany
	share  *engine.Tensor // [P]: fraction of the batch that is drawn; nil with priorities: all
	stream uint32

	normalizer *nn.Normalizer // of the batches' observations; nil: none
	limit      float64
}

// ReplayBatch is the batch that a replay draws for every member.
type ReplayBatch struct {
	Obs     *engine.Tensor // [P, B, O]: normalized if Replay.Normalize was called
	Action  *engine.Tensor // [P, B, A]
	Reward  *engine.Tensor // [P, B]: discounted sum over n steps, or fewer at the end of the episode
	NextObs *engine.Tensor // [P, B, O]: the true observation after them
	// Factor multiplies the value of NextObs, [P, B]: the discount to the power of the steps, 0 after a termination.
	Factor *engine.Tensor
	Index  *engine.Tensor // [P, B] u32: the ring's row of Obs
	// Weight is the importance weight of each row, [P, B], at most 1; nil without priorities (all 1).
	Weight *engine.Tensor

	priorities *priorities // nil: none
}

// Sizes of shaders/rl/replay.glsl and replay_sample.comp.
const (
	replayChunk  = 1024  // rows of a trajectory that a workgroup appends
	replayRows   = 32    // rows of a batch that a workgroup gathers
	maxLaneSteps = 60000 // rows of a lane that an invocation links, within the loop limit (vk.Limits.MaxLoopIterations)
)

// NewReplay makes an empty replay for trajectories of t's shape, [T, P, E, …]. It adds the drawn fraction of batches
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
		return nil, fmt.Errorf("rl: replay of trajectories with rewards %v, observations %v; want [T, P, E] and [T, P, E, O]", t.Reward, t.Obs)
	}
	y := &Replay{
		cfg: cfg, rings: members, features: t.Obs.Len() / t.Reward.Len(), actions: t.Action.Len() / t.Reward.Len(), stream: s.Stream("sample"),
	}
	if cfg.Shared {
		y.rings = 1
	}
	if err := cfg.holds(members, environments, horizon); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	if err := y.makeRing(s, t.Action.Type(), most); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	y.own = y.newSource(s, horizon, members, environments)
	y.own.newest = y.tensor(s, "newest", engine.Uint32, engine.Axis("lane", y.own.lanes))
	y.own.owner = s.Tensor("owner", engine.Uint32, engine.Members(members), engine.Environments(environments))
	if cfg.Inherit {
		y.own.owner.Own() // the unfinished episodes belong to the ring
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

// newBatch allocates a batch of `size` transitions for each index of the leading axes; its tensors are in s.
func (y *Replay) newBatch(s *engine.State, size int, leading ...engine.Dim) ReplayBatch {
	tensor := func(name string, typ engine.DType, of ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, typ, slices.Concat(leading, []engine.Dim{engine.Axis("transition", size)}, of)...)
	}
	o, a := engine.Axis("feature", y.features), engine.Axis("action", y.actions)
	return ReplayBatch{
		Obs: tensor("obs", engine.Float32, o), NextObs: tensor("next_obs", engine.Float32, o),
		Action: tensor("action", y.parts[0].action.Type(), a), Reward: tensor("reward", engine.Float32),
		Factor: tensor("factor", engine.Float32), Index: tensor("index", engine.Uint32),
	}
}

// makeMany allocates the batches of several updates, which sampleMany draws at once.
func (y *Replay) makeMany(s *engine.State, updates int) {
	y.many = y.newBatch(s.Sub("batches"), y.cfg.Batch, engine.Axis("update", updates), y.batch.Obs.Dims()[0])
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
	return y.makeParts(s, actions, most)
}

// Normalize makes batches contain observations normalized with the current moments and clipped to ±limit; nil: as
// stored. Call it before Sample.
func (y *Replay) Normalize(n *nn.Normalizer, limit float64) { y.normalizer, y.limit = n, limit }

// Clear records emptying the replay.
func (y *Replay) Clear(r *engine.Recorder) {
	r.Fill(y.head, 0)
	r.Fill(y.own.newest, 0)
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
	size := r.WorkgroupFor(replayChunk * (y.features + y.actions) / replayCopied)
	r.Dispatch(replayCountKernel{
		Obs: t.Obs.Range(), NextObs: t.NextObs.Range(), Action: t.Action.Range(), Reward: t.Reward.Range(),
		Done: t.Done.Range(), Counts: from.counts.Range(), Rows: n, Lanes: lanes, Features: uint32(y.features), Actions: uint32(y.actions), Workgroup: size,
	}.call(chunks, rings, 1))
	r.Dispatch(replayBeginKernel{
		Counts: from.counts.Range(), Head: y.head.Range(), Begins: from.begins.Range(), Rings: rings, Chunks: chunks, Capacity: uint32(y.cfg.Capacity),
	}.call((rings+63)/64, 1, 1))
	for _, part := range y.parts {
		r.Dispatch(replayAppendKernel{
			Obs: t.Obs.Range(), NextObs: t.NextObs.Range(),
			Action: t.Action.Range(), Reward: t.Reward.Range(), Done: t.Done.Range(), Begins: from.begins.Range(),
			ToObs: part.obs.Range(), ToNextObs: part.nextObs.Range(), ToAction: part.action.Range(), ToReward: y.reward.Range(), ToDone: y.done.Range(),
			Link: y.link.Range(), Slots: from.slots.Range(),
			Rows: n, Lanes: lanes, Capacity: uint32(y.cfg.Capacity), Features: uint32(y.features), Actions: uint32(y.actions),
			PartFirst: uint32(part.first), PartRows: uint32(part.rows), ReplayFormat: uint32(y.cfg.Observations), Workgroup: size,
		}.call(chunks, rings, 1))
	}
	link := replayLinkKernel{
		Done: t.Done.Range(), Slots: from.slots.Range(), Newest: from.newest.Range(), Link: y.link.Range(),
		Owner: from.owner.Range(), Rows: n, Lanes: lanes, Capacity: uint32(y.cfg.Capacity), Environments: uint32(from.environments), Fresh: fresh,
	}
	r.Dispatch(link.call((lanes+63)/64, rings, 1))
	if y.priorities != nil {
		y.priorities.insert(r, from.slots)
	}
}

// replayCopied is the number of elements of a row's copy that cost as much as one element counted by
// Recorder.WorkgroupFor.
const replayCopied = 16

// sampleMany records drawing the batches of several updates, [updates, P, B, …], the same as successive calls of Sample:
// those of chunk number chunk [1] u32. Priorities depend on earlier updates, so it does not support them.
func (y *Replay) sampleMany(r *engine.Recorder, clock engine.Clock, chunk, discount *engine.Tensor) ReplayBatch {
	y.gather(r, y.sampler(y.many, y.stream, clock, chunk, discount), y.many)
	return y.many
}

// updates returns the number of updates of the batch.
func (b ReplayBatch) updates() int {
	n, _, _, _ := b.Obs.Split(engine.MemberAxis)
	return n
}

// Sample records drawing a batch for every member, with replacement, uniformly or by priorities: row b of update u of
// an iteration is drawn by (seed, member, b, iteration, u). discount is [P]; update is [1] u32. The next Sample
// overwrites the batch.
func (y *Replay) Sample(r *engine.Recorder, clock engine.Clock, update, discount *engine.Tensor) ReplayBatch {
	k := y.sampler(y.batch, y.stream, clock, update, discount)
	if y.priorities != nil {
		y.priorities.draw(r, clock, update, y.stream)
		k.Drawn = y.priorities.drawn.Range()
	}
	y.gather(r, k, y.batch)
	return y.batch
}

// sampler returns the kernel that draws a batch with the random numbers of a stream.
func (y *Replay) sampler(b ReplayBatch, stream uint32, clock engine.Clock, update, discount *engine.Tensor) replaySampleKernel {
	k := replaySampleKernel{
		Reward: y.reward.Range(), Done: y.done.Range(), Link: y.link.Range(), Head: y.head.Range(),
		Discount: discount.Range(), Clock: clock.Tensor().Range(), Update: update.Range(),
		ToObs: b.Obs.Range(), ToNextObs: b.NextObs.Range(), ToAction: b.Action.Range(), ToReward: b.Reward.Range(), Factor: b.Factor.Range(), Index: b.Index.Range(),
		Batch: uint32(b.Obs.Size("transition")), Capacity: uint32(y.cfg.Capacity), Features: uint32(y.features), Actions: uint32(y.actions),
		Steps: uint32(y.cfg.Steps), Stream: stream, Own: !y.cfg.Shared, ReplayFormat: uint32(y.cfg.Observations),
	}
	if y.share != nil {
		k.Share = y.share.Range()
	}
	if y.normalizer != nil {
		k.Normalizer, k.Limit = y.normalizer.Values().Range(), float32(y.limit)
	}
	return k
}

// gather records drawing a batch with a kernel made by sampler.
func (y *Replay) gather(r *engine.Recorder, k replaySampleKernel, b ReplayBatch) {
	k.Seed, k.Workgroup = r.Engine().Seed(), r.Workgroup()
	for _, part := range y.parts {
		k.Obs, k.NextObs, k.Action = part.obs.Range(), part.nextObs.Range(), part.action.Range()
		k.PartFirst, k.PartRows = uint32(part.first), uint32(part.rows)
		r.Dispatch(k.call((k.Batch+replayRows-1)/replayRows, uint32(b.Obs.Size(engine.MemberAxis)), uint32(b.updates())))
	}
}
