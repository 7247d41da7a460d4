package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Inputs are the input rows of networks: [M, B, In], or trajectories [T, M, E, In].
type Inputs struct {
	// Parts are one tensor, or two with features to be concatenated, such as observation [M, B, O] and action [M, B,
	// A]. With two parts, the last axis of each is its features. A part with the axis NetworkAxis has separate rows
	// for each network of a stack.
	Parts []*engine.Tensor
	// Element is how the first part's elements are stored: if packed, its last axis is words (Element.Words), and only networks that are computed
	// layer by layer take it.
	Element Element
	// Normalizer [M, 2, features of the first part] holds mean and reciprocal deviation of the first part; nil: not
	// normalized.
	Normalizer *engine.Tensor
	Limit      float32 // normalized features are clipped to ±Limit
	// Memory [M, B, H], for a stack [M, network, B, H], is the memory of a model that has one. Evaluate takes one step: it reads and replaces it, and takes it for
	// zero where Begins says so. A Sequence starts from it, or from zero where its first step begins an episode.
	Memory *engine.Tensor
	Begins Begins
	// Ends [T, M, E] are the done flags of a trajectory, or nil. With them, only the outputs of rows at which an episode ends, and of the last
	// step, are needed: Evaluate may leave the others as they are.
	Ends *engine.Tensor
}

// MaxParts is the maximum number of input parts.
const MaxParts = 2

// batch is one evaluation with checked shapes.
type batch struct {
	weights      Weights
	row          int // floats of a network's parameter row
	inputs       []part
	normalizer   *engine.Tensor
	limit        float32
	outputs      *engine.Tensor
	branch       *engine.Tensor // outputs of the network's branch; nil: not computed
	outer, inner int            // a network's rows: inner rows in each of outer blocks
	common       int            // inputs that networks of low rank share: those of row r are r % common; 0: all rows have their own
	stack        int            // networks per member, consecutive
	ends         *engine.Tensor
	memory       *engine.Tensor
	begins       Begins
}

// inputRows returns the rows of inputs in each block.
func (b batch) inputRows() int {
	if b.common > 0 {
		return b.common
	}
	return b.inner
}

// part is one part of the inputs.
type part struct {
	tensor   *engine.Tensor
	at       int // index of its first feature
	features int
	shared   int // number of consecutive networks that share its rows
	element  Element
}

// rowsOf splits a tensor of rows into blocks [outer, networks / shared, inner elements].
func (n *Network) rowsOf(t *engine.Tensor) (outer, shared, inner int, ok bool) {
	outer, members, inner, ok := t.Split(engine.MemberAxis)
	if !ok || members != n.members {
		return 0, 0, 0, false
	}
	networks := t.Size(NetworkAxis)
	if networks == 0 {
		return outer, n.stack, inner, true
	}
	before, _, inner, _ := t.Split(NetworkAxis)
	return outer, 1, inner, networks == n.stack && before == outer*members
}

// batch checks the shapes of weights, inputs and outputs.
func (n *Network) batch(w Weights, in Inputs, outputs *engine.Tensor) (batch, error) {
	row, err := n.rowOf(w)
	if err == nil {
		in, outputs, err = n.perturbation(w, in, outputs)
	}
	if err != nil {
		return batch{}, err
	}
	b := batch{weights: w, row: row, normalizer: in.Normalizer, limit: in.Limit, outputs: outputs, stack: n.stack,
		ends: in.Ends, memory: in.Memory, begins: in.Begins}
	outer, shared, inner, ok := n.rowsOf(outputs)
	if !ok || shared != 1 || inner%n.model.Outputs() != 0 {
		return batch{}, fmt.Errorf("nn: %v: outputs %v; want [member %d, network %d, rows, %d]", n, outputs, n.members, n.stack, n.model.Outputs())
	}
	b.outer, b.inner = outer, inner/n.model.Outputs()
	if n.common {
		b.common = b.inner / n.perturbed
	}
	if err := n.parts(&b, in.Parts, in.Element); err != nil {
		return batch{}, err
	}
	if v := in.Normalizer; v != nil {
		if _, members, inner, ok := v.Split(engine.MemberAxis); !ok || members != n.members || inner != 2*b.inputs[0].features || v.Len() != members*inner {
			return batch{}, fmt.Errorf("nn: %v: normalizer %v; want [member %d, 2, %d]", n, v, n.members, b.inputs[0].features)
		}
	}
	if t := in.Ends; t != nil {
		if outer, members, inner, ok := t.Split(engine.MemberAxis); !ok || n.stack != 1 || outer != b.outer || members != n.members || inner != b.inner {
			return batch{}, fmt.Errorf("nn: %v: ends %v; want [time %d, member %d, environment %d], one network per member", n, t, b.outer, n.members, b.inner)
		}
	}
	return b, nil
}

// parts checks the parts of the inputs against the rows of the outputs.
func (n *Network) parts(b *batch, tensors []*engine.Tensor, first Element) error {
	if len(tensors) < 1 || len(tensors) > MaxParts {
		return fmt.Errorf("nn: %v: inputs of %d parts; want 1 to %d", n, len(tensors), MaxParts)
	}
	if len(tensors) > 1 && len(n.model.Inputs()) > 1 {
		return fmt.Errorf("nn: %v: inputs of %d parts, which are no image; want one", n, len(tensors))
	}
	if first.Packed() && (!n.Layered() || len(tensors) > 1) {
		return fmt.Errorf("nn: %v: inputs %v of packed elements (%v); want one part, and a network that is computed layer by layer", n, tensors, first)
	}
	features := 0
	for _, t := range tensors {
		p := part{tensor: t, at: features, features: n.model.Inputs().Size(), element: first}
		if len(tensors) > 1 {
			dims := t.Dims()
			p.features = dims[len(dims)-1].Size
		}
		outer, shared, inner, ok := n.rowsOf(t)
		if words := first.Words(p.features); !ok || outer != b.outer || inner != b.inputRows()*words || first.Packed() && t.Type() != first.Word() {
			return fmt.Errorf("nn: %v: inputs %v to outputs %v; want %d blocks of member %d with %d rows of %d features (%v: %d words)",
				n, t, b.outputs, b.outer, n.members, b.inputRows(), p.features, first, words)
		}
		p.shared = shared
		b.inputs, features = append(b.inputs, p), features+p.features
	}
	if features != n.model.Inputs().Size() {
		return fmt.Errorf("nn: %v: inputs %v of %d features; want %d", n, tensors, features, n.model.Inputs().Size())
	}
	return nil
}
