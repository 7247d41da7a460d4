package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// PlanDeterministic plans updates of DDPG and TD3 (deterministic_update.comp), whose actors and critics have the hidden layers of a network of the
// critics' inputs and the actor's outputs.
func PlanDeterministic(a Agent, network nn.Model) *Updates {
	l, err := nn.LanesOf(network, a.Info)
	actions := network.Outputs()
	return a.plan(l, err, work{largest: network, bindings: 29, evaluated: 4, learned: 4, noises: actions, networks: 3, shared: 2*actions + 2})
}

// Deterministic is what updates of DDPG and TD3 have besides actor and critics.
type Deterministic struct {
	ActorCritic
	TargetActor *engine.Tensor // [P, row]
	FirstValue  *engine.Tensor // [P, B, 1]: the first critic's values of the actor's actions
	Noise, Clip *engine.Tensor // [P]: of the target policy; nil: none
	Stream      uint32         // of that noise
	Delay       *engine.Tensor // [P]: updates of the critics per update of the actor; nil: 1
	Credit      *engine.Tensor // [P]: those since the actor's last; nil without a delay
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
