package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Minibatches are slices of permutations of each member's transitions in an iteration, or of its trajectories.
type Minibatches struct {
	Trajectory                     *envs.Trajectory
	Advantage, Target, Value       *engine.Tensor // [T, M, E]; Value only if changes of values are clipped
	Clock                          engine.Clock
	Stream                         uint32 // of the permutations
	Horizon, Members, Environments int
	Epochs, Count                  int  // passes over the transitions; minibatches per pass
	Trajectories                   bool // minibatches are of whole trajectories
	Parts                          int  // of each minibatch, whose gradients are computed apart; 1: it is whole
	Rows                           int  // transitions of the largest minibatch, of parts of the largest part

	Order   *engine.Tensor // [epochs, M, T * E] u32: the permutations, for many updates in one dispatch, which read them often; nil: computed where needed
	Moments *engine.Tensor // [epochs * count, M, 2]: of the advantages; nil: advantages are not normalized
	Obs     *engine.Tensor // [M, rows, O]: normalized observations of a minibatch; nil if no loss needs them gathered
	States  *engine.Tensor // [T, M, E, S]: what critics see of their worlds, normalized; nil: they see the observations

	StateRows *engine.Tensor // [M, rows, S]: those of a minibatch; nil if no loss needs them gathered
	Ends      *engine.Tensor // [M, rows] u32: where its episodes end, for networks with memory; nil if there are none
}

// StoreOrder allocates the permutations of an iteration.
func (m *Minibatches) StoreOrder(s *engine.State) {
	m.Order = s.Scratch("order", engine.Uint32, engine.Axis("epoch", m.Epochs), engine.Members(m.Members), engine.Axis("transition", m.Horizon*m.Environments))
}

// sampled are the fields of kernels that find the rows of minibatches.
type sampled struct {
	Action, LogProb, Advantage, Target, Clock  vk.Range
	Moments                                    vk.Range
	Horizon, Environments, Stream, Minibatches uint32
}

func (m *Minibatches) sampled() sampled {
	s := sampled{
		Action: m.Trajectory.Action.Range(), LogProb: m.Trajectory.LogProb.Range(), Advantage: m.Advantage.Range(), Target: m.Target.Range(),
		Clock: m.Clock.Tensor().Range(), Horizon: uint32(m.Horizon), Environments: uint32(m.Environments), Stream: m.Stream, Minibatches: uint32(m.Count),
	}
	if m.Moments != nil {
		s.Moments = m.Moments.Range()
	}
	return s
}

// Minibatch is a part of the minibatch of one update; Update [1] u32 is the update's number, counted over all epochs.
type Minibatch struct {
	*Minibatches
	Update *engine.Tensor
	Part   int
}

// Learner is a network that learns from minibatches.
type Learner struct {
	Network    *nn.Network
	Pass       *nn.Pass       // nil of networks with memory
	Sequence   *nn.Sequence   // of those: over minibatches of whole trajectories; else nil
	Memory     *engine.Tensor // [M, B, H]: with which Sequence begins
	Params     *engine.Tensor // [M, row]
	Head       nn.Head        // of actors
	Normalizer *engine.Tensor // nil: none
	ObsLimit   float32
	Branch     bool // of a critic that is a branch of the actor's network (nn.Branch): Pass or Sequence is the actor's, whose loss records it
}

// pass is what a network's gradients come from.
type pass interface {
	Learn(s *engine.State, params *engine.Tensor)
	Splits() int
	Into() *engine.Tensor
	Gradient(r *engine.Recorder, gradOutputs *engine.Tensor) *engine.Tensor
	Branch(outputs, gradient *engine.Tensor)
}

func (l Learner) pass() pass {
	if l.Sequence != nil {
		return l.Sequence
	}
	return l.Pass
}

// layered reports whether the loss is a kernel of its own, between the network's passes.
func (l Learner) layered() bool { return l.Sequence != nil || l.Network.Layered() }

