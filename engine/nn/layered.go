package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Layered evaluates perceptrons of any size, a layer a product of matrices over all members at once, and keeps what it needs to go back
// through them.
type Layered struct {
	net      MLP
	layers   []Layer
	members  int
	capacity int // rows of a member that the scratch tensors hold
	info     vk.Info

	rows   *engine.Tensor   // [P, capacity, In]: inputs where they cannot be taken as they are
	hidden []*engine.Tensor // [P, capacity, units] of each hidden layer
	// kept, of each hidden layer, holds what went into the activation, where the way back needs it: of swish; and with layer normalization
	// the normalized values.
	kept []*engine.Tensor
	rstd []*engine.Tensor  // [P, capacity] of each hidden layer, with layer normalization: reciprocal deviations
	back [3]*engine.Tensor // [P, capacity, most units]: gradients on the way back

	last   batch
	inputs *engine.Tensor // of the last batch, as products take them: rows or the caller's own
}

// NewLayered makes the scratch tensors for batches of up to so many rows a member.
func NewLayered(s *engine.State, net MLP, members, rows int) (*Layered, error) {
	if err := net.Check(); err != nil {
		return nil, err
	}
	l := &Layered{net: net, layers: net.Layers(), members: members, info: s.Engine().Device().Info()}
	widest := max(net.In, net.Out)
	for _, n := range net.Hidden {
		widest = max(widest, n)
	}
	// Where not even one row can be bound, allocating the state says so.
	l.capacity = max(1, min(rows, int(l.info.Limits.MaxStorageRange)/(4*members*widest)))
	s = s.Sub("layers")
	p, b := engine.Members(members), engine.Axis("row", l.capacity)
	l.rows = s.Scratch("inputs", engine.Float32, p, b, engine.Axis("feature", net.In))
	for i, n := range net.Hidden {
		units := engine.Axis("unit", n)
		l.hidden = append(l.hidden, s.Scratch(fmt.Sprintf("hidden_%d", i+1), engine.Float32, p, b, units))
		if net.LayerNorm || net.Activation == Swish {
			l.kept = append(l.kept, s.Scratch(fmt.Sprintf("kept_%d", i+1), engine.Float32, p, b, units))
		}
		if net.LayerNorm {
			l.rstd = append(l.rstd, s.Scratch(fmt.Sprintf("rstd_%d", i+1), engine.Float32, p, b))
		}
	}
	if len(net.Hidden) > 0 {
		for i := range l.back[:l.backs()] {
			l.back[i] = s.Scratch(fmt.Sprintf("gradient_%d", i+1), engine.Float32, p, b, engine.Axis("unit", widest))
		}
	}
	return l, s.Err()
}

// backs is how many tensors the way back passes gradients through.
func (l *Layered) backs() int {
	if l.net.LayerNorm {
		return 3
	}
	return 2
}

// MLP implements Network.
func (l *Layered) MLP() MLP { return l.net }

// Splits implements Network: enough parts for one member to fill a device, each of rows enough to be worth a gradient of its own.
func (l *Layered) Splits() int {
	const (
		workgroups = 64
		tile       = 64 * 64 // weights a workgroup
		least      = 256     // rows a part
	)
	n := l.members * (l.net.Size() + tile - 1) / tile
	return max(1, min((workgroups+n-1)/n, l.capacity/least))
}

// Forward implements Network.
func (l *Layered) Forward(r *engine.Recorder, w Weights, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor) {
	b, err := l.net.batch(l.members, normalizer, limit, inputs, outputs)
	if err != nil {
		r.Fail(err)
		return
	}
	l.last = b
	all := b.outer * b.inner
	for first := 0; first < all; first += l.capacity {
		l.forward(r, w, first, min(l.capacity, all-first))
	}
}

