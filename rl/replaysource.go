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

	newest *engine.Tensor // [rings, lanes] u32: one more than the row of an unfinished episode, 0: none
	owner  *engine.Tensor // [members, E] u32: one more than the member whose episode it is; a copy has another's

	counts, begins *engine.Tensor // [rings, chunks] u32: transitions of a chunk of a trajectory, and the index of the first
	slots          *engine.Tensor // [rings, T · lanes] u32: the row of each transition of a trajectory
}

// NewSource makes another source of the replay: trajectories of t's shape [T, S, E, …], all of which begin with new
// episodes, such as those of a search's candidates. Their S members are distributed over the rings evenly, in order.
// Its tensors are in s.
//
// Errors: members that the rings do not divide evenly; transitions of another size; a capacity of less than two
// trajectories of every source.
func (y *Replay) NewSource(s *engine.State, t envs.Trajectory) (*ReplaySource, error) {
	horizon, members, environments, ok := t.Reward.Split(engine.MemberAxis)
	if !ok || members%y.rings != 0 || !y.fits(t.Obs, t.Action, t.Reward) {
		return nil, fmt.Errorf("rl: replay of %v in %d rings with a source of rewards %v, observations %v, actions %v; want [T, S, E], S a multiple of the rings, "+
			"and transitions of the same size", y.parts[0].obs, y.rings, t.Reward, t.Obs, t.Action)
	}
	if err := y.cfg.keeps(y.appended+horizon*members/y.rings*environments, horizon); err != nil {
		return nil, fmt.Errorf("rl: %w", err)
	}
	from := y.newSource(s, horizon, members, environments)
	from.newest = s.Scratch("newest", engine.Uint32, y.ring(), engine.Axis("lane", from.lanes))
	from.owner = s.Scratch("owner", engine.Uint32, engine.Members(members), engine.Environments(environments))
	return from, s.Err()
}

// newSource makes a source of trajectories [T, members, E], without the state that continues from one to the next.
func (y *Replay) newSource(s *engine.State, horizon, members, environments int) *ReplaySource {
	from := &ReplaySource{replay: y, environments: environments, lanes: members / y.rings * environments}
	rows := horizon * from.lanes
	y.appended += rows
	ring, chunk := y.ring(), engine.Axis("chunk", (rows+replayChunk-1)/replayChunk)
	from.counts, from.begins = s.Scratch("counts", engine.Uint32, ring, chunk), s.Scratch("begins", engine.Uint32, ring, chunk)
	from.slots = s.Scratch("slots", engine.Uint32, ring, engine.Axis("transition", rows))
	return from
}

// Append records storing a trajectory's transitions, as Replay.Append does.
func (f *ReplaySource) Append(r *engine.Recorder, t envs.Trajectory) { f.replay.append(r, f, t, true) }