// LossConfig describes a loss of actors or critics; shaders/rl/loss.glsl has the equations. All tensors are [M].
type LossConfig struct {
	Critic        bool // half the squared error of values, else the surrogate of actors
	Clip          *engine.Tensor
	Weight        *engine.Tensor
	EntropyWeight *engine.Tensor // of actors

	ClipValue        bool // of critics: the larger of the error and the error after changes of values are clipped to ±Clip
	RatioInAdvantage bool // of actors: advantages contain the importance ratio, so that the loss is -advantage log π
}

// Loss is the gradient of a loss by one network's parameters, over a minibatch. Networks held in the lanes of a subgroup compute forward pass,
// loss and backward pass in one dispatch (policy_gradient.comp), others layer by layer, with the loss in between (policy_loss.comp).
type Loss struct {
	LossConfig
	of                 Learner
	Sums               *engine.Tensor // [4, splits, M]: the loss; of actors also entropy, divergence from the policy that acted, fraction of clipped ratios
	Outputs, atOutputs *engine.Tensor // [M, rows, Out], and the gradient with respect to them; nil if networks in lanes keep none
	InMemory           bool           // an actor's logits are read from memory (nn.Head.InMemory); tests may set it for heads of few logits, too
	ahead              bool           // Forward precedes the gradient, since others need the outputs too
	branch             *Loss          // of the critic that is a branch of this actor; nil: there is none
}

// NewLoss makes the tensors of a loss: only its sums, if form makes the updates.
func NewLoss(s *engine.State, of Learner, m *Minibatches, c LossConfig, form *Policy) *Loss {
	together := form != nil && form.On
	l := &Loss{LossConfig: c, of: of, InMemory: !c.Critic && of.Head.InMemory()}
	splits := engine.Axis("split", 1)
	if !together {
		if !of.Branch {
			of.pass().Learn(s, of.Params)
		}
		splits.Size = of.pass().Splits()
		if l.InMemory {
			splits.Size = max(splits.Size, logitSplits(m.Rows, of.Head))
		}
	}
	l.Sums = s.Scratch("losses", engine.Float32, engine.Axis("loss", 4), splits, engine.Members(m.Members))
	if of.layered() && !together {
		l.Outputs, l.atOutputs = l.makeOutputs(s, "outputs", m), l.makeOutputs(s, "gradient_at_outputs", m)
	}
	return l
}

// Join makes the loss of a critic that is a branch of the actor's network (Learner.Branch) part of the actor's loss: Forward and Gradient are those of both.
func (l *Loss) Join(critic *Loss) {
	l.branch = critic
	l.of.pass().Branch(critic.Outputs, critic.atOutputs)
}

// Joined reports whether the loss is part of an actor's.
func (l *Loss) Joined() bool { return l.of.Branch }

// KeepOutputs makes Forward precede Gradient.
func (l *Loss) KeepOutputs(s *engine.State, m *Minibatches) {
	if l.ahead = true; l.Outputs == nil {
		l.Outputs = l.makeOutputs(s, "outputs", m)
	}
}

func (l *Loss) makeOutputs(s *engine.State, name string, m *Minibatches) *engine.Tensor {
	return s.Scratch(name, engine.Float32, engine.Members(m.Members), engine.Axis("transition", m.Rows), engine.Axis("output", l.of.Network.Model().Outputs()))
}

// Gathers reports whether the loss needs the inputs of minibatches gathered (Minibatches.Obs, of critics that see states StateRows).
func (l *Loss) Gathers() bool { return l.Outputs != nil }

// sees returns what the loss's network sees of the trajectory [T, M, E, features], and of a minibatch [M, rows, features].
func (l *Loss) sees(m *Minibatches) (trajectory, rows *engine.Tensor) {
	if l.Critic && m.States != nil {
		return m.States, m.StateRows
	}
	return m.Trajectory.Obs, m.Obs
}

