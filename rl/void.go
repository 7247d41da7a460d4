package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// voids keeps steps that are no transitions (envs.Void) out of updates: steps of agents that left, and of seats that
// another row of parameters plays. In their place stand copies of the member's transitions, each as often as any other
// or once more. So minibatches keep their size.
type voids struct {
	clock  engine.Clock
	stream uint32
	list   *engine.Tensor // [M, T * E] u32
	valid  *engine.Tensor // [M] u32
}

func newVoids(s *engine.State, clock engine.Clock, c onPolicyConfig) *voids {
	p := engine.Members(c.Members)
	return &voids{
		clock: clock, stream: s.Stream("void"),
		list:  s.Scratch("void_list", engine.Uint32, p, engine.Axis("transition", c.RolloutLength*c.Environments)),
		valid: s.Scratch("void_valid", engine.Uint32, p),
	}
}

// record records filling a trajectory, its estimates and the states of its worlds, if the critic sees these; nil if not.
func (v *voids) record(r *engine.Recorder, t *envs.Trajectory, e *estimates, w *worldStates) {
	horizon, members, environments, ok := t.Reward.Split(engine.MemberAxis)
	if !ok {
		r.Fail(fmt.Errorf("rl: reward %v; want [T, M, E]", t.Reward))
		return
	}
	n := horizon * environments
	r.Dispatch(voidListKernel{
		Done: t.Done.Range(), List: v.list.Range(), Valid: v.valid.Range(),
		Horizon: uint32(horizon), Environments: uint32(environments), Workgroup: r.WorkgroupFor(n),
	}.call(uint32(members), 1, 1))
	const line = 64
	k := voidFillKernel{
		List: v.list.Range(), Valid: v.valid.Range(), Clock: v.clock.Tensor().Range(), Obs: t.Obs.Range(), Action: t.Action.Range(),
		LogProb: t.LogProb.Range(), Value: e.value.Range(), Advantage: e.advantage.Range(), Target: e.target.Range(),
		Count: uint32(n), Features: uint32(t.Obs.Len() / t.Reward.Len()), Actions: uint32(t.Action.Len() / t.Reward.Len()),
		Seed: r.Engine().Seed(), Stream: v.stream, LocalSizeX: line,
	}
	if w != nil {
		k.States, k.StateFeatures = w.states.Range(), uint32(w.states.Size("feature"))
	}
	r.Dispatch(k.call(uint32(n+line-1)/line, uint32(members), 1))
}
