package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

func (l *layered) backward(r *engine.Recorder, b batch, kept *activations, back gradients) {
	// dz is the gradient at the affine outputs of layer i.
	last := l.layers[len(l.layers)-1]
	dz := Matrix{Tensor: back.outputs, Stride: b.inner * last.Out, Row: last.Out}
	first := len(l.layers) - 1
	if l.narrow(b, back) {
		dz = l.narrowBackward(r, b, kept, back.outputs, back)
		first--
	}
	var above skip
	for i := first; i >= 0; i-- {
		layer := l.layers[i]
		if layer.Skip > 0 {
			above = skip{dz.Tensor, i - layer.Skip}
		}
		if back.params != nil && layer.In > 0 {
			l.learn(r, b, kept, i, layer, dz, back)
			if l.branch != nil && !layer.Hidden {
				l.learn(r, b, kept, i, *l.branch, l.branchGradient(b, back), back)
			}
		}
		if i > 0 {
			dz = l.below(r, b, kept, i, dz, above, back)
		}
	}
	for i, to := range back.inputs {
		if to != nil {
			p, layer := b.inputs[i], l.layers[0]
			at := Matrix{Tensor: to, Stride: b.inner * p.features, Row: p.features}
			if k, ok := layer.Kind.mapped(); ok {
				l.mappedInputs(r, b, kept, k, p, dz, at)
				continue
			}
			if layer.Kind == Convolution {
				l.spread(r, b, kept, layer, dz, at, slope{})
				continue
			}
			g := l.inputsOf(b, layer, p.at, p.features, dz, at)
			if l.branch != nil && !layer.Hidden {
				g = l.branchBelow(r, b, g, back, l.scratch[0])
			}
			g.Record(r)
		}
	}
}

// mappedInputs records the gradient at a part of the inputs of a first layer with kernels of its own.
func (l *layered) mappedInputs(r *engine.Recorder, b batch, kept *activations, k mapped, p part, dz, to Matrix) {
	at := kept.mapping(0, b.inner, l.retake(r, b, kept)[0].matrix)
	if len(b.inputs) == 1 {
		k.backward(r, l, at, dz, to, slope{})
		return
	}
	all := Matrix{Tensor: without(l.scratch, dz.Tensor)[0], Stride: b.inner * l.in, Row: l.in}
	k.backward(r, l, at, dz, all, slope{})
	all.At = p.at
	l.slope(r, p.features, b.inner, all, to, slope{})
}

// learn records the gradients of the weights and biases of a layer behind the values of layer i - 1.
func (l *layered) learn(r *engine.Recorder, b batch, kept *activations, i int, layer Layer, dz Matrix, back gradients) {
	if summed := l.weights(r, b, kept, i, layer, dz, back); !summed {
		l.columns(r, b, layer, dz, nil, layer.Bias, back)
	}
}

// weights records the gradient of a layer's weights: its transposed inputs times the gradient at its affine outputs. Two
// parts of the inputs are one product if panels compute it. Panels also sum the gradient at the affine outputs, which is
// the biases' gradient: they follow the weights like one more row. summed reports whether they did.
func (l *layered) weights(r *engine.Recorder, b batch, kept *activations, i int, layer Layer, dz Matrix, back gradients) (summed bool) {
	inputs := []input{{features: layer.In}}
	if i > 0 {
		inputs[0].matrix = kept.matrix(kept.hidden[i-1], l.layers[i-1])
	} else {
		inputs = l.retake(r, b, kept)
	}
	g := Gemm{
		Members: l.networks, M: layer.In, N: layer.Out, K: b.inner * layer.places(), TransposeA: true, B: dz.byPlace(layer),
		C: b.matrix(layer, 0).in(back.params), Splits: back.splits, SplitStride: l.networks * b.row,
		Precision: layer.Precision, ScaleB: gradientScale(b.inner),
	}
	if layer.Kind == Convolution {
		if whole, ok := l.implicit(r, g, layer, inputs[0].matrix); ok {
			whole.ColumnSums = whole.Panels(l.info)
			whole.Record(r)
			return whole.ColumnSums
		}
		inputs = []input{{matrix: l.regather(r, kept, layer, inputs[0].matrix, b.inner), features: layer.In}}
	}
	whole := g
	whole.join(inputs)
	if whole.Panels(l.info) {
		whole.ColumnSums = true
		whole.Record(r)
		return true
	}
	for _, x := range inputs {
		g.M, g.A, g.C = x.features, x.matrix, b.matrix(layer, x.at).in(back.params)
		g.Record(r)
	}
	return false
}

// inputsOf returns the product that computes the gradient at count inputs of a layer, beginning at input `from`.
func (l *layered) inputsOf(b batch, layer Layer, from, count int, dz, to Matrix) Gemm {
	return Gemm{
		Members: l.networks, M: b.inner * layer.places(), N: count, K: layer.Out, A: dz, B: b.matrix(layer, from), TransposeB: true, C: to,
		Precision: layer.Precision, ScaleA: gradientScale(b.inner),
	}
}

