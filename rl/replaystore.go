package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// ReplayFormat is the storage format of float32 observations in a replay. Bytes and bits (envs.Space) are stored as such.
type ReplayFormat uint32

const (
	Float32 ReplayFormat = iota
	Float16              // half the memory: rounded to nearest, at most ±65504
)

var replayFormatNames = [...]string{"float32", "float16"}

func (f ReplayFormat) String() string { return config.NameOf(f, replayFormatNames[:]) }

// UnmarshalText parses a format's name: float32 or float16.
func (f *ReplayFormat) UnmarshalText(text []byte) error {
	return config.UnmarshalName(f, "format of observations", replayFormatNames[:], text)
}

// MarshalText returns a format's name.
func (f ReplayFormat) MarshalText() ([]byte, error) {
	return config.MarshalName(f, "format of observations", replayFormatNames[:])
}

// replayStore is how a replay stores observations.
type replayStore struct {
	format   storeFormat
	element  nn.Element
	packed   bool // trajectories have packed words; otherwise floats
	features int  // of an observation: O
	frames   int  // stacked in it; one is stored; 1: it is stored whole
	channels int  // of a frame
}

// storeFormat is the format of stored words. Its values are as in shaders/rl/replay_format.glsl.
type storeFormat uint32

const (
	storeFloat32 storeFormat = iota
	storeFloat16
	storeBits
	storeBytes
)

// storeOf returns how a replay stores the observations of a trajectory.
func storeOf(t envs.Trajectory, cfg ReplayConfig) (replayStore, error) {
	space := t.Space
	st := replayStore{format: storeFormat(cfg.Observations), features: t.Obs.Len() / t.Reward.Len(), frames: 1, channels: 1}
	if space.Size() > 0 {
		st.element, st.features, st.frames, st.channels = space.Element, space.Size(), max(space.Frames, 1), space.Channels()
	}
	switch {
	case st.element.Packed() && cfg.Observations != Float32:
		return st, config.Invalid("replay.observations", "%v for observations of type %v, which are stored as such; want float32", cfg.Observations, st.element)
	case st.element == nn.Bits:
		st.format = storeBits
	case st.element == nn.Bytes:
		st.format = storeBytes
	}
	st.packed = st.element.Packed() && t.Obs.Type() == engine.Uint32
	if t.Obs.Len() != st.trajectoryWords()*t.Reward.Len() {
		return st, fmt.Errorf("replay of observations %v in the space %v of %v; want %d words each", t.Obs, space, st.element, st.trajectoryWords())
	}
	return st, nil
}

// trajectoryWords returns the words of an observation in trajectories.
func (st replayStore) trajectoryWords() int {
	if st.packed {
		return st.element.Words(st.features)
	}
	return st.features
}

// words returns the words of a stored observation, and word their type.
func (st replayStore) words() int {
	n := st.features / st.frames
	if st.format == storeFloat16 {
		return (n + 1) / 2
	}
	return st.element.Words(n)
}

func (st replayStore) word() engine.DType {
	if st.format == storeFloat32 {
		return engine.Float32
	}
	return engine.Uint32
}
