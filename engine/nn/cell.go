package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Begins says in which rows an episode begins: what the memory of a row was before that counts as zero.
type Begins struct {
	Words *engine.Tensor // [M, B] u32, for a stack [M, network, B]; nil: in none
	Bits  uint32         // of a word that are looked at; 0: all
	Zero  bool           // an episode begins where they are zero; otherwise where they are not
	Also  uint32         // bits: any that is not zero also begins one
}

// set sets the fields of a kernel that looks at words of rows; the networks of a stack share them unless each has its own.
func (b Begins) set(words *vk.Range, bits *uint32, zero *bool, also, shared *uint32, networks, stack, rows int) {
	if b.Words == nil {
		return
	}
	*words, *bits, *zero, *also, *shared = b.Words.Range(), b.Bits, b.Zero, b.Also, 1
	if *bits == 0 {
		*bits = ^uint32(0)
	}
	if b.Words.Len() < networks*rows {
		*shared = uint32(stack)
	}
}

// check reports whether there are words for rows of every network, or of every stack.
func (b Begins) check(networks, stack, rows int) bool {
	return b.Words == nil || b.Words.Len() == networks*rows || b.Words.Len() == networks/stack*rows
}

// cell computes steps of the recurrent layer of all networks.
type cell struct {
	Layer
	networks int
}

func (c cell) units() int { return c.Kind.gates() * c.Out }

// stateProduct returns the products of rows of state h, a matrix, with the recurrent weights.
func (c cell) stateProduct(b batch, rows int, h, to Matrix) Gemm {
	return Gemm{
		Members: c.networks, M: rows, N: c.units(), K: c.Out, A: h, B: c.recurrent(b), C: to, Precision: c.Precision,
	}
}

// recurrent locates the weights of the state, a row of all gates for each unit.
func (c cell) recurrent(b batch) Matrix {
	return Matrix{Tensor: b.weights.Params, At: b.weights.Base + c.Recurrent, Stride: b.row, Row: c.units()}
}

// rows returns a matrix of rows of every network.
func (c cell) rows(t *engine.Tensor, rows, width int) Matrix {
	return Matrix{Tensor: t, Stride: rows * width, Row: width}
}

// kernel returns the kernel of a step in the given number of rows, for record. inputs is nil if they are tokens.
func (c cell) kernel(r *engine.Recorder, b batch, rows, steps int, memory, product, inputs, hidden *engine.Tensor) cellKernel {
	k := cellKernel{
		Inputs: optional(inputs), Product: product.Range(), Params: b.weights.Params.Range(), Memory: memory.Range(),
		Next: memory.Range(), Hidden: hidden.Range(),
		Units: uint32(c.Out), Rows: uint32(rows), Steps: uint32(steps), Row: uint32(b.row), Bias: uint32(b.weights.Base + c.RecurrentBias),
		BeginsShared: 1, Gru: c.Kind == GRU,
	}
	if p := b.weights.Perturbation; p != nil {
		k.Vectors, k.Vector, k.Each = p.Vectors.Range(), uint32(p.Vectors.Size("float")), uint32(rows/p.Vectors.Size(NetworkAxis))
		bias, ok := p.Layout.Vector(c.RecurrentBias)
		if k.Bias = uint32(bias); !ok && c.Kind == GRU {
			r.Fail(fmt.Errorf("nn: a perturbation of a GRU of %d units without its recurrent bias", c.Out))
		}
	}
	return k
}

// record dispatches a step: four units of a row an invocation, where they and what is read begin at multiples of four floats.
func (c cell) record(r *engine.Recorder, k cellKernel) {
	info, networks := r.Engine().Device().Info(), uint32(c.networks)
	groups := func(invocations uint32) uint32 {
		size, count := r.Invocations(int(invocations))
		if k.Tokens.Size > 0 { // rows of all candidates, which are many
			size = max(size, line(info))
			count = (invocations + size - 1) / size
		}
		k.LocalSizeX = size
		return count
	}
	at := k.Units | k.Row | k.Weight | k.InputBias | k.Vector
	if k.Gru {
		at |= k.Bias
	}
	switch {
	case at%4 != 0:
		r.Dispatch(k.call(groups(k.Rows*k.Units), networks, 1))
	case engine.WideStores(info):
		g := groups(k.Rows * k.Units / 4)
		r.Dispatch(cellQuadWideKernel(k).call(g, networks, 1))
	default:
		g := groups(k.Rows * k.Units / 4)
		r.Dispatch(cellQuadKernel(k).call(g, networks, 1))
	}
}

