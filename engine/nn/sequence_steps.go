package nn

import "github.com/evorl/evorl/engine"

// stepsForward records the steps of the cell, a product of the memory and a step each.
func (q *Sequence) stepsForward(r *engine.Recorder, b batch) {
	c := q.cell
	r.Repeat(q.steps, func(r *engine.Recorder, i engine.Counter) {
		c.stateProduct(b, q.rows, c.rows(q.memory, q.rows, c.Memory()), c.rows(q.product, q.rows, c.units())).Record(r)
		k := c.kernel(r, b, q.rows, q.steps, q.memory, q.product, q.gates, q.hidden)
		k.Step, k.Kept, k.Before = i.Tensor().Range(), q.kept.Range(), q.memories.Range()
		if q.done != nil {
			k.Begins, k.BeginsBits, k.BeginsLag, k.BeginsShared = q.done.Range(), ^uint32(0), 1, uint32(b.stack)
			k.BeginsStep, k.BeginsNetwork = q.words()
		}
		c.record(r, k)
	})
}

// stepsBackward records the steps of the cell back through time, a step and a product of the gradient each.
func (q *Sequence) stepsBackward(r *engine.Recorder, b batch) {
	c := q.cell
	r.Fill(q.carried, 0)
	r.Fill(q.direct, 0)
	r.Repeat(q.steps, func(r *engine.Recorder, i engine.Counter) {
		size, groups := r.Invocations(q.rows * c.Out)
		k := cellBackwardKernel{
			Step: i.Tensor().Range(), AtHidden: q.atHidden.Range(), Carried: q.carried.Range(), Direct: q.direct.Range(),
			Kept: q.kept.Range(), Before: q.memories.Range(), AtInputs: q.gates.Range(), AtProduct: q.product.Range(), ToDirect: q.direct.Range(),
			Units: uint32(c.Out), Rows: uint32(q.rows), Steps: uint32(q.steps), EndsShared: uint32(b.stack), LocalSizeX: size, Gru: c.Kind == GRU,
		}
		if q.inner != nil {
			k.AtInner = q.inner.Range()
		}
		if q.done != nil {
			k.Ends = q.done.Range()
			k.EndsStep, k.EndsNetwork = q.words()
		}
		r.Dispatch(k.call(groups, uint32(c.networks), 1))
		Gemm{
			Members: c.networks, M: q.rows, N: c.Out, K: c.units(), A: c.rows(q.product, q.rows, c.units()), B: c.recurrent(b), TransposeB: true,
			C: c.rows(q.carried, q.rows, c.Out), Precision: c.Precision, ScaleA: gradientScale(q.steps * q.rows), // losses are means over all steps
		}.Record(r)
	})
}
