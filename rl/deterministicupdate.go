package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Limits of deterministic_update.comp.
const (
	deterministicBindings = 29
	maxFusedUpdates       = 64        // updates per dispatch
	maxFusedBytes         = 128 << 20 // of the batches of a dispatch
)

// fusesDeterministic returns the number of updates per dispatch of deterministic_update.comp; 0 if each is several
// dispatches. They are fused under the same conditions as PPO's (canFuse): on software drivers, with networks that
// lanes can hold and enough work to repay the longer compilation.
func fusesDeterministic(o *OffPolicy, parts learnerParts, c deterministicConfig) int {
	info, actions := o.State().Engine().Device().Info(), parts.env.Action.Size()
	updates, err := o.cfg.updates()
	if err != nil || info.Type != vk.CPU || !info.Features.Has(vk.Int64) || o.cfg.Members*updates*parts.batch < fusedPasses {
		return 0
	}
	if parts.actors > 1 || parts.together || parts.network.LayerNorm || c.critic.Atoms > 0 || c.ownNext || c.diversity != nil || c.weightDecay > 0 {
		return 0
	}
	largest := parts.network.mlp(parts.env.ObsSize()+actions, actions)
	lanes, err := largest.Lanes(info)
	if err != nil || lanes.Lanes%fusedBlock != 0 || info.Limits.MaxBindings < deterministicBindings {
		return 0
	}
	if 4*(2*actions+2)*parts.batch > int(info.Limits.MaxSharedBytes) {
		return 0
	}
	batch := 4 * o.cfg.Members * parts.batch * (2*parts.env.ObsSize() + actions + 3)
	most := min(maxFusedUpdates, maxFusedIterations/deterministicIterations(parts.batch, largest, int(lanes.Lanes)), maxFusedBytes/batch, updates)
	if most < 1 {
		return 0
	}
	dispatches := (updates + most - 1) / most
	return (updates + dispatches - 1) / dispatches
}

// deterministicIterations returns the loop iterations of an update of TD3: eight passes over the batch, one that draws
// noise, and Adam's over all parameters, four at a time.
func deterministicIterations(batch int, largest nn.MLP, lanes int) int {
	const networks, passes = 3, 4 // networks that learn; passes of each kind
	groups, philox := (batch+lanes-1)/lanes, 10*(1+(2*largest.Out+3)/4)
	evaluated, learned := groups*(1+lanes), groups*(1+lanes/fusedBlock+lanes)
	return passes*(evaluated+learned+2*largest.Hidden[0]/lanes) + groups*(1+philox) + networks*largest.Size()/(4*lanes) + 64
}

// fuses implements fusing.
func (d *deterministic) fuses() int { return d.fused }

// recordFused implements fusing.
func (d *deterministic) recordFused(r *engine.Recorder, batch ReplayBatch, turn *engine.Tensor, updates int) {
	actor, critics := d.actor.optimizer, d.critics.optimizer
	o, net := actor.Config(), d.actor.MLP()
	lanes, err := net.Lanes(r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	params, actorStride := actor.Params().Stacked()
	_, criticStride := critics.Params().Stacked()
	k := deterministicUpdateKernel{
		Params: params, Updated4: params,
		Gradient: d.gradients.Range(), Summed: d.gradients.Range(), GradientRow: uint32(d.gradients.Size("parameter")),
		Obs: batch.Obs.Range(), NextObs: batch.NextObs.Range(), Action: batch.Action.Range(), Reward: batch.Reward.Range(), Factor: batch.Factor.Range(),
		RewardScale: d.rewardScale.Range(), ActorRate: d.actorRate.Range(), CriticRate: d.criticRate.Range(), Tau: d.tau.Range(),
		Clock: d.clock.Tensor().Range(), Turn: turn.Range(),
		Updates: actor.Updates().Range(), Refused: actor.Refused().Range(),
		CriticUpdates: critics.Updates().Range(), CriticRefused: critics.Refused().Range(), Norm: critics.Norm().Range(),
		Value: d.values.Range(), Loss: d.loss.Range(), FirstValue: d.firstValue.Range(),
		ActorRow: uint32(actor.Params().Size("parameter")), ActorStride: uint32(actorStride),
		Critic: uint32(critics.Params().Offset(actor.Params())), CriticRow: uint32(critics.Params().Size("parameter") / d.twins), CriticStride: uint32(criticStride),
		TargetActor: uint32(d.targetActor.Offset(actor.Params())), TargetCritic: uint32(d.targetCritics.Offset(actor.Params())),
		Seed: r.Engine().Seed(), Count: uint32(updates), Together: uint32(batch.updates()),
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Gain1: float32(1 - o.Beta1), Gain2: float32(1 - o.Beta2),
		LogBeta1: float32(math.Log(o.Beta1)), LogBeta2: float32(math.Log(o.Beta2)), Epsilon: float32(o.Epsilon),
		Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2, Activation: lanes.Activation,
		In: uint32(d.critics.MLP().In), Out: uint32(net.Out), Critics: uint32(d.twins), Batch: uint32(d.batch),
		LocalSizeX: lanes.Lanes,
	}
	if d.smoothing != nil {
		k.Noise, k.Clip, k.Stream = d.smoothing.noise.Range(), d.smoothing.clip.Range(), d.smoothing.stream
	}
	if d.delay != nil {
		k.Delay, k.Credit = d.delay.each.Range(), d.delay.credit.Range()
	}
	call := k.call(uint32(d.members), 1, 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
}
