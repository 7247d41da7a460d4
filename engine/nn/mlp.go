// Package nn holds neural networks whose parameters are one flat row of floats per member, so that optimizers,
// evolution and exchange need not know their shape.
package nn

import "fmt"

// MLP describes a multilayer perceptron: affine maps, all but the last followed by optional layer normalization and
// an activation.
//
// Its parameters are one row; for each layer: W[in][out] row-major, bias[out] and, in hidden layers with LayerNorm,
// scale[out] and shift[out].
type MLP struct {
	In, Out    int
	Hidden     []int      // units of each hidden layer; at most 8 layers, may be empty
	Activation Activation // of hidden layers
	LayerNorm  bool       // before each activation (Ba et al., 2016)
	Precision  Precision  // of matrix products, where the network is computed layer by layer
}

// Layer is the place of one layer in the row.
type Layer struct {
	In, Out       int
	Weight, Bias  int // offsets of [In, Out] and [Out]
	Scale, Shift  int // offsets of [Out] each; only in hidden layers with LayerNorm
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

// Size returns the number of parameters.
func (m MLP) Size() int {
	layers := m.Layers()
	last := layers[len(layers)-1]
	return last.Bias + last.Out
}

// Check validates the description.
func (m MLP) Check() error {
	if m.In < 1 || m.Out < 1 || m.In > maxEnds || m.Out > maxEnds {
		return fmt.Errorf("nn: a network of %d inputs and %d outputs; want 1 to %d of each", m.In, m.Out, maxEnds)
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
	maxEnds   = 1 << 24 // inputs or outputs; products of sizes do not overflow
	maxUnits  = 8192
	MaxHidden = 8 // layers
)

// String formats the network as, for example, "4-64-64-2 tanh".
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

// Align rounds a number of floats up to a multiple of four, so that kernels may read four floats at once from there.
func Align(floats int) int { return (floats + 3) &^ 3 }
