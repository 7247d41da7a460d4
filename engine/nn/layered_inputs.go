package nn

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// input is an input matrix [networks, rows, features] of the first layer's product.
type input struct {
	matrix   Matrix
	at       int // index of its first feature
	features int
}

// direct reports whether products can read the parts of a batch in place: if they are floats and not normalized, the rows of
// each network are contiguous and, for two parts, the first layer is a product and a scratch tensor exists for the product of the first.
func (l *layered) direct(b batch) bool {
	if _, mapped := l.layers[0].Kind.mapped(); mapped && len(b.inputs) > 1 {
		return false
	}
	return b.normalizer == nil && !b.inputs[0].element.Packed() && b.outer == 1 && (len(b.inputs) == 1 || len(l.scratch) > 0)
}

// taken says which inputs were last copied. A backward pass finds those of its forward pass, unless other passes of the network came between: they are
// the same by the contract of Pass.
type taken struct {
	recorder     *engine.Recorder
	kept         *activations // the pass's own
	first, count int
}

// retake is take for the backward pass, where all rows may be there already.
func (l *layered) retake(r *engine.Recorder, b batch, kept *activations) []input {
	if !l.direct(b) && l.taken == (taken{r, kept, 0, b.inner}) {
		return l.copied()
	}
	return l.take(r, b, kept, 0, b.inner)
}

// copied returns the inputs as they were last copied.
func (l *layered) copied() []input {
	return []input{{matrix: Matrix{Tensor: l.inputs, Stride: l.capacity * l.in, Row: l.in}, features: l.in}}
}

// take returns the inputs of count rows of each network, beginning at row first. If products cannot read them in
// place, it records copying them into one matrix.
func (l *layered) take(r *engine.Recorder, b batch, kept *activations, first, count int) []input {
	if !l.direct(b) {
		for i := range b.inputs {
			l.copy(r, b, i, first, count)
		}
		l.taken = taken{r, kept, first, count}
		return l.copied()
	}
	var inputs []input
	for _, p := range b.inputs {
		m := Matrix{Tensor: p.tensor, At: first % b.inputRows() * p.features, Stride: b.inputRows() * p.features, Row: p.features, Shared: p.shared}
		inputs = append(inputs, input{m, p.at, p.features})
	}
	return inputs
}

// copy records copying part i of the inputs into the columns of l.inputs. The first part is normalized if there is a
// normalizer.
func (l *layered) copy(r *engine.Recorder, b batch, i, first, count int) {
	p := b.inputs[i]
	begin, end := first/b.inner, (first+count+b.inner-1)/b.inner // in blocks
	k := rowsKernel{
		Source: p.tensor.Range(), Rows: l.inputs.Range(),
		Inner: uint32(b.inner), Features: uint32(p.features), Width: uint32(l.in), Column: uint32(p.at), SharedBy: uint32(p.shared),
		NormalizerShared: uint32(b.stack), Block: uint32(begin), First: uint32(first), Count: uint32(count), Capacity: uint32(l.capacity), Limit: b.limit,
		LocalSizeX: l.line(), Element: uint32(p.element),
	}
	if b.normalizer != nil && i == 0 {
		k.Normalizer = b.normalizer.Range()
	}
	if p.features%4 == 0 && p.at%4 == 0 && l.in%4 == 0 {
		l.spans(b.inner*p.features/4, int(k.LocalSizeX), func(from, groups uint32) {
			k.Begin = from
			r.Dispatch(k.quadsCall(l.info, groups, uint32(end-begin), uint32(l.networks)))
		})
		return
	}
	l.spans(b.inner*p.features, int(k.LocalSizeX), func(from, groups uint32) {
		k.Begin = from
		r.Dispatch(k.call(groups, uint32(end-begin), uint32(l.networks)))
	})
}

// quadsCall returns the call of the kernel that copies four features an invocation, of x × y × z workgroups.
func (k rowsKernel) quadsCall(info vk.Info, x, y, z uint32) vk.Call {
	q := rowsQuadKernel{
		Source: k.Source, Normalizer: k.Normalizer, Rows: k.Rows, Inner: k.Inner, Width: k.Width, Column: k.Column, SharedBy: k.SharedBy,
		NormalizerShared: k.NormalizerShared, Block: k.Block, First: k.First, Count: k.Count, Capacity: k.Capacity, Limit: k.Limit, Begin: k.Begin,
		LocalSizeX: k.LocalSizeX, Features: k.Features, Element: k.Element,
	}
	if engine.WideStores(info) {
		return rowsQuadWideKernel(q).call(x, y, z)
	}
	return q.call(x, y, z)
}
