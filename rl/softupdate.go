package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// fusesSoft returns the number of updates per dispatch of soft_update.comp; 0 if each is several dispatches.
func fusesSoft(o *OffPolicy, parts learnerParts, c SACConfig, head nn.Head) int {
	if c.Atoms > 0 || !head.Squash || !head.StateDependent {
		return 0
	}
	actions := parts.env.Action.Size()
	return laneUpdate{
		largest: parts.network.model(parts.env.ObsSize()+actions, head.Outputs()), bindings: 31,
		evaluated: 4, learned: 5, noises: actions, networks: 3, shared: 6*actions + 3,
	}.inLanes(o).updatesPerDispatch(o, parts)
}

// makeFused makes the tensors of fused updates.
func (a *sac) makeFused(s *engine.State) {
	if uint64(a.actor.params().StackBytes()) > s.Engine().Device().Info().Limits.MaxStorageRange {
		a.fused = 0 // a kernel cannot bind all parameters
	}
	if a.fused == 0 {
		return
	}
	p, row := engine.Members(a.members), a.critics.params().Size("parameter")+a.actor.params().Size("parameter")
	a.gradients = s.Cleared("gradients", engine.Float32, p, engine.Axis("parameter", row))
	a.sums = s.Scratch("sums", engine.Float32, engine.Axis("sum", 2), p)
}

// fuses implements fusing.
func (a *sac) fuses() int { return a.fused }

// recordFused implements fusing.
func (a *sac) recordFused(r *engine.Recorder, batch ReplayBatch, chunk *engine.Tensor, updates int) {
	actor, critics, head := a.actor.optimizer, a.critics.optimizer, a.head.Constants()
	o, net := actor.Config(), a.actor.Model()
	lanes, err := nn.LanesOf(net, r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	params, actorStride := actor.Params().Stacked()
	_, criticStride := critics.Params().Stacked()
	k := softUpdateKernel{
		Params: params, Updated4: params,
		Gradient: a.gradients.Range(), Summed: a.gradients.Range(), GradientRow: uint32(a.gradients.Size("parameter")),
		Obs: batch.Obs.Range(), NextObs: batch.NextObs.Range(), Action: batch.Action.Range(), Reward: batch.Reward.Range(), Factor: batch.Factor.Range(),
		RewardScale: a.rewardScale.Range(), ActorRate: actor.Rate().Range(), CriticRate: critics.Rate().Range(), Tau: a.tau.Range(),
		TargetEntropy: a.targetEntropy.Range(), Clock: a.clock.Tensor().Range(), Chunk: chunk.Range(),
		Updates: actor.Updates().Range(), Refused: actor.Refused().Range(),
		CriticUpdates: critics.Updates().Range(), CriticRefused: critics.Refused().Range(), Norm: critics.Norm().Range(),
		Value: a.values.Range(), Loss: a.loss.Range(), LogProb: a.logProb.Range(), Sums: a.sums.Range(),
		ActorRow: uint32(actor.Params().Size("parameter")), ActorStride: uint32(actorStride),
		Critic: uint32(critics.Params().Offset(actor.Params())), CriticRow: uint32(critics.Params().Size("parameter") / a.twins), CriticStride: uint32(criticStride),
		TargetCritic: uint32(a.targetCritics.Offset(actor.Params())),
		Seed:         r.Engine().Seed(), NextStream: a.nextStream, OwnStream: a.ownStream, Count: uint32(updates), Together: uint32(batch.updates()),
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Gain1: float32(1 - o.Beta1), Gain2: float32(1 - o.Beta2),
		LogBeta1: float32(math.Log(o.Beta1)), LogBeta2: float32(math.Log(o.Beta2)), Epsilon: float32(o.Epsilon),
		Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2, Activation: lanes.Activation,
		In: uint32(a.critics.Model().Inputs().Size()), Out: uint32(net.Outputs()), Critics: uint32(a.twins), Batch: uint32(a.batch),
		Head: head.Head, HeadWidth: head.HeadWidth, LogStdLow: head.LogStdLow, LogStdHigh: head.LogStdHigh,
		LocalSizeX: lanes.Lanes,
	}
	if a.learned() {
		heat := a.temperatures.optimizer
		_, stride := heat.Params().Stacked()
		k.Logarithms, k.LogarithmStride = uint32(heat.Params().Offset(actor.Params())), uint32(stride)
		k.TemperatureRate, k.TemperatureUpdates, k.TemperatureRefused = heat.Rate().Range(), heat.Updates().Range(), heat.Refused().Range()
	} else {
		k.Temperature = a.temperature.Range()
	}
	call := k.call(uint32(a.members), 1, 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
}
