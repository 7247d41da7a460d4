package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Ahead evaluates the network of an open Sequence at other inputs: for every step, as the step after it, with the memory that the step leaves, also
// where an episode ends with it. A critic's values of true next observations are such outputs. The sequence itself goes on from its own inputs. The outputs
// are the network's or, if it has a branch, that one's.
type Ahead struct {
	of                *Sequence
	net               *Network       // with the outputs
	after             *layered       // its layers after the cell
	memories, product *engine.Tensor // [networks, T B, H], [networks, T B, gates units]
}

// NewAhead makes the tensors for evaluations along the sequence.
func (q *Sequence) NewAhead(s *engine.State) (*Ahead, error) {
	tensor := func(name, axis string, size int) *engine.Tensor {
		members, networks := engine.Members(q.net.members), Networks(q.net.stack)
		return s.Scratch(name, engine.Float32, members, networks, engine.Axis("row", q.steps*q.rows), engine.Axis(axis, size))
	}
	a := &Ahead{of: q, net: q.net, after: q.after, memories: tensor("memories", "float", q.cell.Memory()), product: tensor("product", "gate", q.cell.units())}
	if b := q.net.branch; b != nil {
		_, _, after, err := cellOf(*b)
		if err != nil {
			return nil, err
		}
		a.net = &Network{model: *b, members: q.net.members, stack: q.net.stack, rows: q.net.rows, form: q.net.form}
		a.after = newLayered(s.Sub("after"), after, q.cell.networks, q.steps*q.rows)
	}
	return a, s.Err()
}

// Record records the outputs at inputs, whose rows are those of the open pass. It takes no memory from inputs.
func (a *Ahead) Record(r *engine.Recorder, inputs Inputs, outputs *engine.Tensor) {
	q := a.of
	if q.opened != r {
		r.Fail(fmt.Errorf("nn: %v: outputs ahead of a sequence that is not open; want its Forward first, in the same recording", q.net))
		return
	}
	b, err := a.net.batch(q.batch.weights, inputs, outputs)
	if err == nil && (b.outer != q.from.outer || b.inner != q.from.inner) {
		err = fmt.Errorf("nn: %v: outputs %v ahead of a sequence with outputs %v; want as many rows in the same order", q.net, outputs, q.from.outputs)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	c, all, out := q.cell, q.steps*q.rows, a.net.model.Outputs()
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
	c.record(r, c.kernel(r, b, all, 1, a.memories, a.product, q.gates, q.atHidden))
	a.after.forward(r, c.output(b, q.atHidden), nil)
	if q.apart {
		q.put(r, q.outputs, out, part{tensor: outputs, features: out})
	}
}
