package envs

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// packing packs the observations of a stepped rollout's trajectory step by step. The environments' kernel writes a step to tensors of two: the first
// step of a rollout to the former, since that kernel begins sums with it, all others to the latter.
type packing struct {
	step    Trajectory // [2, M, E, …] of floats
	clock   engine.Clock
	element nn.Element
}

// packs reports whether a rollout keeps observations packed.
func (ro *Rollout) packs(stepped bool) bool {
	return ro.cfg.Packed && ro.cfg.Trajectory && (stepped || ro.env.bits()) && ro.env.Observation.Element.Packed() && !ro.env.seated() &&
		(!ro.env.outside || ro.env.Framed)
}

// newPacking makes the tensors of a step for a rollout with a trajectory.
func newPacking(s *engine.State, ro *Rollout) *packing {
	s = s.Sub("step")
	tensor := func(name string, typ engine.DType, like *engine.Tensor, size int) *engine.Tensor {
		dims := append([]engine.Dim{engine.Time(2)}, like.Dims()[1:3]...)
		if size > 0 {
			dims = append(dims, engine.Axis("feature", size))
		}
		return s.Scratch(name, typ, dims...)
	}
	t, o := ro.Trajectory, ro.env.ObsSize()
	return &packing{
		step: Trajectory{
			Obs: tensor("obs", engine.Float32, t.Obs, o), NextObs: tensor("next_obs", engine.Float32, t.Obs, o),
			Action: tensor("action", engine.Float32, t.Action, t.Action.Size("action")), LogProb: tensor("log_prob", engine.Float32, t.LogProb, 0),
			Reward: tensor("reward", engine.Float32, t.Reward, 0), Done: tensor("done", engine.Uint32, t.Done, 0),
		},
		clock: engine.ScratchClock(s, "clock"), element: ro.env.Observation.Element,
	}
}

// begin records that step `first` of a rollout follows, and returns the clock by which it is stepped.
func (p *packing) begin(r *engine.Recorder, clock engine.Clock, first int) engine.Clock {
	r.Copy(p.clock.Tensor(), clock.Tensor())
	if first > 1 {
		p.clock.Tick(r, 0, first-1)
	}
	return p.clock
}

// keep records what follows a step: its transitions become step t of the trajectory.
func (p *packing) keep(r *engine.Recorder, to *Trajectory, t int) {
	count, features := to.Reward.Len()/to.Reward.Size(engine.TimeAxis), p.step.Obs.Size("feature")
	k := keepKernel{
		Obs: p.step.Obs.Range(), NextObs: p.step.NextObs.Range(), Action: p.step.Action.Range(), LogProb: p.step.LogProb.Range(),
		Reward: p.step.Reward.Range(), Done: p.step.Done.Range(),
		ToObs: to.Obs.Range(), ToNextObs: to.NextObs.Range(), ToAction: to.Action.Range(), ToLogProb: to.LogProb.Range(),
		ToReward: to.Reward.Range(), ToDone: to.Done.Range(),
		From: uint32(min(t, 1) * count), Step: uint32(t), Count: uint32(count), Features: uint32(features), Actions: uint32(to.Action.Size("action")),
		Element: uint32(p.element),
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(count * p.element.Words(features))
	r.Dispatch(k.call(groups, 1, 1))
	if t > 0 {
		p.clock.Tick(r, 0, 1)
	}
}
