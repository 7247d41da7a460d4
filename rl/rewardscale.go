package rl

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// rewardScale divides rewards by the running deviation of each member's discounted returns and clips them, like
// Gymnasium's NormalizeReward and Stable-Baselines3's VecNormalize, so that values are about 1 in size, whatever the
// unit of rewards. The deviation includes the whole present iteration (theirs is updated at every step), but no
// steps that are no transitions. Its moments and the discounted returns of unfinished episodes are saved.
type rewardScale struct {
	returns  *nn.Normalizer // of one feature
	discount *engine.Tensor // [M]
	limit    float32
	carried  *engine.Tensor // [M, E]: discounted returns after the last step
	sums     *engine.Tensor // [T, M, E, 1]: discounted returns
}

func newRewardScale(s *engine.State, env *envs.Environment, discount *engine.Tensor, limit float64, c onPolicyConfig) *rewardScale {
	s = s.Sub("reward_scale")
	p, e := engine.Members(c.Members), engine.Environments(c.Environments)
	scale := &rewardScale{
		returns: nn.NewNormalizer(s, c.Members, 1), discount: discount, limit: float32(limit),
		carried: s.Tensor("discounted_return", engine.Float32, p, e),
		sums:    s.Scratch("discounted_returns", engine.Float32, engine.Time(c.RolloutLength), p, e, engine.Axis("feature", 1)),
	}
	if env.KeepsEpisodes() {
		scale.carried.Own()
	}
	return scale
}

func (s *rewardScale) init(ctx context.Context) error { return s.returns.Init(ctx) }

// Record records the update of the moments with a trajectory's rewards, which it then scales in place.
func (s *rewardScale) Record(r *engine.Recorder, t *envs.Trajectory) {
	horizon, members, environments, ok := t.Reward.Split(engine.MemberAxis)
	if !ok || t.Reward.Len() != s.sums.Len() {
		r.Fail(fmt.Errorf("rl: rewards %v; want [T, M, E]", t.Reward))
		return
	}
	size := r.Workgroup()
	r.Dispatch(discountedReturnsKernel{
		Reward: t.Reward.Range(), Done: t.Done.Range(), Discount: s.discount.Range(), Carried: s.carried.Range(), Returns: s.sums.Range(),
		Horizon: uint32(horizon), Members: uint32(members), Environments: uint32(environments), LocalSizeX: size,
	}.call((uint32(members*environments)+size-1)/size, 1, 1))
	s.returns.RecordTransitions(r, s.sums, t.Done) // without those of seats that others play, and of agents that have left

	const most = 1 << 15 // largest number of workgroups along an axis
	groups := (uint32(t.Reward.Len()) + size - 1) / size
	r.Dispatch(scaleRewardsKernel{
		Normalizer: s.returns.Values().Range(), Reward: t.Reward.Range(),
		Members: uint32(members), Environments: uint32(environments), Count: uint32(t.Reward.Len()), Limit: s.limit, LocalSizeX: size,
	}.call(min(groups, most), (groups+most-1)/most, 1))
}
