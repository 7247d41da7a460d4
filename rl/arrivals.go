package rl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// arrivals are the trajectories that have come to a learner that waits for no slow actor (asynchronous), in the order in which they came. A batch is of those
// that came first, whichever part of the environments they are of and however often it is among them; a part goes on, by the newest weights, as soon as a
// place is free for it. So do IMPALA's learner and its queue (L. Espeholt et al., "IMPALA", 2018, section 3) and Ape-X's replay (D. Horgan et al.,
// "Distributed Prioritized Experience Replay", 2018). Neither bounds how old the weights of a trajectory are. Here it is bounded, by dropping trajectories: a
// learner that waited for newer ones in their place would be as slow as the slowest actor.
//
// Without a replay a batch has as many trajectories as there are parts. With one it has those that are there, at most as many; it may have none, as Ape-X's
// learner goes on while none come, but only so often that the updates per environment step stay below lag + 1 times those of whole batches.
type arrivals struct {
	lag    int                                               // iterations by which weights that acted are older than those that learn, at most
	replay bool                                              // what was learned from is learned from again
	count  func(ctx context.Context, trajectories int) error // counts their environment steps; nil: iterations have as many
	clock  engine.Clock                                      // of a part that the learner's device acts; it is not the run's
	rounds *engine.Tensor                                    // [parts] u32, saved: how often each part had acted in the state that is saved

	behind, oldest, dropped, idle *engine.Tensor // metrics [M]

	owed int        // trajectories, times lag + 1, that batches had too few since they were whole, at most lag whole batches
	kept []keptPart // the parts after the last trajectory of each that was taken

	// The rest is guarded by remoteActors.mu.
	weights *behaviorWeights // the newest
	queue   []*arrival
	old     int // trajectories dropped since the last batch
}

// arrival is a trajectory of a part of the environments.
type arrival struct {
	part, round int
	weights     int // the iteration that they began
	result      *partResult
}

// keptPart is the state of a part of the environments, and how often the part had acted before it.
type keptPart struct {
	round int
	state [][]byte
}

// newArrivals makes the arrivals of a learner in s.
func newArrivals(s *engine.State, m *engine.Metrics, parts, lag int, replay bool) *arrivals {
	s.Lose("trajectories on the way are not in checkpoints, and which come first is chance (asynchronous): it does not continue exactly")
	return &arrivals{
		lag: lag, replay: replay, clock: engine.ScratchClock(s, "clock"), rounds: s.Tensor("rounds", engine.Uint32, engine.Axis("part", parts)),
		behind: m.Row("policy/lag"), oldest: m.Row("policy/lag_max"), dropped: m.Row("actors/dropped"), idle: m.Row("actors/idle"),
	}
}

// begin begins with the newest weights and the parts as they are saved.
func (q *arrivals) begin(weights *behaviorWeights, parts []*remotePart) {
	q.weights, q.queue, q.kept, q.old, q.owed = weights, nil, nil, 0, 0
	for _, of := range parts {
		q.kept = append(q.kept, keptPart{of.next, of.state})
	}
}

// room reports whether a part of so many may act: what waits longer than lag batches would be too old.
func (q *arrivals) room(parts int) bool { return len(q.queue) < q.lag*parts }

// add keeps a trajectory.
func (q *arrivals) add(t *partTask, result *partResult) {
	q.queue = append(q.queue, &arrival{part: t.part, round: t.iteration, weights: t.weights.iteration(), result: result})
}

// least returns how many trajectories a batch of so many parts has at least. Where nobody else acts, it is whole.
func (q *arrivals) least(parts int, alone bool) int {
	if !q.replay || alone {
		return parts
	}
	return max(0, (q.owed+parts-q.lag*parts+q.lag)/(q.lag+1))
}

// first takes the trajectories that came first, between least and most; false: there are fewer. It drops those that are too old for an iteration.
func (q *arrivals) first(least, most, iteration int) (batch []*arrival, ok bool) {
	before := len(q.queue)
	q.queue = slices.DeleteFunc(q.queue, func(of *arrival) bool { return iteration-of.weights > q.lag })
	q.old += before - len(q.queue)
	if len(q.queue) < least {
		return nil, false
	}
	n := min(most, len(q.queue))
	batch = slices.Clone(q.queue[:n])
	q.queue = slices.Delete(q.queue, 0, n)
	q.owed = max(0, q.owed+most-(q.lag+1)*n)
	return batch, true
}

