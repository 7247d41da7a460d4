package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// replayEnds holds, for a replay that stores observations once, the next observations of the rows that no row follows: a
// ring of slots for rows whose episode ended, was truncated or left by its member, and a tail for the newest row of
// each lane whose episode continues. The observations of the slots are in parts of their own (replayPart).
//
// A slot is given to a new row in place of the oldest one. If that is still in the ring of transitions, it is dropped, and so are
// all older rows: the replay then contains fewer rows than its capacity, the newest.
type replayEnds struct {
	slots int            // per ring
	row   *engine.Tensor // [rings, slots] u32: the row to which a slot belongs
	head  *engine.Tensor // [rings] u32: the next slot to write
	tail  *engine.Tensor // [rings, lanes, words]
}

// makeEnds makes the state of the ends; makeParts makes that of their observations.
func (y *Replay) makeEnds(s *engine.State) *replayEnds {
	share := int(math.Ceil(y.cfg.EndShare * float64(y.cfg.Capacity)))
	e := &replayEnds{slots: max(share, y.own.lanes)} // one step ends at most so many episodes
	e.row, e.head = y.tensor(s, "end_row", engine.Uint32, engine.Axis("end", e.slots)), y.tensor(s, "end_head", engine.Uint32)
	e.tail = y.tensor(s, "tail", y.cfg.Observations.word(), engine.Axis("lane", y.own.lanes), engine.Axis("feature", y.cfg.Observations.words(y.features)))
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
	e, rings, chunks := y.ends, uint32(y.rings), uint32(from.kept.Len()/y.rings)
	r.Dispatch(replayEndsKernel{
		Counts: from.endCounts.Range(), Head: y.head.Range(), EndHead: e.head.Range(), Ended: from.ended.Range(), Link: y.link.Range(),
		EndRow: e.row.Range(), Kept: from.kept.Range(),
		Elements: uint32(from.elements()), Capacity: uint32(y.cfg.Capacity), Ends: uint32(e.slots), Workgroup: r.Workgroup(),
	}.call(chunks, rings, 1))
	k := replayEndObsKernel{
		NextObs: t.NextObs.Range(), Slot: from.ended.Range(), Counts: from.endCounts.Range(), Kept: from.kept.Range(),
		Head: y.head.Range(), EndHead: e.head.Range(),
		Rows: uint32(from.slots.Len() / y.rings), Lanes: uint32(from.lanes), Features: uint32(y.features), Ends: uint32(e.slots),
		ReplayFormat: uint32(y.cfg.Observations), Workgroup: size,
	}
	if from.newest != nil {
		k.Newest, k.Tail = from.newest.row.Range(), e.tail.Range()
	}
	for i, part := range y.parts {
		k.ToEnds, k.PartFirst, k.PartEnds = part.nextObs.Range(), uint32(part.endFirst), uint32(part.ends)
		k.First, k.Last = i == 0, i == len(y.parts)-1
		r.Dispatch(k.call(chunks, rings, 1))
	}
}
