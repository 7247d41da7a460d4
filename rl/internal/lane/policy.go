package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

const (
	policyBindings  = 28
	heldTransitions = 1 << 19 // with as many, moments stay in registers: faster, but twice as long to compile
	apartRows       = 32      // of minibatches of a single member, whose actor and critic have a thread each
	sharedRows      = 2048    // of minibatches of a single member that all threads share instead
	patience        = 8192    // turns of loops in which actor and critic wait for each other in a dispatch
)

// Policy makes all updates of an iteration of PPO in a few dispatches of policy_update.comp, if it is on; otherwise each is a few dispatches of its
// own. nil is off.
type Policy struct {
	On       bool
	Held     bool   // moments stay in registers
	Apart    bool   // actor and critic are computed side by side
	Patience uint32 // turns in which they wait for each other in a dispatch
	Both     bool   // for tests: off, but with all that On and Apart need, so that they can be set

	lanes   nn.Lanes
	model   nn.Model
	rows    int
	meeting *engine.Tensor // [M]: where actor and critic are; nil if they are not apart
	squares *engine.Tensor // [2, 2, M]: of the gradients of even and odd updates, of actors and critics; nil as well
}

// PlanPolicy decides by the sizes of an iteration and the networks of actors whether updates are made so: on software drivers, with small
// networks and enough work to repay the longer compilation. The other form takes two to four times as long per update. ClipUp needs the norm of
// the velocity before it moves a parameter, which would be a second pass over the moments.
//
// A member's updates are one workgroup, and so one thread's. Of a single member, actor and critic are one each, and all threads share very large minibatches
// in the other form.
func PlanPolicy(info vk.Info, m *Minibatches, rule optim.Rule, alike bool, actor nn.Model) *Policy {
	transitions := m.Members * m.Environments * m.Horizon * m.Epochs
	lanes, err := nn.LanesOf(actor, info)
	p := &Policy{Held: transitions >= heldTransitions, Patience: patience, lanes: lanes, model: actor, rows: m.Rows}
	p.Apart = m.Members == 1 && m.Rows >= apartRows && info.Threads > 1 && info.Features.Has(vk.DeviceScope)
	p.On = alike && m.Parts == 1 && info.Type == vk.CPU && transitions >= Worth && (m.Members > 1 || m.Rows < sharedRows) && rule != optim.ClipUp &&
		info.Features.Has(vk.Int64) && info.Limits.MaxBindings >= policyBindings && err == nil && lanes.Lanes%blockRows == 0 &&
		p.iterations() <= maxIterations-patience
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
	if p.On && p.Apart || p.Both {
		p.meeting = s.Scratch("meeting", engine.Uint32, engine.Members(m.Members))
		p.squares = s.Scratch("squares", engine.Float32, engine.Axis("parity", 2), engine.Axis("network", 2), engine.Members(m.Members))
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
	if p.Apart {
		r.Fill(p.meeting, 0)
		k.Meeting, k.Squares = p.meeting.Range(), p.squares.Range()
	}
	updates := m.Epochs * m.Count
	step := max(1, (maxIterations-patience)/p.iterations())
	for first := 0; first < updates; first += step {
		k.First, k.Last = uint32(first), uint32(min(first+step, updates))
		if p.Apart {
			apart := k
			apart.Apart, apart.Patience, apart.LocalSizeX = true, p.Patience, p.lanes.Lanes
			dispatch(r, apart.call(uint32(m.Members), 2, 1), p.lanes.Lanes)
		}
		dispatch(r, k.call(uint32(m.Members), 1, 1), p.lanes.Lanes)
	}
	return true
}
