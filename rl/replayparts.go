package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// replayPart holds some observations of every ring, so that a kernel can bind each of its tensors whole: of the rows, the slots and the
// tails, in this order.
type replayPart struct {
	first, size int            // its observations
	rows        int            // of the rows
	obs         *engine.Tensor // [rings, size, words]
	action      *engine.Tensor // [rings, rows, D]: words of the trajectory's type; nil: no rows
}

// makeParts makes the tensors of observations and actions, in parts of at most `most` bytes per tensor. The last part has all tails. Checkpoints with
// other parts, of a device with other limits or of members in slices, are loaded all the same.
func (y *Replay) makeParts(s *engine.State, actions engine.DType, most uint64) error {
	words, tails := y.store.words(), y.own.lanes
	all := y.cfg.Capacity + y.ends.slots + tails
	size := int(min(most/uint64(4*y.rings*max(words, y.actions)), uint64(all)))
	if parts := (all + max(size, 1) - 1) / max(size, 1); size < tails || parts > maxReplayParts {
		return config.Invalid("replay.capacity", "%d transitions of %d features in %d rings are more than %d tensors of %d bytes, "+
			"which a kernel of this device sees; want at most %d transitions", y.cfg.Capacity, y.store.features, y.rings, maxReplayParts, most, y.most(size))
	}
	typ, word, action := y.store.word(), engine.Axis("feature", words), engine.Axis("action", y.actions)
	for last := (all-1)%size + 1; last <= all; last += size {
		name, first := "", max(last-size, 0)
		if size < all {
			name = fmt.Sprintf("/%d", len(y.parts))
		}
		part := replayPart{first: first, size: last - first, rows: max(min(y.cfg.Capacity, last)-first, 0)}
		part.obs = y.tensor(s, "obs"+name, typ, engine.Axis("row", part.size), word).Part("row")
		if part.rows > 0 {
			part.action = y.tensor(s, "action"+name, actions, engine.Axis("row", part.rows), action).Part("row")
		}
		y.parts = append(y.parts, part)
	}
	return nil
}

// most returns the largest capacity whose parts have the given size.
func (y *Replay) most(size int) int {
	room := maxReplayParts*size - y.own.lanes
	return max(0, min(int(float64(room)/(1+y.cfg.EndShare)), room-y.own.lanes))
}

// maxReplayParts bounds the dispatches of a batch: each part is one.
const maxReplayParts = 64

// fits reports whether transitions have the shape of the replay's.
func (y *Replay) fits(obs, action, reward *engine.Tensor) bool {
	return obs.Len() == y.store.trajectoryWords()*reward.Len() && (obs.Type() == engine.Uint32) == y.store.packed && action.Len() == y.actions*reward.Len()
}
