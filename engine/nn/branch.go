package nn

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Branch is the Model of a second output of a network, such as that of values beside an actor's: it shares hidden layers of Trunk, and has the layers
// behind them again, with parameters of its own and Out outputs. Its parameters are in rows of Trunk: those of the layers that it shares, and from At on its
// own. What Trunk's rows hold behind Trunk may be between.
//
// By itself it is a network as any other one. A network of NewBranched computes both outputs at once.
type Branch struct {
	Trunk Model
	Out   int
	At    int  // at least Trunk.Size()
	Cell  bool // it shares Trunk's layers up to its recurrent cell; otherwise all hidden layers
}

// Inputs implements Model.
func (m Branch) Inputs() Shape { return m.Trunk.Inputs() }

// Outputs implements Model.
func (m Branch) Outputs() int { return m.Out }

// Memory implements Model.
func (m Branch) Memory() int { return m.Trunk.Memory() }

// Layers implements Model.
func (m Branch) Layers() []Layer {
	return append(slices.Clone(m.Trunk.Layers()[:m.shared()]), m.Own()...)
}

// shared returns how many of Trunk's layers the branch shares.
func (m Branch) shared() int {
	layers := m.Trunk.Layers()
	if cell := slices.IndexFunc(layers, func(l Layer) bool { return l.Kind.cell() }); m.Cell && cell >= 0 {
		return cell + 1
	}
	return len(layers) - 1
}

// Own returns the layers that the branch does not share, its output last.
func (m Branch) Own() []Layer {
	own, _ := m.own()
	return own
}

// own is Own, and where their parameters end in a row of Trunk.
func (m Branch) own() (own []Layer, end int) {
	own = slices.Clone(m.Trunk.Layers()[m.shared():])
	own[len(own)-1].Out = m.Out
	return own, layoutFrom(m.At, own)
}

// Size implements Model: where the parameters end, in a row of Trunk.
func (m Branch) Size() int {
	_, end := m.own()
	return end
}

// Init draws the parameters of the branch's own layers alone; the others are Trunk's.
func (m Branch) Init(row []float32, how Initializer, hiddenGain, outputGain float64, rng *engine.Rng) {
	initialize(m.Own(), row, how, hiddenGain, outputGain, rng)
}

// Check implements Model.
func (m Branch) Check() error {
	if err := m.Trunk.Check(); err != nil {
		return err
	}
	switch {
	case m.Out < 1 || m.Out > maxEnds:
		return fmt.Errorf("nn: a branch of %d outputs; want 1 to %d", m.Out, maxEnds)
	case m.At < m.Trunk.Size():
		return fmt.Errorf("nn: a branch whose parameters begin at %d of those of network %v; want at least %d", m.At, m.Trunk, m.Trunk.Size())
	case len(m.Trunk.Layers()) < 2:
		return fmt.Errorf("nn: a branch of network %v, which has no hidden layers to share", m.Trunk)
	case m.Cell && m.Memory() == 0:
		return fmt.Errorf("nn: a branch behind the cell of network %v, which has none", m.Trunk)
	}
	return nil
}

// String formats the model as, for example, "4-64-64-2 tanh, branch 1".
func (m Branch) String() string {
	if m.Cell {
		return fmt.Sprintf("%v, branch %d behind the cell", m.Trunk, m.Out)
	}
	return fmt.Sprintf("%v, branch %d", m.Trunk, m.Out)
}

// NewBranched makes a network per member that also has the output of a branch, for passes over up to rows rows per member (Pass.Branch, Sequence.Branch). It
// is computed layer by layer. Model, Evaluate and the outputs of a pass are those of the trunk.
func NewBranched(s *engine.State, branch Branch, members, rows int) (*Network, error) {
	if err := branch.Check(); err != nil {
		return nil, err
	}
	n, err := newNetwork(branch.Trunk, members, 1, rows)
	if err != nil {
		return nil, err
	}
	for _, l := range branch.Layers() {
		if err := l.Precision.Check(s.Engine().Device().Info()); err != nil {
			return nil, err
		}
	}
	n.branch = &branch
	return n.byLayers(s)
}

// size returns the number of parameters of the network and its branch.
func (n *Network) size() int {
	if n.branch != nil {
		return n.branch.Size()
	}
	return n.model.Size()
}

// branchPass is what passes of networks with a branch read and write besides.
type branchPass struct {
	outputs, gradient *engine.Tensor // [M, rows, Out]
}

// Branch sets where Forward writes the outputs [M, B, Out] of the network's branch, and where Backward finds the loss gradient at them. A pass of a network of
// NewBranched needs them before its first Forward.
func (p *Pass) Branch(outputs, gradient *engine.Tensor) { p.branch = branchPass{outputs, gradient} }

// Branch is Pass.Branch; the tensors have as many rows as the outputs of the trunk, in the order of members, [M, T, B, Out].
func (q *Sequence) Branch(outputs, gradient *engine.Tensor) { q.branch = branchPass{outputs, gradient} }

// with returns the batch of a pass with the outputs of the network's branch, if it has one.
func (p branchPass) with(n *Network, b batch) (batch, error) {
	if n.branch == nil {
		return b, nil
	}
	if want := n.members * b.outer * b.inner * n.branch.Out; p.outputs == nil || p.gradient == nil || p.outputs.Len() != want || p.gradient.Len() != want {
		return b, fmt.Errorf("nn: %v: a pass with outputs %v of the branch, and their gradient %v; want [member %d, rows %d, %d] each",
			n, p.outputs, p.gradient, n.members, b.outer*b.inner, n.branch.Out)
	}
	b.branch = p.outputs
	return b, nil
}

// withBranch gives the networks a second output layer, unless the branch is nil or has more layers of its own.
func (l *layered) withBranch(b *Branch) {
	if b == nil {
		return
	}
	own := b.Own()
	if len(own) > 1 {
		return
	}
	l.branch = &own[0]
	if len(l.scratch) == 0 { // for the gradient at inputs
		n, rows := engine.Members(l.networks), engine.Axis("row", l.capacity)
		l.scratch = append(l.scratch, l.state.Scratch("scratch_1", engine.Float32, n, rows, engine.Axis("unit", l.in)))
	}
}

// branchForward records the branch's outputs of the rows whose product with the last layer is g.
func (l *layered) branchForward(r *engine.Recorder, b batch, g Gemm, first int) {
	layer := *l.branch
	g.N, g.B, g.BiasAt = layer.Out, b.matrix(layer, 0), b.weights.Base+layer.Bias
	l.outputs(g, b, b.branch, first).Record(r)
}

// branchBelow records the gradient at the values of the last hidden layer that comes by the branch, beside that of the trunk's output, whose product is g,
// which it returns with the former as an addend. It is in t.
func (l *layered) branchBelow(r *engine.Recorder, b batch, g Gemm, back gradients, t *engine.Tensor) Gemm {
	of := g
	of.K, of.A, of.B, of.C = l.branch.Out, l.branchGradient(b, back), b.matrix(*l.branch, 0), g.C.in(t)
	of.Slope, of.Outputs, of.Inputs = Linear, nil, nil
	of.Record(r)
	g.Addend = t
	return g
}

// branchGradient locates the loss gradient at the branch's outputs.
func (l *layered) branchGradient(b batch, back gradients) Matrix {
	return Matrix{Tensor: back.branch, Stride: b.inner * l.branch.Out, Row: l.branch.Out}
}
