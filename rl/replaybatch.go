package rl

import (
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// ReplayBatch is the batch that a replay draws for every member.
type ReplayBatch struct {
	Obs     *engine.Tensor // [M, B, O]: normalized if Replay.Normalize was called
	Action  *engine.Tensor // [M, B, D]
	Reward  *engine.Tensor // [M, B]: discounted sum over n steps, or fewer at the end of the episode
	NextObs *engine.Tensor // [M, B, O]: the true observation after them
	// Factor multiplies the value of NextObs, [M, B]: the discount to the power of the steps, 0 after a termination.
	Factor *engine.Tensor
	Index  *engine.Tensor // [M, B] u32: the ring's row of Obs
	// Weight is the importance weight of each row, [M, B], at most 1; nil without priorities (all 1).
	Weight *engine.Tensor

	places, nextPlaces *engine.Tensor // of Obs and NextObs, [M, B, frames] u32; nil: the kernel that draws the batch reads them
	priorities         *priorities    // nil: none
}

// newBatch allocates a batch of `size` transitions for each index of the leading axes; its tensors are in s.
func (y *Replay) newBatch(s *engine.State, size int, leading ...engine.Dim) ReplayBatch {
	tensor := func(name string, typ engine.DType, of ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, typ, slices.Concat(leading, []engine.Dim{engine.Axis("transition", size)}, of)...)
	}
	o, a := engine.Axis("feature", y.store.features), engine.Axis("action", y.actions)
	places := func(name string) *engine.Tensor {
		return y.placesOf(s, name, size, append(slices.Clone(leading), engine.Axis("transition", size))...)
	}
	return ReplayBatch{
		places: places("places"), nextPlaces: places("next_places"),
		Obs: tensor("obs", engine.Float32, o), NextObs: tensor("next_obs", engine.Float32, o),
		Action: tensor("action", y.parts[0].action.Type(), a), Reward: tensor("reward", engine.Float32),
		Factor: tensor("factor", engine.Float32), Index: tensor("index", engine.Uint32),
	}
}

// makeMany allocates the batches of several updates, which sampleMany draws at once.
func (y *Replay) makeMany(s *engine.State, updates int) {
	y.many = y.newBatch(s.Sub("batches"), y.cfg.Batch, engine.Axis("update", updates), y.batch.Obs.Dims()[0])
}

// Normalize makes batches contain observations normalized with the current moments and clipped to ±limit; nil: as
// stored. Call it before Sample.
func (y *Replay) Normalize(n *nn.Normalizer, limit float64) { y.normalizer, y.limit = n, limit }

// sampleMany records drawing the batches of several updates, [updates, M, B, …], the same as successive calls of Sample:
// of chunk number chunk [1] u32. Priorities depend on earlier updates, so it does not support them.
func (y *Replay) sampleMany(r *engine.Recorder, clock engine.Clock, chunk, discount *engine.Tensor) ReplayBatch {
	y.gather(r, y.drawer(y.many, y.stream, clock, chunk, discount), y.many)
	return y.many
}

// updates returns the number of updates of the batch.
func (b ReplayBatch) updates() int {
	n, _, _, _ := b.Obs.Split(engine.MemberAxis)
	return n
}

// Sample records drawing a batch for every member, with replacement, uniformly or by priorities: row b of update u of
// an iteration is drawn by (seed, member, b, iteration, u). discount is [M]; update is [1] u32. The next Sample
// overwrites the batch.
func (y *Replay) Sample(r *engine.Recorder, clock engine.Clock, update, discount *engine.Tensor) ReplayBatch {
	return y.sample(r, clock, update, discount, false)
}

// sample is Sample; others: of other rows for the same update.
func (y *Replay) sample(r *engine.Recorder, clock engine.Clock, update, discount *engine.Tensor, others bool) ReplayBatch {
	stream := y.stream
	if others {
		stream = y.others
	}
	k := y.drawer(y.batch, stream, clock, update, discount)
	if y.priorities != nil {
		y.priorities.draw(r, clock, update, stream)
		k.Drawn = y.priorities.drawn.Range()
	}
	y.gather(r, k, y.batch)
	return y.batch
}

// drawer returns the kernel that draws a batch with the random numbers of a stream.
func (y *Replay) drawer(b ReplayBatch, stream uint32, clock engine.Clock, update, discount *engine.Tensor) replaySampleKernel {
	k := y.reader(b, discount)
	k.Clock, k.Update, k.Stream = clock.Tensor().Range(), update.Range(), stream
	if y.share != nil {
		k.Share = y.share.Range()
	}
	return k
}

// reader returns the kernel that writes a batch, apart from how its rows are chosen.
func (y *Replay) reader(b ReplayBatch, discount *engine.Tensor) replaySampleKernel {
	k := replaySampleKernel{
		Reward: y.reward.Range(), Done: y.done.Range(), Link: y.link.Range(), Head: y.head.Range(),
		Discount: discount.Range(),
		ToObs:    b.Obs.Range(), ToNextObs: b.NextObs.Range(), ToAction: b.Action.Range(), ToReward: b.Reward.Range(),
		Factor: b.Factor.Range(), Index: b.Index.Range(),
		Batch: uint32(b.Obs.Size("transition")), Capacity: uint32(y.cfg.Capacity), Features: uint32(y.store.features), Channels: uint32(y.store.channels),
		Actions: uint32(y.actions),
		Steps:   uint32(y.cfg.Steps), Own: !y.cfg.Shared, TruncationEnds: y.cfg.TruncationEnds,
		ReplayFormat: uint32(y.store.format), Frames: uint32(y.store.frames),
	}
	if y.back != nil {
		k.Back = y.back.Range()
	}
	if b.places != nil {
		k.Place, k.NextPlace = b.places.Range(), b.nextPlaces.Range()
	} else if y.normalizer != nil {
		k.Normalizer, k.Limit = y.normalizer.Values().Range(), float32(y.limit)
	}
	return k
}

// gather records drawing a batch with a kernel made by reader or drawer.
func (y *Replay) gather(r *engine.Recorder, k replaySampleKernel, b ReplayBatch) {
	k.Seed, k.Workgroup, k.ReplayRows = r.Engine().Seed(), r.Workgroup(), gatheredRows(r)
	for _, part := range y.parts {
		k.Obs = part.obs.Range()
		if k.Action = y.parts[0].action.Range(); part.action != nil {
			k.Action = part.action.Range()
		}
		k.PartFirst, k.PartSize, k.PartRows = uint32(part.first), uint32(part.size), uint32(part.rows)
		r.Dispatch(k.call((k.Batch+k.ReplayRows-1)/k.ReplayRows, uint32(b.Obs.Size(engine.MemberAxis)), uint32(b.updates())))
		if b.places != nil {
			y.readObs(r, part, b.places, b.Obs)
			y.readObs(r, part, b.nextPlaces, b.NextObs)
		}
	}
}
