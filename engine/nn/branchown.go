package nn

import "github.com/evorl/evorl/engine"

// branchOwn computes the layers of a branch behind the cell of a Sequence's network (Branch.Cell), which they do not share; nil: there are none.
type branchOwn struct {
	layers *layered
	kept   *activations
	at     *engine.Tensor // [networks, T B, units]: the gradient at the cell's states by the branch alone
}

// newBranchOwn makes them for passes over rows rows, or returns nil if the branch shares all layers behind the cell.
func newBranchOwn(s *engine.State, n *Network, rows int) (*branchOwn, error) {
	if n.branch == nil || len(n.branch.Own()) == 1 {
		return nil, nil
	}
	_, cell, after, err := cellOf(*n.branch)
	if err != nil {
		return nil, err
	}
	networks := n.members * n.stack
	o := &branchOwn{layers: newLayered(s, after, networks, rows)}
	if err := o.layers.room("branch of a sequence of "+n.String(), rows); err != nil {
		return nil, err
	}
	o.kept = o.layers.keep(s, rows)
	o.at = s.Scratch("at_hidden", engine.Float32, engine.Members(networks), engine.Axis("row", rows), engine.Axis("unit", cell.Out))
	return o, s.Err()
}

// splits is layered.splits.
func (o *branchOwn) splits(rows int) int {
	if o == nil {
		return 1
	}
	return o.layers.splits(rows)
}

// forward records the branch's outputs; b is the batch of the trunk's layers behind the cell.
func (o *branchOwn) forward(r *engine.Recorder, b batch) {
	if o != nil {
		b.outputs = b.branch
		o.layers.forward(r, b, o.kept)
	}
}

// backward records the gradients of the branch's layers, and adds that at the states to the trunk's, back.inputs[0], which is recorded before.
func (o *branchOwn) backward(r *engine.Recorder, b batch, back gradients) {
	if o == nil {
		return
	}
	to := back.inputs[0]
	b.outputs, back.outputs, back.inputs[0] = b.branch, back.branch, o.at
	o.layers.backward(r, b, o.kept, back)
	units := b.inputs[0].features
	sum := Matrix{Tensor: to, Stride: b.inner * units, Row: units}
	o.layers.slope(r, units, b.inner, sum, sum, slope{addend: o.at})
}
