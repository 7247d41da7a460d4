package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/onnx"
)

// pool is the kind of layers that have, at every place of a window over an image, the largest value or the mean of each channel. Zeros around the
// image do not count: the mean is over the pixels inside, as in TensorFlow and ONNX (count_include_pad = 0). The gradient at a largest value
// goes to the first of equal ones.
type pool struct{ largest bool }

func (pool) keys() []string { return []string{"kernel", "stride", "padding"} }

func (p pool) layers(c LayerConfig, _ Sequential, in Shape) ([]Layer, error) {
	w, err := c.window("pool", in, c.poolStride())
	if err != nil {
		return nil, err
	}
	if n := p.iterations(w); n > maxPoolIterations {
		return nil, fmt.Errorf("a pool with a kernel of %d × %d and a stride of %d, whose gradient takes %d steps a pixel; "+
			"want at most %d: a larger stride, or a smaller kernel",
			w.Kernel, w.Kernel, w.Stride, n, maxPoolIterations)
	}
	return []Layer{{Kind: c.Kind, Window: w, Out: w.Channels, Shape: Shape{w.OutHeight, w.OutWidth, w.Channels}, Hidden: true}}, nil
}

// poolStride returns the stride, by default the kernel: windows that touch.
func (c LayerConfig) poolStride() int {
	if c.Stride == 0 {
		return c.Kernel
	}
	return c.Stride
}

// maxPoolIterations bounds the loops of an invocation of pool_backward.comp: software drivers leave loops after 65,535 iterations.
const maxPoolIterations = 60000

// iterations returns how often the loops of pool_backward.comp go around for a pixel.
func (p pool) iterations(w Window) int {
	across, each := ceil(w.Kernel, w.Stride), 1
	if p.largest {
		each += w.Kernel * (w.Kernel + 1)
	}
	return across * (1 + across*each)
}

func (pool) size(c LayerConfig) string { return c.windowSize(c.Kernel) }

func (p pool) export(g *exporter, l Layer, x string) string {
	if p.largest {
		return g.Node("MaxPool", []string{g.under(l.Window, x)}, l.Window.attributes()...)
	}
	return g.Node("AveragePool", []string{g.under(l.Window, x)}, append(l.Window.attributes(), onnx.Int("count_include_pad", 0))...)
}

func (p pool) evaluate(_ []float64, l Layer, x, _ []float64) []float64 {
	w, y := l.Window, make([]float64, l.Units())
	for place := range w.places() {
		n, to := 0.0, y[place*w.Channels:][:w.Channels]
		w.over(place/w.OutWidth, place%w.OutWidth, func(pixel, _ int) {
			for c, v := range x[pixel*w.Channels:][:w.Channels] {
				switch {
				case !p.largest:
					to[c] += v
				case n == 0 || v > to[c]:
					to[c] = v
				}
			}
			n++
		})
		for c := range to {
			if !p.largest {
				to[c] /= n
			}
		}
	}
	return y
}

func (p pool) forward(r *engine.Recorder, l *layered, at mapping) {
	w, from, to := at.Window, at.inputs, at.values
	k := poolKernel{
		Images: from.Tensor.Range(), Values: to.Tensor.Range(),
		Rows: uint32(at.rows), ImageAt: uint32(from.At), ImageStride: uint32(from.Stride), ImageRow: uint32(from.Row), SharedBy: uint32(from.shared()),
		ValueStride: uint32(to.Stride), ValueRow: uint32(to.Row),
		Height: uint32(w.Height), Width: uint32(w.Width), Channels: uint32(w.Channels), Kernel: uint32(w.Kernel), Stride: uint32(w.Stride),
		Top: uint32(w.Top), Left: uint32(w.Left), OutHeight: uint32(w.OutHeight), OutWidth: uint32(w.OutWidth), Largest: p.largest,
	}
	var groups uint32
	along := l.imageGroups(at.rows, w.Kernel*(w.Kernel+1))
	if w.Channels%4 == 0 && from.aligned(4) && to.aligned(4) {
		k.LocalSizeX, groups = r.Invocations(at.Units() / 4)
		call := poolQuadKernel(k).call(groups, along, uint32(l.networks))
		if engine.WideStores(l.info) {
			call = poolQuadWideKernel(k).call(groups, along, uint32(l.networks))
		}
		r.Dispatch(call)
		return
	}
	k.LocalSizeX, groups = r.Invocations(at.Units())
	r.Dispatch(k.call(groups, along, uint32(l.networks)))
}

func (p pool) backward(r *engine.Recorder, l *layered, at mapping, dz, to Matrix, by slope) {
	w, from := at.Window, at.inputs
	k := poolBackwardKernel{
		AtValues: dz.Tensor.Range(), AtImages: to.Tensor.Range(), Addend: optional(by.addend), Outputs: optional(by.outputs), Inputs: optional(by.inputs),
		Rows: uint32(at.rows), ImageAt: uint32(from.At), ImageStride: uint32(from.Stride), ImageRow: uint32(from.Row), SharedBy: uint32(from.shared()),
		ValueStride: uint32(dz.Stride), ValueRow: uint32(dz.Row), ToStride: uint32(to.Stride), ToRow: uint32(to.Row),
		Height: uint32(w.Height), Width: uint32(w.Width), Channels: uint32(w.Channels), Kernel: uint32(w.Kernel), Stride: uint32(w.Stride),
		Top: uint32(w.Top), Left: uint32(w.Left), OutHeight: uint32(w.OutHeight), OutWidth: uint32(w.OutWidth), Slope: uint32(by.of),
	}
	if p.largest {
		k.Images = from.Tensor.Range()
	}
	var groups uint32
	along := l.imageGroups(at.rows, p.iterations(w))
	if w.Channels%4 == 0 && from.aligned(4) && dz.aligned(4) && to.aligned(4) {
		k.LocalSizeX, groups = r.Invocations(w.Height * w.Width * w.Channels / 4)
		call := poolBackwardQuadKernel(k).call(groups, along, uint32(l.networks))
		if engine.WideStores(l.info) {
			call = poolBackwardQuadWideKernel(k).call(groups, along, uint32(l.networks))
		}
		r.Dispatch(call)
		return
	}
	k.LocalSizeX, groups = r.Invocations(w.Height * w.Width * w.Channels)
	r.Dispatch(k.call(groups, along, uint32(l.networks)))
}
