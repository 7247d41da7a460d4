package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Ahead evaluates the network of an open Sequence at other inputs: for every step, as the step after it, with the memory that the step leaves, also
// where an episode ends with it. A critic's values of true next observations are such outputs. The sequence itself goes on from its own inputs.
type Ahead struct {
	of                *Sequence
	memories, product *engine.Tensor // [networks, T B, H], [networks, T B, gates units]
}

// NewAhead makes the tensors for evaluations along the sequence.
func (q *Sequence) NewAhead(s *engine.State) (*Ahead, error) {
	tensor := func(name, axis string, size int) *engine.Tensor {
		members, networks := engine.Members(q.net.members), Networks(q.net.stack)
		return s.Scratch(name, engine.Float32, members, networks, engine.Axis("row", q.steps*q.rows), engine.Axis(axis, size))
	}
	return &Ahead{q, tensor("memories", "float", q.cell.Memory()), tensor("product", "gate", q.cell.units())}, s.Err()
}

// Record records the outputs at inputs, whose rows are those of the open pass. It takes no memory from inputs.
func (a *Ahead) Record(r *engine.Recorder, inputs Inputs, outputs *engine.Tensor) {
	q := a.of
	if q.opened != r {
		r.Fail(fmt.Errorf("nn: %v: outputs ahead of a sequence that is not open; want its Forward first, in the same recording", q.net))
		return
	}
	b, err := q.net.batch(q.batch.weights, inputs, outputs)
	if err == nil && (b.outer != q.from.outer || b.inner != q.from.inner) {
		err = fmt.Errorf("nn: %v: outputs %v ahead of a sequence with outputs %v; want as many rows in the same order", q.net, outputs, q.from.outputs)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	c, all, out := q.cell, q.steps*q.rows, q.net.model.Outputs()
	b.outer, b.inner = 1, all
	if q.apart {
		q.gather(r, b, q.atInputs)
		b.inputs, b.normalizer = []part{{tensor: q.atInputs, features: q.net.model.Inputs().Size(), shared: 1}}, nil
		b.outputs = q.outputs
	}
	in := b
	in.outputs = q.gates // which only Forward and Backward need
	q.before.forward(r, in, nil)
	size, groups := r.Invocations(all * c.Out)
	r.Dispatch(cellAfterKernel{
		Kept: q.kept.Range(), Before: q.memories.Range(), Hidden: q.hidden.Range(), After: a.memories.Range(),
		Units: uint32(c.Out), Rows: uint32(all), LocalSizeX: size, Gru: c.Kind == GRU,
	}.call(groups, uint32(c.networks), 1))
	c.stateProduct(b, all, c.rows(a.memories, all, c.Memory()), c.rows(a.product, all, c.units())).Record(r)
	k, groups := c.kernel(r, b, all, 1, a.memories, a.product, q.gates, q.atHidden)
	r.Dispatch(k.call(groups, uint32(c.networks), 1))
	q.after.forward(r, c.output(b, q.atHidden), nil)
	if q.apart {
		q.put(r, q.outputs, out, part{tensor: outputs, features: out})
	}
}
