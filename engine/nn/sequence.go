package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Sequence is a pass of a network with memory over T steps of B rows in order, and back through time. It owns the activations between the two,
// and is open from Forward until Backward or Release.
//
// Rows are in the order of trajectories, [T, M, B, …], or of members, [M, T, B, …]; all tensors of a pass have the same order. The products of the cell's
// inputs with their weights are one for all steps. Its steps are taken in one dispatch or, where its state is large, in a repeated block.
type Sequence struct {
	net           *Network
	cell          cell
	before, after *layered
	scan          *scanForm // nil: steps are dispatches of their own
	steps, rows   int
	opened        *engine.Recorder
	from, batch   batch          // of the open pass: as given, and with the rows of a network contiguous
	apart         bool           // they differ
	done          *engine.Tensor // of the open pass

	keptBefore, keptAfter *activations
	inputs, atInputs      *engine.Tensor // [networks, T B, In]: of trajectories, normalized
	outputs               *engine.Tensor // [networks, T B, Out]: of trajectories, or the gradient there
	gates                 *engine.Tensor // [networks, T B, gates units]: the product of the cell's inputs, then the gradient there
	hidden, atHidden      *engine.Tensor // [networks, T B, units]
	kept, memories        *engine.Tensor // [networks, T B, 4 units], [networks, T B, H]: see cell.comp
	inner                 *engine.Tensor // [networks, T B, units]: see cell_backward.comp; nil in LSTMs
	memory                *engine.Tensor // [M, network, B, H]
	product               *engine.Tensor // [networks, B, gates units]; nil in a scan
	packed                *engine.Tensor // of a scan: see cell_pack.comp
	carried, direct       *engine.Tensor // [networks, B, units]

	gradient *engine.Tensor // [splits, M, row]; nil: the pass does not learn
	branch   branchPass
	own      *branchOwn // of a branch that leaves the trunk before its last hidden layer; else nil
}

// NewSequence makes a pass over sequences of the given number of steps, in the given number of rows per network: environments, or sequences of a
// replay. It fails with a *vk.OutOfMemoryError if the device has too little memory.
func (n *Network) NewSequence(s *engine.State, steps, rows int) (*Sequence, error) {
	_, layer, _, err := cellOf(n.model)
	if err != nil {
		return nil, err
	}
	c := cell{layer, n.members * n.stack}
	return n.newSequence(s, steps, rows, chooseScan(s.Engine().Device().Info(), c, rows))
}

// newSequence is NewSequence with the form of the cell's steps.
func (n *Network) newSequence(s *engine.State, steps, rows int, form *scanForm) (*Sequence, error) {
	before, layer, after, err := cellOf(n.model)
	if err != nil {
		return nil, err
	}
	if steps < 1 || rows < 1 || steps > 1<<31/rows {
		return nil, fmt.Errorf("nn: a sequence of %v of %d steps in %d rows; want at least 1 of each", n, steps, rows)
	}
	networks, all := n.members*n.stack, steps*rows
	q := &Sequence{net: n, cell: cell{layer, networks}, scan: form, steps: steps, rows: rows}
	q.before, q.after = newLayered(s.Sub("before"), before, networks, all), newLayered(s.Sub("after"), after, networks, all)
	q.after.withBranch(n.branch)
	for _, l := range []*layered{q.before, q.after} {
		if err := l.room(fmt.Sprintf("sequence of %v over %d steps in %d rows", n, steps, rows), all); err != nil {
			return nil, fmt.Errorf("nn: %w", err)
		}
	}
	q.keptBefore, q.keptAfter = q.before.keep(s.Sub("before"), all), q.after.keep(s.Sub("after"), all)
	if q.own, err = newBranchOwn(s.Sub("branch"), n, all); err != nil {
		return nil, err
	}
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor {
		return s.Scratch(name, engine.Float32, append([]engine.Dim{engine.Members(n.members), Networks(n.stack)}, dims...)...)
	}
	t, b, u := engine.Axis("row", all), engine.Axis("row", rows), engine.Axis("unit", layer.Out)
	gates, floats := engine.Axis("gate", q.cell.units()), engine.Axis("float", layer.Memory())
	if networks > 1 {
		in := engine.Axis("feature", n.model.Inputs().Size())
		q.inputs, q.atInputs = tensor("inputs", t, in), tensor("at_inputs", t, in)
		q.outputs = tensor("outputs", t, engine.Axis("output", n.model.Outputs()))
	}
	q.gates, q.hidden, q.atHidden = tensor("gates", t, gates), tensor("hidden", t, u), tensor("at_hidden", t, u)
	q.kept, q.memories = tensor("kept", t, engine.Axis("float", 4*layer.Out)), tensor("memories", t, floats)
	q.memory = tensor("memory", b, floats)
	if form == nil {
		q.product = tensor("product", b, gates)
	} else {
		pitch := form.pitch(layer.Out)
		q.packed = tensor("packed", engine.Axis("row", layer.Kind.gates()*pitch+1), engine.Axis("column", pitch))
	}
	q.carried, q.direct = tensor("carried", b, u), tensor("direct", b, u)
	if layer.Kind == GRU {
		q.inner = tensor("at_inner", t, u)
	}
	return q, s.Err()
}

