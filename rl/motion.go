package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// motion rewards the steps of a trajectory in which a member moves, by a weight of its own: the active and the lazy style of H. Bai et al. ("Lamarckian
// Platform", 2022, equation 4), which is a term of the action alone. Returns that are reported do not have it.
type motion struct {
	weight *engine.Tensor // [M]
	still  uint32
}

func newMotion(hyper *engine.Hyper, c OnPolicyConfig) *motion {
	return &motion{weight: hyper.Add("motion_weight", c.MotionWeight), still: uint32(c.StillAction)}
}

// Record records adding the weights to a trajectory's rewards.
func (m *motion) Record(r *engine.Recorder, t *envs.Trajectory) {
	_, members, environments, _ := t.Reward.Split(engine.MemberAxis)
	const most = 1 << 15 // largest number of workgroups along an axis
	size := r.Workgroup()
	groups := (uint32(t.Reward.Len()) + size - 1) / size
	r.Dispatch(motionKernel{
		Weight: m.weight.Range(), Action: t.Action.Range(), Done: t.Done.Range(), Reward: t.Reward.Range(),
		Members: uint32(members), Environments: uint32(environments), Count: uint32(t.Reward.Len()), Still: m.still, LocalSizeX: size,
	}.call(min(groups, most), (groups+most-1)/most, 1))
}

// checkMotion checks the settings of motion for the algorithm with that name.
func (c OnPolicyConfig) checkMotion(env *envs.Environment, name string) error {
	switch {
	case c.StillAction >= 0 && !env.Action.IsDiscrete():
		return config.Invalid(name+".still_action", "the actions of %q are not discrete; want -1", env.Name)
	case c.StillAction >= 0 && c.StillAction >= env.Action.N:
		return config.Invalid(name+".still_action", "%d of the %d actions of %q; want at most %d", c.StillAction, env.Action.N, env.Name, env.Action.N-1)
	case c.StillAction < 0 && c.MotionWeight != 0:
		return config.Invalid(name+".motion_weight", "%g without an action that is to stay; want a still_action, such as 1 in \"Pong-v0\"", c.MotionWeight)
	}
	return nil
}

// Still returns the action that is to stay; -1: there is none.
func (o *onPolicy) Still() int { return o.common.StillAction }