// forward evaluates count rows of each member from row first on.
func (l *Layered) forward(r *engine.Recorder, w Weights, first, count int) {
	b := l.last
	at, capacity := l.take(r, first, count)
	for i, layer := range l.layers {
		from := Matrix{Tensor: l.inputs, At: at, Stride: capacity * l.net.In, Row: l.net.In}
		if i > 0 {
			from = l.matrix(l.hidden[i-1], layer.In)
		}
		g := Gemm{
			Members: l.members, M: count, N: layer.Out, K: layer.In, A: from, B: w.matrix(layer),
			Bias: w.Params, BiasAt: w.Base + layer.Bias, BiasStride: w.Row(),
		}
		switch {
		case !layer.Hidden:
			g.C = Matrix{Tensor: b.outputs, Stride: b.inner * layer.Out, Row: layer.Out}
			g.First, g.Inner, g.Block = first, b.inner, l.members*b.inner*layer.Out
			if b.outer == 1 { // one block: no divisions
				g.C.At, g.First, g.Inner, g.Block = first*layer.Out, 0, 0, 0
			}
		case layer.Norms:
			g.C = l.matrix(l.kept[i], layer.Out)
		default:
			g.C, g.Activation = l.matrix(l.hidden[i], layer.Out), l.net.Activation
			if l.net.Activation == Swish {
				g.Kept = l.kept[i]
			}
		}
		g.Record(r)
		if layer.Norms {
			l.norm(r, w, i, count)
		}
	}
}

// take makes the batch's rows an input of products: l.inputs, where they begin in it, and how many rows of a member lie in it.
func (l *Layered) take(r *engine.Recorder, first, count int) (at, capacity int) {
	b := l.last
	if b.normalizer == nil && b.outer == 1 {
		l.inputs = b.inputs
		return first * l.net.In, b.inner
	}
	l.inputs = l.rows
	begin, end := first/b.inner, (first+count+b.inner-1)/b.inner // blocks
	k := rowsKernel{
		Source: b.inputs.Range(), SourceTexels: b.inputs.Range(), Rows: l.rows.Range(),
		Inner: uint32(b.inner), Features: uint32(l.net.In), Block: uint32(begin), First: uint32(first), Count: uint32(count), Capacity: uint32(l.capacity), Limit: b.limit,
		LocalSizeX: l.line(),
	}
	k.Normalizer = k.Source
	if b.normalizer != nil {
		k.Normalizer, k.Normalize = b.normalizer.Range(), 1
	}
	k.NormalizerTexels = k.Normalizer
	r.Dispatch(k.call(uint32(b.inner*l.net.In+int(k.LocalSizeX)-1)/k.LocalSizeX, uint32(end-begin), uint32(l.members)))
	return 0, l.capacity
}

// line is a number of invocations for kernels that treat every element by itself.
func (l *Layered) line() uint32 {
	if l.info.Type == vk.CPU {
		return 8 * l.info.SubgroupSize
	}
	return 256
}

func (l *Layered) matrix(t *engine.Tensor, units int) Matrix {
	return Matrix{Tensor: t, Stride: l.capacity * units, Row: units}
}

func (w Weights) matrix(layer Layer) Matrix {
	return Matrix{Tensor: w.Params, At: w.Base + layer.Weight, Stride: w.Row(), Row: layer.Out}
}

// normWidth is how many lanes share a row of layer normalization: one where lanes gather as fast as they load in a row.
func (l *Layered) normWidth() uint32 {
	if l.info.Type == vk.CPU {
		return 1
	}
	return min(l.info.SubgroupSize, 32)
}

// aligned says whether rows of a layer, and its parameters in w's rows, begin at multiples of four floats.
func (w Weights) aligned(layer Layer) uint32 {
	if layer.Out%4 == 0 && (w.Base+layer.Weight)%4 == 0 && layer.Bias%4 == 0 && w.Row()%4 == 0 {
		return 1
	}
	return 0
}

func (l *Layered) norm(r *engine.Recorder, w Weights, i, count int) {
	layer := l.layers[i]
	k := normKernel{
		Affine: l.kept[i].Range(), AffineTexels: l.kept[i].Range(), Params: w.Params.Range(), ParamsTexels: w.Params.Range(),
		Normalized: l.kept[i].Range(), Normalized4: l.kept[i].Range(), Hidden: l.hidden[i].Range(), Hidden4: l.hidden[i].Range(), Rstd: l.rstd[i].Range(),
		Units: uint32(layer.Out), Rows: uint32(count), Capacity: uint32(l.capacity), Row: uint32(w.Row()), Scale: uint32(w.Base + layer.Scale), Shift: uint32(w.Base + layer.Shift),
		Workgroup: l.line(), Width: l.normWidth(), Aligned: w.aligned(layer), Activation: uint32(l.net.Activation),
	}
	call := k.call((uint32(count)*k.Width+k.Workgroup-1)/k.Workgroup, uint32(l.members), 1)
	call.Subgroup = l.info.SubgroupSize
	r.Dispatch(call)
}
