package nn

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Sequential is the Model of a list of layers, each of which takes the values of the one before: convolutions, which only follow an image or
// another convolution, then dense layers. The output is one more dense layer. An MLP is the compact description of dense layers alone.
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
	Kind       Kind        `toml:"type" required:"true" doc:"dense, or conv: a convolution over an image [height, width, channels]."`
	Units      int         `min:"0" max:"8192" doc:"Units of a dense layer."`
	Channels   int         `min:"0" max:"8192" doc:"Channels of a convolution's outputs."`
	Kernel     int         `min:"0" max:"64" doc:"Rows and columns of a convolution's square window."`
	Stride     int         `min:"0" max:"64" doc:"Rows and columns from one place of the window to the next; 0: 1."`
	Padding    Padding     `doc:"valid: the window stays inside the image; same: zeros around it, so that a stride of 1 keeps its size."`
	Activation *Activation `doc:"Nonlinearity after the layer; absent: that of the network."`
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

// Memory implements Model: these layers have none.
func (m Sequential) Memory() int { return 0 }

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
	var layers []Layer
	shape := m.In
	for _, c := range m.Hidden {
		l := Layer{Kind: c.Kind, In: shape.Size(), Out: c.Units, Hidden: true, Norms: m.LayerNorm, Activation: c.activation(m.Activation), Precision: m.Precision}
		next := Shape{c.Units}
		if c.Kind == Convolution && len(shape) == 3 { // else Check has an error
			l.Window = windowOver(shape, c.Kernel, max(c.Stride, 1), c.Padding)
			l.In, l.Out = l.Window.patch(), c.Channels
			next = Shape{l.Window.OutHeight, l.Window.OutWidth, c.Channels}
		}
		layers, shape = append(layers, l), next
	}
	layers = append(layers, Layer{In: shape.Size(), Out: m.Out, Precision: m.Precision})
	return layers, layout(layers)
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
	shape := m.In
	for i, c := range m.Hidden {
		var err error
		if shape, err = c.over(shape); err != nil {
			return fmt.Errorf("nn: layer %d: %w", i+1, err)
		}
	}
	return nil
}

// over checks the layer over values of a shape, and returns the shape of its own.
func (c LayerConfig) over(shape Shape) (Shape, error) {
	if a := c.activation(Linear); int(a) >= len(activationNames) {
		return nil, fmt.Errorf("activation %d; want 0 to %d", uint32(a), len(activationNames)-1)
	}
	switch c.Kind {
	case Dense:
		if c.Channels != 0 || c.Kernel != 0 || c.Stride != 0 || c.Padding != Valid {
			return nil, fmt.Errorf("channels, kernel, stride or padding of a dense layer, which has units alone")
		}
		if c.Units < 1 || c.Units > maxUnits {
			return nil, fmt.Errorf("%d units; want 1 to %d", c.Units, maxUnits)
		}
		return Shape{c.Units}, nil
	case Convolution:
		return c.convolve(shape)
	}
	return nil, fmt.Errorf("of kind %v; want %v or %v", c.Kind, Dense, Convolution)
}

// convolve is over of a convolution.
func (c LayerConfig) convolve(image Shape) (Shape, error) {
	switch {
	case c.Units != 0:
		return nil, fmt.Errorf("units of a convolution, which has channels")
	case len(image) != 3:
		return nil, fmt.Errorf("a convolution over %d features; want an image, [height, width, channels], as the input or from another convolution", image.Size())
	case c.Channels < 1 || c.Channels > maxUnits:
		return nil, fmt.Errorf("a convolution of %d channels; want 1 to %d", c.Channels, maxUnits)
	case c.Kernel < 1 || c.Kernel > maxKernel:
		return nil, fmt.Errorf("a convolution with a kernel of %d × %d; want 1 to %d", c.Kernel, c.Kernel, maxKernel)
	case c.Stride < 0 || c.Stride > maxKernel:
		return nil, fmt.Errorf("a convolution with a stride of %d; want 1 to %d", c.Stride, maxKernel)
	case c.Padding != Valid && c.Padding != Same:
		return nil, fmt.Errorf("a convolution with padding %v; want one of %v", c.Padding, paddingNames)
	case c.Padding == Valid && c.Kernel > min(image[0], image[1]):
		return nil, fmt.Errorf("a convolution with a kernel of %d × %d over an image of %d × %d; want a smaller kernel, "+
			"a smaller stride before it, or padding \"same\"", c.Kernel, c.Kernel, image[0], image[1])
	}
	w := windowOver(image, c.Kernel, max(c.Stride, 1), c.Padding)
	if n := w.places() * max(w.patch(), c.Channels); n > maxPatch {
		return nil, fmt.Errorf("a convolution of an image of %d × %d × %d at %d × %d places, with %d floats in its patches or values; want at most %d",
			w.Height, w.Width, w.Channels, w.OutHeight, w.OutWidth, n, maxPatch)
	}
	return Shape{w.OutHeight, w.OutWidth, c.Channels}, nil
}

// String formats the network as, for example, "10x10x4-16(3x3)-128-6 relu".
func (m Sequential) String() string {
	s := m.In.String()
	for _, c := range m.Hidden {
		if s += "-" + c.size(); c.activation(m.Activation) != m.Activation {
			s += " " + c.Activation.String()
		}
	}
	s += fmt.Sprintf("-%d %v", m.Out, m.Activation)
	if m.LayerNorm {
		s += " layer-norm"
	}
	return s
}

// size formats the layer without its activation: units, or channels and window, such as "32(8x8/4)" and "16(3x3 same)".
func (c LayerConfig) size() string {
	if c.Kind != Convolution {
		return fmt.Sprint(c.Units)
	}
	s := fmt.Sprintf("%d(%dx%d", c.Channels, c.Kernel, c.Kernel)
	if c.Stride > 1 {
		s += fmt.Sprintf("/%d", c.Stride)
	}
	if c.Padding == Same {
		s += " same"
	}
	return s + ")"
}
