package nn

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Sequential is the Model of a list of layers; each takes the values of the one before: convolutions and pools, which only follow an
// image or each other, dense layers, at most one cell, and the other kinds. The output is one more dense layer. An MLP is the compact
// description of dense layers alone.
//
// Its parameters are one row; for each layer its weights row-major, a bias for each unit or channel and, with LayerNorm, a scale and
// a shift for each. Weights of a dense layer are [in][units], of a convolution [kernel row][kernel column][channel in][channel]. An image,
// and a convolution's values, are [height][width][channel], which is the order in which a dense layer takes them.
type Sequential struct {
	In         Shape         // of one input: [features], or [height, width, channels] of an image
	Hidden     []LayerConfig // layers before the output; at most 16
	Out        int
	Activation Activation // after the layers before the output, unless they have one of their own
	LayerNorm  bool       // before each activation (Ba et al., 2016); in convolutions over the channels of each place
	Precision  Precision  // of matrix products
}

// LayerConfig describes a hidden layer of a Sequential. What its kind does not have must be zero.
type LayerConfig struct {
	Kind       Kind        `toml:"type" required:"true" doc:"dense, conv, max_pool, average_pool, residual, layer_norm, activation, one_hot, embedding, gru, lstm"`
	Units      int         `min:"0" max:"8192" doc:"Units of a dense layer, cell or embedding, or inside a residual block; 0 there: its inputs."`
	Channels   int         `min:"0" max:"8192" doc:"Channels of a convolution's outputs."`
	Kernel     int         `min:"0" max:"64" doc:"Rows and columns of the square window of a convolution, pool or residual block; 0 in a residual block: 3."`
	Stride     int         `min:"0" max:"64" doc:"Rows and columns from one place of the window to the next; 0: 1, of pools the kernel."`
	Padding    Padding     `doc:"valid: the window stays inside the image; same: zeros around it, so that a stride of 1 keeps its size."`
	Activation *Activation `doc:"Nonlinearity after the layer, in a residual block before its products; absent: that of the network, after layer_norm none."`
	Vocabulary int         `min:"0" max:"8192" doc:"Tokens 0 … n - 1 that one_hot and embedding tell apart."`
}

// activation returns the layer's activation in a network with a given one.
func (c LayerConfig) activation(network Activation) Activation {
	if c.Activation != nil {
		return *c.Activation
	}
	return network
}

const (
	maxLayers = 16      // before the output
	maxKernel = 64      // the gradient of an image sums over so many places squared at most
	maxPatch  = 1 << 21 // floats of all patches of an image, and of all values of a layer
)

// Inputs implements Model.
func (m Sequential) Inputs() Shape { return slices.Clone(m.In) }

// Outputs implements Model.
func (m Sequential) Outputs() int { return m.Out }

// Memory implements Model: its cells' memory.
func (m Sequential) Memory() (floats int) {
	for _, l := range m.Layers() {
		floats += l.Memory()
	}
	return floats
}

// Layers implements Model.
func (m Sequential) Layers() []Layer {
	layers, _ := m.layout()
	return layers
}

// Size implements Model.
func (m Sequential) Size() int {
	_, size := m.layout()
	return size
}

func (m Sequential) layout() ([]Layer, int) {
	layers, shape, _ := m.hidden()
	layers = append(layers, Layer{In: shape.Size(), Out: m.Out})
	for i := range layers {
		layers[i].Precision = m.Precision
	}
	return layers, layout(layers)
}

// hidden returns the layers before the output and the shape of their values, up to the first description in which there is an error.
func (m Sequential) hidden() (layers []Layer, shape Shape, err error) {
	shape = m.In
	for i, c := range m.Hidden {
		more, err := c.layers(m, shape)
		if err != nil {
			return layers, shape, fmt.Errorf("nn: layer %d: %w", i+1, err)
		}
		first := len(layers) == 0 || layers[len(layers)-1].Kind.cell()
		if first && slices.ContainsFunc(more, func(l Layer) bool { return l.Skip > 0 }) {
			layers = append(layers, identityOf(shape)) // inputs, and a cell's state, are no values of layers that could be added
		}
		layers = append(layers, more...)
		shape = layers[len(layers)-1].shape()
	}
	return layers, shape, nil
}

// Init implements Model.
func (m Sequential) Init(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	initialize(m.Layers(), row, how, hiddenGain, outputGain, rng)
}

// Check validates the description.
func (m Sequential) Check() error {
	if len(m.In) != 1 && len(m.In) != 3 {
		return fmt.Errorf("nn: a network of inputs of shape %v; want [features], or [height, width, channels]", []int(m.In))
	}
	size := 1
	for _, n := range m.In {
		if n < 1 || n > maxEnds || size > maxEnds/n {
			return fmt.Errorf("nn: a network of inputs of shape %v; want 1 to %d floats", []int(m.In), maxEnds)
		}
		size *= n
	}
	if m.Out < 1 || m.Out > maxEnds {
		return fmt.Errorf("nn: a network of %d outputs; want 1 to %d", m.Out, maxEnds)
	}
	if len(m.Hidden) > maxLayers {
		return fmt.Errorf("nn: a network of %d layers before its output; want at most %d", len(m.Hidden), maxLayers)
	}
	if int(m.Activation) >= len(activationNames) {
		return fmt.Errorf("nn: activation %d; want 0 to %d", uint32(m.Activation), len(activationNames)-1)
	}
	layers, _, err := m.hidden()
	if err != nil {
		return err
	}
	cells := 0
	for _, l := range layers {
		if l.Kind.cell() {
			cells++
		}
	}
	if cells > 1 {
		return fmt.Errorf("nn: a network of %d cells; want at most one", cells)
	}
	return nil
}

// String formats the network as, for example, "10x10x4-16(3x3)-128-6 relu".
func (m Sequential) String() string {
	s := m.In.String()
	for _, c := range m.Hidden {
		if s += "-" + c.describe(); c.activation(m.Activation) != m.Activation {
			s += " " + c.Activation.String()
		}
	}
	s += fmt.Sprintf("-%d %v", m.Out, m.Activation)
	if m.LayerNorm {
		s += " layer-norm"
	}
	return s
}
