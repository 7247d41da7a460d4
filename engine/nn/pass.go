package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Pass is a forward pass of a network that supports a backward pass. It owns the activations between the two and is
// open from Forward until Backward or Release. Several passes may be open. While one is open, weights, inputs and
// normalizer must keep their values, since Backward may read them again.
type Pass struct {
	net    *Network
	rows   int
	kept   *activations     // nil if the form keeps none
	opened *engine.Recorder // the recording in which the pass is open; nil: not open
	batch  batch            // of the open pass

	gradient *engine.Tensor // [splits, M, row]; nil: the pass does not learn
	branch   branchPass
}

// NewPass makes a pass over up to rows rows of a network; rows must not exceed the network's own. It fails with a
// *vk.OutOfMemoryError if the device has too little memory.
func (n *Network) NewPass(s *engine.State, rows int) (*Pass, error) {
	if n.model.Memory() > 0 {
		return nil, fmt.Errorf("nn: a pass of %v, which has memory: want a Sequence", n)
	}
	if l, ok := n.form.(*layered); ok {
		if err := l.room(fmt.Sprintf("pass of %v over %d rows", n, rows), rows); err != nil {
			return nil, fmt.Errorf("nn: %w", err)
		}
	}
	if rows < 1 || rows > n.rows {
		return nil, fmt.Errorf("nn: a pass of %v over %d rows; want 1 to %d, which the network was made for", n, rows, n.rows)
	}
	p := &Pass{net: n, rows: rows, kept: n.form.keep(s, rows)}
	return p, s.Err()
}

// Splits returns a good number of parts for a gradient of the parameters. It depends on sizes and on the device: processors have fewer.
func (p *Pass) Splits() int { return p.net.form.splits(p.rows) }

// Learn makes the tensor that Gradient writes. The parameters have the shape of params, [M, row] or [M, network, row].
func (p *Pass) Learn(s *engine.State, params *engine.Tensor) {
	p.gradient = gradientOf(s, p.Splits(), params)
}

// gradientOf makes a gradient [splits, M, row] of parameters.
func gradientOf(s *engine.State, splits int, params *engine.Tensor) *engine.Tensor {
	return s.Cleared("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", splits)}, params.Dims()...)...)
}

// Into returns the tensor [splits, M, row] that Gradient writes, in parts to be added over splits; nil before Learn. A loss may write the
// gradient of parameters behind the network's there, such as a head's. Floats that nothing writes are zero.
func (p *Pass) Into() *engine.Tensor { return p.gradient }

// Forward records the outputs [M, B, Out] of inputs [M, B, In] and opens the pass. It is an error if the pass is
// open.
func (p *Pass) Forward(r *engine.Recorder, w Weights, inputs Inputs, outputs *engine.Tensor) {
	if p.open(r, w, inputs, outputs) {
		p.net.form.forward(r, p.batch, p.kept)
	}
}

// Open is Forward for callers that do not read the outputs. These are written only if Backward needs activations, else
// nothing is recorded, since Backward evaluates the network again. It reports whether they are.
func (p *Pass) Open(r *engine.Recorder, w Weights, inputs Inputs, outputs *engine.Tensor) (written bool) {
	if p.kept != nil {
		p.Forward(r, w, inputs, outputs)
		return true
	}
	p.open(r, w, inputs, outputs)
	return false
}

// open opens the pass and reports whether it could; if not, the recording fails.
func (p *Pass) open(r *engine.Recorder, w Weights, inputs Inputs, outputs *engine.Tensor) bool {
	b, err := p.net.batch(w, inputs, outputs)
	switch {
	case err != nil:
	case p.opened == r:
		err = fmt.Errorf("nn: %v: Forward to %v overwrites the activations of the open pass to %v; want its Backward or Release first",
			p.net, outputs, p.batch.outputs)
	case b.outer != 1:
		err = fmt.Errorf("nn: %v: a pass over inputs %v, whose rows of a member are not contiguous; want [member, rows, features]", p.net, inputs.Parts)
	case b.inner > p.rows:
		err = fmt.Errorf("nn: %v: a pass over %d rows; it has room for %d", p.net, b.inner, p.rows)
	default:
		b, err = p.branch.with(p.net, b)
	}
	if err != nil {
		r.Fail(err)
		return false
	}
	p.opened, p.batch = r, b
	return true
}

