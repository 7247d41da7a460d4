package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// patchFloats returns how many floats of scratch memory the patches of one input take, at all places of the convolution that has most:
// OutHeight × OutWidth × Kernel × Kernel × Channels, with rows padded as for layers. 0: there is no convolution.
func (l *layered) patchFloats() int {
	return l.mostPatches(func(int, Layer) bool { return true })
}

// gatheredFloats is patchFloats of the convolutions alone of which a product may gather patches. So many rows are computed at once that these fit.
func (l *layered) gatheredFloats() int { return l.mostPatches(l.gathers) }

func (l *layered) mostPatches(of func(int, Layer) bool) int {
	most := 0
	for i, h := range l.hidden() {
		if h.Kind == Convolution && of(i, h) {
			most = max(most, h.places()*l.pitch(h.In))
		}
	}
	return most
}

// gathers reports whether a product of convolution i may gather patches: that of a single input, or of the gradients at weights and at the values of the
// layer below. More inputs are longer products, and the choice of what reads patches in images asks for length.
func (l *layered) gathers(i int, h Layer) bool {
	forward := Gemm{Members: l.networks, M: h.places(), N: h.Out, K: h.In, Precision: h.Precision, patches: h.Window}
	weights := Gemm{Members: l.networks, M: h.In, N: h.Out, K: h.places(), TransposeA: true, Precision: h.Precision, patches: h.Window}
	if few(h.In, h.Out) || !forward.readsPatches(l.info) || !weights.readsPatches(l.info) {
		return true
	}
	if i == 0 {
		return false
	}
	return !h.turnable() || !h.below(l.networks, 1).readsPatches(l.info)
}

// gathering returns the memory of patches, [networks, capacity, most floats of an input's patches]: of the convolution at work, then the gradient at
// them. It is made when the first product is recorded that does not read patches in the images: most of a GPU's do, and the memory is large.
func (l *layered) gathering() *engine.Tensor {
	if l.patches == nil {
		l.patches = l.state.Scratch("patches", engine.Float32, engine.Members(l.networks), engine.Axis("row", l.capacity), engine.Axis("float", l.patchFloats()))
	}
	return l.patches
}

// patchesOf describes the patches of a convolution as a matrix with a row for each place of each input.
func (l *layered) patchesOf(layer Layer) Matrix {
	pitch := l.pitch(layer.In)
	return Matrix{Tensor: l.gathering(), Stride: l.capacity * layer.places() * pitch, Row: pitch}
}

// gathered says what was last gathered. A backward pass finds the patches of the last convolution as the forward pass has left them, unless other
// passes of the network came between: its inputs are the same by the contract of Pass.
type gathered struct {
	recorder *engine.Recorder
	kept     *activations // the pass's own
	window   Window
	images   Matrix
	count    int
}

// implicit completes a product whose A, or its transposed, is the patches of images, if the device that records it can read them in the images.
func (l *layered) implicit(r *engine.Recorder, g Gemm, layer Layer, images Matrix) (Gemm, bool) {
	g.A, g.patches = images, layer.Window
	return g, g.readsPatches(r.Engine().Device().Info())
}

// regather is gather where the patches may be there already.
func (l *layered) regather(r *engine.Recorder, kept *activations, layer Layer, images Matrix, count int) Matrix {
	if l.holds != (gathered{r, kept, layer.Window, images, count}) {
		return l.gather(r, kept, layer, images, count)
	}
	to := l.patchesOf(layer)
	to.Shared = images.shared()
	return to
}

// gather records gathering the patches of count images of each network, and returns them. Networks that share images share patches.
func (l *layered) gather(r *engine.Recorder, kept *activations, layer Layer, images Matrix, count int) Matrix {
	to := l.patchesOf(layer)
	to.Shared = images.shared()
	l.holds = gathered{r, kept, layer.Window, images, count}
	l.gatherTo(r, layer.Window, images, to, count)
	return to
}

