package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// replayEnds are the slots for the next observations of rows that no row follows: a row whose episode ended, was truncated or left by its
// member. The newest row of each lane whose episode goes on has a tail instead. The observations of slots and tails follow the rows'
// (replayPart).
//
// A slot is given to a new row in place of the oldest one. If that is still in the ring of transitions, it is dropped, and so are
// all older rows: the replay then contains fewer rows than its capacity, the newest.
type replayEnds struct {
	slots int            // per ring
	row   *engine.Tensor // [rings, slots] u32: the row to which a slot belongs
	head  *engine.Tensor // [rings] u32: the next slot to write
}

// makeEnds makes the state of the ends; makeParts makes their observations'.
func (y *Replay) makeEnds(s *engine.State) *replayEnds {
	share := int(math.Ceil(y.cfg.EndShare * float64(y.cfg.Capacity)))
	e := &replayEnds{slots: max(share, y.own.lanes)} // one step ends at most so many episodes
	e.row, e.head = y.tensor(s, "end_row", engine.Uint32, engine.Axis("end", e.slots)), y.tensor(s, "end_head", engine.Uint32)
	return e
}

// clear records emptying the ring of slots.
func (e *replayEnds) clear(r *engine.Recorder) {
	r.Fill(e.head, 0)
	r.Fill(e.row, math.MaxUint32)
}

// appendEnds records storing the next observations of a trajectory's rows that no row follows, after linkRows; size is
// the size of workgroups that copy rows.
func (y *Replay) appendEnds(r *engine.Recorder, from *ReplaySource, t envs.Trajectory, size uint32) {
	e, rings, chunks, last := y.ends, uint32(y.rings), uint32(from.kept.Len()/y.rings), y.parts[len(y.parts)-1]
	r.Dispatch(replayEndsKernel{
		Counts: from.endCounts.Range(), Head: y.head.Range(), EndHead: e.head.Range(), Ended: from.ended.Range(), Link: y.link.Range(),
		EndRow: e.row.Range(), Kept: from.kept.Range(),
		Elements: uint32(from.elements()), Capacity: uint32(y.cfg.Capacity), Ends: uint32(e.slots), Workgroup: r.Workgroup(),
	}.call(chunks, rings, 1))
	k := replayEndObsKernel{
		NextObs: t.NextObs.Range(), Slot: from.ended.Range(), Counts: from.endCounts.Range(), Kept: from.kept.Range(),
		Head: y.head.Range(), EndHead: e.head.Range(), Tail: last.obs.Range(), TailFirst: uint32(last.first), TailSize: uint32(last.size),
		Rows: uint32(from.slots.Len() / y.rings), Lanes: uint32(from.lanes), Features: uint32(y.store.features), Channels: uint32(y.store.channels),
		Capacity: uint32(y.cfg.Capacity), Ends: uint32(e.slots), ReplayFormat: uint32(y.store.format), ReplayPacked: y.store.packed,
		Frames: uint32(y.store.frames), Workgroup: size,
		First: true,
	}
	if from.newest != nil {
		k.Newest = from.newest.row.Range()
	}
	for i, part := range y.parts {
		if part.size == part.rows && i < len(y.parts)-1 {
			continue // it has no slots
		}
		k.ToObs, k.PartFirst, k.PartSize = part.obs.Range(), uint32(part.first), uint32(part.size)
		k.Last = i == len(y.parts)-1
		r.Dispatch(k.call(chunks, rings, 1))
		k.First = false
	}
}