// recurrent computes one step of networks with memory: the layers before the cell, the cell, the layers after it.
type recurrent struct {
	cell
	model         Model
	before, after *layered
	gates         *engine.Tensor // [networks, rows, gates units]: the product of the cell's inputs
	product       *engine.Tensor // likewise, of its state
	hidden        *engine.Tensor // [networks, rows, units]: the state after the step
	projections   *engine.Tensor // of the state, in networks of low rank: see layered.projections; else nil
	capacity      int
	state         *engine.State
}

// newRecurrent makes the scratch tensors for steps of up to rows rows per network.
func newRecurrent(s *engine.State, model Model, networks, rows int) (*recurrent, error) {
	before, layer, after, err := cellOf(model)
	if err != nil {
		return nil, err
	}
	f := &recurrent{cell: cell{layer, networks}, model: model, capacity: rows, state: s}
	f.before, f.after = newLayered(s.Sub("before"), before, networks, rows), newLayered(s.Sub("after"), after, networks, rows)
	n, b := engine.Members(networks), engine.Axis("row", rows)
	f.gates = s.Scratch("gates", engine.Float32, n, b, engine.Axis("gate", f.units()))
	f.product = s.Scratch("product", engine.Float32, n, b, engine.Axis("gate", f.units()))
	f.hidden = s.Scratch("hidden", engine.Float32, n, b, engine.Axis("unit", layer.Out))
	return f, s.Err()
}

// splits implements form. Sequences have their own.
func (f *recurrent) splits(rows int) int { return f.before.splits(rows) }

// keep implements form: only sequences have gradients.
func (f *recurrent) keep(*engine.State, int) *activations { return nil }

func (f *recurrent) backward(r *engine.Recorder, _ batch, _ *activations, _ gradients) {
	r.Fail(fmt.Errorf("nn: gradients of a pass of network %v, which has memory; want a Sequence", f.model))
}

// forward implements form: one step.
func (f *recurrent) forward(r *engine.Recorder, b batch, _ *activations) {
	if err := f.check(b); err != nil {
		r.Fail(err)
		return
	}
	in := b
	in.outputs = f.gates
	f.before.forward(r, in, nil)
	g := f.stateProduct(b, b.inner, f.rows(b.memory, b.inner, f.Memory()), f.rows(f.product, b.inner, f.units()))
	if p := b.weights.Perturbation; p == nil {
		g.Record(r)
	} else {
		f.perturbed(r, p, g)
	}
	k := f.kernel(r, b, b.inner, 1, b.memory, f.product, f.gates, f.hidden)
	b.begins.set(&k.Begins, &k.BeginsBits, &k.BeginsZero, &k.BeginsAlso, &k.BeginsShared, f.networks, b.stack, b.inner)
	k.BeginsNetwork = uint32(b.inner)
	f.record(r, k)
	f.after.forward(r, f.output(b, f.hidden), nil)
}

// perturbed records the product g of the state of all rows, with the weights of each row's network. It has no bias: the kernel of the step adds that of
// GRUs, which only one gate has.
func (f *recurrent) perturbed(r *engine.Recorder, p *Perturbation, g Gemm) {
	of, err := p.product(g, f.Recurrent, noBias)
	if err != nil {
		r.Fail(err)
		return
	}
	of.each, of.projections = g.M/p.Vectors.Size(NetworkAxis), f.projections
	f.before.complete(r, g, of, false, nil)
}

// output is the batch of the layers after the cell; its inputs are the states [networks, rows, units] of a batch.
func (c cell) output(b batch, hidden *engine.Tensor) batch {
	b.inputs, b.normalizer = []part{{tensor: hidden, features: c.Out, shared: 1}}, nil
	return b
}

// check checks a batch of one step.
func (f *recurrent) check(b batch) error {
	switch m := b.memory; {
	case m == nil:
		return fmt.Errorf("nn: network %v is evaluated without its memory; want Inputs.Memory", f.model)
	case b.outer != 1 || b.inner > f.capacity:
		return fmt.Errorf("nn: network %v is evaluated for %d blocks of %d rows; want one block of at most %d", f.model, b.outer, b.inner, f.capacity)
	case m.Len() != f.networks*b.inner*f.Memory():
		return fmt.Errorf("nn: network %v is evaluated with memory %v; want %d floats for each of %d rows of %d networks",
			f.model, m, f.Memory(), b.inner, f.networks)
	}
	if !b.begins.check(f.networks, b.stack, b.inner) {
		return fmt.Errorf("nn: network %v begins episodes by %v; want a word for each of %d rows", f.model, b.begins.Words, b.inner)
	}
	return nil
}
