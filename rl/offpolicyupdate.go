package rl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

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
	if f, ok := o.learner.(fusing); ok && f.fuses() > 0 {
		r.Repeat((updates+f.fuses()-1)/f.fuses(), func(r *engine.Recorder, i engine.Counter) {
			f.recordFused(r, o.rewarded(r, o.replay.sampleMany(r, o.Clock(), i.Tensor(), o.discount)), i.Tensor(), updates)
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

// Rewards sets what changes the rewards of every batch before it is used: record may write Reward of batches [P, B, …],
// or of several updates at once, [updates, P, B, …]. Call it before anything is recorded.
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

// RecordBlocks records n blocks of BlockSize updates of a pass, for workflows whose number of updates differs between
// iterations. number [1] u32 counts the iteration's updates. It must be 0 before the first; it determines their random
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

// Adopt sets the parameters of DDPG's and TD3's actors, [P, row], and of their targets.
func (o *OffPolicy) Adopt(ctx context.Context, actors []float32) error {
	d, ok := o.learner.(*deterministic)
	if !ok {
		return fmt.Errorf("rl: %s adopts no actors; want ddpg or td3", o.name)
	}
	err := d.actor.params().WriteFloat32(ctx, actors)
	if d.targetActor != nil {
		err = errors.Join(err, d.targetActor.WriteFloat32(ctx, actors))
	}
	return err
}

// Restart records that the actors restart learning from their current parameters: targets become copies of them, and
// optimizers are reset. The critics, and SAC's temperature with them, are unchanged.
func (o *OffPolicy) Restart(r *engine.Recorder) {
	switch of := o.learner.(type) {
	case *deterministic:
		if of.targetActor != nil {
			r.Copy(of.targetActor, of.actor.params())
		}
		of.actor.optimizer.Reset(r)
	case *sac:
		of.actor.optimizer.Reset(r)
	default:
		r.Fail(fmt.Errorf("rl: %s does not restart; want ddpg, td3, or sac with continuous actions", o.name))
	}
}