// Splits is Pass.Splits.
func (q *Sequence) Splits() int {
	rows := q.steps * q.rows
	return max(q.before.splits(rows), q.after.splits(rows), q.own.splits(rows))
}

// Learn is Pass.Learn.
func (q *Sequence) Learn(s *engine.State, params *engine.Tensor) {
	q.gradient = gradientOf(s, q.Splits(), params)
}

// Into is Pass.Into.
func (q *Sequence) Into() *engine.Tensor { return q.gradient }

// Memory returns the memory after the last step of the last Forward, [M, network, B, H].
func (q *Sequence) Memory() *engine.Tensor { return q.memory }

// Forward records the outputs of all steps and opens the pass. It starts from Inputs.Memory [M, B, H], for a stack [M, network, B, H], which it
// leaves as it is, or from zero in rows where Inputs.Begins says that an episode begins; nil: from zero. done [T, M, B] u32 holds words that are not
// 0 where an episode ends: the next step of the row begins with a memory of zero; nil: none ends. It is shared by the networks of a member.
func (q *Sequence) Forward(r *engine.Recorder, w Weights, inputs Inputs, done, outputs *engine.Tensor) {
	if err := q.open(r, w, inputs, done, outputs); err != nil {
		r.Fail(err)
		return
	}
	b, c := q.batch, q.cell
	if q.apart {
		q.gather(r, q.from, q.inputs)
	}
	in := b
	in.outputs = q.gates
	q.before.forward(r, in, q.keptBefore)
	q.begin(r, b)
	if q.scan != nil {
		q.scanForward(r, b)
	} else {
		q.stepsForward(r, b)
	}
	out := c.output(b, q.hidden)
	q.after.forward(r, out, q.keptAfter)
	q.own.forward(r, out)
	if q.apart {
		q.put(r, q.outputs, q.net.model.Outputs(), part{tensor: outputs, features: q.net.model.Outputs()})
	}
}

// begin records the memory with which the first step is taken.
func (q *Sequence) begin(r *engine.Recorder, b batch) {
	switch {
	case b.memory == nil:
		r.Fill(q.memory, 0)
	case b.begins.Words == nil:
		r.Copy(q.memory, b.memory)
	default:
		floats := q.cell.Memory()
		size, groups := r.Invocations(q.rows * floats)
		k := cellBeginKernel{Given: b.memory.Range(), Memory: q.memory.Range(), Rows: uint32(q.rows), Floats: uint32(floats), LocalSizeX: size}
		b.begins.set(&k.Begins, &k.BeginsBits, &k.BeginsZero, &k.BeginsAlso, &k.BeginsShared, q.cell.networks, b.stack, q.rows)
		r.Dispatch(k.call(groups, uint32(q.cell.networks), 1))
	}
}

// words returns how many words of done are from step to step, and from member to member.
func (q *Sequence) words() (step, member uint32) {
	if q.apart {
		return uint32(q.net.members * q.rows), uint32(q.rows)
	}
	return uint32(q.rows), uint32(q.steps * q.rows)
}

// open checks the tensors of a pass and opens it.
func (q *Sequence) open(r *engine.Recorder, w Weights, inputs Inputs, done, outputs *engine.Tensor) error {
	n, all := q.net, q.steps*q.rows
	b, err := n.batch(w, inputs, outputs)
	switch {
	case err != nil:
		return err
	case q.opened == r:
		return fmt.Errorf("nn: %v: Forward to %v overwrites the activations of the open sequence to %v; want its Backward or Release first",
			n, outputs, q.batch.outputs)
	case b.outer*b.inner != all || b.outer != 1 && b.outer != q.steps:
		return fmt.Errorf("nn: %v: a sequence with outputs %v; want [time %d, member, row %d, output] or [member, time, row, output]", n, outputs, q.steps, q.rows)
	case done != nil && done.Len() != all*n.members:
		return fmt.Errorf("nn: %v: a sequence whose episodes end by %v; want a word for each of %d steps of %d rows", n, done, q.steps, q.rows)
	case b.memory != nil && b.memory.Len() != q.memory.Len():
		return fmt.Errorf("nn: %v: a sequence from memory %v; want %v", n, b.memory, q.memory)
	case !b.begins.check(q.cell.networks, b.stack, q.rows):
		return fmt.Errorf("nn: %v: a sequence that begins episodes by %v; want a word for each of %d rows", n, b.begins.Words, q.rows)
	case n.branch != nil && b.outer > 1:
		return fmt.Errorf("nn: %v: a sequence with outputs %v, and a branch; want [member, time, row, output]", n, outputs)
	}
	if b, err = q.branch.with(n, b); err != nil {
		return err
	}
	q.opened, q.done, q.from, q.apart = r, done, b, b.outer > 1 && q.cell.networks > 1
	if q.apart {
		b.inputs, b.normalizer = []part{{tensor: q.inputs, features: n.model.Inputs().Size(), shared: 1}}, nil
		b.outputs = q.outputs
	}
	b.outer, b.inner = 1, all
	q.batch = b
	return nil
}