// measure writes the metrics of a batch.
func (q *arrivals) measure(ctx context.Context, iteration, dropped int, batch []*arrival, idle time.Duration) error {
	sum, most := 0.0, math.NaN() // no value without trajectories
	for _, of := range batch {
		behind := float64(iteration - of.weights)
		if sum += behind; !(most >= behind) {
			most = behind
		}
	}
	var errs []error
	for row, v := range map[*engine.Tensor]float64{
		q.behind: sum / float64(len(batch)), q.oldest: most, q.dropped: float64(dropped), q.idle: idle.Seconds(),
	} {
		errs = append(errs, row.WriteFloat32(ctx, slices.Repeat([]float32{float32(v)}, row.Len())))
	}
	return errors.Join(errs...)
}

// collectFirst fills the learner's rollouts with the trajectories that came first.
func (a *remoteActors) collectFirst(ctx context.Context, iteration int) error {
	q := a.of.arrivals
	var batch []*arrival
	idle, err := a.await(ctx, iteration, func() (ok bool) {
		alone := !slices.ContainsFunc(a.places, func(p *place) bool { return !p.lost })
		before := q.old
		if batch, ok = q.first(q.least(len(a.parts), alone), len(a.parts), iteration); q.old > before {
			a.change() // there is room
		}
		return ok
	})
	if err != nil {
		return err
	}
	var results []*partResult
	for _, of := range batch {
		results = append(results, of.result)
	}
	a.note(iteration, results)
	a.mu.Lock()
	dropped := q.old
	q.old = 0
	a.change() // there is room
	a.mu.Unlock()
	if err := a.settleFirst(ctx, batch); err != nil {
		return err
	}
	return errors.Join(q.measure(ctx, iteration, dropped, batch, idle), a.leaveOthers())
}

// settleFirst writes trajectories to the learner's tensors, and the states after them: what came later is not saved, and done again when a run resumes.
func (a *remoteActors) settleFirst(ctx context.Context, batch []*arrival) error {
	q, rollout := a.of.arrivals, a.of.rollout
	for i, of := range batch {
		if err := writeAll(ctx, rollout.Parts()[i].Written(), of.result.Written); err != nil {
			return fmt.Errorf("rl: what an actor did with part %d of the environments: %w", of.part, err)
		}
		q.kept[of.part] = keptPart{of.round + 1, of.result.Carried}
	}
	for _, part := range rollout.Parts()[len(batch):] {
		if err := part.WriteVoid(ctx); err != nil {
			return err
		}
	}
	if q.count != nil {
		if err := q.count(ctx, len(batch)); err != nil {
			return err
		}
	}
	rounds := make([]uint32, len(q.kept))
	for i, of := range q.kept {
		rounds[i] = uint32(of.round)
		if err := writeAll(ctx, rollout.Carried(i), of.state); err != nil {
			return fmt.Errorf("rl: the state of part %d of the environments: %w", i, err)
		}
	}
	return q.rounds.WriteUint32(ctx, rounds)
}

// writeClock writes the counts by which a part acts.
func writeClock(ctx context.Context, to engine.Clock, iteration, steps int) error {
	counts := binary.LittleEndian.AppendUint32(nil, uint32(iteration))
	return to.Tensor().WriteBytes(ctx, binary.LittleEndian.AppendUint32(counts, uint32(steps)))
}

// checkAsynchronous returns an error if a learner with the algorithm's name cannot take trajectories in the order in which they come.
func checkAsynchronous(name string, with Parts, lag int, memory bool) error {
	key := name + ".asynchronous"
	switch env := with.Env; {
	case lag == 0:
		return config.Invalid(key, "trajectories are taken as they come, and how old their weights may be, %s.lag, is 0 iterations: want a lag of at least 1, "+
			"such as 4", name)
	case env.CheckParts(2, 2) != nil:
		return config.Invalid(key, "others do not act in %q, whose environments have one part: want false", env.Name)
	case memory:
		return config.Invalid(key, "critics with memory, and sequences, continue from one trajectory to the next, which here may be of other environments: "+
			"want false, or a network without memory")
	case with.Network.NormalizeReward:
		return config.Invalid(key, "the scale of rewards (network.normalize_reward) continues from one trajectory to the next, which here may be of other "+
			"environments: want false in one of them")
	}
	return nil
}
