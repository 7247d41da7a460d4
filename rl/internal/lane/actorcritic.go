package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/vk"
)

// ActorCritic are an actor and critics with what their updates read and write.
type ActorCritic struct {
	Actor, Critics       *optim.Optimizer
	TargetCritics        *engine.Tensor // [M, twins, row]
	Twins                int
	Inputs, Outputs      int // of the critics, of the actor
	Clock                engine.Clock
	RewardScale, Tau     *engine.Tensor // [M]
	Value, Loss, LogProb *engine.Tensor // [M, twins, B], [M, B]: of the last update
}

// twins are the fields of kernels of an actor with critics.
type twins struct {
	ActorRate, CriticRate              vk.Range
	GradientRow, TargetCritic, Critics uint32
}

// begin is Updates.begin of an actor with critics.
func (a ActorCritic) begin(u *Updates, s *engine.State) bool {
	return u.begin(s, a.Actor.Params(), a.Critics.Params().Size("parameter")+a.Actor.Params().Size("parameter"))
}

// fill sets the fields that kernels of an actor with critics have in common.
func (a ActorCritic) fill(r *engine.Recorder, u *Updates, kernel any, common batches) {
	params, _ := a.Actor.Params().Stacked()
	fill(r, kernel, common, lanesOf(u.lanes), constantsOf(a.Actor.Config()), rowsOf(a.Actor, a.Critics, a.Twins), learned{
		Params: params, Updated4: params, Gradient: u.gradients.Range(), Summed: u.gradients.Range(),
		RewardScale: a.RewardScale.Range(), Tau: a.Tau.Range(), Clock: a.Clock.Tensor().Range(), Norm: a.Critics.Norm().Range(),
		Value: a.Value.Range(), Loss: a.Loss.Range(),
		In: uint32(a.Inputs), Out: uint32(a.Outputs), Batch: uint32(u.agent.Batch), LocalSizeX: u.lanes.Lanes,
		Halved: processor.HalvedStores(u.agent.Info.Driver, u.lanes.Lanes),
	}, twins{
		ActorRate: a.Actor.Rate().Range(), CriticRate: a.Critics.Rate().Range(), GradientRow: uint32(u.gradients.Size("parameter")),
		TargetCritic: uint32(a.TargetCritics.Offset(a.Actor.Params())), Critics: uint32(a.Twins),
	})
}

// PlanDeterministic plans updates of DDPG and TD3 (deterministic_update.comp). Actors and critics have the hidden
// layers of network, which has the critics' inputs and the actor's outputs.
func PlanDeterministic(a Agent, network nn.Model) *Updates {
	l, err := nn.LanesOf(network, a.Info)
	actions := network.Outputs()
	return a.plan(l, err, work{largest: network, bindings: 29, evaluated: 4, learned: 4, noises: actions, networks: 3, shared: 2*actions + 2})
}

// Deterministic is what updates of DDPG and TD3 have besides actor and critics.
type Deterministic struct {
	ActorCritic
	TargetActor *engine.Tensor // [M, row]
	FirstValue  *engine.Tensor // [M, B, 1]: the first critic's values of the actor's actions
	Noise, Clip *engine.Tensor // [M]: of the target policy; nil: none
	Stream      uint32         // of that noise
	Delay       *engine.Tensor // [M]: updates of the critics per update of the actor; nil: 1
	Credit      *engine.Tensor // [M]: those since the actor's last; nil without a delay
}

// Deterministic completes planned updates once the networks are made.
func (u *Updates) Deterministic(s *engine.State, d Deterministic) {
	if !d.begin(u, s) {
		return
	}
	u.record = func(r *engine.Recorder, common batches) {
		k := deterministicUpdateKernel{
			FirstValue: d.FirstValue.Range(), TargetActor: uint32(d.TargetActor.Offset(d.Actor.Params())), Seed: r.Engine().Seed(),
		}
		d.fill(r, u, &k, common)
		if d.Noise != nil {
			k.Noise, k.Clip, k.Stream = d.Noise.Range(), d.Clip.Range(), d.Stream
		}
		if d.Delay != nil {
			k.Delay, k.Credit = d.Delay.Range(), d.Credit.Range()
		}
		dispatch(r, k.call(uint32(u.agent.Members), 1, 1), u.lanes.Lanes)
	}
}

// PlanSoft plans updates of SAC (soft_update.comp), with a network as for PlanDeterministic.
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
	TargetEntropy         *engine.Tensor   // [M]
	Temperature           *engine.Tensor   // [M], if it is not learned
	Heat                  *optim.Optimizer // of the temperature's logarithm; nil: not learned
	ActorLoss, Applied    *engine.Tensor   // metrics [M]: the actor's loss and the temperature of the last update
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