// gather records copying the inputs of trajectories to rows of every network, normalized if there is a normalizer.
func (q *Sequence) gather(r *engine.Recorder, b batch, to *engine.Tensor) {
	for i, p := range b.inputs {
		normalizer := b.normalizer
		if i > 0 {
			normalizer = nil
		}
		q.take(r, p, to, q.net.model.Inputs().Size(), normalizer, b.limit)
	}
}

// take records copying rows of a trajectory to columns of rows of every network, normalized if there is a normalizer.
func (q *Sequence) take(r *engine.Recorder, p part, to *engine.Tensor, width int, normalizer *engine.Tensor, limit float32) {
	k := rowsKernel{
		Source: p.tensor.Range(), Rows: to.Range(),
		Inner: uint32(q.rows), Features: uint32(p.features), Width: uint32(width), Column: uint32(p.at), SharedBy: uint32(p.shared),
		NormalizerShared: uint32(q.net.stack), Count: uint32(q.steps * q.rows), Capacity: uint32(q.steps * q.rows), Limit: limit,
		LocalSizeX: q.before.line(),
	}
	if normalizer != nil {
		k.Normalizer = normalizer.Range()
	}
	q.before.spans(q.rows*p.features, int(k.LocalSizeX), func(begin, groups uint32) {
		k.Begin = begin
		r.Dispatch(k.call(groups, uint32(q.steps), uint32(q.cell.networks)))
	})
}

// put records copying columns of rows of every network to a trajectory's.
func (q *Sequence) put(r *engine.Recorder, from *engine.Tensor, width int, p part) {
	count := q.cell.networks * q.steps * q.rows * p.features
	size, groups := r.Invocations(count)
	r.Dispatch(blocksKernel{
		Rows: from.Range(), Blocks: p.tensor.Range(), Count: uint32(count), Networks: uint32(q.cell.networks), Steps: uint32(q.steps),
		Inner: uint32(q.rows), Features: uint32(p.features), Width: uint32(width), Column: uint32(p.at), LocalSizeX: size,
	}.call(min(groups, r.Engine().Device().Info().Limits.MaxGroups[0]), 1, 1))
}

// SequenceGradients are the tensors that Backward writes; at least one must be set.
type SequenceGradients struct {
	Gradients
	Memory *engine.Tensor // [M, network, B, H]: at the memory before the first step; nil: not computed
}

// Backward records the gradients of the open pass, back through time, and closes it. gradOutputs is the loss gradient at the outputs of all steps.
func (q *Sequence) Backward(r *engine.Recorder, gradOutputs *engine.Tensor, g SequenceGradients) {
	if q.opened != r {
		r.Fail(fmt.Errorf("nn: %v: Backward of a sequence that is not open; want its Forward first, in the same recording", q.net))
		return
	}
	back, err := q.gradients(gradOutputs, g)
	if err != nil {
		r.Fail(err)
		return
	}
	q.opened = nil
	b, c, above := q.batch, q.cell, gradients{outputs: gradOutputs, branch: q.branch.gradient, params: back.params, splits: back.splits}
	if q.apart {
		q.take(r, part{tensor: gradOutputs, features: q.net.model.Outputs(), shared: 1}, q.outputs, q.net.model.Outputs(), nil, 0)
		above.outputs = q.outputs
	}
	above.inputs[0] = q.atHidden
	q.after.backward(r, c.output(b, q.hidden), q.keptAfter, above)
	q.own.backward(r, c.output(b, q.hidden), above)
	if q.scan != nil {
		q.scanBackward(r, b)
	} else {
		q.stepsBackward(r, b)
	}
	if g.Memory != nil {
		size, groups := r.Invocations(q.rows * c.Out)
		k := cellMemoryKernel{
			Carried: q.carried.Range(), Direct: q.direct.Range(), AtMemory: g.Memory.Range(), Units: uint32(c.Out), Rows: uint32(q.rows),
			LocalSizeX: size, Gru: c.Kind == GRU,
		}
		b.begins.set(&k.Begins, &k.BeginsBits, &k.BeginsZero, &k.BeginsAlso, &k.BeginsShared, c.networks, b.stack, q.rows)
		r.Dispatch(k.call(groups, uint32(c.networks), 1))
	}
	if back.params != nil {
		q.weights(r, back)
	}
	q.below(r, back)
}