// skip is the gradient at the affine outputs of a layer that adds the values of another one, at which it is a gradient too.
type skip struct {
	gradient *engine.Tensor // nil: none
	values   int            // the other layer
}

// below records the backward step from dz, the gradient at layer i's affine outputs, to the gradient at layer
// i-1's, which it returns.
func (l *layered) below(r *engine.Recorder, b batch, kept *activations, i int, dz Matrix, above skip, back gradients) Matrix {
	var by slope
	busy := above.gradient
	switch {
	case busy != nil && above.values == i-1:
		by.addend = busy
	case above.values > i-1:
		busy = nil
	}
	free := without(l.scratch, dz.Tensor, busy)
	layer, under := l.layers[i], l.layers[i-1]
	to := kept.matrix(free[0], under)
	if !under.Norms {
		by.of, by.outputs = under.Activation, kept.hidden[i-1]
		if by.of.needsInput() {
			by.inputs = kept.affine[i-1]
		}
	}
	if k, ok := layer.Kind.mapped(); ok {
		k.backward(r, l, kept.mapping(i, b.inner, kept.matrix(kept.hidden[i-1], under)), dz, to, by)
	} else if layer.Kind == Convolution {
		l.spread(r, b, kept, layer, dz, to, by)
	} else {
		g := l.inputsOf(b, layer, 0, layer.In, dz, to)
		g.Padded, g.Slope, g.Outputs, g.Inputs = l.pads(under), by.of, by.outputs, by.inputs
		if l.branch != nil && !layer.Hidden {
			g = l.branchBelow(r, b, g, back, free[1])
		}
		g.Record(r)
	}
	if !under.Norms {
		return to
	}
	shifted, affine := kept.matrix(free[1], under), kept.matrix(dz.Tensor, under) // dz is no longer needed
	if len(free) >= 3 {
		affine.Tensor = free[2] // dz belongs to the caller
	}
	l.normBackward(r, b, kept, i-1, free[0], shifted.Tensor, affine.Tensor)
	if back.params != nil {
		l.columns(r, b, under, shifted, nil, under.Shift, back)
		l.columns(r, b, under, shifted, kept.affine[i-1], under.Scale, back)
	}
	return affine
}

// normBackward records the backward step through layer i's activation and normalization. From the gradient at its
// activations it computes those at its scaled and shifted values (shifted) and at its affine outputs (affine).
func (l *layered) normBackward(r *engine.Recorder, b batch, kept *activations, i int, gradient, shifted, affine *engine.Tensor) {
	layer, n, hidden := l.layers[i], kept.affine[i].Range(), kept.hidden[i].Range()
	rows := b.inner * layer.places()
	k := normBackwardKernel{
		Gradient: gradient.Range(), Normalized: n, Hidden: hidden,
		Params: b.weights.Params.Range(), Rstd: kept.rstd[i].Range(),
		Shifted: shifted.Range(), Affine: affine.Range(),
		Units: uint32(layer.Out), Rows: uint32(rows), Capacity: uint32(kept.rows * layer.places()), Row: uint32(b.row),
		Scale: uint32(b.weights.Base + layer.Scale), Shift: uint32(b.weights.Base + layer.Shift),
		Workgroup: l.line(), Width: l.normWidth(), Aligned: b.aligned(layer), Activation: uint32(layer.Activation),
	}
	l.spans(rows, int(k.Workgroup/k.Width), func(begin, groups uint32) {
		k.Begin = begin
		call := k.call(groups, uint32(l.networks), 1)
		call.Subgroup = l.info.SubgroupSize
		r.Dispatch(call)
	})
}

// columns records sums over the rows of x, a layer's values, or of x times y of the same layout, into the
// gradient, beginning at float `at` of a row. A convolution has a row for each place.
func (l *layered) columns(r *engine.Recorder, b batch, layer Layer, x Matrix, y *engine.Tensor, at int, back gradients) {
	x = x.byPlace(layer)
	rows := b.inner * layer.places()
	k := columnsKernel{
		Left: x.Tensor.Range(), Sums: back.params.Range(),
		Columns: uint32(layer.Out), Rows: uint32(rows), Pitch: uint32(x.Row), Capacity: uint32(x.Stride / x.Row), Row: uint32(b.row), At: uint32(b.weights.Base + at),
		Chunk: uint32((rows + back.splits - 1) / back.splits), Workgroup: l.info.SubgroupSize, Slices: 1, Aligned: x.Row%4 == 0,
	}
	if y != nil {
		k.Right = y.Range()
	}
	if l.info.Type != vk.CPU {
		k.Workgroup, k.Slices = 256, 16
	}
	for most := l.info.Limits.MaxLoopIterations / 2; most > 0 && k.Chunk > most*k.Slices; k.Workgroup = max(k.Workgroup, k.Slices) {
		k.Slices *= 2
	}
	lines := 4 * k.Workgroup / k.Slices
	r.Dispatch(k.call((k.Columns+lines-1)/lines, uint32(back.splits), uint32(l.networks)))
}
