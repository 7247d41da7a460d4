package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
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
	// many returns a form that makes many updates in one dispatch; nil: there is none.
	many() *lane.Updates
	// recordMetrics records the metrics of an iteration's last update.
	recordMetrics(r *engine.Recorder)
	// policies and renew implement engine.PolicyInheritor's Policies and RenewPolicy.
	policies() []*engine.Tensor
	renew(r *engine.Recorder, source *engine.Tensor)
	// restart records that actors restart learning from their current parameters, see OffPolicy.Restart.
	restart(r *engine.Recorder)
}

// initialLearner is a learner whose replay can have priorities by errors from the beginning.
type initialLearner interface {
	// initialErrors makes, in s, what records the errors [M, T · E] of the transitions that an iteration appends, by parameters [M, …].
	initialErrors(s *engine.State, y *Replay) func(r *engine.Recorder, by nn.Weights, b ReplayBatch) *engine.Tensor
}

// update is one of an iteration's updates.
type update struct {
	batch     ReplayBatch
	sequences SequenceBatch  // instead of batch, of learners with memory
	number    *engine.Tensor // [1] u32: index of the update in the iteration, for random numbers
	block     int            // updates that are recorded together
	at        int            // index of the update among them
	pass      Pass           // what it changes
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
	batch       int            // transitions per update of an actor; sequences, of networks with memory
	sequences   SequenceConfig // of these
	actors      int            // per member, sharing its critics
	objectives  int            // agents per member
	together    bool           // the members share one set of critics, as actors of one member
	optimizer   optim.Config   // of every network
	rewardScale *engine.Tensor // [M]
}

// inLanes describes the agent to a plan of many updates in one dispatch. plain: no setting asks for what such kernels lack.
func (p learnerParts) inLanes(o *OffPolicy, plain bool) lane.Agent {
	a := lane.Agent{
		Info: o.State().Engine().Device().Info(), Members: o.cfg.Members, Batch: p.batch, Obs: p.env.ObsSize(), Words: p.env.Action.Head().Words(),
	}
	updates, err := o.cfg.updates()
	if plain && err == nil && p.actors <= 1 && !p.together && p.network.alike() && p.network.Precision == nn.Float32 {
		a.Updates = updates
	}
	return a
}

// oneActor returns the error of several actors or agents per member, for learners that do not support them.
func (p learnerParts) oneActor() error {
	if n := max(p.actors, p.objectives); n > 1 {
		return fmt.Errorf("a member has one actor, not %d; want ddpg or td3", n)
	}
	return nil
}

// RecordUpdates records only an iteration's updates, with batches from the replay as it is.
func (o *OffPolicy) RecordUpdates(r *engine.Recorder) {
	updates, err := o.cfg.updates()
	if err != nil {
		r.Fail(err)
		return
	}
	o.rates.record(r)
	o.learner.prepare(r)
	if o.with.criticsFirst {
		for _, pass := range o.Passes() {
			r.Repeat(updates, func(r *engine.Recorder, i engine.Counter) { o.recordUpdate(r, i.Tensor(), 1, 0, pass) })
		}
		return
	}
	if many := o.learner.many(); many.On() {
		r.Repeat((updates+many.Together-1)/many.Together, func(r *engine.Recorder, i engine.Counter) {
			b := o.rewarded(r, o.replay.sampleMany(r, o.Clock(), i.Tensor(), o.discount))
			many.Record(r, b.inLanes(), i.Tensor(), updates)
		})
		return
	}
	block := o.learner.block(updates)
	r.Repeat(updates/block, func(r *engine.Recorder, i engine.Counter) {
		for at := range block {
			if at > 0 {
				i.Next(r)
			}
			o.recordUpdate(r, i.Tensor(), block, at, Both)
		}
	})
}

// inLanes returns the batches of several updates for kernels that make these.
func (b ReplayBatch) inLanes() lane.Batch {
	return lane.Batch{Obs: b.Obs, NextObs: b.NextObs, Action: b.Action, Reward: b.Reward, Factor: b.Factor}
}

// Rewards sets what changes the rewards of every batch before it is used: record may write Reward of batches [M, B, …],
// or of several updates at once, [updates, M, B, …]. Call it before anything is recorded.
func (o *OffPolicy) Rewards(record func(r *engine.Recorder, batch ReplayBatch)) { o.rewards = record }

// rewarded records changing the rewards of a batch, if anything does.
func (o *OffPolicy) rewarded(r *engine.Recorder, batch ReplayBatch) ReplayBatch {
	if o.rewards != nil {
		o.rewards(r, batch)
	}
	return batch
}

// Drawn returns the largest number of transitions of all agents in a batch that Rewards is given.
func (o *OffPolicy) Drawn() int {
	n := o.replay.batch.Reward.Len()
	if many := o.replay.many.Reward; many != nil {
		n = max(n, many.Len())
	}
	return n
}

// recordUpdate records one update; at is its index in its block of updates.
func (o *OffPolicy) recordUpdate(r *engine.Recorder, number *engine.Tensor, block, at int, pass Pass) {
	if o.sequences != nil {
		if o.rewards != nil {
			r.Fail(fmt.Errorf("rl: %s: changed rewards of sequences; only batches of transitions have them", o.name))
			return
		}
		o.learner.update(r, update{sequences: o.sequences.Sample(r, o.Clock(), number), number: number, block: block, at: at, pass: pass})
		return
	}
	batch := o.rewarded(r, o.replay.sample(r, o.Clock(), number, o.discount, pass == ActorsOnly))
	o.learner.update(r, update{batch: batch, number: number, block: block, at: at, pass: pass})
}

// BlockSize returns the smallest number of updates that RecordBlocks can make: the critic updates per actor update if
// that is an integer and the same for all members, otherwise 1.
func (o *OffPolicy) BlockSize() int { return o.learner.block(0) }

// Passes returns the passes in which an iteration's updates are made, each of all of them: both networks, or critics first
// (CriticsFirst).
func (o *OffPolicy) Passes() []Pass {
	if o.with.criticsFirst {
		return []Pass{CriticsOnly, ActorsOnly}
	}
	return []Pass{Both}
}

// RecordBlocks records n blocks of BlockSize updates of a pass, for workflows with a different number of updates in
// every iteration. number [1] u32 counts the iteration's updates. It must be 0 before the first; it determines their random
// numbers.
func (o *OffPolicy) RecordBlocks(r *engine.Recorder, n int, number *engine.Tensor, pass Pass) {
	o.rates.record(r)
	o.learner.prepare(r)
	size := o.BlockSize()
	r.Repeat(n, func(r *engine.Recorder, _ engine.Counter) {
		for at := range size {
			o.recordUpdate(r, number, size, at, pass)
			engine.Next(r, number)
		}
	})
}

// UpdatesPerStep returns the number of updates per member and environment step.
func (o *OffPolicy) UpdatesPerStep() float64 { return o.cfg.UpdatesPerStep }

// Restart records that the actors restart learning from their current parameters: targets become copies of them, and
// optimizers are reset. The critics, and SAC's temperature with them, are unchanged.
func (o *OffPolicy) Restart(r *engine.Recorder) { o.learner.restart(r) }
