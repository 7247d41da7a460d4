package rl

import (
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// discreteSAC is the learner of SAC with discrete actions (P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019).
type discreteSAC struct{ *soft }

func newDiscreteSAC(o *OffPolicy, parts learnerParts, c SACConfig) (*discreteSAC, error) {
	if err := parts.oneActor(); err != nil {
		return nil, err
	}
	common, err := newSoft(o, parts, c, nn.Head{Kind: nn.Categorical, Size: parts.env.Action.Size()}, 2, nil)
	if err != nil {
		return nil, err
	}
	a := &discreteSAC{common}
	a.entropyRow, a.targetEntropy = o.Metrics().Row("policy/entropy"), o.Hyper().Add("target_entropy_scale", c.TargetEntropyScale)
	return a, o.State().Err()
}

// update implements learner: algorithm 1.
func (a *discreteSAC) update(r *engine.Recorder, u update) {
	a.descendValues(r, u)
	a.descendActor(r, u)
}

// descendValues records an update of the critics towards the soft values of the next states (equations 4 and 10).
func (a *discreteSAC) descendValues(r *engine.Recorder, u update) {
	b := u.batch
	a.actor.Evaluate(r, a.actor.weights(), inputs(b.NextObs, nil), a.actor.outputs)
	a.critics.Evaluate(r, nn.Weights{Params: a.targetCritics}, inputs(b.NextObs, nil), a.nextValues)
	a.critics.pass.Forward(r, a.critics.weights(), inputs(b.Obs, nil), a.critics.outputs)
	size, groups := r.Invocations(a.rows)
	r.Dispatch(discreteSoftQKernel{
		Reward: b.Reward.Range(), Factor: b.Factor.Range(), Action: b.Action.Range(), Logit: a.actor.outputs.Range(), NextValue: a.nextValues.Range(),
		Value: a.critics.outputs.Range(), Temperature: a.temperature.Range(), RewardScale: a.rewardScale.Range(),
		AtValue: a.critics.atOutputs.Range(), Loss: a.loss.Range(), Chosen: a.chosen.Range(),
		Rows: uint32(a.rows), Actions: uint32(a.head.Size), LogTemperature: a.learned(), LocalSizeX: size,
	}.call(groups, uint32(a.members), 1))
	a.critics.optimizer.Step(r, a.critics.pass.Gradient(r, a.critics.atOutputs))
}

// descendActor records an update of the actor (equation 12) and, if it is learned, of the temperature (equation 11).
func (a *discreteSAC) descendActor(r *engine.Recorder, u update) {
	obs := inputs(u.batch.Obs, nil)
	a.actor.pass.Forward(r, a.actor.weights(), obs, a.actor.outputs)
	a.critics.Evaluate(r, a.critics.weights(), obs, a.critics.outputs)
	k := discreteSoftActorKernel{
		Logit: a.actor.outputs.Range(), Value: a.critics.outputs.Range(), Temperature: a.temperature.Range(), Entropy: a.targetEntropy.Range(),
		AtLogit: a.actor.atOutputs.Range(), Loss: a.actorRow.Range(), Applied: a.temperatureRow.Range(), Mean: a.entropyRow.Range(),
		Rows: uint32(a.rows), Actions: uint32(a.head.Size), LogTemperature: a.learned(), Workgroup: discreteActorWorkgroup(r, a.rows, a.head.Size),
	}
	if a.learned() {
		k.AtLog = a.atLog.Range()
	}
	r.Dispatch(k.call(uint32(a.members), 1, 1))
	a.step(r, a.actor.pass.Gradient(r, a.actor.atOutputs))
}

// discreteActorWorkgroup returns the workgroup size of the actor's loss. A row takes 4 · actions + 1 loop iterations:
// within Recorder.WorkgroupFor's 1024 elements per invocation, 58 iterations each stay below Mesa's limit of 65535.
func discreteActorWorkgroup(r *engine.Recorder, rows, actions int) uint32 {
	each := 4*actions + 1
	return max(r.WorkgroupFor(max(rows, rows*each/58)), r.WorkgroupForLoops(rows, each))
}

func (a *discreteSAC) restart(r *engine.Recorder) {
	r.Fail(errors.New("rl: sac with discrete actions does not restart; want ddpg, td3, or sac with continuous actions"))
}
