package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// estimates holds the critic's values of a trajectory, and the advantages and value targets computed from them:
// generalized advantage estimation (J. Schulman et al., 2016), target = advantage + value.
type estimates struct {
	value, nextValue, advantage, target *engine.Tensor // [T, P, E]
	discount, lambda                    *engine.Tensor // [P]
}

func newEstimates(s *engine.State, discount, lambda *engine.Tensor, c onPolicyConfig) *estimates {
	tensor := func(name string) *engine.Tensor {
		return s.Scratch(name, engine.Float32, engine.Time(c.horizon), engine.Members(c.members), engine.Environments(c.environments))
	}
	return &estimates{
		value: tensor("value"), nextValue: tensor("next_value"), advantage: tensor("advantage"), target: tensor("target"),
		discount: discount, lambda: lambda,
	}
}

// Record records the estimates of a trajectory.
func (e *estimates) Record(r *engine.Recorder, a *Agent, t *envs.Trajectory) {
	a.Values(r, t.Obs, e.value)
	a.valuesAt(r, t.NextObs, t.Done, e.nextValue)
	gae(r, t.Reward, t.Done, e.value, e.nextValue, e.discount, e.lambda, e.advantage, e.target)
}

// explained records the explained variance [P] of each member's critic, see shaders/rl/explained_variance.comp.
func (e *estimates) explained(r *engine.Recorder, to *engine.Tensor) {
	t, p, environments, ok := e.value.Split(engine.MemberAxis)
	if !ok || to.Len() != p {
		r.Fail(errShape("value", e.value, "[T, P, E] of the members that "+to.Name()+" has"))
		return
	}
	r.Dispatch(explainedVarianceKernel{
		Value: e.value.Range(), Target: e.target.Range(), Explained: to.Range(), Horizon: uint32(t), Environments: uint32(environments),
		Workgroup: r.WorkgroupFor(t * environments),
	}.call(uint32(p), 1, 1))
}

// gae records generalized advantage estimation: from reward, done, value and nextValue [T, P, E], and each member's
// discount and lambda [P], to advantage and target [T, P, E]. Of nextValue it reads truncated steps and the last one.
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
