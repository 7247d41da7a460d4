package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// NewPerturbedBatch is NewPerturbed for networks of a member that share their inputs, a batch [M, B, In]. It has scratch memory for rows rows of one network
// at a time: parts of the batch are evaluated by one network after the other. The product of a part with the shared weights of the first layer is computed
// once for all networks.
//
// Errors: those of NewPerturbed, a model with memory.
func NewPerturbedBatch(s *engine.State, model Model, rank, members, networks, rows int) (*Network, error) {
	if model.Memory() > 0 {
		return nil, fmt.Errorf("nn: network %v has memory; want one without for a batch of inputs", model)
	}
	n, err := newPerturbed(s, model, rank, members, networks, rows)
	if err != nil {
		return nil, err
	}
	l := n.form.(*layered)
	n.common, l.start = true, newBatchStart(l)
	return n, s.Err()
}

// PerturbedBatchRowBytes is RowBytes of networks of NewPerturbedBatch.
func PerturbedBatchRowBytes(model Model, rank int, info vk.Info) int {
	l := &layered{layers: model.Layers(), networks: 1, info: info}
	patches, product := startFloats(l)
	return PerturbedRowBytes(model, rank, info) + 4*(patches+product)
}

// batchStart is the first layer of networks of low rank that share a batch.
type batchStart struct {
	of      *layered
	patches *engine.Tensor // [M, capacity, places, pitch]: what a convolution multiplies; nil: the first layer is dense
	product *engine.Tensor // [M, capacity, width]: that of a part of the batch with the shared weights; nil: every network computes its own
	inputs  Matrix         // of that part: what was multiplied
	network int            // whose outputs are being recorded
}

// startFloats returns the floats of an input's patches and of its product with the shared weights; 0: there is no product for all networks. There is one
// if the first layer is a matrix product before others, and not so narrow that the rest of it takes as long.
func startFloats(l *layered) (patches, product int) {
	layer := l.layers[0]
	if _, mapped := layer.Kind.mapped(); mapped || !layer.Hidden || few(layer.In, layer.Out) {
		return 0, 0
	}
	if layer.Kind == Convolution {
		patches = layer.places() * l.pitch(layer.In)
	}
	return patches, l.width(layer)
}

// newBatchStart makes the tensors, for as many rows as a binding and a dispatch have room for.
func newBatchStart(l *layered) *batchStart {
	f := &batchStart{of: l}
	l.capacity = max(1, min(l.capacity, int(l.info.Limits.MaxGroups[0])*int(l.line())/(int(l.normWidth())*l.places())))
	patches, product := startFloats(l)
	if product == 0 {
		return f
	}
	l.capacity = max(1, min(l.capacity, int(l.info.Limits.MaxStorageRange)/(4*l.networks*max(patches, product))))
	m, b, s := engine.Members(l.networks), engine.Axis("row", l.capacity), l.state.Sub("start")
	f.product = s.Scratch("product", engine.Float32, m, b, engine.Axis("unit", product))
	if patches > 0 {
		f.patches = s.Scratch("patches", engine.Float32, m, b, engine.Axis("float", patches))
	}
	return f
}

// known reports whether the first layer's product is there.
func (f *batchStart) known() bool { return f != nil && f.product != nil }

// forward records the outputs of all networks.
func (f *batchStart) forward(r *engine.Recorder, b batch, kept *activations) {
	for first := 0; first < b.common; first += kept.rows {
		count := min(kept.rows, b.common-first)
		if f.known() {
			f.multiply(r, b, kept, first, count)
		}
		for f.network = range b.inner / b.common {
			f.of.chunk(r, b, kept, f.network*b.common+first, count)
		}
	}
}

// multiply records the first layer's product of count inputs from `first` on.
func (f *batchStart) multiply(r *engine.Recorder, b batch, kept *activations, first, count int) {
	l, layer := f.of, f.of.layers[0]
	f.inputs = l.take(r, b, kept, first, count)[0].matrix
	if layer.Kind == Convolution {
		pitch := l.pitch(layer.In)
		to := Matrix{Tensor: f.patches, Stride: l.capacity * layer.places() * pitch, Row: pitch}
		l.gatherTo(r, layer.Window, f.inputs, to, count)
		f.inputs = to
	}
	g := l.product(b, kept, 0, first, count*layer.places())
	g.A, g.C = f.inputs, g.C.in(f.product)
	g.Bias, g.Activation, g.Kept = nil, Linear, nil
	g.Record(r)
}
