// Package nn holds networks whose weights are one flat row of floats a member, so that whatever handles members (optimizers, evolution,
// exchange) need not know their shape.
package nn

import "fmt"

// MLP describes a multilayer perceptron: affine maps with an activation, and optionally layer normalization, after each but the
// last.
//
// Its parameters are one row: for each layer W[in][out] row-major, bias[out] and, in hidden layers with LayerNorm, scale[out] and
// shift[out].
type MLP struct {
	In, Out    int
	Hidden     []int      // units of each hidden layer; may be empty, 8 at most
	Activation Activation // of the hidden layers
	LayerNorm  bool       // before each activation (Ba et al., 2016)
}

// Layer places one layer in the row.
type Layer struct {
	In, Out       int
	Weight, Bias  int // offsets: [In, Out] and [Out]
	Scale, Shift  int // offsets: [Out] each; only in hidden layers with LayerNorm
	Hidden, Norms bool
}

// Layers lists the layers from input to output.
func (m MLP) Layers() []Layer {
	var layers []Layer
	in, at := m.In, 0
	for i := range len(m.Hidden) + 1 {
		l := Layer{In: in, Out: m.Out, Weight: at}
		if i < len(m.Hidden) {
			l.Out, l.Hidden, l.Norms = m.Hidden[i], true, m.LayerNorm
		}
		l.Bias = l.Weight + l.In*l.Out
		at = l.Bias + l.Out
		if l.Norms {
			l.Scale, l.Shift = at, at+l.Out
			at += 2 * l.Out
		}
		in = l.Out
		layers = append(layers, l)
	}
	return layers
}

// Size is the number of parameters.
func (m MLP) Size() int {
	layers := m.Layers()
	last := layers[len(layers)-1]
	return last.Bias + last.Out
}

// Check says what is wrong with the description.
func (m MLP) Check() error {
	if m.In < 1 || m.Out < 1 {
		return fmt.Errorf("nn: a network of %d inputs and %d outputs; want at least 1 of each", m.In, m.Out)
	}
	if len(m.Hidden) > MaxHidden {
		return fmt.Errorf("nn: a network of %d hidden layers; want at most %d", len(m.Hidden), MaxHidden)
	}
	for i, n := range m.Hidden {
		if n < 1 || n > maxUnits {
			return fmt.Errorf("nn: hidden layer %d has %d units; want 1 to %d", i+1, n, maxUnits)
		}
	}
	if int(m.Activation) >= len(activationNames) {
		return fmt.Errorf("nn: activation %d; want 0 to %d", uint32(m.Activation), len(activationNames)-1)
	}
	return nil
}

const (
	maxUnits  = 8192
	MaxHidden = 8 // layers
)

// String is like "4-64-64-2 tanh".
func (m MLP) String() string {
	s := fmt.Sprint(m.In)
	for _, n := range m.Hidden {
		s += fmt.Sprintf("-%d", n)
	}
	s += fmt.Sprintf("-%d %v", m.Out, m.Activation)
	if m.LayerNorm {
		s += " layer-norm"
	}
	return s
}

// Align rounds a number of floats up so that what follows in a row begins where kernels may read four at once.
func Align(floats int) int { return (floats + 3) &^ 3 }
