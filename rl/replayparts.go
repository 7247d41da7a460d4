package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// ReplayFormat is the storage format of observations in a replay. Its values are those of
// shaders/rl/replay_format.glsl.
type ReplayFormat uint32

const (
	Float32 ReplayFormat = iota
	Float16              // half the memory: rounded to nearest, at most ±65504
	Bits                 // 1/32 of the memory: whether a feature is not 0
)

var replayFormatNames = [...]string{"float32", "float16", "bits"}

func (f ReplayFormat) String() string {
	if int(f) < len(replayFormatNames) {
		return replayFormatNames[f]
	}
	return fmt.Sprintf("ReplayFormat(%d)", uint32(f))
}

// UnmarshalText parses a format's name: float32, float16 or bits.
func (f *ReplayFormat) UnmarshalText(text []byte) error {
	return config.UnmarshalName(f, "format of observations", replayFormatNames[:], text)
}

// MarshalText returns a format's name.
func (f ReplayFormat) MarshalText() ([]byte, error) {
	return config.MarshalName(f, "format of observations", replayFormatNames[:])
}

// words returns the number of 32-bit words of an observation.
func (f ReplayFormat) words(features int) int {
	each := map[ReplayFormat]int{Float32: 1, Float16: 2, Bits: 32}[f]
	return (features + each - 1) / each
}

// word returns the type of the words.
func (f ReplayFormat) word() engine.DType {
	if f == Float32 {
		return engine.Float32
	}
	return engine.Uint32
}

// replayPart holds some rows of every ring, so that a kernel can bind each of its tensors whole.
type replayPart struct {
	first, rows    int
	endFirst, ends int            // slots of replayEnds; 0 without
	obs            *engine.Tensor // [rings, rows, words]
	nextObs        *engine.Tensor // [rings, rows, words], or of slots: [rings, ends, words]
	action         *engine.Tensor // [rings, rows, A]: words of the trajectory's type
}

// makeParts makes the tensors of observations and actions, in parts of at most `most` bytes per tensor.
func (y *Replay) makeParts(s *engine.State, actions engine.DType, most uint64) error {
	words := y.cfg.Observations.words(y.features)
	rows := int(min(most/uint64(4*y.rings*max(words, y.actions)), uint64(y.cfg.Capacity)))
	if parts := (y.cfg.Capacity + max(rows, 1) - 1) / max(rows, 1); rows == 0 || parts > maxReplayParts {
		return config.Invalid("replay.capacity", "%d transitions of %d features in %d rings are more than %d tensors of %d bytes, "+
			"which a kernel of this device sees; want at most %d transitions", y.cfg.Capacity, y.features, y.rings, maxReplayParts, most, maxReplayParts*rows)
	}
	typ, word, action := y.cfg.Observations.word(), engine.Axis("feature", words), engine.Axis("action", y.actions)
	parts := (y.cfg.Capacity + rows - 1) / rows
	for first := 0; first < y.cfg.Capacity; first += rows {
		name := ""
		if rows < y.cfg.Capacity {
			name = fmt.Sprintf("/%d", first/rows)
		}
		row := engine.Axis("row", min(rows, y.cfg.Capacity-first))
		part := replayPart{
			first: first, rows: row.Size, obs: y.tensor(s, "obs"+name, typ, row, word), action: y.tensor(s, "action"+name, actions, row, action),
		}
		if y.ends == nil {
			part.nextObs = y.tensor(s, "next_obs"+name, typ, row, word)
		} else {
			i := first / rows
			part.endFirst = y.ends.slots * i / parts
			part.ends = y.ends.slots*(i+1)/parts - part.endFirst
			part.nextObs = y.tensor(s, "end_obs"+name, typ, engine.Axis("end", max(part.ends, 1)), word)
		}
		y.parts = append(y.parts, part)
	}
	return nil
}

// maxReplayParts bounds the dispatches of a batch: each part is one.
const maxReplayParts = 64

// fits reports whether transitions have the shape of the replay's.
func (y *Replay) fits(obs, action, reward *engine.Tensor) bool {
	return obs.Len() == y.features*reward.Len() && action.Len() == y.actions*reward.Len()
}