// Gradients are the tensors that Backward writes; at least one must be set.
type Gradients struct {
	// Params [splits, M, row], laid out like the rows of the weights, receives the gradient of the parameters, in
	// parts to be added over splits. Only the network's own floats are written. nil: not computed.
	Params *engine.Tensor
	// Inputs receive the gradients at the parts of the inputs, after normalization; nil: not computed. Every network
	// has separate rows: [M, B, features], for a stack [M, network, B, features].
	Inputs []*engine.Tensor
}

// gradients are the checked gradient tensors of a batch.
type gradients struct {
	outputs, params *engine.Tensor
	branch          *engine.Tensor // at the branch's outputs; nil: the network has none
	splits          int            // of params
	inputs          [MaxParts]*engine.Tensor
}

// Backward records the gradients of the open pass and closes it. gradOutputs is the loss gradient at the outputs.
func (p *Pass) Backward(r *engine.Recorder, gradOutputs *engine.Tensor, g Gradients) {
	if p.opened != r {
		r.Fail(fmt.Errorf("nn: %v: Backward of a pass that is not open; want its Forward first, in the same recording", p.net))
		return
	}
	back, err := p.net.gradients(p.batch, gradOutputs, g)
	if err != nil {
		r.Fail(err)
		return
	}
	p.opened, back.branch = nil, p.branch.gradient
	p.net.form.backward(r, p.batch, p.kept, back)
}

// Gradient records the gradient of the open pass with respect to the parameters and closes the pass. gradOutputs is the loss gradient at the
// outputs. It returns what an optimizer steps by; the next Gradient overwrites it. It is an error before Learn.
func (p *Pass) Gradient(r *engine.Recorder, gradOutputs *engine.Tensor) *engine.Tensor {
	if p.gradient == nil {
		r.Fail(fmt.Errorf("nn: %v: the gradient of a pass that does not learn; want its Learn first", p.net))
		return nil
	}
	p.Backward(r, gradOutputs, Gradients{Params: p.gradient})
	return p.gradient
}

// InputGradients records the gradients of the open pass at the parts of its inputs and closes the pass (Gradients.Inputs).
func (p *Pass) InputGradients(r *engine.Recorder, gradOutputs *engine.Tensor, inputs ...*engine.Tensor) {
	p.Backward(r, gradOutputs, Gradients{Inputs: inputs})
}

// Release closes the pass without a Backward, so that another Forward may follow.
func (p *Pass) Release() { p.opened = nil }

// gradients checks the tensors of Backward.
func (n *Network) gradients(b batch, outputs *engine.Tensor, g Gradients) (gradients, error) {
	back := gradients{outputs: outputs, params: g.Params}
	if outputs.Len() != b.outputs.Len() {
		return back, fmt.Errorf("nn: %v: a gradient %v at the outputs %v", n, outputs, b.outputs)
	}
	if len(g.Inputs) > len(b.inputs) {
		return back, fmt.Errorf("nn: %v: gradients at %d parts of the inputs, which have %d", n, len(g.Inputs), len(b.inputs))
	}
	wanted := g.Params != nil
	for i, t := range g.Inputs {
		if t == nil {
			continue
		}
		part := b.inputs[i]
		_, shared, inner, ok := n.rowsOf(t)
		if !ok || shared != 1 || inner != b.inner*part.features || t.Len() != n.members*n.stack*inner {
			return back, fmt.Errorf("nn: %v: a gradient %v at the inputs %v; want [member %d, network %d, %d rows, %d]",
				n, t, part.tensor, n.members, n.stack, b.inner, part.features)
		}
		wanted, back.inputs[i] = true, t
	}
	if !wanted {
		return back, fmt.Errorf("nn: %v: Backward without a gradient to write", n)
	}
	var err error
	back.splits, err = n.partsOf(g.Params, b)
	return back, err
}

// partsOf returns the number of parts of a gradient of a batch's parameters, 0 for nil.
func (n *Network) partsOf(params *engine.Tensor, b batch) (int, error) {
	if params == nil {
		return 0, nil
	}
	splits, members, inner, ok := params.Split(engine.MemberAxis)
	if !ok || members != n.members || inner != n.stack*b.row {
		return 0, fmt.Errorf("nn: %v: a gradient %v of the parameters %v; want [splits, ...] of them", n, params, b.weights.Params)
	}
	return splits, nil
}
