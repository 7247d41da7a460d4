package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// ReplaySource fills a replay from trajectories of one shape. A replay has its own, used by Replay.Append, and may
// have others (NewSource).
type ReplaySource struct {
	replay       *Replay
	environments int // per member of the trajectories
	lanes        int // environments of all members that share a ring

	newest *newestRows // nil: all trajectories begin with new episodes

	counts, begins *engine.Tensor // [rings, chunks] u32: transitions of a chunk of a trajectory, and the index of the first
	slots          *engine.Tensor // [rings, T · lanes] u32: the row of each transition of a trajectory

	// For each element of shaders/rl/replay_link.comp: [rings, elements] u32, the row if it has no
	// next row, then the slot of its next observation; [rings, chunks] u32, such rows, and rows that are not dropped.
	ended, endCounts, kept *engine.Tensor
}

// newestRows are the rows whose episodes the next trajectory may continue.
type newestRows struct {
	row   *engine.Tensor // [rings, lanes] u32: one more than the row of an unfinished episode, 0: none
	owner *engine.Tensor // [members, E] u32: one more than the member whose episode it is; a copy has another's
}

// NewSource makes another source of the replay: trajectories of t's shape [T, S, E, …], all of which begin with new
// episodes, such as a search's candidates'. Their S members are distributed over the rings evenly, in order.
// Its tensors are in s.
//
// Errors: members that the rings do not divide evenly; transitions of another size; a capacity of less than two
// trajectories of every source; a replay of sequences with stored memories.
func (y *Replay) NewSource(s *engine.State, t envs.Trajectory) (*ReplaySource, error) {
	horizon, members, environments, ok := t.Reward.Split(engine.MemberAxis)
	if !ok || members%y.rings != 0 || !y.fits(t.Obs, t.Action, t.Reward) {
		return nil, fmt.Errorf("rl: replay of %v in %d rings with a source of rewards %v, observations %v, actions %v; want [T, S, E], S a multiple of the rings, "+
			"and transitions of the same size", y.parts[0].obs, y.rings, t.Reward, t.Obs, t.Action)
	}
	if err := y.cfg.checkRows(y.appended + horizon*members/y.rings*environments); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	if y.sequences != nil && y.sequences.stored != nil {
		return nil, fmt.Errorf("rl: another source of a replay of sequences that begin with stored memories; want stored = false")
	}
	return y.newSource(s, horizon, members, environments, nil), s.Err()
}

// makeNewest makes the state that the replay's own source continues from one trajectory to the next.
func (y *Replay) makeNewest(s *engine.State, members, environments int) *newestRows {
	return &newestRows{
		row:   y.tensor(s, "newest", engine.Uint32, engine.Axis("lane", members/y.rings*environments)),
		owner: s.Tensor("owner", engine.Uint32, engine.Members(members), engine.Environments(environments)),
	}
}

// newSource makes a source of trajectories [T, members, E].
func (y *Replay) newSource(s *engine.State, horizon, members, environments int, newest *newestRows) *ReplaySource {
	from := &ReplaySource{replay: y, environments: environments, lanes: members / y.rings * environments, newest: newest}
	rows := horizon * from.lanes
	y.appended, y.widest = y.appended+rows, max(y.widest, from.lanes)
	chunks := func(n int) engine.Dim { return engine.Axis("chunk", (n+replayChunk-1)/replayChunk) }
	tensor := func(name string, dim engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Uint32, y.ring(), dim) }
	from.counts, from.begins = tensor("counts", chunks(rows)), tensor("begins", chunks(rows))
	from.slots = tensor("slots", engine.Axis("transition", rows))
	n := from.elements()
	from.ended, from.endCounts, from.kept = tensor("ended", engine.Axis("element", n)), tensor("end_counts", chunks(n)), tensor("kept", chunks(n))
	return from
}

// elements returns the number of elements of shaders/rl/replay_link.comp per ring: the lanes whose episodes may
// continue, and the rows of a trajectory.
func (f *ReplaySource) elements() int {
	n := f.slots.Len() / f.replay.rings
	if f.newest != nil {
		n += f.lanes
	}
	return n
}

// Append records storing a trajectory's transitions, as Replay.Append does.
func (f *ReplaySource) Append(r *engine.Recorder, t envs.Trajectory) { f.replay.append(r, f, t, true) }

// margin returns how many of the oldest rows are not drawn, so that the frames before those that are drawn are there: one step appends a row
// of each lane, and other sources come between the trajectories of the replay's own.
func (y *Replay) margin() int {
	before := y.store.frames - 1
	if before == 0 {
		return 0
	}
	own := y.own.slots.Len() / y.rings
	horizon := own / y.own.lanes
	return before*y.widest + (before+horizon-1)/horizon*(y.appended-own)
}
