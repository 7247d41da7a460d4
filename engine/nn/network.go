package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// NetworkAxis is the axis of a stack: the networks of equal shape that each member has, such as twin critics.
const NetworkAxis = "network"

// Networks returns the axis of a stack of n networks per member. It follows the member axis.
func Networks(n int) engine.Dim { return engine.Axis(NetworkAxis, n) }

// Network evaluates a model, or a stack of several, for every member. It chooses between two forms: weights held
// in the lanes of a subgroup if they fit (LanesOf), else matrix products layer by layer. A stack of S networks is
// one batch of M S networks.
//
// Tensors of a stack have the axis NetworkAxis after the member axis: parameters [M, S, row], outputs [M, S, B, Out].
// Inputs without that axis are shared by all networks of a member.
type Network struct {
	model   Model
	members int
	stack   int // networks per member
	rows    int // capacity of the form, in rows per network
	// perturbed is the number of networks that a perturbation makes of each member's; 0: none. To the form their rows are those of one network.
	perturbed int
	common    bool    // these networks share their inputs, a batch
	branch    *Branch // a second output; nil: none
	form      form
}

// form is a way to compute a network.
type form interface {
	// splits returns a good number of parts of the gradient over rows.
	splits(rows int) int
	// keep allocates the activations that a pass over up to rows rows of a network keeps for the backward pass, nil
	// if none.
	keep(s *engine.State, rows int) *activations
	// forward records the outputs of a batch. If kept is not nil, it stores there what the backward pass needs.
	forward(r *engine.Recorder, b batch, kept *activations)
	// backward records gradients of a batch that forward evaluated with kept.
	backward(r *engine.Recorder, b batch, kept *activations, back gradients)
}

// New makes one network per member, with scratch memory for rows rows per member at a time.
func New(s *engine.State, model Model, members, rows int) (*Network, error) {
	return NewStack(s, model, members, 1, rows)
}

// NewStack makes a stack of networks per member, with scratch memory for rows rows per network at a time.
func NewStack(s *engine.State, model Model, members, networks, rows int) (*Network, error) {
	n, err := newNetwork(model, members, networks, rows)
	if err != nil {
		return nil, err
	}
	info := s.Engine().Device().Info()
	for _, l := range model.Layers() {
		if err := l.Precision.Check(info); err != nil {
			return nil, err
		}
	}
	if lanes, err := LanesOf(model, info); err == nil {
		n.form = &inLanes{model: model, networks: members * networks, lanes: lanes}
		return n, nil
	}
	return n.byLayers(s)
}

func newNetwork(model Model, members, networks, rows int) (*Network, error) {
	if err := model.Check(); err != nil {
		return nil, err
	}
	const most = 1 << 31 // products of sizes do not overflow
	if members < 1 || networks < 1 || rows < 1 || members > most/networks || rows > most {
		return nil, fmt.Errorf("nn: network %v of %d members, %d networks each, with %d rows; want at least 1 of each, and at most %d networks and rows",
			model, members, networks, rows, most)
	}
	return &Network{model: model, members: members, stack: networks, rows: rows}, nil
}

// byLayers selects the layered form.
func (n *Network) byLayers(s *engine.State) (*Network, error) {
	if n.model.Memory() > 0 {
		f, err := newRecurrent(s.Sub("layers"), n.model, n.members*n.stack, n.rows)
		n.form = f
		return n, err
	}
	l := newLayered(s.Sub("layers"), n.model, n.members*n.stack, n.rows)
	l.withBranch(n.branch)
	n.form, n.rows = l, l.capacity
	return n, s.Err()
}

// Model returns the model.
func (n *Network) Model() Model { return n.model }

// Layered reports whether the network is computed layer by layer.
func (n *Network) Layered() bool {
	_, layered := n.form.(*layered)
	return layered
}

// String formats the network as, for example, "4 members of 2 networks 4-64-64-2 tanh".
func (n *Network) String() string {
	switch {
	case n.perturbed > 0:
		return fmt.Sprintf("%d members of %d perturbed networks %v", n.members, n.perturbed, n.model)
	case n.stack == 1:
		return fmt.Sprintf("%d members of network %v", n.members, n.model)
	}
	return fmt.Sprintf("%d members of %d networks %v", n.members, n.stack, n.model)
}

// Evaluate records the outputs [..., M, ..., Out] of all rows of the inputs without keeping activations for a
// backward pass. It accepts any number of rows.
func (n *Network) Evaluate(r *engine.Recorder, w Weights, inputs Inputs, outputs *engine.Tensor) {
	b, err := n.batch(w, inputs, outputs)
	if err != nil {
		r.Fail(err)
		return
	}
	n.form.forward(r, b, nil)
}