// Forward records the outputs at the observations of a minibatch; of a joined loss the actor's Forward does.
func (l *Loss) Forward(r *engine.Recorder, m Minibatch) {
	if l.of.Branch {
		return
	}
	_, rows := l.sees(m.Minibatches)
	w, inputs := nn.Weights{Params: l.of.Params}, nn.Inputs{Parts: []*engine.Tensor{rows}, Memory: l.of.Memory}
	switch {
	case l.of.Sequence != nil:
		l.of.Sequence.Forward(r, w, inputs, m.Ends, l.Outputs)
	case l.of.Network.Layered():
		l.of.Pass.Forward(r, w, inputs, l.Outputs)
	default:
		l.of.Network.Evaluate(r, w, inputs, l.Outputs)
	}
}

// weighted are the fields of both kernels.
type weighted struct {
	Params, Value, ClipEpsilon, LossWeight, EntropyWeight, Gradient, Losses, Update vk.Range
	Row, HeadBase, Seed, Out, Part, Parts                                           uint32
	Critic, ClipValue, Trajectories, RatioInAdvantage                               bool
}

// Into returns the tensor [splits, M, row] that Gradient writes; nil if a form makes the updates (NewLoss).
func (l *Loss) Into() *engine.Tensor { return l.of.pass().Into() }

// Gradient records the gradient [splits, M, row] of the loss over a minibatch, or what a part of it adds to that. With a joined loss it is that of both.
func (l *Loss) Gradient(r *engine.Recorder, m Minibatch) *engine.Tensor {
	into, net := l.of.pass().Into(), l.of.Network.Model()
	if l.of.layered() {
		if !l.ahead {
			l.Forward(r, m)
		}
		l.record(r, m)
		if l.branch != nil {
			l.branch.record(r, m)
		}
		return l.of.pass().Gradient(r, l.atOutputs)
	}
	held, err := nn.LanesOf(net, r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return into
	}
	inputs, _ := l.sees(m.Minibatches)
	common, of := l.fields(r, m)
	k := policyGradientKernel{Obs: inputs.Range(), ObsLimit: l.of.ObsLimit, LayerNorm: held.LayerNorm, In: uint32(net.Inputs().Size())}
	if l.of.Normalizer != nil {
		k.Normalizer = l.of.Normalizer.Range()
	}
	fill(r, &k, common, m.sampled(), of, lanesOf(held))
	dispatch(r, k.call(uint32(m.Members), uint32(into.Size("split")), 1), held.Lanes)
	return into
}

// record records the loss and its gradient at the outputs, for networks computed layer by layer.
func (l *Loss) record(r *engine.Recorder, m Minibatch) {
	splits := l.Sums.Size("split")
	common, of := l.fields(r, m)
	if l.InMemory {
		l.recordLogits(r, m, common, of)
		return
	}
	k := policyLossKernel{
		Output: l.Outputs.Range(), AtOutputs: l.atOutputs.Range(), Rows: uint32(m.Rows), Workgroup: r.WorkgroupFor((m.Rows + splits - 1) / splits),
	}
	fill(r, &k, common, m.sampled(), of)
	r.Dispatch(k.call(uint32(m.Members), uint32(splits), 1))
}

// fields returns the fields of both kernels.
func (l *Loss) fields(r *engine.Recorder, m Minibatch) (weighted, head) {
	net := l.of.Network.Model()
	common := weighted{
		Params: l.of.Params.Range(), ClipEpsilon: l.Clip.Range(), LossWeight: l.Weight.Range(), Gradient: l.Into().Range(), Losses: l.Sums.Range(),
		Update: m.Update.Range(), Row: uint32(l.of.Params.Size("parameter")), Seed: r.Engine().Seed(), Out: uint32(net.Outputs()),
		Part: uint32(m.Part), Parts: uint32(m.Parts),
		Critic: l.Critic, ClipValue: l.ClipValue, Trajectories: m.Trajectories, RatioInAdvantage: l.RatioInAdvantage,
	}
	of := head{HeadWidth: 1}
	if l.ClipValue {
		common.Value = m.Value.Range()
	}
	if !l.Critic {
		common.EntropyWeight, common.HeadBase, of = l.EntropyWeight.Range(), uint32(net.Size()), headOf(l.of.Head)
	}
	return common, of
}
