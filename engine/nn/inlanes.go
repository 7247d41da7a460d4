package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// inLanes is the form of networks held in the lanes of a subgroup (Lanes; shaders/engine/nn/mlp.glsl). It keeps no
// activations: the backward pass evaluates the network again.
type inLanes struct {
	model    Model
	networks int // over all members
	lanes    Lanes
}

// mostRows is how many rows an invocation may loop over. Mesa's software driver leaves all loops after 65535
// iterations in total.
const mostRows = 2048

// splits implements form. Even one network fills a device, loading the weights costs little compared with using them,
// and no invocation loops too long.
func (n *inLanes) splits(rows int) int {
	const (
		workgroups = 64
		least      = 64 // rows per workgroup
	)
	parts := (workgroups + n.networks - 1) / n.networks
	return max(1, min(parts, rows/least), (rows+mostRows-1)/mostRows)
}

func (n *inLanes) keep(*engine.State, int) *activations { return nil }

func (n *inLanes) forward(r *engine.Recorder, b batch, _ *activations) {
	l, params := n.lanes, b.weights.Params.Range()
	k := forwardKernel{
		Params: params, Output: b.outputs.Range(),
		Outer: uint32(b.outer), Inner: uint32(b.inner), Row: uint32(b.row), Base: uint32(b.weights.Base),
		NormalizerShared: uint32(b.stack), ObsLimit: b.limit,
		Lanes: l.Lanes, Hidden1: l.Hidden1, Hidden2: l.Hidden2, Activation: l.Activation, LayerNorm: l.LayerNorm,
		In: uint32(n.model.Inputs().Size()), Out: uint32(n.model.Outputs()),
	}
	if b.normalizer != nil {
		k.Normalizer = b.normalizer.Range()
	}
	if b.ends != nil {
		k.Ends = b.ends.Range()
	}
	first, second := b.inputs[0], b.inputs[len(b.inputs)-1]
	k.Inputs, k.In1, k.Shared1 = first.tensor.Range(), uint32(first.features), uint32(first.shared)
	k.Inputs2, k.Shared2 = second.tensor.Range(), uint32(second.shared)
	call := k.call(uint32(n.networks), uint32(n.splits(b.outer*b.inner)), 1)
	call.Subgroup = l.Lanes
	r.Dispatch(call)
}

func (n *inLanes) backward(r *engine.Recorder, b batch, _ *activations, back gradients) {
	splits := back.splits
	if back.params == nil {
		splits = n.splits(b.inner)
	}
	if (b.inner+splits-1)/splits > mostRows {
		r.Fail(fmt.Errorf("nn: network %v: a gradient in %d parts over %d rows; want at most %d rows a part", n.model, splits, b.inner, mostRows))
		return
	}
	l, params := n.lanes, b.weights.Params.Range()
	k := backwardKernel{
		Params: params, AtOutputs: back.outputs.Range(),
		Rows: uint32(b.inner), Row: uint32(b.row), Base: uint32(b.weights.Base), NormalizerShared: uint32(b.stack), ObsLimit: b.limit,
		Lanes: l.Lanes, Hidden1: l.Hidden1, Hidden2: l.Hidden2, Activation: l.Activation, LayerNorm: l.LayerNorm,
		In: uint32(n.model.Inputs().Size()), Out: uint32(n.model.Outputs()),
	}
	if b.normalizer != nil {
		k.Normalizer = b.normalizer.Range()
	}
	first, second := b.inputs[0], b.inputs[len(b.inputs)-1]
	k.Inputs, k.In1, k.Shared1 = first.tensor.Range(), uint32(first.features), uint32(first.shared)
	k.Inputs2, k.Shared2 = second.tensor.Range(), uint32(second.shared)
	if back.params != nil {
		k.Gradient = back.params.Range()
	}
	if t := back.inputs[0]; t != nil {
		k.AtInputs = t.Range()
	}
	if t := back.inputs[1]; t != nil {
		k.AtInputs2 = t.Range()
	}
	call := k.call(uint32(n.networks), uint32(splits), 1)
	call.Subgroup = l.Lanes
	r.Dispatch(call)
}
