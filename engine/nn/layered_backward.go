package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Backward implements Network.
func (l *Layered) Backward(r *engine.Recorder, w Weights, gradOutputs, gradient, gradInputs *engine.Tensor) {
	splits, err := l.last.gradients(l.net, w, gradOutputs, gradient, gradInputs)
	if err == nil && l.last.inner > l.capacity {
		err = fmt.Errorf("nn: network %v of %d members: going back through %d rows; there is room for %d", l.net, l.members, l.last.inner, l.capacity)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	// d is the gradient at the present layer's affine outputs, of so many rows of a member apart.
	d, stride := gradOutputs, l.last.inner
	for i := len(l.layers) - 1; i >= 0; i-- {
		layer := l.layers[i]
		dz := Matrix{Tensor: d, Stride: stride * layer.Out, Row: layer.Out}
		l.weights(r, w, i, dz, gradient, splits)
		l.columns(r, w, d, nil, stride, layer, layer.Bias, gradient, splits)
		switch {
		case i > 0:
			d = l.below(r, w, i, dz, gradient, splits, d)
			stride = l.capacity
		case gradInputs != nil:
			l.inputsOf(layer, w, dz, Matrix{Tensor: gradInputs, Stride: l.last.inner * l.net.In, Row: l.net.In}).Record(r)
		}
	}
}

// weights records the gradient of a layer's weights: its inputs, transposed, times the gradient at its affine outputs.
func (l *Layered) weights(r *engine.Recorder, w Weights, i int, dz Matrix, gradient *engine.Tensor, splits int) {
	layer := l.layers[i]
	x := Matrix{Tensor: l.inputs, Stride: l.last.inner * l.net.In, Row: l.net.In}
	switch {
	case i > 0:
		x = l.matrix(l.hidden[i-1], layer.In)
	case l.inputs == l.rows:
		x = l.matrix(l.rows, l.net.In)
	}
	Gemm{
		Members: l.members, M: layer.In, N: layer.Out, K: l.last.inner, A: x, TransposeA: true, B: dz,
		C: Matrix{Tensor: gradient, At: w.Base + layer.Weight, Stride: w.Row(), Row: layer.Out}, Splits: splits, SplitStride: l.members * w.Row(),
	}.Record(r)
}

// inputsOf is the product that gives the gradient at a layer's inputs.
func (l *Layered) inputsOf(layer Layer, w Weights, dz, to Matrix) Gemm {
	return Gemm{Members: l.members, M: l.last.inner, N: layer.In, K: layer.Out, A: dz, B: w.matrix(layer), TransposeB: true, C: to}
}

// below records the way from the gradient at layer i's affine outputs, which lies in from, to the one at those of layer i-1, and returns where it
// lies.
func (l *Layered) below(r *engine.Recorder, w Weights, i int, dz Matrix, gradient *engine.Tensor, splits int, from *engine.Tensor) *engine.Tensor {
	var free []*engine.Tensor
	for _, t := range l.back[:l.backs()] {
		if t != from {
			free = append(free, t)
		}
	}
	layer, under := l.layers[i], l.layers[i-1]
	g := l.inputsOf(layer, w, dz, l.matrix(free[0], layer.In))
	if !under.Norms {
		g.Slope, g.Outputs = l.net.Activation, l.hidden[i-1]
		if g.Slope == Swish {
			g.Inputs = l.kept[i-1]
		}
		g.Record(r)
		return free[0]
	}
	g.Record(r)
	at, shifted, n := free[0].Range(), free[1], l.kept[i-1].Range()
	affine := from // its work is done
	if len(free) == 3 {
		affine = free[2] // from is the caller's
	}
	k := normBackwardKernel{
		Gradient: at, GradientTexels: at, Normalized: n, NormalizedTexels: n, Hidden: l.hidden[i-1].Range(), HiddenTexels: l.hidden[i-1].Range(),
		Params: w.Params.Range(), ParamsTexels: w.Params.Range(), Rstd: l.rstd[i-1].Range(),
		Shifted: shifted.Range(), Shifted4: shifted.Range(), Affine: affine.Range(), Affine4: affine.Range(),
		Units: uint32(under.Out), Rows: uint32(l.last.inner), Capacity: uint32(l.capacity), Row: uint32(w.Row()),
		Scale: uint32(w.Base + under.Scale), Shift: uint32(w.Base + under.Shift),
		Workgroup: l.line(), Width: l.normWidth(), Aligned: w.aligned(under), Activation: uint32(l.net.Activation),
	}
	call := k.call((uint32(l.last.inner)*k.Width+k.Workgroup-1)/k.Workgroup, uint32(l.members), 1)
	call.Subgroup = l.info.SubgroupSize
	r.Dispatch(call)
	l.columns(r, w, shifted, nil, l.capacity, under, under.Shift, gradient, splits)
	l.columns(r, w, shifted, l.kept[i-1], l.capacity, under, under.Scale, gradient, splits)
	return affine
}

// columns records the sums over rows of x, or of x times y, into the gradient's floats from `at` on. stride is the rows of a member from one to the
// next.
func (l *Layered) columns(r *engine.Recorder, w Weights, x, y *engine.Tensor, stride int, layer Layer, at int, gradient *engine.Tensor, splits int) {
	k := columnsKernel{
		Left: x.Range(), LeftTexels: x.Range(), Right: x.Range(), RightTexels: x.Range(), Sums: gradient.Range(),
		Columns: uint32(layer.Out), Rows: uint32(l.last.inner), Capacity: uint32(stride), Row: uint32(w.Row()), At: uint32(w.Base + at),
		Chunk: uint32((l.last.inner + splits - 1) / splits), Workgroup: l.info.SubgroupSize, Slices: 1,
	}
	if layer.Out%4 == 0 {
		k.Aligned = 1
	}
	if y != nil {
		k.Right, k.RightTexels, k.Product = y.Range(), y.Range(), 1
	}
	if l.info.Type != vk.CPU {
		k.Workgroup, k.Slices = 256, 16
	}
	lines := 4 * k.Workgroup / k.Slices
	r.Dispatch(k.call((k.Columns+lines-1)/lines, uint32(splits), uint32(l.members)))
}
