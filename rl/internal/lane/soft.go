package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// PlanSoft plans updates of SAC (soft_update.comp), whose actors and critics have the hidden layers of a network of the critics' inputs and the
// actor's outputs.
func PlanSoft(a Agent, network nn.Model, head nn.Head) *Updates {
	if !head.Squash || !head.StateDependent {
		a.Updates = 0
	}
	l, err := nn.LanesOf(network, a.Info)
	return a.plan(l, err, work{largest: network, bindings: 31, evaluated: 4, learned: 5, noises: head.Size, networks: 3, shared: 6*head.Size + 3})
}

// Soft is what updates of SAC have besides actor and critics.
type Soft struct {
	ActorCritic
	Head                  nn.Head
	NextStream, OwnStream uint32           // random streams of the next actions, and of the actor's own
	TargetEntropy         *engine.Tensor   // [P]
	Temperature           *engine.Tensor   // [P], if it is not learned
	Heat                  *optim.Optimizer // of the temperature's logarithm; nil: not learned
	ActorLoss, Applied    *engine.Tensor   // metrics [P]: the actor's loss and the temperature of the last update
}

// Soft completes planned updates once the networks are made.
func (u *Updates) Soft(s *engine.State, f Soft) {
	if !f.begin(u, s) {
		return
	}
	sums := s.Scratch("sums", engine.Float32, engine.Axis("sum", 2), engine.Members(u.agent.Members))
	u.measure = func(r *engine.Recorder) {
		r.Copy(f.ActorLoss, sums.Index(0))
		r.Copy(f.Applied, sums.Index(1))
	}
	u.record = func(r *engine.Recorder, common batches) {
		k := softUpdateKernel{
			TargetEntropy: f.TargetEntropy.Range(), LogProb: f.LogProb.Range(), Sums: sums.Range(),
			Seed: r.Engine().Seed(), NextStream: f.NextStream, OwnStream: f.OwnStream,
		}
		f.fill(r, u, &k, common)
		fill(r, &k, headOf(f.Head))
		if f.Heat != nil {
			_, stride := f.Heat.Params().Stacked()
			k.Logarithms, k.LogarithmStride = uint32(f.Heat.Params().Offset(f.Actor.Params())), uint32(stride)
			k.TemperatureRate, k.TemperatureUpdates, k.TemperatureRefused = f.Heat.Rate().Range(), f.Heat.Updates().Range(), f.Heat.Refused().Range()
		} else {
			k.Temperature = f.Temperature.Range()
		}
		dispatch(r, k.call(uint32(u.agent.Members), 1, 1), u.lanes.Lanes)
	}
}
