package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

// Limits of policy_update.comp: Mesa's software driver leaves all loops of an invocation after 65535 iterations. Up to
// eight transitions take a dozen iterations, and those of computing their permutation: ten on average in the worst
// case.
const (
	fusedPasses        = 2048    // fewest transitions in an iteration's updates that repay the seconds of compiling
	heldPasses         = 1 << 19 // with as many, moments stay in registers: faster, but twice as long to compile
	maxFusedIterations = 60000
	fusedPerTransition = 4
	fusedBlock         = 4 // transitions that a block adds to the gradient, BLOCK in mlp_block.glsl; the number of lanes is a multiple of it
	fusedBindings      = 25
)

// canFuse reports whether the updates of an iteration can be a few dispatches of policy_update.comp: on software
// drivers, whose memory is slow compared with their registers, with small networks and enough work to repay the longer
// compilation. The other form takes two to four times as long per update. ClipUp needs the norm of the velocity before it
// moves a parameter, which would be a second pass over the moments.
func canFuse(info vk.Info, c PPOConfig, actor nn.Model) bool {
	if info.Type != vk.CPU || updatedTransitions(c) < fusedPasses || c.Optimizer == optim.ClipUp || info.Limits.MaxBindings < fusedBindings {
		return false
	}
	lanes, err := nn.LanesOf(actor, info)
	return err == nil && lanes.Lanes%fusedBlock == 0 && fusedIterations(c, actor, lanes) <= maxFusedIterations
}

// updatedTransitions returns the number of transitions in the updates of an iteration, counted once per epoch.
func updatedTransitions(c PPOConfig) int {
	return c.Members * c.Environments * c.RolloutLength * c.Epochs
}

// fusedIterations returns the loop iterations of an update: over the minibatch and over the rows of the matrices.
func fusedIterations(c PPOConfig, actor nn.Model, lanes nn.Lanes) int {
	rows := (c.RolloutLength*c.Environments + c.Minibatches - 1) / c.Minibatches
	return (rows+7)/8*8*fusedPerTransition + actor.Inputs().Size() + int(lanes.Hidden1) + actor.Outputs()
}

// recordFused records all updates of an iteration in the fewest dispatches that the limit of loop iterations allows.
func (p *PPO) recordFused(r *engine.Recorder) {
	a, m, t, e := p.agent, p.minibatches, p.minibatches.trajectory, p.estimates
	actor, critic := a.actor.optimizer, a.critic.optimizer
	o, net, head := actor.Config(), a.actor.Model(), a.head.Constants()
	lanes, err := nn.LanesOf(net, r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	params, actorStride := actor.Params().Stacked()
	_, criticStride := critic.Params().Stacked()
	k := policyUpdateKernel{
		Params: params, Updated: params, Obs: t.Obs.Range(), Action: t.Action.Range(), LogProb: t.LogProb.Range(),
		Advantage: e.advantage.Range(), Target: e.target.Range(), Value: e.value.Range(),
		LearningRate: actor.Rate().Range(), ClipEpsilon: p.actorLoss.clip.Range(),
		ActorWeight: p.actorLoss.weight.Range(), CriticWeight: p.criticLoss.weight.Range(), EntropyWeight: p.actorLoss.entropyWeight.Range(),
		Clock: m.clock.Tensor().Range(), Norm: actor.Norm().Range(), Updates: actor.Updates().Range(), Refused: actor.Refused().Range(),
		CriticUpdates: critic.Updates().Range(), CriticRefused: critic.Refused().Range(),
		ActorLosses: p.actorLoss.sums.Range(), CriticLosses: p.criticLoss.sums.Range(),
		Horizon: uint32(m.horizon), Environments: uint32(m.environments),
		ActorRow: uint32(actor.Params().Size("parameter")), ActorStride: uint32(actorStride),
		Critic: uint32(critic.Params().Offset(actor.Params())), CriticRow: uint32(critic.Params().Size("parameter")), CriticStride: uint32(criticStride),
		HeadBase: uint32(a.headBase()), Seed: r.Engine().Seed(), Stream: m.stream,
		Minibatches: uint32(m.count), ObsLimit: float32(a.cfg.ObsLimit), MaxNorm: float32(p.cfg.MaxGradNorm),
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Gain1: float32(1 - o.Beta1), Gain2: float32(1 - o.Beta2),
		LogBeta1: float32(math.Log(o.Beta1)), LogBeta2: float32(math.Log(o.Beta2)), Epsilon: float32(o.Epsilon), WeightDecay: float32(o.WeightDecay),
		LocalSizeX: 2 * lanes.Lanes, Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2,
		Activation: lanes.Activation, LayerNorm: lanes.LayerNorm, In: uint32(net.Inputs().Size()), Out: uint32(net.Outputs()),
		Head: head.Head, HeadWidth: head.HeadWidth, LogStdLow: head.LogStdLow, LogStdHigh: head.LogStdHigh, ClipValue: p.criticLoss.clipped,
		MomentsHeld: p.held, Rule: uint32(o.Rule),
	}
	if values := a.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	if m.moments != nil {
		k.Moments = m.moments.Range()
	}
	if m.order != nil {
		k.Order = m.order.Range()
	}
	updates := m.epochs * m.count
	step := max(1, maxFusedIterations/fusedIterations(p.cfg, net, lanes))
	for first := 0; first < updates; first += step {
		k.First, k.Last = uint32(first), uint32(min(first+step, updates))
		call := k.call(uint32(m.members), 1, 1)
		call.Subgroup = lanes.Lanes
		r.Dispatch(call)
	}
}
