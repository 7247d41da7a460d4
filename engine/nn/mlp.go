package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// MLP is the Model of a multilayer perceptron: affine maps, all but the last followed by optional layer normalization and
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

// Inputs implements Model.
func (m MLP) Inputs() Shape { return Shape{m.In} }

// Outputs implements Model.
func (m MLP) Outputs() int { return m.Out }

// Memory implements Model: a perceptron has none.
func (m MLP) Memory() int { return 0 }

// Layers implements Model.
func (m MLP) Layers() []Layer {
	layers, _ := m.layout()
	return layers
}

// Size implements Model.
func (m MLP) Size() int {
	_, size := m.layout()
	return size
}

func (m MLP) layout() ([]Layer, int) {
	var layers []Layer
	in := m.In
	for _, units := range m.Hidden {
		layers = append(layers, Layer{In: in, Out: units, Hidden: true, Norms: m.LayerNorm, Activation: m.Activation, Precision: m.Precision})
		in = units
	}
	layers = append(layers, Layer{In: in, Out: m.Out, Precision: m.Precision})
	return layers, layout(layers)
}

// Init implements Model.
func (m MLP) Init(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	initialize(m.Layers(), row, how, hiddenGain, outputGain, rng)
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
