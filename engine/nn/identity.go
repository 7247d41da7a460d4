package nn

import (
	"github.com/evorl/evorl/engine"
)

// identity is the kind of layers without a map: an activation (activation), or layer normalization and then an activation (layer_norm; J. L. Ba et al.,
// 2016), which is over the channels of each pixel of an image, as Flax's, and otherwise over all values.
type identity struct{ norms bool }

func (identity) keys() []string { return []string{"activation"} }

func (k identity) layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error) {
	l := identityOf(in)
	l.Kind, l.Norms, l.Activation = c.Kind, k.norms || m.LayerNorm, c.activation(m.Activation)
	if k.norms {
		l.Activation = c.activation(Linear)
	}
	return []Layer{l}, nil
}

// identityOf returns a layer that copies values of a shape.
func identityOf(in Shape) Layer {
	l := Layer{Kind: Activated, Out: in.Size(), Hidden: true}
	if len(in) == 3 {
		l.Out, l.Shape = in[2], in
	}
	return l
}

func (identity) size(LayerConfig) string { return "" }

func (identity) export(g *exporter, l Layer, x string) string {
	if s := l.Shape; s != nil {
		return g.images(x, s[0], s[1], s[2])
	}
	return x
}

func (identity) evaluate(_ []float64, _ Layer, x, _ []float64) []float64 {
	return append([]float64(nil), x...)
}

func (identity) forward(r *engine.Recorder, l *layered, at mapping) {
	from, to := at.inputs, at.values
	k := identityKernel{
		Inputs: from.Tensor.Range(), Values: to.Tensor.Range(), Kept: optional(at.kept),
		Features: uint32(at.Units()), Rows: uint32(at.rows), InputAt: uint32(from.At), InputStride: uint32(from.Stride), InputRow: uint32(from.Row),
		SharedBy: uint32(from.shared()), ValueStride: uint32(to.Stride), ValueRow: uint32(to.Row),
	}
	if !at.Norms {
		k.Activation = uint32(at.Activation)
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(at.Units())
	r.Dispatch(k.call(groups, l.imageGroups(at.rows, 0), uint32(l.networks)))
}

func (identity) backward(r *engine.Recorder, l *layered, at mapping, dz, to Matrix, by slope) {
	l.slope(r, at.Units(), at.rows, dz, to, by)
}

// slope records completing a gradient at features of values in rows of every network, or adding values to others.
func (l *layered) slope(r *engine.Recorder, features, rows int, from, to Matrix, by slope) {
	k := slopeKernel{
		Values: from.Tensor.Range(), To: to.Tensor.Range(), Addend: optional(by.addend), Outputs: optional(by.outputs), Inputs: optional(by.inputs),
		Features: uint32(features), Rows: uint32(rows), ValueAt: uint32(from.At), ValueStride: uint32(from.Stride), ValueRow: uint32(from.Row),
		ToStride: uint32(to.Stride), ToRow: uint32(to.Row), Slope: uint32(by.of),
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(features)
	r.Dispatch(k.call(groups, l.imageGroups(rows, 0), uint32(l.networks)))
}
