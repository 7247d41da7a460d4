package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
)

// Limits of policy_update.comp: Mesa's software driver leaves all loops of an invocation after 65535 iterations. Eight transitions, or
// what there is of them, take a dozen and those that the walk of their permutation takes: ten on average where the walk is longest.
const (
	fusedMembers       = 64 // compiling takes half a minute, which fewer members do not earn back
	maxFusedIterations = 60000
	fusedPerTransition = 4
	fusedBlock         = 4 // transitions that add the largest gradient at once, BLOCK in mlp_block.glsl; the lanes that read them are as many or a multiple
)

// canFuse says whether many updates can be one dispatch of policy_update.comp: on software drivers, whose memory is dear beside their
// registers, with members enough to keep the cores busy and networks small enough.
func (p *PPO) canFuse() bool {
	info := p.State().Engine().Device().Info()
	if info.Type.GPU() || p.cfg.Members < fusedMembers || p.cfg.Optimizer != optim.Adam {
		return false
	}
	if lanes, err := p.agent.actor.Lanes(info); err != nil || lanes.Lanes%fusedBlock != 0 {
		return false
	}
	return uint64(p.agent.params.StackBytes()) <= info.Limits.MaxStorageRange && p.fusedIterations() <= maxFusedIterations && info.Limits.MaxBindings >= 23
}

// fusedIterations is what loops of an update may take.
func (p *PPO) fusedIterations() int { return (p.minibatchRows() + 7) / 8 * 8 * fusedPerTransition }

// recordFused records all updates of an iteration in as few dispatches as loops may be long.
func (p *PPO) recordFused(r *engine.Recorder) {
	a, c, ro, o := p.agent, p.cfg, p.ro, p.optimizer.Config()
	lanes, err := a.actor.Lanes(r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	stack, stride := a.params.Stacked()
	k := policyUpdateKernel{
		Params: stack, Obs: ro.Obs.Range(), Action: ro.Action.Range(), LogProb: ro.LogProb.Range(),
		Advantage: p.advantage.Range(), Target: p.target.Range(), Value: p.value.Range(), Moments: p.moments.Range(),
		LearningRate: p.rate.Range(), ClipEpsilon: p.clip.Range(),
		ActorWeight: p.actorWeight.Range(), CriticWeight: p.criticWeight.Range(), EntropyWeight: p.entropyWeight.Range(),
		Clock: p.Clock().Tensor().Range(), Updated: stack,
		Norm: p.optimizer.Norm().Range(), Updates: p.optimizer.Updates().Range(), Refused: p.optimizer.Refused().Range(),
		ActorLosses: p.actorLosses.Range(), CriticLosses: p.criticLosses.Range(),
		Horizon: uint32(c.RolloutLength), Environments: uint32(c.Environments), Row: uint32(a.row()), Stride: uint32(stride),
		Critic: uint32(a.criticBase), HeadBase: uint32(a.actor.Size()), Seed: r.Engine().Seed(), Stream: p.stream,
		Minibatches: uint32(c.Minibatches), ObsLimit: float32(a.cfg.ObsLimit), MaxNorm: float32(o.MaxNorm),
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Gain1: float32(1 - o.Beta1), Gain2: float32(1 - o.Beta2),
		LogBeta1: float32(math.Log(o.Beta1)), LogBeta2: float32(math.Log(o.Beta2)), Epsilon: float32(o.Epsilon), Anneal: float32(p.optimizer.Annealed()),
		LocalSizeX: 2 * lanes.Lanes, Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2,
		Activation: lanes.Activation, LayerNorm: lanes.LayerNorm, In: uint32(a.actor.In), Out: uint32(a.actor.Out),
		NormalizeAdvantage: c.NormalizeAdvantage, ClipValue: c.ClipValue,
	}
	if values := a.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	k.Head, k.HeadWidth = uint32(a.head.Kind), uint32(a.head.Width())
	updates := c.Epochs * c.Minibatches
	step := max(1, maxFusedIterations/p.fusedIterations())
	for first := 0; first < updates; first += step {
		k.First, k.Last = uint32(first), uint32(min(first+step, updates))
		call := k.call(uint32(c.Members), 1, 1)
		call.Subgroup = lanes.Lanes
		r.Dispatch(call)
	}
}
