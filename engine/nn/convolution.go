package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine/onnx"
)

// convolution is the kind of layers that multiply the part of an image under a window by a matrix, at every place of the window.
type convolution struct{}

func (convolution) keys() []string {
	return []string{"channels", "kernel", "stride", "padding", "activation"}
}

func (convolution) layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error) {
	if c.Channels < 1 || c.Channels > maxUnits {
		return nil, fmt.Errorf("a convolution of %d channels; want 1 to %d", c.Channels, maxUnits)
	}
	w, err := c.window("convolution", in, max(c.Stride, 1))
	if err != nil {
		return nil, err
	}
	if n := w.places() * max(w.patch(), c.Channels); n > maxPatch {
		return nil, fmt.Errorf("a convolution of an image of %d × %d × %d at %d × %d places, with %d floats in its patches or values; want at most %d",
			w.Height, w.Width, w.Channels, w.OutHeight, w.OutWidth, n, maxPatch)
	}
	return []Layer{{
		Kind: Convolution, Window: w, In: w.patch(), Out: c.Channels, Shape: Shape{w.OutHeight, w.OutWidth, c.Channels},
		Hidden: true, Norms: m.LayerNorm, Activation: c.activation(m.Activation),
	}}, nil
}

// size formats channels and window, such as "32(8x8/4)" and "16(3x3 same)".
func (convolution) size(c LayerConfig) string { return fmt.Sprint(c.Channels) + c.windowSize(1) }

func (convolution) export(g *exporter, l Layer, x string) string {
	return g.Node("Conv", []string{g.under(l.Window, x), g.parameter("weight"), g.parameter("bias")}, l.Window.attributes()...)
}

func (convolution) evaluate(row []float64, l Layer, x, _ []float64) []float64 {
	w, y := l.Window, make([]float64, 0, l.Units())
	for a := range w.OutHeight {
		for b := range w.OutWidth {
			y = append(y, row[l.Bias:][:l.Out]...)
			w.over(a, b, func(pixel, under int) {
				product(y[len(y)-l.Out:], x[pixel*w.Channels:][:w.Channels], row[l.Weight+under*w.Channels*l.Out:])
			})
		}
	}
	return y
}

// window checks the window of a layer over values of a shape, and returns it.
func (c LayerConfig) window(of string, image Shape, stride int) (Window, error) {
	switch {
	case len(image) != 3:
		return Window{}, fmt.Errorf("a %s over %d features; want an image, [height, width, channels], as the input or from a convolution", of, image.Size())
	case c.Kernel < 1 || c.Kernel > maxKernel:
		return Window{}, fmt.Errorf("a %s with a kernel of %d × %d; want 1 to %d", of, c.Kernel, c.Kernel, maxKernel)
	case stride < 1 || c.Stride < 0 || stride > maxKernel:
		return Window{}, fmt.Errorf("a %s with a stride of %d; want 1 to %d", of, c.Stride, maxKernel)
	case c.Padding != Valid && c.Padding != Same:
		return Window{}, fmt.Errorf("a %s with padding %v; want one of %v", of, c.Padding, paddingNames)
	case c.Padding == Valid && c.Kernel > min(image[0], image[1]):
		return Window{}, fmt.Errorf("a %s with a kernel of %d × %d over an image of %d × %d; want a smaller kernel, "+
			"a smaller stride before it, or padding \"same\"", of, c.Kernel, c.Kernel, image[0], image[1])
	}
	return windowOver(image, c.Kernel, stride, c.Padding), nil
}

// windowSize formats the window, such as "(8x8/4)" and "(3x3 same)"; usual is the stride that is not named.
func (c LayerConfig) windowSize(usual int) string {
	s := fmt.Sprintf("(%dx%d", c.Kernel, c.Kernel)
	if c.Stride > 0 && c.Stride != usual {
		s += fmt.Sprintf("/%d", c.Stride)
	}
	if c.Padding == Same {
		s += " same"
	}
	return s + ")"
}

// attributes returns the window as ONNX's convolutions and pools have it.
func (w Window) attributes() []onnx.Attribute {
	k, s := int64(w.Kernel), int64(w.Stride)
	return []onnx.Attribute{
		onnx.Ints("kernel_shape", k, k), onnx.Ints("strides", s, s),
		onnx.Ints("pads", int64(w.Top), int64(w.Left), int64(w.Bottom()), int64(w.Right())),
	}
}
