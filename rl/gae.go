package rl

import (
	"github.com/evorl/evorl/engine"
)

// GAE records generalized advantage estimation (Schulman et al., 2016) over trajectories: reward, done, value and nextValue
// [T, P, E] to advantage and target [T, P, E], with discount and lambda [P] of each member. target is advantage + value.
func gae(r *engine.Recorder, reward, done, value, nextValue, discount, lambda, advantage, target *engine.Tensor) {
	t, p, e, ok := reward.Split(engine.MemberAxis)
	if !ok {
		r.Fail(errShape("reward", reward, "[T, P, E]"))
		return
	}
	r.Dispatch(gaeKernel{
		Reward: reward.Range(), Done: done.Range(), Value: value.Range(), NextValue: nextValue.Range(),
		Discount: discount.Range(), Lambda: lambda.Range(), Advantage: advantage.Range(), Target: target.Range(),
		Horizon: uint32(t), Members: uint32(p), Environments: uint32(e),
	}.call(uint32(p*e+63)/64, 1, 1))
}
