package envs

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// frames are the stacks of a rollout whose environments are Framed: the host writes the newest frame of each, as bytes, and the device stacks them.
type frames struct {
	stack *engine.Tensor // [M, E, words] u32: what to act on next
	group int            // words that an invocation moves: whole pixels, or any number if only the newest frame is taken
}

// newFrames makes the stacks. They are the inputs of a network that takes words; one that takes floats has these besides.
func (h *hosted) newFrames(s *engine.State) {
	ro := h.ro
	h.frames = &frames{group: 1}
	if k := ro.env.Observation.Frames; k > 1 {
		pixel := ro.env.Observation.Channels() * k // bytes
		h.frames.group = pixel / 4
		switch {
		case pixel%4 == 2:
			h.frames.group = pixel / 2
		case pixel%4 != 0:
			h.frames.group = pixel
		}
	}
	if s.Engine().Device().Info().Type == vk.CPU {
		h.frames.group *= 16 // what an invocation reads of the step takes a software driver as long as several words
	}
	if st := ro.stepped; st != nil && st.element == nn.Bytes {
		h.frames.stack = st.observed
		return
	} else if st != nil {
		h.observed = st.observed
	}
	h.frames.stack = s.Scratch("stack", engine.Uint32, engine.Members(ro.cfg.Members), engine.Environments(ro.places()),
		engine.Axis("word", ro.env.Observation.Words()))
}

// beginFrames records stacking the first frames of episodes that have begun.
func (h *hosted) beginFrames(r *engine.Recorder) {
	k := h.framesKernel()
	k.Begins = 1
	h.stackFrames(r, k, h.whole())
}

// keepFrames records stacking the frames of a step of a part of the environments, which is so many steps behind the counter, and keeping its observations.
func (h *hosted) keepFrames(r *engine.Recorder, policy *Policy, i engine.Counter, of section, behind uint32) {
	ro, k := h.ro, h.framesKernel()
	k.Step, k.Behind = i.Tensor().Range(), behind
	if policy != nil {
		k.ParamsPeriod = policy.owners()
	}
	if ro.seen != nil {
		k.Seen = ro.seen.Range()
		if policy != nil && policy.Normalizer != nil {
			k.Normalizer = policy.Normalizer.Range()
		}
	}
	if ro.cfg.Trajectory {
		k.Trajectory, k.Packed = true, ro.Trajectory.Element().Packed()
		k.Obs, k.NextObs = ro.Obs.Range(), ro.NextObs.Range()
	}
	h.stackFrames(r, k, of)
}

func (h *hosted) framesKernel() hostedFramesKernel {
	c, space := h.ro.cfg, h.ro.env.Observation
	k := hostedFramesKernel{
		Arrived: h.arrived.Range(), Final: h.final.Range(), Flags: h.flags.Range(), Word: h.word.Range(), Stack: h.frames.stack.Range(),
		Members: uint32(c.Members), Environments: uint32(h.ro.places()), Features: uint32(space.Size()), Share: uint32(h.ro.share()),
		ParamsPeriod: uint32(c.Members),
		Channels:     uint32(space.Channels()), Frames: uint32(max(space.Frames, 1)), Group: uint32(h.frames.group),
	}
	if h.observed != nil {
		k.Floats = h.observed.Range()
	}
	return k
}

// stackFrames records the kernel for a part of the environments.
func (h *hosted) stackFrames(r *engine.Recorder, k hostedFramesKernel, of section) {
	words, group := h.ro.env.Observation.Words(), h.frames.group
	size, groups := r.Invocations((words + group - 1) / group)
	k.LocalSizeX = size
	most := int(r.Engine().Device().Info().Limits.MaxGroups[1])
	for first, end := of.first, of.first+of.count; first < end; first += most {
		k.First = uint32(first)
		r.Dispatch(k.call(groups, uint32(min(most, end-first)), 1))
	}
}
