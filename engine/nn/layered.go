package nn

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// layered computes networks of any size layer by layer. Each layer is one matrix product, batched over all networks. A convolution
// is the product of the patches under its window and its weights: products read patches in the images, or from memory where they cannot.
type layered struct {
	layers   []Layer
	branch   *Layer // a second output layer; nil: none
	in, out  int    // floats of an input, and outputs
	size     int    // parameters
	norms    bool   // some layers are normalized
	networks int    // N, over all members
	capacity int    // rows per network that the scratch tensors hold
	info     vk.Info

	inputs  *engine.Tensor   // [networks, capacity, In]: normalized or concatenated inputs
	scratch []*engine.Tensor // [networks, capacity, widest row]: gradients of the backward pass, and layers of evaluations without one
	rstd    *engine.Tensor   // [networks, capacity, most places], with layer normalization: reciprocal deviations of evaluations without a backward pass
	patches *engine.Tensor   // see layered.gathering; nil: nothing recorded so far gathers patches
	// projections are those of low-rank perturbations: [networks, capacity · places, rank, rounded up to a multiple of four] (low_rank_project.comp)
	projections *engine.Tensor
	start       *batchStart // of networks of low rank that share a batch; else nil
	state       *engine.State
	apart       bool     // perturbations are added by kernels of their own, whatever products can take
	holds       gathered // what the patches are, while a recording goes on
	taken       taken    // likewise the inputs
}

// newLayered makes the scratch tensors for batches of up to rows rows per network, or fewer if they would exceed the
// size of a binding.
func newLayered(s *engine.State, model Model, networks, rows int) *layered {
	l := &layered{
		layers: model.Layers(), in: model.Inputs().Size(), out: model.Outputs(), size: model.Size(),
		networks: networks, info: s.Engine().Device().Info(), state: s,
	}
	l.norms = slices.ContainsFunc(l.layers, func(x Layer) bool { return x.Norms })
	// If not even one row fits, the allocation reports it.
	l.capacity = max(1, min(rows, l.most()))
	n, b := engine.Members(networks), engine.Axis("row", l.capacity)
	l.inputs = s.Scratch("inputs", engine.Float32, n, b, engine.Axis("feature", l.in))
	if len(l.hidden()) == 0 {
		return l
	}
	if l.norms {
		l.rstd = s.Scratch("rstd", engine.Float32, n, b, engine.Axis("place", l.places()))
	}
	for i := range l.tensors() {
		l.scratch = append(l.scratch, s.Scratch(fmt.Sprintf("scratch_%d", i+1), engine.Float32, n, b, engine.Axis("unit", l.widest())))
	}
	return l
}

// tensors returns how many scratch tensors take a layer's values.
func (l *layered) tensors() int {
	n := 2
	if slices.ContainsFunc(l.layers, func(x Layer) bool { return x.Skip > 0 }) {
		n++
	}
	if l.norms {
		n++
	}
	return n
}

// RowBytes returns the bytes of scratch memory that a network takes for each of the rows that it is made for, where it is computed layer by layer: for
// callers that choose how many rows and networks are computed at once.
func RowBytes(model Model, info vk.Info) int {
	l := &layered{layers: model.Layers(), in: model.Inputs().Size(), out: model.Outputs(), networks: 1, info: info}
	l.norms = slices.ContainsFunc(l.layers, func(x Layer) bool { return x.Norms })
	floats := l.in
	if len(l.hidden()) > 0 {
		floats += l.tensors()*l.widest() + l.gatheredFloats() + l.places()
	}
	return 4 * floats
}

// hidden returns the hidden layers.
func (l *layered) hidden() []Layer { return l.layers[:len(l.layers)-1] }

// widest returns the largest number of floats of a row of inputs, outputs or a layer's values.
func (l *layered) widest() int {
	widest := max(l.in, l.out)
	for _, h := range l.hidden() {
		widest = max(widest, l.width(h))
	}
	return widest
}

// places returns the largest number of rows that a layer's products have for one input.
func (l *layered) places() int {
	most := 1
	for _, h := range l.hidden() {
		most = max(most, h.places())
	}
	return most
}

// most returns the number of rows of every network that a binding has room for.
func (l *layered) most() int {
	return int(l.info.Limits.MaxStorageRange) / (4 * l.networks * max(l.widest(), l.gatheredFloats()))
}

