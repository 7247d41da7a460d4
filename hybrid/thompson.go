package hybrid

import (
	"github.com/evorl/evorl/engine"
)

// maxArms is ARMS of shaders/hybrid/bandit.comp.
const maxArms = 8

// thompson chooses a weight for every iteration by Thompson sampling on the device (J. Parker-Holder et al.,
// "Effective Diversity in Population Based Reinforcement Learning", 2020, section 4.3). A weight succeeds if the best
// return that it led to exceeds the returns of the `memory` iterations before.
type thompson struct {
	clock  engine.Clock
	stream uint32

	arms    *engine.Tensor // [A]: weights
	outcome *engine.Tensor // [W] u32: 2 arm + success, for each iteration
	best    *engine.Tensor // [memory]: best returns of iterations
	weight  *engine.Tensor // [1]: of the current iteration
}

func newThompson(s *engine.State, clock engine.Clock, weights []float64, window, memory int) *thompson {
	arms := func() (all []float32) {
		for _, w := range weights {
			all = append(all, float32(w))
		}
		return all
	}
	return &thompson{
		clock: clock, stream: s.Stream("arms"), arms: engine.Constant(s, "arm", arms, engine.Axis("arm", len(weights))),
		outcome: s.Tensor("outcome", engine.Uint32, engine.Axis("iteration", window)),
		best:    s.Tensor("best", engine.Float32, engine.Axis("iteration", memory)),
		weight:  s.Scratch("weight", engine.Float32, engine.Axis("weight", 1)),
	}
}

// record records learning from the agents' returns [M] under the last weight, and choosing the next one.
func (b *thompson) record(r *engine.Recorder, returns *engine.Tensor) {
	r.Dispatch(banditKernel{
		Return: returns.Range(), Clock: b.clock.Tensor().Range(), Arms: b.arms.Range(), Outcome: b.outcome.Range(), Best: b.best.Range(),
		Weight: b.weight.Range(), Agents: uint32(returns.Len()), Count: uint32(b.arms.Len()), Window: uint32(b.outcome.Len()), Memory: uint32(b.best.Len()),
		Seed: r.Engine().Seed(), Stream: b.stream,
	}.call(1, 1, 1))
}
