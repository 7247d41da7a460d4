package nn

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// activations are the values of the hidden layers that a layered forward pass keeps for the backward pass.
type activations struct {
	of     *layered
	rows   int              // capacity, in rows per network
	hidden []*engine.Tensor // [networks, rows, width]
	// affine holds the affine outputs with swish and GELU, the normalized values with layer normalization, and nil otherwise.
	affine []*engine.Tensor // [networks, rows, width]
	rstd   []*engine.Tensor // [networks, rows, places]: reciprocal standard deviations of layer normalization
	turned *engine.Tensor   // [networks, floats]: the turned weights of the convolution at work in the backward pass; nil: none
	pooled []bool           // layers that are computed together with the pool after them, without values of their own; nil: none
}

// matrix describes the tensor t of a layer's values as a matrix operand with a row for each input.
func (a *activations) matrix(t *engine.Tensor, layer Layer) Matrix {
	width := a.of.width(layer)
	return Matrix{Tensor: t, Stride: a.rows * width, Row: width}
}

// byPlace returns a layer's values, or their gradient, as a matrix with a row for each pixel of an image.
func (x Matrix) byPlace(layer Layer) Matrix {
	if layer.Shape != nil {
		x.Row = layer.Out
	}
	return x
}

// width returns the number of floats from a layer's values of one input to the next input's. An image's follow each other without padding,
// so that they are rows of channels for one layer and rows of all places for the next.
func (l *layered) width(layer Layer) int {
	if layer.Shape != nil {
		return layer.Units()
	}
	return l.pitch(layer.Out)
}

// pitch returns the number of floats from one row of so many floats to the next. On software drivers rows are padded: every
// row begins at a multiple of eight floats, as panels need to store fast, and rows do not begin at multiples of a
// large power of two, which share few sets of a first-level cache. Layer normalization has no padding.
func (l *layered) pitch(units int) int {
	if !l.padded() {
		return units
	}
	pitch := padded(units)
	if pitch > 64 && pitch%64 == 0 {
		pitch += 16
	}
	return pitch
}

// padded reports whether rows are padded: on software drivers, without layer normalization.
func (l *layered) padded() bool { return l.info.Type == vk.CPU && !l.norms }

// pads reports whether the rows of a layer's values are padded.
func (l *layered) pads(layer Layer) bool { return l.padded() && layer.Shape == nil }

func (l *layered) keep(s *engine.State, rows int) *activations {
	a := &activations{of: l, rows: rows}
	s = s.Sub("activations")
	n, b := engine.Members(l.networks), engine.Axis("row", rows)
	for i, h := range l.hidden() {
		u := engine.Axis("unit", l.width(h))
		a.hidden = append(a.hidden, s.Scratch(fmt.Sprintf("hidden_%d", i+1), engine.Float32, n, b, u))
		var affine, rstd *engine.Tensor
		if h.Norms || h.Activation.needsInput() {
			affine = s.Scratch(fmt.Sprintf("affine_%d", i+1), engine.Float32, n, b, u)
		}
		if h.Norms {
			rstd = s.Scratch(fmt.Sprintf("rstd_%d", i+1), engine.Float32, n, b, engine.Axis("place", h.places()))
		}
		a.affine, a.rstd = append(a.affine, affine), append(a.rstd, rstd)
	}
	if floats := l.turnedFloats(); floats > 0 {
		a.turned = s.Scratch("turned", engine.Float32, n, engine.Axis("float", floats))
	}
	return a
}

// passing returns the activations of an evaluation without a backward pass: hidden layers take turns in the scratch tensors. b: the batch, for which
// layers may be computed together; nil: the values of each are wanted.
func (l *layered) passing(b *batch) *activations {
	a := &activations{of: l, rows: l.capacity}
	for i := range l.hidden() {
		a.pooled = append(a.pooled, b != nil && l.poolable(*b, i))
	}
	var inputs *engine.Tensor // of layer i
	for i, h := range l.hidden() {
		free := without(l.scratch, inputs, l.skipped(a, i))
		hidden, affine := free[0], (*engine.Tensor)(nil)
		if h.Norms {
			affine = free[1]
		}
		a.hidden, a.affine, a.rstd = append(a.hidden, hidden), append(a.affine, affine), append(a.rstd, l.rstd)
		if !a.pooled[i] { // else the pool's values come here
			inputs = hidden
		}
	}
	return a
}

// skipped returns the values before layer i that a layer from i on adds to its own; nil: none.
func (l *layered) skipped(a *activations, i int) *engine.Tensor {
	for j, h := range l.hidden() {
		if h.Skip > 0 && j >= i && j-h.Skip < i {
			return a.hidden[j-h.Skip]
		}
	}
	return nil
}

// without returns the tensors that are not among some others.
func without(tensors []*engine.Tensor, others ...*engine.Tensor) (free []*engine.Tensor) {
	for _, t := range tensors {
		if !slices.Contains(others, t) {
			free = append(free, t)
		}
	}
	return free
}

// mapping returns layer i of the given number of rows, with its inputs, for kernels of its own.
func (a *activations) mapping(i, rows int, inputs Matrix) mapping {
	layer := a.of.layers[i]
	m := mapping{Layer: layer, rows: rows, inputs: inputs, values: a.matrix(a.hidden[i], layer)}
	if layer.Norms {
		m.values.Tensor = a.affine[i]
	} else {
		m.kept = a.affine[i]
	}
	return m
}