// Gradient is Pass.Gradient.
func (q *Sequence) Gradient(r *engine.Recorder, gradOutputs *engine.Tensor) *engine.Tensor {
	if q.gradient == nil {
		r.Fail(fmt.Errorf("nn: %v: the gradient of a sequence that does not learn; want its Learn first", q.net))
		return nil
	}
	q.Backward(r, gradOutputs, SequenceGradients{Gradients: Gradients{Params: q.gradient}})
	return q.gradient
}

// weights records the gradient of the weights of the cell's state: the states before all steps, transposed, times the gradient at their products.
func (q *Sequence) weights(r *engine.Recorder, back gradients) {
	b, c, all := q.batch, q.cell, q.steps*q.rows
	g := Gemm{
		Members: c.networks, M: c.Out, N: c.units(), K: all, A: c.rows(q.memories, all, c.Memory()), TransposeA: true,
		B: c.rows(q.gates, all, c.units()), C: c.recurrent(b).in(back.params), Splits: back.splits, SplitStride: c.networks * b.row,
		Precision: c.Precision, ScaleB: gradientScale(all),
	}
	if c.Kind == LSTM {
		g.Record(r)
		return
	}
	g.N = 2 * c.Out // n's products differ from its inputs'
	g.Record(r)
	g.N, g.B = c.Out, c.rows(q.inner, all, c.Out)
	g.C.At += 2 * c.Out
	g.Record(r)
	q.after.columns(r, b, Layer{Out: c.Out}, c.rows(q.inner, all, c.Out), nil, c.RecurrentBias, back)
}

// below records the gradients of the layers before the cell and of its weights, and at the inputs.
func (q *Sequence) below(r *engine.Recorder, back gradients) {
	wanted := back.params != nil
	under := gradients{outputs: q.gates, params: back.params, splits: back.splits, inputs: back.inputs}
	for _, t := range back.inputs {
		wanted = wanted || t != nil
		if q.apart && t != nil {
			under.inputs = [MaxParts]*engine.Tensor{q.atInputs}
		}
	}
	if !wanted {
		return
	}
	q.before.backward(r, q.batch, q.keptBefore, under)
	for i, t := range back.inputs {
		if q.apart && t != nil {
			p := q.from.inputs[i]
			p.tensor = t
			q.put(r, q.atInputs, q.net.model.Inputs().Size(), p)
		}
	}
}

// Release closes the pass without a Backward, so that another Forward may follow.
func (q *Sequence) Release() { q.opened = nil }

// gradients checks the tensors of Backward.
func (q *Sequence) gradients(outputs *engine.Tensor, g SequenceGradients) (gradients, error) {
	n, from := q.net, q.from
	back := gradients{outputs: outputs, params: g.Params}
	outer, shared, inner, ok := n.rowsOf(outputs)
	switch {
	case !ok || shared != 1 || outer != from.outer || inner != from.inner*n.model.Outputs():
		return back, fmt.Errorf("nn: %v: a gradient %v at the outputs %v of a sequence; want the same shape", n, outputs, from.outputs)
	case len(g.Inputs) > len(from.inputs):
		return back, fmt.Errorf("nn: %v: gradients at %d parts of the inputs, which have %d", n, len(g.Inputs), len(from.inputs))
	case g.Memory != nil && g.Memory.Len() != q.memory.Len():
		return back, fmt.Errorf("nn: %v: a gradient %v at the memory %v; want as many elements", n, g.Memory, q.memory)
	}
	wanted := g.Params != nil || g.Memory != nil
	for i, t := range g.Inputs {
		if t == nil {
			continue
		}
		p := from.inputs[i]
		outer, shared, inner, ok := n.rowsOf(t)
		if !ok || shared != 1 || outer != from.outer || inner != from.inner*p.features {
			return back, fmt.Errorf("nn: %v: a gradient %v at the inputs %v of a sequence; want separate rows for each of %d networks", n, t, p.tensor, q.cell.networks)
		}
		wanted, back.inputs[i] = true, t
	}
	if !wanted {
		return back, fmt.Errorf("nn: %v: Backward of a sequence without a gradient to write", n)
	}
	var err error
	back.splits, err = n.partsOf(g.Params, q.batch)
	return back, err
}
