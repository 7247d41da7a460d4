package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// stationary is a Network whose weights a subgroup holds in its lanes.
type stationary struct {
	net           MLP
	members, rows int
	last          batch
}

func (n *stationary) MLP() MLP    { return n.net }
func (n *stationary) Splits() int { return Splits(n.members, n.rows) }

func (n *stationary) Forward(r *engine.Recorder, w Weights, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor) {
	b, err := n.net.batch(n.members, normalizer, limit, inputs, outputs)
	if err != nil {
		r.Fail(err)
		return
	}
	n.last = b
	n.net.Forward(r, w, normalizer, limit, inputs, outputs)
}

func (n *stationary) Backward(r *engine.Recorder, w Weights, gradOutputs, gradient, gradInputs *engine.Tensor) {
	b := n.last
	splits, err := b.gradients(n.net, w, gradOutputs, gradient, gradInputs)
	if err == nil && (b.inner+splits-1)/splits > mostRows {
		err = fmt.Errorf("nn: network %v: a gradient in %d parts over %d rows; want at most %d rows a part", n.net, splits, b.inner, mostRows)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	lanes, err := n.net.Lanes(r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	k := backwardKernel{
		Params: w.Params.Range(), Params4: w.Params.Range(), ParamsTexels: w.Params.Range(), Normalizer: w.Params.Range(),
		Input: b.inputs.Range(), InputsTexels: b.inputs.Range(), AtOutputs: gradOutputs.Range(), AtOutputsTexels: gradOutputs.Range(),
		Gradient: gradient.Range(), Gradient4: gradient.Range(), AtInputs: gradient.Range(),
		Rows: uint32(b.inner), Row: uint32(w.Row()), Base: uint32(w.Base), ObsLimit: b.limit,
		Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2, Activation: lanes.Activation, LayerNorm: lanes.LayerNorm,
		In: uint32(n.net.In), Out: uint32(n.net.Out),
	}
	if b.normalizer != nil {
		k.Normalizer, k.Normalize = b.normalizer.Range(), 1
	}
	if gradInputs != nil {
		k.AtInputs, k.GradInputs = gradInputs.Range(), 1
	}
	call := k.call(uint32(n.members), uint32(splits), 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
}
