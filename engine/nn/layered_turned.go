package nn

import "github.com/evorl/evorl/engine"

// turnable reports whether the gradient at a convolution's images is a convolution too: one that moves by one pixel is, with its weights turned by half a
// circle and inputs and outputs exchanged (turned.comp).
func (l Layer) turnable() bool {
	return l.Kind == Convolution && l.Window.Stride == 1 && l.Precision == Float32
}

// turnedPitch returns the floats from row to row of a convolution's turned weights: a multiple of eight, as panels load them fast.
func (l Layer) turnedPitch() int { return padded(l.Window.Channels) }

// turnedFloats returns how many floats a network's turned weights take, of the convolution that has most; 0: there is none.
func (l *layered) turnedFloats() int {
	most := 0
	for _, h := range l.hidden() {
		if h.turnable() {
			most = max(most, h.Window.Kernel*h.Window.Kernel*h.Out*h.turnedPitch())
		}
	}
	return most
}

// turned returns the window over the values of a convolution, of so many channels, whose products with turned weights are the gradient at its images.
func (w Window) turned(channels int) Window {
	return Window{
		Height: w.OutHeight, Width: w.OutWidth, Channels: channels, Kernel: w.Kernel, Stride: 1,
		Top: w.Kernel - 1 - w.Top, Left: w.Kernel - 1 - w.Left, OutHeight: w.Height, OutWidth: w.Width,
	}
}

// turned returns the product that computes the gradient at a convolution's images, and records turning the weights for it. ok is false, and nothing is
// recorded, if the convolution has no such product, or the device none that reads patches in images.
func (l *layered) turned(r *engine.Recorder, b batch, kept *activations, layer Layer, dz, to Matrix) (g Gemm, ok bool) {
	w := layer.Window
	if !layer.turnable() || to.Row != w.Height*w.Width*w.Channels {
		return g, false
	}
	pitch := layer.turnedPitch()
	k := w.Kernel * w.Kernel * layer.Out
	to.Row = w.Channels // a row for each pixel
	g = Gemm{
		Members: l.networks, M: b.inner * w.Height * w.Width, N: w.Channels, K: k, A: dz, patches: w.turned(layer.Out),
		B: Matrix{Tensor: kept.turned, Stride: k * pitch, Row: pitch}, C: to,
	}
	if !g.readsPatches(r.Engine().Device().Info()) {
		return g, false
	}
	t := turnedKernel{
		Params: b.weights.Params.Range(), Turned: kept.turned.Range(),
		WeightAt: uint32(b.weights.Base + layer.Weight), WeightStride: uint32(b.row), Stride: uint32(k * pitch), Pitch: uint32(pitch),
		Kernel: uint32(w.Kernel), Inputs: uint32(w.Channels), Outputs: uint32(layer.Out),
	}
	var groups uint32
	t.LocalSizeX, groups = r.Invocations(k * w.Channels)
	r.Dispatch(t.call(groups, 1, uint32(l.networks)))
	return g, true
}
