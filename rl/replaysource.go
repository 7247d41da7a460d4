package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// ReplaySource is what fills a replay: trajectories of one shape. A replay has one of its own, for Replay.Append, and may have others (NewSource).
type ReplaySource struct {
	replay       *Replay
	environments int // of a member of the trajectories
	lanes        int // environments of the members that share a ring

	newest *engine.Tensor // [rings, lanes] u32: one more than the row of an episode that goes on, 0 where there is none
	owner  *engine.Tensor // [members, E] u32: one more than the member whose episode goes on, which is another's after a copy

	counts, begins *engine.Tensor // [rings, chunks] u32: transitions of a chunk of a trajectory, and where they begin
	slots          *engine.Tensor // [rings, T · lanes] u32: the row of each of a trajectory's transitions
}

// NewSource makes a further source of the replay: trajectories of t's shape [T, S, E, …], all of which begin with new episodes, such as those of a
// search's candidates. Their S members share the rings evenly, in order. Its tensors are in s.
//
// Errors: members that cannot share the rings evenly; transitions of another size; a capacity of less than two trajectories of every source.
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

// newSource makes a source of trajectories [T, members, E], but for what goes on from one to the next.
func (y *Replay) newSource(s *engine.State, horizon, members, environments int) *ReplaySource {
	from := &ReplaySource{replay: y, environments: environments, lanes: members / y.rings * environments}
	rows := horizon * from.lanes
	y.appended += rows
	ring, chunk := y.ring(), engine.Axis("chunk", (rows+replayChunk-1)/replayChunk)
	from.counts, from.begins = s.Scratch("counts", engine.Uint32, ring, chunk), s.Scratch("begins", engine.Uint32, ring, chunk)
	from.slots = s.Scratch("slots", engine.Uint32, ring, engine.Axis("transition", rows))
	return from
}

// Append records that a trajectory's transitions are kept, as Replay.Append does.
func (f *ReplaySource) Append(r *engine.Recorder, t envs.Trajectory) { f.replay.append(r, f, t, true) }
