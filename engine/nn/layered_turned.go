package nn

import "github.com/evorl/evorl/engine"

// turnable reports whether the gradient at a convolution's images is convolutions too, with its weights turned by half a circle and inputs and outputs
// exchanged (turned.comp): one for each row of pixels under a step of the window. The window is steps in height and width, and so are the image and its
// border.
func (l Layer) turnable() bool {
	w := l.Window
	if l.Kind != Convolution || l.Precision != Float32 {
		return false
	}
	for _, n := range []int{w.Kernel, w.Height, w.Width, w.Top, w.Left} {
		if n%w.Stride != 0 {
			return false
		}
	}
	return true
}

// turnedPitch returns the floats from row to row of a convolution's turned weights: a multiple of eight, as panels load them fast.
func (w Window) turnedPitch() int { return padded(w.Stride * w.Channels) }

// turnedFloats returns how many floats a network's turned weights take, of the convolution that has most; 0: there is none.
func (l *layered) turnedFloats() int {
	most := 0
	for _, h := range l.hidden() {
		if h.turnable() {
			w := h.Window
			most = max(most, w.Stride*w.turned(h.Out).patch()*w.turnedPitch())
		}
	}
	return most
}

// turned returns the window over the values of a convolution, of so many channels, whose products with turned weights are the gradient at its images. It
// moves by one value, which is a step of the convolution.
func (w Window) turned(channels int) Window {
	k := w.Kernel / w.Stride
	return Window{
		Height: w.OutHeight, Width: w.OutWidth, Channels: channels, Kernel: k, Stride: 1,
		Top: k - 1 - w.Top/w.Stride, Left: k - 1 - w.Left/w.Stride, OutHeight: w.Height / w.Stride, OutWidth: w.Width / w.Stride,
	}
}

// below returns the shape of the products that compute the gradient at count images of a convolution: a row for a step of the window, with the pixels under
// it that share a row of the image.
func (l Layer) below(networks, count int) Gemm {
	w := l.Window
	of := w.turned(l.Out)
	return Gemm{Members: networks, M: count * of.places(), N: w.Stride * w.Channels, K: of.patch(), patches: of}
}

// turned returns the products that compute the gradient at a convolution's images, each a row of pixels of every step of the window, and records turning the
// weights for them. There are none, and nothing is recorded, if the convolution has no such products, or the device none that read patches in images.
func (l *layered) turned(r *engine.Recorder, b batch, kept *activations, layer Layer, dz, to Matrix) (products []Gemm) {
	w := layer.Window
	if !layer.turnable() || to.Row != w.Height*w.Width*w.Channels {
		return nil
	}
	g := layer.below(l.networks, b.inner)
	if !g.readsPatches(r.Engine().Device().Info()) {
		return nil
	}
	pitch, row := w.turnedPitch(), w.Width*w.Channels
	each := g.K * pitch // floats of a product's weights
	g.A, g.C = dz, to
	g.C.Row = g.N
	if w.Stride > 1 {
		g.Inner, g.Block = g.patches.OutWidth, w.Stride*row
	}
	for y := range w.Stride {
		g.B = Matrix{Tensor: kept.turned, At: y * each, Stride: w.Stride * each, Row: pitch}
		g.C.At = to.At + y*row
		products = append(products, g)
	}
	t := turnedKernel{
		Params: b.weights.Params.Range(), Turned: kept.turned.Range(),
		WeightAt: uint32(b.weights.Base + layer.Weight), WeightPitch: uint32(b.row), Pitch: uint32(pitch), TurnedPitch: uint32(w.Stride * each),
		Kernel: uint32(w.Kernel), Stride: uint32(w.Stride), Inputs: uint32(w.Channels), Outputs: uint32(layer.Out),
	}
	var groups uint32
	t.LocalSizeX, groups = r.Invocations(w.patch() * layer.Out)
	r.Dispatch(t.call(groups, 1, uint32(l.networks)))
	return products
}
