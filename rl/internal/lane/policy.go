package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

const (
	policyBindings  = 25
	heldTransitions = 1 << 19 // with as many, moments stay in registers: faster, but twice as long to compile
	sharedRows      = 1024    // minibatches of a single member that all threads share instead
)

// Policy makes all updates of an iteration of PPO in a few dispatches of policy_update.comp, if it is on; otherwise each is a few dispatches of its
// own. nil is off.
type Policy struct {
	On   bool
	Held bool // moments stay in registers
	Both bool // for tests: off, but with the networks in one buffer, so that On can be set

	lanes nn.Lanes
	model nn.Model
	rows  int
}

// PlanPolicy decides by the sizes of an iteration and the networks of actors whether updates are made so: on software drivers, with small
// networks and enough work to repay the longer compilation. The other form takes two to four times as long per update. ClipUp needs the norm of
// the velocity before it moves a parameter, which would be a second pass over the moments.
//
// A member's updates are one workgroup, and so one thread's. Threads share large minibatches of a single member in the other form: SimpleSpread's 6144
// transitions, four epochs in minibatches of 1536, take 49 ms then on two processors, and 65 ms so.
func PlanPolicy(info vk.Info, m *Minibatches, rule optim.Rule, alike bool, actor nn.Model) *Policy {
	transitions := m.Members * m.Environments * m.Horizon * m.Epochs
	lanes, err := nn.LanesOf(actor, info)
	p := &Policy{Held: transitions >= heldTransitions, lanes: lanes, model: actor, rows: m.Rows}
	p.On = alike && info.Type == vk.CPU && transitions >= Worth && (m.Members > 1 || m.Rows < sharedRows) && rule != optim.ClipUp &&
		info.Limits.MaxBindings >= policyBindings && err == nil && lanes.Lanes%blockRows == 0 && p.iterations() <= maxIterations
	return p
}

// iterations returns the loop iterations of an update: over the minibatch, and over the rows of the matrices. Up to eight transitions take a dozen,
// and their permutation ten on average in the worst case: four each.
func (p *Policy) iterations() int {
	return (p.rows+7)/8*8*4 + p.model.Inputs().Size() + int(p.lanes.Hidden1) + p.model.Outputs()
}

// Scope returns the scope for the agent's networks, which must be in one buffer.
func (p *Policy) Scope(s *engine.State) *engine.State {
	if p.On || p.Both {
		return s.Contiguous()
	}
	return s
}

// Begin makes what the updates need besides the networks, now made. If a kernel cannot bind all parameters, updates are made separately.
func (p *Policy) Begin(s *engine.State, m *Minibatches, actor *engine.Tensor) {
	p.On = p.On && !p.Both && bindable(s.Engine().Device().Info(), actor)
	if p.On {
		m.StoreOrder(s)
	}
}

// Record records all updates of an iteration in the fewest dispatches that the limit of loop iterations allows, if the form is on, and reports
// whether it is. The norm of the joint gradient is limited to maxNorm.
func (p *Policy) Record(r *engine.Recorder, m *Minibatches, actor, critic *optim.Optimizer, policy, value *Loss, maxNorm float64) bool {
	if p == nil || !p.On {
		return false
	}
	c := actor.Config()
	params, _ := actor.Params().Stacked()
	k := policyUpdateKernel{
		Params: params, Updated: params, Obs: m.Trajectory.Obs.Range(), Value: m.Value.Range(), LearningRate: actor.Rate().Range(),
		ClipEpsilon: policy.Clip.Range(), ActorWeight: policy.Weight.Range(), CriticWeight: value.Weight.Range(), EntropyWeight: policy.EntropyWeight.Range(),
		Norm: actor.Norm().Range(), ActorLosses: policy.Sums.Range(), CriticLosses: value.Sums.Range(),
		HeadBase: uint32(p.model.Size()), Seed: r.Engine().Seed(), ObsLimit: policy.of.ObsLimit, MaxNorm: float32(maxNorm), WeightDecay: float32(c.WeightDecay),
		LocalSizeX: 2 * p.lanes.Lanes, LayerNorm: p.lanes.LayerNorm, In: uint32(p.model.Inputs().Size()), Out: uint32(p.model.Outputs()),
		ClipValue: value.ClipValue, MomentsHeld: p.Held, Rule: uint32(c.Rule),
	}
	fill(r, &k, m.sampled(), rowsOf(actor, critic, 1), constantsOf(c), lanesOf(p.lanes), headOf(policy.of.Head))
	if policy.of.Normalizer != nil {
		k.Normalizer = policy.of.Normalizer.Range()
	}
	if m.Order != nil {
		k.Order = m.Order.Range()
	}
	updates := m.Epochs * m.Count
	step := max(1, maxIterations/p.iterations())
	for first := 0; first < updates; first += step {
		k.First, k.Last = uint32(first), uint32(min(first+step, updates))
		dispatch(r, k.call(uint32(m.Members), 1, 1), p.lanes.Lanes)
	}
	return true
}
