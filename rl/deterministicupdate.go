package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// fusesDeterministic returns the number of updates per dispatch of deterministic_update.comp; 0 if each is several
// dispatches.
func fusesDeterministic(o *OffPolicy, parts learnerParts, c deterministicConfig) int {
	if c.critic.Atoms > 0 || c.ownNext || c.diversity != nil || c.weightDecay > 0 || c.criticMaxNorm > 0 || c.promptTargets && c.delay > 1 || o.with.criticsFirst {
		return 0
	}
	actions := parts.env.Action.Size()
	return laneUpdate{
		largest: parts.network.model(parts.env.ObsSize()+actions, actions), bindings: 29,
		evaluated: 4, learned: 4, noises: actions, networks: 3, shared: 2*actions + 2,
	}.inLanes(o).updatesPerDispatch(o, parts)
}

// fuses implements fusing.
func (d *deterministic) fuses() int { return d.fused }

// recordFused implements fusing.
func (d *deterministic) recordFused(r *engine.Recorder, batch ReplayBatch, chunk *engine.Tensor, updates int) {
	actor, critics := d.actor.optimizer, d.critics.optimizer
	o, net := actor.Config(), d.actor.Model()
	lanes, err := nn.LanesOf(net, r.Engine().Device().Info())
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
		RewardScale: d.rewardScale.Range(), ActorRate: actor.Rate().Range(), CriticRate: critics.Rate().Range(), Tau: d.tau.Range(),
		Clock: d.clock.Tensor().Range(), Chunk: chunk.Range(),
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
		In: uint32(d.critics.Model().Inputs().Size()), Out: uint32(net.Outputs()), Critics: uint32(d.twins), Batch: uint32(d.batch),
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
