package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// HeadKind is the kind of action distribution. The numbers are as in shaders/engine/nn/head.glsl.
type HeadKind uint32

const (
	Categorical   HeadKind = iota // discrete actions; the outputs are logits
	Gaussian                      // continuous actions; the outputs are means, followed by log standard deviations if these depend on the state
	Deterministic                 // continuous actions; the outputs are the actions, to which exploration adds noise
	EpsilonGreedy                 // discrete actions; the outputs are action values; exploration takes a uniformly random action with probability epsilon
	Binned                        // continuous actions from a grid of Bins values over the range; the outputs are their logits
)

var headKindNames = [...]string{"categorical", "gaussian", "deterministic", "epsilon_greedy", "binned"}

func (k HeadKind) String() string {
	if int(k) < len(headKindNames) {
		return headKindNames[k]
	}
	return fmt.Sprintf("HeadKind(%d)", uint32(k))
}

// Discrete reports whether the actions are numbers 0 … Size-1 instead of vectors of Size dimensions.
func (k HeadKind) Discrete() bool { return k == Categorical || k == EpsilonGreedy }

// Head defines how a network's outputs become an action and its log-probability. Continuous actions are in units of
// half the action range about its middle: its ends are ±1.
type Head struct {
	Kind HeadKind
	Size int // number of discrete actions, or dimensions of continuous ones
	Bins int // Binned: values per dimension, at least 2

	// Squash applies tanh to the actions of Gaussian and Deterministic, so that they stay inside the range. The
	// log-probabilities of a squashed Gaussian include the tanh correction (T. Haarnoja et al., 2018, appendix C).
	Squash bool

	// StateDependent makes the log standard deviations of Gaussian outputs of the network, after the means: an output
	// h gives LogStdLow + (LogStdHigh - LogStdLow) (tanh h + 1) / 2. Otherwise they are unbounded parameters, stored
	// after the network's in its row.
	StateDependent        bool
	LogStdLow, LogStdHigh float32

	// Noise [M] is the exploration noise of each member: the standard deviation of normal noise for Deterministic
	// (actions are then clipped to the range); epsilon for EpsilonGreedy. nil: no exploration.
	Noise      *engine.Tensor
	NoiseLimit float32 // Deterministic's noise is clipped to ±NoiseLimit (S. Fujimoto et al., 2018, equation 14); 0: not clipped

	// Atoms is the number of outputs per action of EpsilonGreedy. 0 or 1: the output is the action value. Otherwise
	// the outputs are logits of that many evenly spaced returns; the value is their expectation (M. G. Bellemare et
	// al., "A Distributional Perspective on Reinforcement Learning", 2017).
	Atoms int

	// Dueling makes the action outputs of EpsilonGreedy advantages, followed by the outputs of the state value, as
	// many as one action has. An action's value is the state value plus its advantage minus the mean advantage; with
	// atoms, these are logits (Z. Wang et al., 2016, equation 9).
	Dueling bool
}

// valueOutputs returns the number of outputs of EpsilonGreedy.
func (h Head) valueOutputs() int {
	actions := h.Size
	if h.Dueling {
		actions++
	}
	return actions * max(h.Atoms, 1)
}

// Width returns the number of outputs per dimension of an action.
func (h Head) Width() int {
	switch {
	case h.Kind == EpsilonGreedy:
		return h.valueOutputs()
	case h.Kind.Discrete():
		return h.Size
	case h.Kind == Binned:
		return h.Bins
	case h.Kind == Gaussian && h.StateDependent:
		return 2
	}
	return 1
}

// Words returns the number of floats of an action: 1 for a discrete one, its index.
func (h Head) Words() int {
	if h.Kind.Discrete() {
		return 1
	}
	return h.Size
}

// Outputs returns the number of outputs that the network must have.
func (h Head) Outputs() int { return h.Words() * h.Width() }

// Draws reports whether actions have a distribution to be drawn from; others have exploration noise at most.
func (h Head) Draws() bool { return h.Kind == Categorical || h.Kind == Binned || h.Kind == Gaussian }

// Parameters returns the number of the head's own parameters, stored directly after the network's: the log standard
// deviations of a Gaussian that do not depend on the state.
func (h Head) Parameters() int {
	if h.Kind == Gaussian && !h.StateDependent {
		return h.Size
	}
	return 0
}

