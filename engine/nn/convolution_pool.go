package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/vk"
)

// together reports whether layer i is computed with the pool after it.
func (a *activations) together(i int) bool { return i < len(a.pooled) && a.pooled[i] }

// poolable reports whether layer i is a convolution that one kernel, convolution_pool.comp, can compute with the pool after it: on software drivers, where
// nothing reads the values between them.
func (l *layered) poolable(b batch, i int) bool {
	if i+2 >= len(l.layers) || b.weights.Perturbation != nil {
		return false
	}
	c, p := l.layers[i], l.layers[i+1]
	if c.Kind != Convolution || p.Kind != MaxPool {
		return false
	}
	at, lanes := b.weights.Base, l.info.SubgroupSize
	return l.info.Type == vk.CPU && l.info.Features.Has(vk.Int64) && l.info.SubgroupOps.Has(vk.SubgroupShuffle) &&
		(lanes == 8 || lanes == 16) && poolStep(c.Window, c.Window.Channels%4 == 0) <= longestPoolStep &&
		c.Window.Stride == 1 && c.Skip == 0 && !c.Norms && c.Activation.rises() && c.Precision == Float32 &&
		p.Window.Kernel == 2 && p.Window.Stride == 2 && p.Window.Bottom() == 0 && p.Window.Right() == 0 && !p.Norms && p.Activation == Linear &&
		c.Out%4 == 0 && (at+c.Weight)%4 == 0 && (at+c.Bias)%4 == 0 && b.row%4 == 0
}

// rises reports whether an activation never falls, so that that of the largest value is the largest.
func (a Activation) rises() bool { return a == Linear || a == ReLU || a == Tanh || a == ELU }

// longestPoolStep is how many floats of a window a step of convolution_pool.comp multiplies at most: it is unrolled for them.
const longestPoolStep = 32

// poolStep returns the floats of a window that a step of convolution_pool.comp multiplies: its STEP, with QUADS or without.
func poolStep(w Window, quads bool) int {
	switch {
	case quads:
		return w.Channels
	case w.patch() <= longestPoolStep:
		return w.patch()
	}
	return w.Kernel * w.Channels
}

// poolColumns returns the channels that a lane of convolution_pool.comp computes, of a convolution to out channels: sixteen, for which it loads half as many
// pixels, if no more of them are void than of eight and the products of a step fit the processor's cache of decoded instructions.
func poolColumns(w Window, out int, quads bool) int {
	const most = 1024 // products of a lane in a step
	if (out-1)%16 >= 8 && 4*16*poolStep(w, quads) <= most {
		return 16
	}
	return 8
}

// convolvePool records layers i and i + 1 of count images of each network, where poolable.
func (l *layered) convolvePool(r *engine.Recorder, b batch, kept *activations, i, count int, images Matrix) {
	c, p := l.layers[i], l.layers[i+1]
	w, values := c.Window, kept.matrix(kept.hidden[i+1], p)
	lanes, quads := int(l.info.SubgroupSize), w.Channels%4 == 0 && images.aligned(4)
	columns := poolColumns(w, c.Out, quads)
	k := convolutionPoolKernel{
		Images: images.Tensor.Range(), Params: b.weights.Params.Range(), Values: values.Tensor.Range(),
		Rows: uint32(count), N: uint32(c.Out),
		ImageAt: uint32(images.At), ImageStride: uint32(images.Stride), ImageRow: uint32(images.Row), SharedBy: uint32(images.shared()),
		WeightAt: uint32(b.weights.Base + c.Weight), BiasAt: uint32(b.weights.Base + c.Bias), WeightStride: uint32(b.row),
		ValueStride: uint32(values.Stride), ValueRow: uint32(values.Row),
		Height: uint32(w.Height), Width: uint32(w.Width), Channels: uint32(w.Channels), Kernel: uint32(w.Kernel), Stride: uint32(w.Stride),
		Top: uint32(w.Top), Left: uint32(w.Left), OutHeight: uint32(w.OutHeight), OutWidth: uint32(w.OutWidth),
		Lanes: uint32(lanes), Activation: uint32(c.Activation), PoolWidth: uint32(p.Window.OutWidth), PoolHeight: uint32(p.Window.OutHeight),
		Quads: quads, Odd: !images.aligned(2) || w.Width*w.Channels%2 != 0 || w.Left*w.Channels%2 != 0,
		Columns: uint32(columns), Halved: processor.HalvedStores(l.info.Driver, l.info.SubgroupSize),
	}
	each := 64 // places of a lane, with a loop over the window in each
	if most := int(l.info.Limits.MaxLoopIterations); most > 0 {
		each = max(1, min(each, most/(1+w.Kernel*(1+w.Kernel))))
	}
	groups := ceil(ceil(count*p.Window.places(), lanes), each)
	call := k.call(uint32(groups), uint32(ceil(c.Out, columns)), uint32(l.networks))
	call.Subgroup = uint32(lanes)
	r.Dispatch(call)
}
