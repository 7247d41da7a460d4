package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// activations are the values of the hidden layers that a layered forward pass keeps for the backward pass.
type activations struct {
	rows   int              // capacity, in rows per network
	hidden []*engine.Tensor // [N, rows, units]
	// affine holds the affine outputs with swish, the normalized values with layer normalization, and is empty
	// otherwise.
	affine []*engine.Tensor // [N, rows, units]
	rstd   []*engine.Tensor // [N, rows]: reciprocal standard deviations of layer normalization
}

// matrix describes the tensor t of a layer's values as a matrix operand.
func (a *activations) matrix(t *engine.Tensor, units int) Matrix {
	return Matrix{Tensor: t, Stride: a.rows * units, Row: units}
}

// keep implements form.
func (l *layered) keep(s *engine.State, rows int) *activations {
	a := &activations{rows: rows}
	s = s.Sub("activations")
	n, b := engine.Members(l.networks), engine.Axis("row", rows)
	for i, units := range l.mlp.Hidden {
		u := engine.Axis("unit", units)
		a.hidden = append(a.hidden, s.Scratch(fmt.Sprintf("hidden_%d", i+1), engine.Float32, n, b, u))
		if l.mlp.LayerNorm || l.mlp.Activation == Swish {
			a.affine = append(a.affine, s.Scratch(fmt.Sprintf("affine_%d", i+1), engine.Float32, n, b, u))
		}
		if l.mlp.LayerNorm {
			a.rstd = append(a.rstd, s.Scratch(fmt.Sprintf("rstd_%d", i+1), engine.Float32, n, b))
		}
	}
	return a
}

// passing returns the activations of an evaluation without a backward pass: hidden layers alternate between two
// scratch tensors.
func (l *layered) passing() *activations {
	a := &activations{rows: l.capacity}
	for i := range l.mlp.Hidden {
		if l.mlp.LayerNorm {
			a.hidden, a.affine, a.rstd = append(a.hidden, l.scratch[0]), append(a.affine, l.scratch[1]), append(a.rstd, l.rstd)
		} else {
			a.hidden = append(a.hidden, l.scratch[i%2])
		}
	}
	return a
}
