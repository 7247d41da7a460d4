package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// learner is the part of an off-policy algorithm that OffPolicy does not have.
type learner interface {
	// behaviour returns the exploring policy. Evaluations use its mode.
	behaviour() behaviour
	// init draws the members' initial parameters.
	init(ctx context.Context) error
	// block returns the number of updates that are recorded together and repeated; 1 if all updates are the same.
	block(updates int) int
	// explore records what must precede a rollout by the exploring policy.
	explore(r *engine.Recorder)
	// prepare records what must precede an iteration's updates.
	prepare(r *engine.Recorder)
	// update records one update.
	update(r *engine.Recorder, u update)
	// recordMetrics records the metrics of an iteration's last update.
	recordMetrics(r *engine.Recorder)
	// inherit records engine.Heir's InheritPolicy.
	inherit(r *engine.Recorder, source *engine.Tensor)
}

// fusing is implemented by learners that can make many updates in one dispatch.
type fusing interface {
	// fuses returns their number; 0: learner.update records one.
	fuses() int
	// recordFused records the updates of chunk number chunk [1] u32, with their batches [fuses, P, B, …]. updates is
	// their number in the iteration; the last chunk may be smaller.
	recordFused(r *engine.Recorder, batch ReplayBatch, chunk *engine.Tensor, updates int)
}

// update is one of an iteration's updates.
type update struct {
	batch  ReplayBatch
	number *engine.Tensor // [1] u32: index of the update in the iteration, for random numbers
	block  int            // updates that are recorded together
	at     int            // index of the update among them
	pass   Pass           // what it changes
}

// Pass selects what updates change.
type Pass uint32

const (
	Both        Pass = iota // critics and actors
	CriticsOnly             // critics and their targets
	ActorsOnly              // actors and their targets
)

// learnerParts holds the arguments of a learner.
type learnerParts struct {
	env         *envs.Environment
	network     NetworkConfig
	batch       int            // transitions per update of an actor
	actors      int            // per member, sharing its critics
	objectives  int            // agents per member
	together    bool           // the members share one set of critics, as actors of one member
	optimizer   optim.Config   // of every network
	rewardScale *engine.Tensor // [P]
}

// oneActor returns the error of several actors or agents per member, for learners that do not support them.
func (p learnerParts) oneActor() error {
	if n := max(p.actors, p.objectives); n > 1 {
		return fmt.Errorf("a member has one actor, not %d; want ddpg or td3", n)
	}
	return nil
}