// gatherTo records gathering the patches of count images of each network into a matrix.
func (l *layered) gatherTo(r *engine.Recorder, w Window, images, to Matrix, count int) {
	sets := uint32(ceil(l.networks, to.shared()))
	k := patchesKernel{
		Images: images.Tensor.Range(), Patches: to.Tensor.Range(),
		Rows: uint32(count), ImageAt: uint32(images.At), ImageStride: uint32(images.Stride), ImageRow: uint32(images.Row),
		PatchStride: uint32(to.Stride), Pitch: uint32(to.Row),
		Height: uint32(w.Height), Width: uint32(w.Width), Channels: uint32(w.Channels), Kernel: uint32(w.Kernel), Stride: uint32(w.Stride),
		Top: uint32(w.Top), Left: uint32(w.Left), OutHeight: uint32(w.OutHeight), OutWidth: uint32(w.OutWidth),
	}
	along := l.imageGroups(count, 0)
	var groups uint32
	if to.aligned(4) && (w.Channels%4 != 0 || images.aligned(4)) {
		k.LocalSizeX, groups = r.Invocations(w.places() * ceil(w.patch(), 4))
		if engine.WideStores(l.info) {
			r.Dispatch(patchesQuadWideKernel(k).call(groups, along, sets))
		} else {
			r.Dispatch(patchesQuadKernel(k).call(groups, along, sets))
		}
		return
	}
	k.LocalSizeX, groups = r.Invocations(w.places() * w.patch())
	r.Dispatch(k.call(groups, along, sets))
}

// slope completes a gradient at a layer's values: the activation with the derivative that it is multiplied by, its values and, where
// needed, its inputs. The zero value does nothing.
type slope struct {
	of              Activation
	outputs, inputs *engine.Tensor
	addend          *engine.Tensor // another gradient there, added before; only kernels of mapped layers take it
}

// spread records the gradient at the images of a convolution, to, from dz, that at its affine outputs. Both have a row for each input. Unless it is
// convolutions itself, it overwrites the patches.
func (l *layered) spread(r *engine.Recorder, b batch, kept *activations, layer Layer, dz, to Matrix, by slope) {
	if products := l.turned(r, b, kept, layer, dz, to); len(products) > 0 {
		for _, g := range products {
			g.Slope, g.Outputs, g.Inputs = by.of, by.outputs, by.inputs
			g.Record(r)
		}
		return
	}
	l.holds = gathered{}
	g := l.inputsOf(b, layer, 0, layer.In, dz.byPlace(layer), l.patchesOf(layer))
	g.Padded = l.padded()
	g.Record(r)
	l.sum(r, layer, b.inner, to, by)
}

// sum records adding up the gradient at the patches of count images of each network, to that at the images.
func (l *layered) sum(r *engine.Recorder, layer Layer, count int, to Matrix, by slope) {
	patches, w := l.patchesOf(layer), layer.Window
	k := patchesBackwardKernel{
		Patches: patches.Tensor.Range(), Images: to.Tensor.Range(), Outputs: optional(by.outputs), Inputs: optional(by.inputs),
		Rows: uint32(count), ImageStride: uint32(to.Stride), ImageRow: uint32(to.Row), PatchStride: uint32(patches.Stride), Pitch: uint32(patches.Row),
		Height: uint32(w.Height), Width: uint32(w.Width), Channels: uint32(w.Channels), Kernel: uint32(w.Kernel), Stride: uint32(w.Stride),
		Top: uint32(w.Top), Left: uint32(w.Left), OutHeight: uint32(w.OutHeight), OutWidth: uint32(w.OutWidth), Slope: uint32(by.of),
	}
	across := ceil(w.Kernel, w.Stride) // windows that hold a pixel, along each side
	along := l.imageGroups(count, across*(across+1))
	var groups uint32
	if w.Channels%4 == 0 && patches.aligned(4) && to.aligned(4) {
		k.LocalSizeX, groups = r.Invocations(w.Height * w.Width * w.Channels / 4)
		if engine.WideStores(l.info) {
			r.Dispatch(patchesBackwardQuadWideKernel(k).call(groups, along, uint32(l.networks)))
		} else {
			r.Dispatch(patchesBackwardQuadKernel(k).call(groups, along, uint32(l.networks)))
		}
		return
	}
	k.LocalSizeX, groups = r.Invocations(w.Height * w.Width * w.Channels)
	r.Dispatch(k.call(groups, along, uint32(l.networks)))
}

// imageGroups returns how many workgroups along y the images of a network are divided among. Invocations loop over
// images, with the given number of iterations for each.
func (l *layered) imageGroups(images, iterations int) uint32 {
	n := images
	if l.info.Type == vk.CPU {
		const few = 64 // images of a workgroup of one subgroup
		each := few
		if most := int(l.info.Limits.MaxLoopIterations); most > 0 {
			each = max(1, min(few, most/(1+iterations)))
		}
		n = ceil(images, each)
	}
	return uint32(min(n, int(l.info.Limits.MaxGroups[1])))
}
