package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// vtrace is V-trace (L. Espeholt et al., "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner
// Architectures", 2018, section 4): value targets of the current policy π, from whole trajectories of an older
// policy μ, and advantages for its gradient. Both are computed with the current networks for each minibatch, from its
// transitions alone (shaders/rl/vtrace.comp):
//
//	ρ = min(rho_threshold, π/μ), c = lambda min(c_threshold, π/μ), δ = r + γ V(s') - V(s)
//	target:    v(s) = V(s) + ρ δ + γ c (v(s') - V(s'))    (equation 1; lambda as in remark 2)
//	advantage: min(pg_rho_threshold, π/μ) (r + γ u(s') - V(s))    (section 4.2)
//
// where u is v or, with mixed, lambda v + (1 - lambda) V, as in DeepMind's acme. At a terminated step γ is 0; at a
// truncated step, and at the last of the trajectory, v(s') = V(s') of the true next observation.
type vtrace struct {
	discount, lambda  *engine.Tensor // [P]
	rho, c, policyRho *engine.Tensor // [P]: the largest ratios in targets, in corrections passed to earlier steps, and in advantages
	mixed             bool
	nextObs           *engine.Tensor // [P, rows, O]: normalized
	nextValue         *engine.Tensor // [P, rows, 1]
	advantage, target *engine.Tensor // [T, P, E]: of the current minibatch
}

// makeTensors makes the scratch tensors for minibatches of whole trajectories.
func (v *vtrace) makeTensors(s *engine.State, env *envs.Environment, m *minibatches) {
	v.nextObs = m.observations(s, "next_observations", env)
	v.nextValue = s.Scratch("next_value", engine.Float32, engine.Members(m.members), engine.Axis("transition", m.rows), engine.Axis("output", 1))
	tensor := func(name string) *engine.Tensor {
		return s.Scratch(name, engine.Float32, engine.Time(m.horizon), engine.Members(m.members), engine.Environments(m.environments))
	}
	v.advantage, v.target = tensor("advantage"), tensor("target")
}

// Record records targets and advantages of a minibatch. It leaves the outputs of actor and critic for their losses.
func (v *vtrace) Record(r *engine.Recorder, m minibatch, actor, critic *gradient) {
	m.recordObs(r, actor.agent)
	m.gather(r, actor.agent, m.trajectory.NextObs, v.nextObs)
	critic.network.Evaluate(r, critic.network.weights(), nn.Inputs{Parts: []*engine.Tensor{v.nextObs}}, v.nextValue)
	actor.forward(r, m)
	critic.forward(r, m)
	v.recordCorrection(r, m, actor, critic.outputs)
}

// recordCorrection is Record after the forward passes.
func (v *vtrace) recordCorrection(r *engine.Recorder, m minibatch, actor *gradient, value *engine.Tensor) {
	t, h, params := m.trajectory, actor.agent.head.Constants(), actor.network.params()
	width := m.rows / m.horizon
	size := r.WorkgroupFor(width)
	r.Dispatch(vtraceKernel{
		Output: actor.outputs.Range(), Params: params.Range(), Value: value.Range(), NextValue: v.nextValue.Range(),
		Action: t.Action.Range(), LogProb: t.LogProb.Range(), Reward: t.Reward.Range(), Done: t.Done.Range(),
		Discount: v.discount.Range(), Lambda: v.lambda.Range(), Rho: v.rho.Range(), C: v.c.Range(), PgRho: v.policyRho.Range(),
		Clock: m.clock.Tensor().Range(), Update: m.update.Range(), Advantage: v.advantage.Range(), Target: v.target.Range(),
		Horizon: uint32(m.horizon), Environments: uint32(m.environments), Rows: uint32(m.rows),
		Row: uint32(params.Size("parameter")), HeadBase: uint32(actor.agent.headBase()),
		Seed: r.Engine().Seed(), Stream: m.stream, Minibatches: uint32(m.count), Trajectories: true,
		LocalSizeX: size, Out: uint32(actor.network.Model().Outputs()), MixValues: v.mixed,
		Head: h.Head, HeadWidth: h.HeadWidth, LogStdLow: h.LogStdLow, LogStdHigh: h.LogStdHigh,
	}.call((uint32(width)+size-1)/size, uint32(m.members), 1))
}
