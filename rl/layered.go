package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// head is one network of the agents, actor or critic, with the tensors that its gradient takes where it is evaluated layer by layer.
type head struct {
	*nn.Network
	pass      *nn.Pass
	base      int            // where it begins in the row
	outputs   *engine.Tensor // [P, B, Out]; nil for networks held in the lanes of a subgroup
	atOutputs *engine.Tensor // [P, B, Out]: the gradient at the outputs
}

// newHead makes a network for minibatches of so many transitions.
func newHead(s *engine.State, net nn.MLP, base, members, rows int) (*head, error) {
	network, err := nn.New(s, net, members, rows)
	if err != nil {
		return nil, err
	}
	h := &head{Network: network, base: base}
	if h.pass, err = network.NewPass(s, rows); err != nil {
		return nil, err
	}
	if network.Layered() {
		dims := []engine.Dim{engine.Members(members), engine.Axis("transition", rows), engine.Axis("output", net.Out)}
		h.outputs, h.atOutputs = s.Scratch("outputs", engine.Float32, dims...), s.Scratch("gradient_at_outputs", engine.Float32, dims...)
	}
	return h, s.Err()
}

// minibatchRows is the number of transitions of the largest minibatch.
func (p *PPO) minibatchRows() int {
	return (p.cfg.RolloutLength*p.cfg.Environments + p.cfg.Minibatches - 1) / p.cfg.Minibatches
}

// buildHeads makes the networks, and room for a minibatch's observations where one of them needs those together.
func (p *PPO) buildHeads(s *engine.State) (err error) {
	a, rows := p.agent, p.minibatchRows()
	if p.actor, err = newHead(s.Sub("actor"), a.actor, 0, p.cfg.Members, rows); err != nil {
		return err
	}
	if p.critic, err = newHead(s.Sub("critic"), a.critic, a.criticBase, p.cfg.Members, rows); err != nil {
		return err
	}
	if p.actor.outputs != nil || p.critic.outputs != nil {
		p.batch = s.Scratch("observations", engine.Float32, engine.Members(p.cfg.Members), engine.Axis("transition", rows), engine.Axis("feature", a.actor.In))
	}
	return s.Err()
}

// recordBatch records the gathering of a minibatch's observations.
func (p *PPO) recordBatch(r *engine.Recorder, update *engine.Tensor) {
	c := p.cfg
	k := minibatchRowsKernel{
		Obs: p.ro.Obs.Range(), Clock: p.Clock().Tensor().Range(), Batch: p.batch.Range(),
		Horizon: uint32(c.RolloutLength), Environments: uint32(c.Environments), Features: uint32(p.agent.actor.In), Rows: uint32(p.minibatchRows()),
		Seed: r.Engine().Seed(), Stream: p.stream, Update: update.Range(), Minibatches: uint32(c.Minibatches),
		ObsLimit: float32(p.agent.cfg.ObsLimit),
	}
	if values := p.agent.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	const line = 64
	r.Dispatch(k.call((k.Rows+line-1)/line, uint32(c.Members), 1))
}

// recordLayered records the gradient of a network that is evaluated layer by layer, for the minibatch that recordBatch has gathered, with the
// settings of k.
func (p *PPO) recordLayered(r *engine.Recorder, k policyGradientKernel, h *head) {
	w := nn.Weights{Params: p.agent.params, Base: h.base}
	h.pass.Forward(r, w, nn.Inputs{Parts: []*engine.Tensor{p.batch}}, h.outputs)
	loss := policyLossKernel{
		Output: h.outputs.Range(), Params: k.Params, Action: k.Action,
		LogProb: k.LogProb, Advantage: k.Advantage, Target: k.Target,
		Value: k.Value, ClipEpsilon: k.ClipEpsilon, LossWeight: k.LossWeight, EntropyWeight: k.EntropyWeight,
		Clock: k.Clock, Moments: k.Moments, AtOutputs: h.atOutputs.Range(), Gradient: k.Gradient, Losses: k.Losses,
		Horizon: k.Horizon, Environments: k.Environments, Rows: uint32(p.minibatchRows()), Row: k.Row, HeadBase: k.HeadBase,
		Seed: k.Seed, Stream: k.Stream, Update: k.Update, Minibatches: k.Minibatches,
		Out: uint32(h.MLP().Out), Critic: k.Critic, Head: k.Head, HeadWidth: k.HeadWidth, NormalizeAdvantage: k.NormalizeAdvantage, ClipValue: k.ClipValue,
		Workgroup: r.WorkgroupFor((p.minibatchRows() + p.splits() - 1) / p.splits()),
	}
	r.Dispatch(loss.call(uint32(p.cfg.Members), uint32(p.splits()), 1))
	h.pass.Backward(r, h.atOutputs, nn.Gradients{Params: p.gradient})
}
