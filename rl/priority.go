package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// priorities are the priorities of a replay's rows for every member (T. Schaul et al., "Prioritized Experience
// Replay", 2016, the proportional variant), by which its batches are drawn. Members that share a ring have priorities
// of their own for its rows.
//
// Priorities are integers in units of 2^-16, from 1 to 2^31. Their sums are exact, so that draws and updates give the same
// bits in any order. Importance weights are computed from these integers. The sums form a tree with 32 children
// per node: a draw reads up to 32 sums per level, a changed priority updates one sum per level; appending reads all
// priorities of the members once, to find the largest.
type priorities struct {
	cfg   ReplayConfig
	rows  int // of a member: the capacity, rounded up to a multiple of priorityFan
	nodes int // sums of a member

	alpha, beta *engine.Tensor // [M]
	anneal      float64        // fraction of beta's distance to 1 that it moves in a step of the clock

	priority *engine.Tensor // [M, rows] u32
	sums     *engine.Tensor // [M, nodes, 2] u32: low and high words, of all levels from the lowest
	largest  *engine.Tensor // [M, chunks] u32
	drawn    *engine.Tensor // [M, B] u32: the ring's rows
	weight   *engine.Tensor // [M, B]
}

const (
	priorityFan   = 32   // children per node
	priorityChunk = 4096 // priorities read by a workgroup of priority_largest
	// maxPrioritized is the largest prioritized batch. One workgroup draws it, with at most 64 rows per invocation on
	// the smallest devices that Vulkan allows: 260 loop iterations for each, within vk.Limits.MaxLoopIterations.
	maxPrioritized = 8192
)

// newPriorities makes the priorities of a replay, all 0.
func newPriorities(s *engine.State, hyper *engine.Hyper, cfg ReplayConfig, members, environments int) *priorities {
	up := func(n int) int { return (n + priorityFan - 1) / priorityFan * priorityFan }
	y := &priorities{cfg: cfg, rows: up(cfg.Capacity)}
	for n := y.rows; n > priorityFan || y.nodes == 0; {
		n = up(n / priorityFan)
		y.nodes += n
	}
	if n := cfg.ImportanceAnnealSteps; n > 0 {
		y.anneal = float64(environments) / float64(n)
	}
	y.alpha, y.beta = hyper.Add("priority_exponent", cfg.PriorityExponent), hyper.Add("importance_exponent", cfg.ImportanceExponent)
	p, b := engine.Members(members), engine.Axis("transition", cfg.Batch)
	y.priority = cfg.keep(s, !cfg.Inherit && !cfg.Shared, "priority", engine.Uint32, p, engine.Axis("row", y.rows))
	y.sums = cfg.keep(s, !cfg.Inherit && !cfg.Shared, "priority_sums", engine.Uint32, p, engine.Axis("node", y.nodes), engine.Axis("word", 2))
	y.largest = s.Scratch("priority_largest", engine.Uint32, p, engine.Axis("chunk", (y.rows+priorityChunk-1)/priorityChunk))
	y.drawn, y.weight = s.Scratch("drawn", engine.Uint32, p, b), s.Scratch("weight", engine.Float32, p, b)
	return y
}

func (y *priorities) members() int { return y.alpha.Len() }

// insert records that rows [rings, n] were appended; 2^32 − 1 marks those that are not transitions. Of the newest rows, reach [rings] in number,
// the ring of head [rings, 2] has dropped some. Their priorities are those of errors [rings, n], of a ring for each member; nil, or where an error is not
// finite: the largest.
func (y *priorities) insert(r *engine.Recorder, slots, head, reach, errors *engine.Tensor) {
	members, n := uint32(y.members()), uint32(slots.Len())
	if !y.cfg.Shared {
		n /= members
	}
	chunks := uint32(y.largest.Size("chunk"))
	r.Dispatch(priorityLargestKernel{
		Priority: y.priority.Range(), Largest: y.largest.Range(), Rows: uint32(y.rows), Workgroup: r.Workgroup(),
	}.call(chunks, members, 1))
	k := priorityInsertKernel{
		Slots: slots.Range(), Largest: y.largest.Range(), Priority: y.priority.Range(), Sums: y.sums.Range(),
		Head: head.Range(), Reach: reach.Range(), Exponent: y.alpha.Range(), Epsilon: float32(y.cfg.PriorityEpsilon),
		Transitions: n, Chunks: chunks, Rows: uint32(y.rows), Nodes: uint32(y.nodes), Capacity: uint32(y.cfg.Capacity), Own: !y.cfg.Shared,
		Workgroup: r.WorkgroupFor(max(int(n)*8, int(chunks), y.cfg.Capacity/priorityDrops)),
	}
	if errors != nil {
		k.Error = errors.Range()
	}
	r.Dispatch(k.call(members, 1, 1))
}

// priorityDrops is the capacity by which a row that may be dropped counts for the size of the workgroup: few are at once, but all could be.
const priorityDrops = 8

// draw records choosing the rows of an update's batch, and their weights.
func (y *priorities) draw(r *engine.Recorder, clock engine.Clock, update *engine.Tensor, stream uint32) {
	r.Dispatch(priorityDrawKernel{
		Priority: y.priority.Range(), Sums: y.sums.Range(), Exponent: y.beta.Range(), Clock: clock.Tensor().Range(), Update: update.Range(),
		Drawn: y.drawn.Range(), Weight: y.weight.Range(), Batch: uint32(y.cfg.Batch), Rows: uint32(y.rows), Nodes: uint32(y.nodes),
		Seed: r.Engine().Seed(), Stream: stream, Anneal: float32(y.anneal), Workgroup: r.WorkgroupFor(y.cfg.Batch * priorityTurns),
	}.call(uint32(y.members()), 1, 1))
}

// priorityTurns is the cost of a draw, in elements as Recorder.WorkgroupFor counts them.
const priorityTurns = 16

// Reprioritize records new priorities of a batch's rows, computed from the absolute values of errors [M, B]; a row
// with an error that is not finite keeps its priority. Call it before the next Sample. Batches of a replay without priorities
// ignore it.
func (b ReplayBatch) Reprioritize(r *engine.Recorder, errors *engine.Tensor) {
	q := b.priorities
	if q == nil {
		return
	}
	if errors.Len() != q.drawn.Len() {
		r.Fail(fmt.Errorf("rl: errors %v of the batch %v; want one of each row", errors, b.Index))
		return
	}
	r.Dispatch(priorityUpdateKernel{
		Error: errors.Range(), Index: q.drawn.Range(), Exponent: q.alpha.Range(), Priority: q.priority.Range(), Sums: q.sums.Range(),
		Batch: uint32(q.cfg.Batch), Rows: uint32(q.rows), Nodes: uint32(q.nodes), Epsilon: float32(q.cfg.PriorityEpsilon),
		Workgroup: r.WorkgroupFor(q.cfg.Batch * priorityTurns),
	}.call(uint32(q.members()), 1, 1))
}
