package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/vk"
)

// narrow reports whether the backward step of the last layer is one dispatch: with few outputs and a dense hidden layer below, on
// software drivers, and with so few rows in a split that its loop stays within the driver's limit.
func (l *layered) narrow(b batch, back gradients) bool {
	const (
		outputs = 8 // at most
		turn    = 4 // the fewest rows that the kernel's loop takes at once
	)
	if l.branch != nil || len(l.layers) < 2 ||
		!l.pads(l.layers[len(l.layers)-2]) || l.out > outputs || l.info.SubgroupSize != 8 || !l.info.Features.Has(vk.Int64) {
		return false
	}
	most := int(l.info.Limits.MaxLoopIterations)
	return most == 0 || ceil(ceil(b.inner, max(back.splits, 1)), turn) <= most
}

// narrowBackward records the gradients of the last layer's weights and biases, if they are wanted, and the gradient at the
// affine outputs of the layer below, which it returns. dy is the gradient at the outputs.
func (l *layered) narrowBackward(r *engine.Recorder, b batch, kept *activations, dy *engine.Tensor, back gradients) Matrix {
	const turn = 8 // a multiple of the rows that the kernel's loop takes at once
	last, under := l.layers[len(l.layers)-1], len(l.layers)-2
	to, weight := kept.matrix(l.scratch[0], l.layers[under]), b.weights.Base+last.Weight
	k := narrowBackwardKernel{
		At: dy.Range(), Hidden: kept.hidden[under].Range(), Params: b.weights.Params.Range(), Below: to.Tensor.Range(),
		Units: uint32(last.In), Rows: uint32(b.inner), Chunk: uint32(b.inner), Capacity: uint32(kept.rows), Pitch: uint32(to.Row),
		Row: uint32(b.row), Weight: uint32(weight),
		Lanes: l.info.SubgroupSize, Out: uint32(last.Out), Activation: uint32(l.layers[under].Activation),
		AlignedAt: b.inner*last.Out%4 == 0, AlignedWeights: b.row%4 == 0 && weight%4 == 0,
		Halved: processor.HalvedStores(l.info.Driver, l.info.SubgroupSize),
	}
	splits := 1
	if back.params != nil {
		splits = back.splits
		k.Sums, k.Chunk = back.params.Range(), uint32(ceil(ceil(b.inner, splits), turn)*turn)
	}
	if l.layers[under].Activation.needsInput() {
		k.Affine = kept.affine[under].Range()
	}
	call := k.call(uint32(ceil(last.In, 4*int(k.Lanes))), uint32(splits), uint32(l.networks))
	call.Subgroup = k.Lanes
	r.Dispatch(call)
	return to
}
