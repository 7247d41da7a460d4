package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// fusesQ returns the number of updates per dispatch of dqn_update.comp; 0 if each is several dispatches. Priorities
// depend on the update before.
func fusesQ(o *OffPolicy, parts learnerParts, c DQNConfig, model nn.Model) int {
	if c.Atoms > 0 || c.NoisyStd > 0 || o.with.replay != nil && o.with.replay.Prioritized {
		return 0
	}
	columns, err := nn.ColumnsOf(model, o.State().Engine().Device().Info())
	if err != nil {
		return 0
	}
	evaluated := 2
	if c.Double {
		evaluated = 3
	}
	return laneUpdate{
		lanes: columns.Lanes.Lanes, largest: model, bindings: 22, networks: 1,
		evaluated: evaluated * columns.Panels, learned: columns.Panels, shared: evaluated * model.Outputs(),
	}.updatesPerDispatch(o, parts)
}

// fuses implements fusing.
func (q *qLearner) fuses() int { return q.fused }

// recordFused implements fusing.
func (q *qLearner) recordFused(r *engine.Recorder, batch ReplayBatch, chunk *engine.Tensor, updates int) {
	optimizer := q.network.optimizer
	o, net := optimizer.Config(), q.network.Model()
	columns, err := nn.ColumnsOf(net, r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	params, stride := optimizer.Params().Stacked()
	k := dqnUpdateKernel{
		Params: params, Updated4: params, Gradient: q.gradient.Range(), Summed: q.gradient.Range(),
		Obs: batch.Obs.Range(), NextObs: batch.NextObs.Range(), Action: batch.Action.Range(), Reward: batch.Reward.Range(), Factor: batch.Factor.Range(),
		RewardScale: q.parts.rewardScale.Range(), LearningRate: optimizer.Rate().Range(), Interval: q.interval.Range(), Tau: q.tau.Range(),
		Clock: q.clock.Tensor().Range(), Chunk: chunk.Range(), Updates: optimizer.Updates().Range(), Refused: optimizer.Refused().Range(),
		Norm: optimizer.Norm().Range(), Value: q.chosen.Range(), Loss: q.loss.Range(),
		Row: uint32(optimizer.Params().Size("parameter")), Stride: uint32(stride), Target: uint32(q.target.Offset(optimizer.Params())),
		Count: uint32(updates), Together: uint32(batch.updates()),
		Huber: float32(q.cfg.Huber), MaxNorm: float32(o.MaxNorm),
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Gain1: float32(1 - o.Beta1), Gain2: float32(1 - o.Beta2),
		LogBeta1: float32(math.Log(o.Beta1)), LogBeta2: float32(math.Log(o.Beta2)), Epsilon: float32(o.Epsilon),
		Lanes: columns.Lanes.Lanes, Hidden1: columns.Hidden1, Hidden2: columns.Hidden2, Width2: columns.Width2, Activation: columns.Activation,
		In: uint32(net.Inputs().Size()), Out: uint32(net.Outputs()), Batch: uint32(q.parts.batch), Double: q.cfg.Double, Dueling: q.cfg.Dueling,
		LocalSizeX: columns.Lanes.Lanes,
	}
	call := k.call(uint32(q.members()), 1, 1)
	call.Subgroup = columns.Lanes.Lanes
	r.Dispatch(call)
}
