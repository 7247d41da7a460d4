package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// largeObservation is the number of features from which a batch's observations are read by a kernel of their own (shaders/rl/replay_obs_quad.glsl), in which
// workgroups share an observation, and pass over those of other parts as a whole.
const largeObservation = 256

// placesOf makes where the observations of a batch, rows of each of its members, are: the indices of their frames in the ring, the newest first. It is nil if
// the kernel that draws a batch reads its observations.
func (y *Replay) placesOf(s *engine.State, name string, rows int, dims ...engine.Dim) *engine.Tensor {
	n := y.store.features
	if n%4 != 0 || n < largeObservation || rows > int(s.Engine().Device().Info().Limits.MaxGroups[1]) {
		return nil
	}
	return s.Scratch(name, engine.Uint32, append(dims, engine.Axis("frame", y.store.frames))...)
}

// readObs records reading the observations at some places that are in a part.
func (y *Replay) readObs(r *engine.Recorder, part replayPart, places, to *engine.Tensor) {
	outer, members, inner, _ := places.Split(engine.MemberAxis)
	k := replayObsQuadKernel{
		Obs: part.obs.Range(), Place: places.Range(), ToObs: to.Range(),
		Members: uint32(members), Own: !y.cfg.Shared, PartFirst: uint32(part.first), PartSize: uint32(part.size),
		LocalSizeX: r.Workgroup(), Features: uint32(y.store.features), Channels: uint32(y.store.channels),
		ReplayFormat: uint32(y.store.format), Frames: uint32(y.store.frames),
	}
	if y.normalizer != nil {
		k.Normalizer, k.Limit = y.normalizer.Values().Range(), float32(y.limit)
	}
	groups, rows, batches := quadGroups(r, y.store.features), uint32(inner/y.store.frames), uint32(outer*members)
	if engine.WideStores(r.Engine().Device().Info()) {
		r.Dispatch(replayObsQuadWideKernel(k).call(groups, rows, batches))
	} else {
		r.Dispatch(k.call(groups, rows, batches))
	}
}

// quadGroups returns the number of workgroups for a row of features, four of which an invocation computes, at once or one after the other. On software
// drivers a workgroup computes a whole row, if it is not too long: where the row is takes as long to find as many features.
func quadGroups(r *engine.Recorder, features int) uint32 {
	info := r.Engine().Device().Info()
	each := r.Workgroup()
	if info.Type == vk.CPU {
		each *= 1 << 12 // invocations loop, within the driver's limit
	}
	return min((uint32(features/4)+each-1)/each, info.Limits.MaxGroups[0])
}
