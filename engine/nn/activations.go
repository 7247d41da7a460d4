package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// activations are what a layered pass keeps of every hidden layer for its way back.
type activations struct {
	rows   int              // of a network that there is room for
	hidden []*engine.Tensor // [N, rows, units]
	// affine holds what went into the activation, of swish, or with layer normalization the normalized values; empty for others.
	affine []*engine.Tensor // [N, rows, units]
	rstd   []*engine.Tensor // [N, rows]: reciprocal deviations of layer normalization
}

// matrix is a layer's values as products take them.
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

// passing are activations of an evaluation without a backward pass: two scratch tensors in turns.
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
