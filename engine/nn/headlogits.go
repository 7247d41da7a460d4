package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// HeldLogits is the largest number of logits, or of action values, that an invocation of a kernel holds in an array. Compilers unroll every loop over such an
// array, which takes minutes if it is long, and GPUs have no registers for it.
const HeldLogits = 48

// MaxLogits is the largest number of logits, or of action values, of a head. Kernels take up to LogitIterations for each, and Mesa's software driver leaves
// all loops of an invocation after 65535.
const MaxLogits = 10000

// LogitIterations is the largest number of loop iterations that an invocation takes for a logit that it reads from memory.
const LogitIterations = 6

// InMemory reports whether kernels read the head's outputs from memory wherever they are needed (shaders/engine/nn/head_read.glsl) instead of holding them:
// those of more than HeldLogits logits or action values. Results are the same bits. What acts by atoms has the values of actions instead (Expect).
func (h Head) InMemory() bool {
	switch h.Kind {
	case Categorical, Binned:
		return h.Outputs() > HeldLogits
	case EpsilonGreedy:
		return h.Atoms < 2 && h.Outputs() > HeldLogits
	}
	return false
}

// checkLogits checks that kernels can read as many logits or values as the head has.
func (h Head) checkLogits() error {
	n := 0
	switch h.Kind {
	case Categorical, Binned:
		n = h.Outputs()
	case EpsilonGreedy:
		n = h.Expected().Outputs()
	}
	if n > MaxLogits {
		return fmt.Errorf("nn: %v head of size %d with %d logits or action values; want at most %d", h.Kind, h.Size, n, MaxLogits)
	}
	return nil
}

// sampleLogits is Sample for outputs that are read from memory.
func (h Head) sampleLogits(r *engine.Recorder, b HeadBatch, members, rows int, action, logProb *engine.Tensor) {
	c, size := h.Constants(), r.Workgroup()
	k := logitsSampleKernel{
		Output: b.Outputs.Range(), Clock: b.Draws.Clock.Tensor().Range(), Mode: b.Mode, Action: action.Range(), LogProb: logProb.Range(),
		Rows: uint32(rows), Seed: r.Engine().Seed(), Stream: b.Draws.Stream, Out: uint32(h.Outputs()), LocalSizeX: size,
		Head: c.Head, HeadWidth: c.HeadWidth, Explore: c.Explore, HeadDueling: c.HeadDueling,
	}
	if h.Noise != nil {
		k.Noise = h.Noise.Range()
	}
	if b.Draws.Update != nil {
		k.Update = b.Draws.Update.Range()
	}
	r.Dispatch(k.call((uint32(rows)+size-1)/size, uint32(members), 1))
}

// backwardLogits is Backward for them.
func (h Head) backwardLogits(r *engine.Recorder, b HeadBatch, members, rows int, g HeadGradients) {
	c, size := h.Constants(), r.Workgroup()
	k := logitsBackwardKernel{
		Output: b.Outputs.Range(), Clock: b.Draws.Clock.Tensor().Range(), Mode: b.Mode, AtOutputs: g.Outputs.Range(),
		Rows: uint32(rows), Seed: r.Engine().Seed(), Stream: b.Draws.Stream, Out: uint32(h.Outputs()), LocalSizeX: size,
		Head: c.Head, HeadWidth: c.HeadWidth,
	}
	if b.Draws.Update != nil {
		k.Update = b.Draws.Update.Range()
	}
	if g.LogProb != nil {
		k.AtLogProb = g.LogProb.Range()
	}
	r.Dispatch(k.call((uint32(rows)+size-1)/size, uint32(members), 1))
}
