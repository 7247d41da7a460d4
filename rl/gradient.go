package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// gradient is the gradient of a loss with respect to the parameters of one network, over a minibatch. Networks held in
// the lanes of a subgroup compute forward pass, loss and backward pass in one dispatch
// (shaders/rl/policy_gradient.comp); others layer by layer, with the loss in between (shaders/rl/policy_loss.comp).
type gradient struct {
	agent              *Agent
	network            *network
	sums               *engine.Tensor // [4, splits, P]: of the loss and its parts
	outputs, atOutputs *engine.Tensor // [P, rows, Out], and the gradient with respect to them; nil for networks held in lanes
	ahead              bool           // forward is recorded before the loss, since the outputs are also needed elsewhere
}

// newGradient makes the tensors of a gradient. If updates are fused, only the sums of the loss are needed.
func newGradient(s *engine.State, a *Agent, n *network, m *minibatches, fused bool) *gradient {
	g := &gradient{agent: a, network: n}
	splits := engine.Axis("split", n.pass.Splits())
	if fused {
		splits.Size = 1
	} else {
		n.pass.Learn(s, n.params())
	}
	g.sums = s.Scratch("losses", engine.Float32, engine.Axis("loss", 4), splits, engine.Members(m.members))
	if n.Layered() && !fused {
		dims := g.outputDims(m)
		g.outputs, g.atOutputs = s.Scratch("outputs", engine.Float32, dims...), s.Scratch("gradient_at_outputs", engine.Float32, dims...)
	}
	return g
}

// kernel returns the bindings that the gradients of all losses have in common.
func (g *gradient) kernel(r *engine.Recorder, m minibatch) policyGradientKernel {
	t, e, params := m.trajectory, m.estimates, g.network.params()
	k := policyGradientKernel{
		Params: params.Range(), Obs: t.Obs.Range(), Action: t.Action.Range(), LogProb: t.LogProb.Range(),
		Advantage: e.advantage.Range(), Target: e.target.Range(), Clock: m.clock.Tensor().Range(),
		Gradient: g.network.pass.Into().Range(), Losses: g.sums.Range(),
		Horizon: uint32(m.horizon), Environments: uint32(m.environments), Row: uint32(params.Size("parameter")),
		Seed: r.Engine().Seed(), Stream: m.stream, Update: m.update.Range(), Minibatches: uint32(m.count), Trajectories: m.trajectories,
		ObsLimit: float32(g.agent.cfg.ObsLimit), HeadWidth: 1,
	}
	if values := g.agent.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	return k
}

// record records the gradient of the loss that k configures, and returns it.
func (g *gradient) record(r *engine.Recorder, m minibatch, k policyGradientKernel) *engine.Tensor {
	into := g.network.pass.Into()
	splits := into.Size("split")
	if g.network.Layered() {
		return g.recordLayered(r, m, k, splits)
	}
	net := g.network.Model()
	lanes, err := nn.LanesOf(net, r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return into
	}
	k.Lanes, k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = lanes.Lanes, lanes.Hidden1, lanes.Hidden2, lanes.Activation, lanes.LayerNorm
	k.In, k.Out = uint32(net.Inputs().Size()), uint32(net.Outputs())
	call := k.call(uint32(m.members), uint32(splits), 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
	return into
}

// keepOutputs allocates the outputs [P, rows, Out] of a minibatch, which forward must write before each record.
func (g *gradient) keepOutputs(s *engine.State, m *minibatches) {
	g.ahead = true
	if g.outputs == nil {
		g.outputs = s.Scratch("outputs", engine.Float32, g.outputDims(m)...)
	}
}

func (g *gradient) outputDims(m *minibatches) []engine.Dim {
	return []engine.Dim{engine.Members(m.members), engine.Axis("transition", m.rows), engine.Axis("output", g.network.Model().Outputs())}
}

// forward records the forward pass of the minibatch whose observations have been gathered.
func (g *gradient) forward(r *engine.Recorder, m minibatch) {
	forward := g.network.Evaluate
	if g.network.Layered() {
		forward = g.network.pass.Forward
	}
	forward(r, g.network.weights(), nn.Inputs{Parts: []*engine.Tensor{m.obs}}, g.outputs)
}

// recordLayered is record, layer by layer, for the minibatch whose observations have been gathered.
func (g *gradient) recordLayered(r *engine.Recorder, m minibatch, k policyGradientKernel, splits int) *engine.Tensor {
	if !g.ahead {
		g.forward(r, m)
	}
	loss := policyLossKernel{
		Output: g.outputs.Range(), Params: k.Params, Action: k.Action, LogProb: k.LogProb, Advantage: k.Advantage, Target: k.Target, Value: k.Value,
		ClipEpsilon: k.ClipEpsilon, LossWeight: k.LossWeight, EntropyWeight: k.EntropyWeight, Clock: k.Clock, Moments: k.Moments,
		AtOutputs: g.atOutputs.Range(), Gradient: k.Gradient, Losses: k.Losses,
		Horizon: k.Horizon, Environments: k.Environments, Rows: uint32(m.rows), Row: k.Row, HeadBase: k.HeadBase,
		Seed: k.Seed, Stream: k.Stream, Update: k.Update, Minibatches: k.Minibatches,
		Out: uint32(g.network.Model().Outputs()), Critic: k.Critic, Head: k.Head, HeadWidth: k.HeadWidth, LogStdLow: k.LogStdLow, LogStdHigh: k.LogStdHigh,
		ClipValue: k.ClipValue, Trajectories: k.Trajectories, RatioInAdvantage: k.RatioInAdvantage,
		Workgroup: r.WorkgroupFor((m.rows + splits - 1) / splits),
	}
	r.Dispatch(loss.call(uint32(m.members), uint32(splits), 1))
	return g.network.pass.Gradient(r, g.atOutputs)
}