// Check validates the head.
func (h Head) Check() error {
	switch {
	case int(h.Kind) >= len(headKindNames):
		return fmt.Errorf("nn: head %v; want one of %v", h.Kind, headKindNames)
	case h.Size < 1:
		return fmt.Errorf("nn: %v head of size %d; want at least 1", h.Kind, h.Size)
	case h.Kind == Binned && h.Bins < 2:
		return fmt.Errorf("nn: binned head with %d bins; want at least 2", h.Bins)
	case h.Kind == Gaussian && h.StateDependent && !(h.LogStdLow < h.LogStdHigh):
		return fmt.Errorf("nn: gaussian head with log standard deviations from %g to %g; want the lower limit below the upper", h.LogStdLow, h.LogStdHigh)
	case h.Noise != nil && h.Kind != Deterministic && h.Kind != EpsilonGreedy:
		return fmt.Errorf("nn: %v head with exploration noise; only deterministic and epsilon_greedy heads have it", h.Kind)
	case (h.Atoms > 1 || h.Dueling) && h.Kind != EpsilonGreedy:
		return fmt.Errorf("nn: %v head with %d atoms, dueling %v; only epsilon_greedy heads have them", h.Kind, h.Atoms, h.Dueling)
	case h.Atoms < 0:
		return fmt.Errorf("nn: head with %d atoms; want at least 0", h.Atoms)
	case !(h.NoiseLimit >= 0):
		return fmt.Errorf("nn: noise limit %g; want at least 0", h.NoiseLimit)
	}
	return h.checkLogits()
}

// HeadConstants are the specialization constants of shaders/engine/nn/head.glsl.
type HeadConstants struct {
	Head, HeadWidth, HeadAtoms        uint32
	Squash, Explore, HeadDueling      bool
	LogStdLow, LogStdHigh, NoiseLimit float32
}

// Constants returns the head's specialization constants.
func (h Head) Constants() HeadConstants {
	nonzero := func(x float32) float32 { // a constant of 0 selects the kernel's default
		if x == 0 {
			return math.SmallestNonzeroFloat32
		}
		return x
	}
	return HeadConstants{
		Head: uint32(h.Kind), HeadWidth: uint32(h.Width()), Squash: h.Squash, Explore: h.Noise != nil,
		LogStdLow: nonzero(h.LogStdLow), LogStdHigh: nonzero(h.LogStdHigh), NoiseLimit: h.NoiseLimit,
		HeadAtoms: uint32(max(h.Atoms, 1)), HeadDueling: h.Dueling,
	}
}

// Draws identifies the random numbers of a batch of actions.
type Draws struct {
	Stream uint32         // of the state that draws them
	Clock  engine.Clock   // its iteration is part of the counter
	Update *engine.Tensor // [1] u32: index of the update in the iteration, such as a loop's counter; nil: one update per iteration
}

// HeadBatch is a batch of network outputs to turn into actions.
type HeadBatch struct {
	Parameters Weights        // the members' rows, with the head's parameters at Base
	Outputs    *engine.Tensor // [M, rows, Outputs], of the network
	Draws      Draws
	Mode       bool // take the most likely actions without exploration instead of samples

	reads bool // outputs are read from memory even if there are few
}

