package rl

import (
	"github.com/evorl/evorl/engine"
)

// splits is into how many parts the gradient of a minibatch is divided.
func (p *PPO) splits() int { return max(p.actor.pass.Splits(), p.critic.pass.Splits()) }

// recordMoments records the advantages' moments of every minibatch.
func (p *PPO) recordMoments(r *engine.Recorder) {
	c := p.cfg
	transitions := c.RolloutLength * c.Environments
	r.Dispatch(advantageMomentsKernel{
		Advantage: p.advantage.Range(), Clock: p.Clock().Tensor().Range(), Moments: p.moments.Range(),
		Horizon: uint32(c.RolloutLength), Environments: uint32(c.Environments), Minibatches: uint32(c.Minibatches),
		Seed: r.Engine().Seed(), Stream: p.stream, Workgroup: r.WorkgroupFor((transitions + c.Minibatches - 1) / c.Minibatches),
	}.call(uint32(c.Members), uint32(c.Epochs*c.Minibatches), 1))
}

// recordGradient records the gradients of actor and critic for one minibatch. update is [1] u32, its number among those of all epochs.
func (p *PPO) recordGradient(r *engine.Recorder, update *engine.Tensor) {
	a, c, ro := p.agent, p.cfg, p.ro
	k := policyGradientKernel{
		Params: a.params.Range(), Obs: ro.Obs.Range(), Action: ro.Action.Range(), LogProb: ro.LogProb.Range(),
		Advantage: p.advantage.Range(), Target: p.target.Range(), Value: p.value.Range(),
		Moments: p.moments.Range(), ClipEpsilon: p.clip.Range(), LossWeight: p.actorWeight.Range(), EntropyWeight: p.entropyWeight.Range(), Clock: p.Clock().Tensor().Range(),
		Gradient: p.gradient.Range(), Losses: p.actorLosses.Range(),
		Horizon: uint32(c.RolloutLength), Environments: uint32(c.Environments), Row: uint32(a.params.Size("parameter")),
		HeadBase: uint32(a.actor.Size()), Seed: r.Engine().Seed(), Stream: p.stream,
		Update: update.Range(), Minibatches: uint32(c.Minibatches), ObsLimit: float32(a.cfg.ObsLimit),
		NormalizeAdvantage: c.NormalizeAdvantage, ClipValue: c.ClipValue,
	}
	if values := a.normalizerValues(); values != nil {
		k.Normalizer = values.Range()
	}
	k.Head, k.HeadWidth = uint32(a.head.Kind), uint32(a.head.Width())
	if p.batch != nil {
		p.recordBatch(r, update)
	}
	p.dispatchGradient(r, k, p.actor)
	k.Critic, k.HeadWidth, k.Base, k.LossWeight, k.Losses = true, 1, uint32(a.criticBase), p.criticWeight.Range(), p.criticLosses.Range()
	p.dispatchGradient(r, k, p.critic)
}

// dispatchGradient records the gradient of one network in the form that it has.
func (p *PPO) dispatchGradient(r *engine.Recorder, k policyGradientKernel, h *head) {
	if h.outputs != nil {
		p.recordLayered(r, k, h)
		return
	}
	net := h.MLP()
	lanes, err := net.Lanes(r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	k.Lanes, k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = lanes.Lanes, lanes.Hidden1, lanes.Hidden2, lanes.Activation, lanes.LayerNorm
	k.In, k.Out = uint32(net.In), uint32(net.Out)
	call := k.call(uint32(p.cfg.Members), uint32(p.splits()), 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
}