// room returns a *vk.OutOfMemoryError if the given rows of every network exceed the size of a binding.
func (l *layered) room(what string, rows int) error {
	need, have := 4*uint64(l.networks)*uint64(max(l.widest(), l.gatheredFloats()))*uint64(max(rows, 1)), l.info.Limits.MaxStorageRange
	if need <= have {
		return nil
	}
	return &vk.OutOfMemoryError{What: what, Need: need, Have: have, Why: "a kernel of this device sees no more of a tensor"}
}

// splits implements form: enough parts that one network fills a device, each of enough rows to be worth a separate
// gradient. A convolution's product has a row for each of its places.
func (l *layered) splits(rows int) int {
	const (
		tile  = 64 * 64 // weights per workgroup
		least = 256     // rows per part
	)
	workgroups := 64
	if l.info.Type == vk.CPU {
		workgroups = 16 // a part costs a software driver more memory than it saves time
	}
	n := l.networks * (l.size + tile - 1) / tile
	return max(1, min((workgroups+n-1)/n, rows*l.places()/least))
}

func (l *layered) forward(r *engine.Recorder, b batch, kept *activations) {
	if kept == nil {
		kept = l.passing(&b)
	}
	if l.start != nil {
		l.start.forward(r, b, kept)
		return
	}
	all := b.outer * b.inner
	for first := 0; first < all; first += kept.rows {
		l.chunk(r, b, kept, first, min(kept.rows, all-first))
	}
}

// chunk evaluates count rows of each network, beginning at row first.
func (l *layered) chunk(r *engine.Recorder, b batch, kept *activations, first, count int) {
	inputs, projected := l.take(r, b, kept, first, count), false // projected: the kernel before has computed a perturbed layer's projections
	for i, layer := range l.layers {
		if i > 0 && kept.together(i-1) {
			continue
		}
		rows := count * layer.places()
		if i > 0 {
			inputs = []input{{matrix: kept.matrix(kept.hidden[i-1], l.layers[i-1]), features: layer.In}}
		}
		if kept.together(i) {
			l.convolvePool(r, b, kept, i, count, inputs[0].matrix)
			continue
		}
		if k, ok := layer.Kind.mapped(); ok {
			k.forward(r, l, kept.mapping(i, count, inputs[0].matrix))
			if layer.Norms {
				l.norm(r, b, kept, i, rows)
			}
			continue
		}
		g := l.product(b, kept, i, first, rows)
		switch {
		case i == 0 && l.start.known():
			g.A = l.start.inputs
		case layer.Kind == Convolution:
			whole, ok := l.implicit(r, g, layer, inputs[0].matrix)
			if ok && b.weights.Perturbation != nil { // a kernel of its own reads patches in memory
				_, ok = l.completes(whole)
			}
			if ok {
				g = whole
			} else {
				g.A = l.gather(r, kept, layer, inputs[0].matrix, count)
			}
		case i > 0:
			g.A = inputs[0].matrix
		default:
			g = l.first(r, b, g, inputs)
		}
		if b.weights.Perturbation == nil {
			g.Record(r)
		} else {
			projected = l.perturbed(r, b, i, g, first, projected)
		}
		if l.branch != nil && b.branch != nil && !layer.Hidden {
			l.branchForward(r, b, g, first)
		}
		if layer.Skip > 0 {
			to := kept.matrix(kept.hidden[i], layer)
			l.slope(r, layer.Units(), count, to, to, slope{addend: kept.hidden[i-layer.Skip]})
		}
		if layer.Norms {
			l.norm(r, b, kept, i, rows)
		}
	}
}

// product returns layer i's product of rows without its A: rows of inputs, or of their patches, from input `first` on.
func (l *layered) product(b batch, kept *activations, i, first, rows int) Gemm {
	layer := l.layers[i]
	g := Gemm{
		Members: l.networks, M: rows, N: layer.Out, K: layer.In, B: b.matrix(layer, 0), Precision: layer.Precision,
		Bias: b.weights.Params, BiasAt: b.weights.Base + layer.Bias, BiasStride: b.row,
	}
	switch {
	case !layer.Hidden:
		g = l.outputs(g, b, b.outputs, first)
	case layer.Norms:
		g.C = kept.matrix(kept.affine[i], layer).byPlace(layer)
	default:
		g.C, g.Activation = kept.matrix(kept.hidden[i], layer).byPlace(layer), layer.Activation
		g.Padded = l.pads(layer)
		g.Kept = kept.affine[i]
	}
	return g
}

