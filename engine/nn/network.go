package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Network evaluates a perceptron of every member, and propagates gradients back through it. It hides in which of two forms: held in the
// lanes of a subgroup where that has room (MLP.Lanes), else layer by layer as products of matrices (Layered).
type Network interface {
	// MLP is the perceptron.
	MLP() MLP
	// Forward records the outputs of every member's network for all its rows: inputs [..., P, ..., In] to outputs [..., P, ..., Out].
	// normalizer [P, 2, In] holds mean and reciprocal deviation of the inputs, nil for none; normalized inputs are clipped to ±limit.
	Forward(r *engine.Recorder, w Weights, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor)
	// Backward records the gradients of what was recorded by Forward last: gradOutputs, of the shape of the outputs, to gradient
	// [splits, P, row], laid out like w's rows, and, where it is not nil, gradInputs, of the shape of the inputs: the gradient at the inputs
	// as they are after normalization. Only the network's own floats are written; the parts are to be added over splits.
	// The rows of a member must be together: inputs [P, ..., In].
	Backward(r *engine.Recorder, w Weights, gradOutputs, gradient, gradInputs *engine.Tensor)
	// Splits is a good number of parts of a gradient. It depends on sizes only, never on the device: sums split by it are the same
	// everywhere.
	Splits() int
}

// New makes a network of so many members, and the scratch tensors it needs for batches of up to so many rows a member. Forward takes more
// rows too, in turns.
func New(s *engine.State, net MLP, members, rows int) (Network, error) {
	if err := net.Check(); err != nil {
		return nil, err
	}
	if members < 1 || rows < 1 {
		return nil, fmt.Errorf("nn: network %v of %d members with %d rows; want at least 1 of each", net, members, rows)
	}
	if _, err := net.Lanes(s.Engine().Device().Info()); err == nil {
		return &stationary{net: net, members: members, rows: rows}, nil
	}
	return NewLayered(s, net, members, rows)
}

// batch is what Forward was recorded for.
type batch struct {
	normalizer      *engine.Tensor
	limit           float32
	inputs, outputs *engine.Tensor
	outer, inner    int // a member's rows: inner in each of outer blocks
}

func (m MLP) batch(members int, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor) (batch, error) {
	outer, p, inner, ok := inputs.Split(engine.MemberAxis)
	o, q, out, ok2 := outputs.Split(engine.MemberAxis)
	switch {
	case !ok || !ok2 || p != members || q != members || o != outer || inner%m.In != 0 || out != inner/m.In*m.Out:
		return batch{}, fmt.Errorf("nn: network %v of %d members from %v to %v: the shapes do not agree", m, members, inputs, outputs)
	case normalizer != nil && normalizer.Len() != members*2*m.In:
		return batch{}, fmt.Errorf("nn: network %v of %d members: normalizer %v; want [%d, 2, %d]", m, members, normalizer, members, m.In)
	}
	return batch{normalizer, limit, inputs, outputs, outer, inner / m.In}, nil
}

// gradients checks the tensors of Backward and returns the splits of the gradient.
func (b batch) gradients(m MLP, w Weights, gradOutputs, gradient, gradInputs *engine.Tensor) (int, error) {
	if b.inputs == nil {
		return 0, fmt.Errorf("nn: network %v: Backward was recorded before any Forward", m)
	}
	splits, members, row, ok := gradient.Split(engine.MemberAxis)
	switch {
	case b.outer != 1:
		return 0, fmt.Errorf("nn: network %v: going back through inputs %v, whose rows of a member are not together", m, b.inputs)
	case gradOutputs.Len() != b.outputs.Len():
		return 0, fmt.Errorf("nn: network %v: a gradient %v at the outputs %v", m, gradOutputs, b.outputs)
	case !ok || members*row != w.Params.Len():
		return 0, fmt.Errorf("nn: network %v: a gradient %v of the parameters %v", m, gradient, w.Params)
	case gradInputs != nil && gradInputs.Len() != b.inputs.Len():
		return 0, fmt.Errorf("nn: network %v: a gradient %v at the inputs %v", m, gradInputs, b.inputs)
	}
	return splits, nil
}
