// Package nn holds neural networks with one flat row of floats per member as parameters, so that optimizers,
// evolution and exchange need not know their shape.
package nn

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine"
)

// Model describes a network: what maps inputs to outputs, and where its parameters are. Parameters are one flat row of floats, so optimizers,
// evolution and exchange need not know which model it is. How a device computes it follows from its layers.
type Model interface {
	// Inputs returns the shape of one input.
	Inputs() Shape
	// Outputs returns the number of outputs.
	Outputs() int
	// Size returns the number of parameters.
	Size() int
	// Memory returns the number of floats that the model carries from one step of an episode to the next; 0: it has no memory.
	Memory() int
	// Layers lists the layers from input to output.
	Layers() []Layer
	// Init fills a row with initial parameters. hiddenGain multiplies the weights drawn for hidden layers, outputGain the last layer's.
	Init(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng)
	// Check validates the description.
	Check() error
	// String formats the model as, for example, "4-64-64-2 tanh".
	String() string
}

// Shape is the shape of a network's input: [features], or [height, width, channels] of an image.
type Shape []int

// Size returns the number of floats.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// String formats the shape as, for example, "84x84x4".
func (s Shape) String() string {
	var b strings.Builder
	for i, d := range s {
		if i > 0 {
			b.WriteByte('x')
		}
		fmt.Fprint(&b, d)
	}
	return b.String()
}

// Layer is one layer of a model: a map of its inputs, with a place for its parameters in the model's row, and in hidden layers a normalization
// and an activation.
type Layer struct {
	Kind          Kind
	Window        Window // of a convolution or pool
	Shape         Shape  // of its values, if they are an image: [height, width, channels]
	In, Out       int    // rows and columns of the weights: inputs, or the floats under a window, and units or channels; In is 0 without weights
	Weight, Bias  int    // offsets of [In, Out] and [Out]; in cells of [In, gates Out] and [gates Out]
	Scale, Shift  int    // offsets of [Out] each; only in hidden layers with layer normalization
	Skip          int    // the values of the layer so many before it are added to its affine outputs; 0: none
	Recurrent     int    // offset of [Out, gates Out]; only in cells
	RecurrentBias int    // offset of [Out]; only in GRUs
	Hidden, Norms bool
	Activation    Activation // Linear unless the layer is hidden
	Precision     Precision  // of its product, where the network is computed layer by layer
}

// Parameter is a matrix or vector among a layer's parameters.
type Parameter struct {
	Name          string // "weight", "bias" and so on, as exports have it
	At            int    // its first float in the model's row
	Rows, Columns int    // of a matrix, row-major: what it multiplies, and what it adds to; Rows is 0 of a vector
}

// Len returns the number of floats.
func (p Parameter) Len() int { return max(p.Rows, 1) * p.Columns }

// Parameters lists the layer's parameters in the order of the row.
func (l Layer) Parameters() (all []Parameter) {
	units := l.Kind.gates() * l.Out
	if l.In > 0 {
		all = append(all, Parameter{"weight", l.Weight, l.In, units}, Parameter{"bias", l.Bias, 0, units})
	}
	if l.Kind.cell() {
		all = append(all, Parameter{"recurrent.weight", l.Recurrent, l.Out, units})
	}
	if l.Kind == GRU {
		all = append(all, Parameter{"recurrent.bias", l.RecurrentBias, 0, l.Out})
	}
	if l.Norms {
		all = append(all, Parameter{"norm.weight", l.Scale, 0, l.Out}, Parameter{"norm.bias", l.Shift, 0, l.Out})
	}
	return all
}

// places returns how many pixels the layer's values of one input have.
func (l Layer) places() int {
	if l.Shape == nil {
		return 1
	}
	return l.Shape[0] * l.Shape[1]
}

// Units returns the number of the layer's values of one input.
func (l Layer) Units() int { return l.places() * l.Out }

// shape returns the shape of the layer's values.
func (l Layer) shape() Shape {
	if l.Shape == nil {
		return Shape{l.Out}
	}
	return l.Shape
}

// layout places the parameters of layers one after the other and returns their number.
func layout(layers []Layer) int { return layoutFrom(0, layers) }

// layoutFrom is layout of layers whose parameters begin at float `at`; it returns where they end.
func layoutFrom(at int, layers []Layer) int {
	for i := range layers {
		l := &layers[i]
		l.Weight = at
		if l.In > 0 {
			units := l.Kind.gates() * l.Out
			l.Bias = l.Weight + l.In*units
			at = l.Bias + units
		}
		if l.Kind.cell() {
			at = l.placeCell(at)
		}
		if l.Norms {
			l.Scale, l.Shift = at, at+l.Out
			at += 2 * l.Out
		}
	}
	return at
}

// initialize is Init of models that are layers.
func initialize(layers []Layer, row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	for _, l := range layers {
		if l.Kind.cell() {
			l.initializeCell(row, how, rng)
			continue
		}
		if l.In > 0 {
			l.initializeWeights(row, how, hiddenGain, outputGain, rng)
		}
		if l.Norms {
			for i := range l.Out {
				row[l.Scale+i], row[l.Shift+i] = 1, 0
			}
		}
	}
}

// initializeWeights draws the initial weights and biases of a layer.
func (l Layer) initializeWeights(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	gain := outputGain
	if l.Hidden {
		gain = hiddenGain
	}
	how.fill(row[l.Weight:l.Bias], l.In, l.Out, gain, rng)
	clear(row[l.Bias : l.Bias+l.Out])
	if how == FanInUniform {
		how.fill(row[l.Bias:l.Bias+l.Out], l.In, l.Out, gain, rng)
	}
}

// perceptron returns a model's layers as a perceptron, for the forms that hold dense layers on chip. Layers of another kind, and hidden
// layers that differ in activation or normalization, are errors.
func perceptron(m Model) (MLP, error) {
	if p, ok := m.(MLP); ok {
		return p, nil
	}
	if b, ok := m.(Branch); ok {
		return MLP{}, fmt.Errorf("nn: network %v, whose parameters do not follow each other; want a network of its own", b)
	}
	layers := m.Layers()
	p := MLP{In: m.Inputs().Size(), Out: m.Outputs()}
	for i, l := range layers {
		if l.Kind != Dense {
			return MLP{}, fmt.Errorf("nn: layer %d of network %v is %v; want dense layers", i+1, m, l.Kind)
		}
		p.Precision = l.Precision
		if !l.Hidden {
			continue
		}
		if i > 0 && (l.Activation != p.Activation || l.Norms != p.LayerNorm) {
			return MLP{}, fmt.Errorf("nn: the hidden layers of network %v differ in activation or normalization", m)
		}
		p.Hidden, p.Activation, p.LayerNorm = append(p.Hidden, l.Out), l.Activation, l.Norms
	}
	return p, nil
}