// outputs completes the product g of an output layer with where it writes rows of outputs from row first on.
func (l *layered) outputs(g Gemm, b batch, outputs *engine.Tensor, first int) Gemm {
	g.C = Matrix{Tensor: outputs, Stride: b.inner * g.N, Row: g.N}
	g.First, g.Inner, g.Block = first, b.inner, l.networks*b.inner*g.N
	if b.outer == 1 { // one block: no divisions
		g.C.At, g.First, g.Inner, g.Block = first*g.N, 0, 0, 0
	}
	return g
}

// first completes the first layer's product g with its inputs. If panels compute it, two parts are one product; else the
// products of both parts are added.
func (l *layered) first(r *engine.Recorder, b batch, g Gemm, inputs []input) Gemm {
	joined := g
	joined.K = l.in
	joined.join(inputs)
	if len(inputs) == 1 || joined.Panels(l.info) {
		return joined
	}
	if g.Addend = l.scratch[0]; g.C.Tensor == g.Addend {
		g.Addend = l.scratch[1]
	}
	last := inputs[1]
	Gemm{
		Members: g.Members, M: g.M, N: g.N, K: inputs[0].features, A: inputs[0].matrix, B: g.B, C: g.C.in(g.Addend), Precision: g.Precision,
	}.Record(r)
	g.A, g.B, g.K = last.matrix, b.matrix(l.layers[0], last.at), last.features
	return g
}

// join makes one or two inputs, side by side, the product's A.
func (g *Gemm) join(inputs []input) {
	g.A = inputs[0].matrix
	if len(inputs) == 2 {
		g.Tail, g.TailColumns = inputs[1].matrix, inputs[1].features
	}
}

// line returns the workgroup size of elementwise kernels.
func (l *layered) line() uint32 { return line(l.info) }

func line(info vk.Info) uint32 {
	if info.Type == vk.CPU {
		return 8 * info.SubgroupSize
	}
	return 256
}

// spans divides count elements, of which a workgroup computes each, among dispatches of at most as many workgroups along x as the device allows, for kernels
// whose workgroups cannot grow (engine.Recorder.Invocations), or not enough.
func (l *layered) spans(count, each int, record func(begin, groups uint32)) {
	most := int(l.info.Limits.MaxGroups[0])
	for begin := 0; begin < count; begin += most * each {
		record(uint32(begin), uint32(min(most, ceil(count-begin, each))))
	}
}

// matrix returns a layer's weights, beginning at input `from`.
func (b batch) matrix(layer Layer, from int) Matrix {
	return Matrix{Tensor: b.weights.Params, At: b.weights.Base + layer.Weight + from*layer.Out, Stride: b.row, Row: layer.Out}
}

// aligned reports whether the rows and parameters of a layer begin at multiples of four floats.
func (b batch) aligned(layer Layer) bool {
	return layer.Out%4 == 0 && (b.weights.Base+layer.Weight)%4 == 0 && layer.Bias%4 == 0
}

// normWidth returns how many lanes share a row in layer normalization: one where gathers are as fast as contiguous
// loads.
func (l *layered) normWidth() uint32 {
	if l.info.Type == vk.CPU {
		return 1
	}
	return min(l.info.SubgroupSize, 32)
}

// norm records layer normalization and activation of layer i over its rows: one for each place of an input.
func (l *layered) norm(r *engine.Recorder, b batch, kept *activations, i, rows int) {
	layer, affine, hidden := l.layers[i], kept.affine[i].Range(), kept.hidden[i].Range()
	k := normKernel{
		Affine: affine, Params: b.weights.Params.Range(),
		Normalized: affine, Hidden: hidden, Rstd: kept.rstd[i].Range(),
		Units: uint32(layer.Out), Rows: uint32(rows), Capacity: uint32(kept.rows * layer.places()), Row: uint32(b.row),
		Scale: uint32(b.weights.Base + layer.Scale), Shift: uint32(b.weights.Base + layer.Shift),
		Workgroup: l.line(), Width: l.normWidth(), Aligned: b.aligned(layer), Activation: uint32(layer.Activation),
	}
	networks := l.networks
	if b.weights.Perturbation != nil {
		networks = l.perturbNorm(r, b, layer, &k)
	}
	l.spans(int(k.Rows), int(k.Workgroup/k.Width), func(begin, groups uint32) {
		k.Begin = begin
		call := k.call(groups, uint32(networks), 1)
		call.Subgroup = l.info.SubgroupSize
		r.Dispatch(call)
	})
}
