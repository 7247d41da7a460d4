package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine/onnx"
)

// normEpsilon is added to the variance by layer normalization (shaders/engine/nn/mlp.glsl).
const normEpsilon = 1e-6

// Array is a layer's parameter as exports have it: row-major, in the order of PyTorch's layers.
type Array struct {
	Name   string // as of Parameter
	Shape  []int
	Values []float32
}

// Arrays returns the parameters of layers, read from a row, as PyTorch's linear, convolutional and normalizing layers have them: matrices
// by output, [out, in]; a convolution's [channels, channels of the image, rows, columns]. A layer after an image, and its normalization over channels,
// expects it as [channels, height, width].
func Arrays(layers []Layer, row []float32) [][]Array {
	var all [][]Array
	for i, l := range layers {
		var arrays []Array
		for _, p := range l.Parameters() {
			values := row[p.At:][:p.Len()]
			if p.Rows == 0 {
				arrays = append(arrays, Array{p.Name, []int{p.Columns}, values})
				continue
			}
			shape, channels := []int{p.Columns, p.Rows}, 1
			switch {
			case l.Kind == Convolution:
				w := l.Window
				shape, channels = []int{p.Columns, w.Channels, w.Kernel, w.Kernel}, w.Channels
			case i > 0 && layers[i-1].Shape != nil && p.At == l.Weight:
				channels = layers[i-1].Out
			}
			arrays = append(arrays, Array{p.Name, shape, byOutput(values, p, channels)})
		}
		all = append(all, arrays)
	}
	return all
}

// byOutput returns a matrix transposed, with the channel as the slowest axis of its inputs.
func byOutput(values []float32, p Parameter, channels int) []float32 {
	out := make([]float32, 0, len(values))
	for o := range p.Columns {
		for c := range channels {
			for i := range p.Rows / channels {
				out = append(out, values[(i*channels+c)*p.Columns+o])
			}
		}
	}
	return out
}

// exporter adds layers to a graph. Values are [batch, units] or, of images, [batch, channels, height, width], as ONNX has them.
type exporter struct {
	*onnx.Builder
	prefix string  // of the names of the layer at work
	arrays []Array // of that layer
	image  bool    // its inputs are an image, with channels first

	memory, next string // before and after the step
}

// Export adds layers to a graph, with parameters read from a row, and returns the names of their outputs and of the memory after the step. x is [batch,
// inputs], an image in the order [height, width, channels]; memory [batch, H] is that before the step, "" if there is none.
func Export(b *onnx.Builder, layers []Layer, row []float32, x, memory string) (outputs, next string) {
	g := &exporter{Builder: b, memory: memory}
	arrays, values := Arrays(layers, row), []string(nil)
	for i, l := range layers {
		g.prefix, g.arrays = fmt.Sprintf("layers.%d.", i), arrays[i]
		x = kinds[l.Kind].export(g, l, x)
		if g.image = l.Shape != nil; l.Skip > 0 {
			x = g.Node("Add", []string{x, values[i-l.Skip]})
		}
		if l.Norms {
			x = g.norm(l, x)
		}
		if l.Hidden {
			x = g.activate(l.Activation, x)
		}
		values = append(values, x)
	}
	return x, g.next
}

// The orders of the axes of images: ONNX has the channel before height and width, evorl after them.
var channelsFirst, channelsLast = []int64{0, 3, 1, 2}, []int64{0, 2, 3, 1}

// parameter adds a parameter of the layer at work and returns its name.
func (g *exporter) parameter(name string) string {
	i := slices.IndexFunc(g.arrays, func(a Array) bool { return a.Name == name })
	return g.Floats(g.prefix+name, g.arrays[i].Values, g.arrays[i].Shape...)
}

// flat returns a value as [batch, units].
func (g *exporter) flat(x string, units int) string {
	if !g.image {
		return x
	}
	return g.Node("Reshape", []string{x, g.Ints(g.prefix+"flat", 0, int64(units))})
}

// images returns a value as [batch, channels, height, width].
func (g *exporter) images(x string, height, width, channels int) string {
	if g.image {
		return x
	}
	x = g.Node("Reshape", []string{x, g.Ints(g.prefix+"shape", 0, int64(height), int64(width), int64(channels))})
	return g.Node("Transpose", []string{x}, onnx.Ints("perm", channelsFirst...))
}

// under returns a value as the images that a window goes over.
func (g *exporter) under(w Window, x string) string {
	return g.images(x, w.Height, w.Width, w.Channels)
}

// norm adds a layer's normalization: of an image, over the channels of each pixel.
func (g *exporter) norm(l Layer, x string) string {
	if l.Shape != nil {
		x = g.Node("Transpose", []string{x}, onnx.Ints("perm", channelsLast...))
	}
	x = g.Node("LayerNormalization", []string{x, g.parameter("norm.weight"), g.parameter("norm.bias")}, onnx.Float("epsilon", normEpsilon))
	if l.Shape != nil {
		x = g.Node("Transpose", []string{x}, onnx.Ints("perm", channelsFirst...))
	}
	return x
}

func (g *exporter) activate(of Activation, x string) string {
	switch of {
	case ReLU:
		return g.Node("Relu", []string{x})
	case Tanh:
		return g.Node("Tanh", []string{x})
	case ELU:
		return g.Node("Elu", []string{x})
	case Swish:
		return g.Node("Mul", []string{x, g.Node("Sigmoid", []string{x})})
	case GELU: // operator set 20 is the first with Gelu; x sigmoid(2 u) is its approximation with tanh(u)
		cubic := g.Node("Mul", []string{g.Constant("gelu.cubic", 2*math.Sqrt(2/math.Pi)*0.044715), g.Node("Mul", []string{x, x})})
		slope := g.Node("Add", []string{g.Constant("gelu.linear", 2*math.Sqrt(2/math.Pi)), cubic})
		return g.Node("Mul", []string{x, g.Node("Sigmoid", []string{g.Node("Mul", []string{x, slope})})})
	}
	return x
}