// Sample records the applied actions [M, rows, Words] and their exact log-probabilities [M, rows]. The
// log-probabilities of Deterministic are 0.
func (h Head) Sample(r *engine.Recorder, b HeadBatch, action, logProb *engine.Tensor) {
	members, rows, err := h.batch(b)
	if err == nil && (action.Len() != members*rows*h.Words() || logProb.Len() != members*rows) {
		err = fmt.Errorf("nn: %v head of outputs %v: actions %v and log-probabilities %v; want [%d, %d, %d] and [%d, %d]",
			h.Kind, b.Outputs, action, logProb, members, rows, h.Words(), members, rows)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	if h.InMemory() || b.reads {
		h.sampleLogits(r, b, members, rows, action, logProb)
		return
	}
	c := h.Constants()
	size := r.Workgroup()
	k := headSampleKernel{
		Output: b.Outputs.Range(), Clock: b.Draws.Clock.Tensor().Range(), Mode: b.Mode,
		Action: action.Range(), LogProb: logProb.Range(), Rows: uint32(rows), Seed: r.Engine().Seed(), Stream: b.Draws.Stream,
		Out: uint32(h.Outputs()), LocalSizeX: size,
		Head: c.Head, HeadWidth: c.HeadWidth, Squash: c.Squash, Explore: c.Explore, LogStdLow: c.LogStdLow, LogStdHigh: c.LogStdHigh, NoiseLimit: c.NoiseLimit,
		HeadAtoms: c.HeadAtoms, HeadDueling: c.HeadDueling,
	}
	if h.Parameters() > 0 {
		k.Params, k.Row, k.HeadBase = b.Parameters.Params.Range(), uint32(b.Parameters.Row()), uint32(b.Parameters.Base)
	}
	if h.Noise != nil {
		k.Noise = h.Noise.Range()
	}
	if b.Draws.Update != nil {
		k.Update = b.Draws.Update.Range()
	}
	r.Dispatch(k.call((uint32(rows)+size-1)/size, uint32(members), 1))
}

// HeadGradients are the loss gradients with respect to actions and log-probabilities, and the gradient tensors that
// Backward writes.
type HeadGradients struct {
	// Action is [M, rows, Words], or [M, network, rows, Words] to be summed over the networks; nil: none. It must be
	// nil for heads with logits: their actions have no gradient.
	Action  *engine.Tensor
	LogProb *engine.Tensor // [M, rows]; nil: none
	Outputs *engine.Tensor // [M, rows, Outputs]: written
	// Parameters [splits, M, row] receives the gradients of the head's own parameters, laid out like the rows of
	// Weights; nil if the head has none.
	Parameters *engine.Tensor
}

// Backward records the gradient at the outputs of a batch that was passed to Sample, drawing the same random numbers:
// the gradient through the actions, with the noise held fixed (D. P. Kingma, M. Welling, "Auto-Encoding Variational
// Bayes", 2014), plus that through the log-probabilities.
func (h Head) Backward(r *engine.Recorder, b HeadBatch, g HeadGradients) {
	members, rows, err := h.batch(b)
	splits := 1
	if err == nil {
		splits, err = h.gradients(b, g, members, rows)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	if h.InMemory() || b.reads {
		h.backwardLogits(r, b, members, rows, g)
		return
	}
	c := h.Constants()
	k := headBackwardKernel{
		Output: b.Outputs.Range(), Clock: b.Draws.Clock.Tensor().Range(), Mode: b.Mode, AtOutputs: g.Outputs.Range(),
		Rows: uint32(rows), Seed: r.Engine().Seed(), Stream: b.Draws.Stream, Out: uint32(h.Outputs()), Workgroup: r.WorkgroupFor((rows + splits - 1) / splits),
		Head: c.Head, HeadWidth: c.HeadWidth, Squash: c.Squash, Explore: c.Explore, LogStdLow: c.LogStdLow, LogStdHigh: c.LogStdHigh, NoiseLimit: c.NoiseLimit,
	}
	if h.Parameters() > 0 {
		k.Params, k.Row, k.HeadBase = b.Parameters.Params.Range(), uint32(b.Parameters.Row()), uint32(b.Parameters.Base)
		k.Gradient = g.Parameters.Range()
	}
	if h.Noise != nil {
		k.Noise = h.Noise.Range()
	}
	if b.Draws.Update != nil {
		k.Update = b.Draws.Update.Range()
	}
	if g.Action != nil {
		k.AtAction, k.Networks = g.Action.Range(), uint32(max(g.Action.Size(NetworkAxis), 1))
	}
	if g.LogProb != nil {
		k.AtLogProb = g.LogProb.Range()
	}
	r.Dispatch(k.call(uint32(members), uint32(splits), 1))
}

// batch checks a batch and returns its sizes.
func (h Head) batch(b HeadBatch) (members, rows int, err error) {
	if err := h.Check(); err != nil {
		return 0, 0, err
	}
	outer, members, inner, ok := b.Outputs.Split(engine.MemberAxis)
	dims := b.Outputs.Dims()
	rows = inner / h.Outputs()
	switch {
	case !ok || outer != 1 || dims[len(dims)-1].Size != h.Outputs():
		err = fmt.Errorf("nn: %v head of outputs %v; want [M, rows, %d]", h.Kind, b.Outputs, h.Outputs())
	case h.Noise != nil && h.Noise.Len() != members:
		err = fmt.Errorf("nn: %v head of outputs %v with noise %v; want [%d]", h.Kind, b.Outputs, h.Noise, members)
	case h.Parameters() > 0 && (b.Parameters.Params == nil || b.Parameters.Params.Size(engine.MemberAxis) != members):
		err = fmt.Errorf("nn: %v head of outputs %v without parameters of %d members", h.Kind, b.Outputs, members)
	}
	return members, rows, err
}

// gradients checks the tensors of Backward and returns the number of splits of the parameter gradient.
func (h Head) gradients(b HeadBatch, g HeadGradients, members, rows int) (splits int, err error) {
	splits = 1
	switch {
	case h.Kind == EpsilonGreedy:
		return 0, errors.New("nn: an epsilon_greedy head has no gradients")
	case g.Action != nil && (h.Kind.Discrete() || h.Kind == Binned):
		return 0, fmt.Errorf("nn: a gradient %v at the actions of a %v head, which have none", g.Action, h.Kind)
	case g.Action != nil && g.Action.Len() != members*max(g.Action.Size(NetworkAxis), 1)*rows*h.Words():
		return 0, fmt.Errorf("nn: a gradient %v at actions [%d, %d, %d]", g.Action, members, rows, h.Words())
	case g.LogProb != nil && g.LogProb.Len() != members*rows:
		return 0, fmt.Errorf("nn: a gradient %v at log-probabilities [%d, %d]", g.LogProb, members, rows)
	case g.Outputs == nil || g.Outputs.Len() != b.Outputs.Len():
		return 0, fmt.Errorf("nn: a gradient %v for the outputs %v", g.Outputs, b.Outputs)
	}
	if h.Parameters() > 0 {
		if g.Parameters == nil {
			return 0, fmt.Errorf("nn: a %v head has parameters; want a tensor for their gradient", h.Kind)
		}
		var p, row int
		var ok bool
		if splits, p, row, ok = g.Parameters.Split(engine.MemberAxis); !ok || p != members || row != b.Parameters.Row() {
			return 0, fmt.Errorf("nn: a gradient %v of the parameters %v", g.Parameters, b.Parameters.Params)
		}
	}
	return splits, nil
}
