package nn_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

// Losses of soft actor-critic (T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", 2018), one
// invocation per row of a member. Groups: x = ceil(rows / local size), y = members.
const sacHeader = `#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint rows; };
#define ROW uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, at = member * rows + i, twin = 2u * member * rows + i; if (i >= rows) return;
`

// Equation 3: the target value of a transition, of the smaller of the two target critics.
const sacTarget = sacHeader + `
layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };              // [M, rows]
layout(std430, set = 0, binding = 1) readonly buffer Terminated { float terminated[]; };      // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer NextValue { float next_value[]; };       // [M, 2, rows]
layout(std430, set = 0, binding = 3) readonly buffer NextLogProb { float next_log_prob[]; };  // [M, rows]
layout(std430, set = 0, binding = 4) readonly buffer Discount { float discount[]; };          // [M]
layout(std430, set = 0, binding = 5) readonly buffer Temperature { float temperature[]; };    // [M]
layout(std430, set = 0, binding = 6) writeonly buffer Target { float target[]; };             // [M, rows]
void main() {
    ROW
    float soft = min(next_value[twin], next_value[twin + rows]) - temperature[member] * next_log_prob[at];
    target[at] = reward[at] + discount[member] * (1.0 - terminated[at]) * soft;
}
`

// Equation 5, the mean squared error of each critic: its gradient at the critics' outputs.
const sacCriticLoss = sacHeader + `
layout(std430, set = 0, binding = 0) readonly buffer Value { float value[]; };         // [M, 2, rows]
layout(std430, set = 0, binding = 1) readonly buffer Target { float target[]; };       // [M, rows]
layout(std430, set = 0, binding = 2) writeonly buffer AtValue { float at_value[]; };   // [M, 2, rows]
void main() {
    ROW
    at_value[twin] = 2.0 * (value[twin] - target[at]) / float(rows);
    at_value[twin + rows] = 2.0 * (value[twin + rows] - target[at]) / float(rows);
}
`

// Equation 9, temperature * log-probability - the smaller value: its gradients at the critics' outputs and at the
// log-probabilities.
const sacActorLoss = sacHeader + `
layout(std430, set = 0, binding = 0) readonly buffer Value { float value[]; };             // [M, 2, rows]
layout(std430, set = 0, binding = 1) readonly buffer Temperature { float temperature[]; }; // [M]
layout(std430, set = 0, binding = 2) writeonly buffer AtValue { float at_value[]; };       // [M, 2, rows]
layout(std430, set = 0, binding = 3) writeonly buffer AtLogProb { float at_log_prob[]; };  // [M, rows]
void main() {
    ROW
    bool first = value[twin] <= value[twin + rows];
    at_value[twin] = first ? -1.0 / float(rows) : 0.0;
    at_value[twin + rows] = first ? 0.0 : -1.0 / float(rows);
    at_log_prob[at] = temperature[member] / float(rows);
}
`

// The gradient at the actions, summed over both critics; rows counts elements here.
const sacActions = sacHeader + `
layout(std430, set = 0, binding = 0) readonly buffer AtActions { float at_actions[]; };   // [M, 2, rows]
layout(std430, set = 0, binding = 1) writeonly buffer AtAction { float at_action[]; };    // [M, rows]
void main() {
    ROW
    at_action[at] = at_actions[twin] + at_actions[twin + rows];
}
`

const (
	sacMembers, sacRows = 3, 13
	sacObs, sacAction   = 5, 2
)

// sac is one update of soft actor-critic, composed of public parts.
type sac struct {
	state                                         *engine.State
	head                                          nn.Head
	actor, critics                                *nn.Network
	actorPass, criticPass                         *nn.Pass
	actorOptimizer, criticOptimizer               *optim.Optimizer
	clock                                         engine.Clock
	update                                        *engine.Tensor // [1]: index of the update
	targets                                       *engine.Tensor // [M, 2, row]
	tau, discount, temperature                    *engine.Tensor // [M]
	actorRate, criticRate                         *engine.Tensor // [M]
	obs, action, reward, nextObs, terminated      *engine.Tensor // [M, rows, ...]: the batch
	outputs, sampled, logProb, value              *engine.Tensor
	target, atValue, atLogProb, atOutputs         *engine.Tensor
	atActions, atAction                           *engine.Tensor
	actorGradient, criticGradient                 *engine.Tensor
	computeTarget, criticLoss, actorLoss, actions *engine.Kernel
}

// Streams of the random numbers of next actions and of the actor's own actions.
const sacNextStream, sacOwnStream = 11, 12

func newSAC(t *testing.T, hidden []int) *sac {
	t.Helper()
	dev, err := vk.Open()
	must(t, err)
	s := engine.New(dev, engine.Seed(3)).NewState()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	a := &sac{state: s, head: nn.Head{Kind: nn.Gaussian, Size: sacAction, Squash: true, StateDependent: true, LogStdLow: -5, LogStdHigh: 2}}
	a.clock, a.update = engine.NewClock(s), s.Tensor("update", engine.Uint32, engine.Axis("count", 1))
	a.actorRate, a.criticRate = a.tensor("actor_rate"), a.tensor("critic_rate")
	a.tau, a.discount, a.temperature = a.tensor("tau"), a.tensor("discount"), a.tensor("temperature")
	a.makeNetworks(t, hidden)
	a.makeBatch()
	for _, k := range []struct {
		name, text string
		to         **engine.Kernel
	}{
		{"target", sacTarget, &a.computeTarget}, {"critic_loss", sacCriticLoss, &a.criticLoss},
		{"actor_loss", sacActorLoss, &a.actorLoss}, {"actions", sacActions, &a.actions},
	} {
		*k.to, err = engine.CompileKernel(t.Context(), "sac/"+k.name, k.text)
		must(t, err)
	}
	must(t, s.Zero(t.Context()))
	return a
}

// tensor makes a tensor that leads with the member axis.
func (a *sac) tensor(name string, dims ...engine.Dim) *engine.Tensor {
	return a.state.Tensor(name, engine.Float32, append([]engine.Dim{engine.Members(sacMembers)}, dims...)...)
}

// makeNetworks makes actor, critics and targets, with their optimizers.
func (a *sac) makeNetworks(t *testing.T, hidden []int) {
	t.Helper()
	actorState, criticState := a.state.Sub("actor"), a.state.Sub("critics")
	actor := nn.MLP{In: sacObs, Out: a.head.Outputs(), Hidden: hidden, Activation: nn.Tanh}
	critic := nn.MLP{In: sacObs + sacAction, Out: 1, Hidden: hidden, Activation: nn.Tanh}
	var err error
	a.actor, err = nn.New(actorState, actor, sacMembers, sacRows)
	must(t, err)
	a.actorPass, err = a.actor.NewPass(actorState, sacRows)
	must(t, err)
	a.critics, err = nn.NewStack(criticState, critic, sacMembers, 2, sacRows)
	must(t, err)
	a.criticPass, err = a.critics.NewPass(criticState, sacRows)
	must(t, err)

	adam := optim.DefaultAdam
	adam.Epsilon = 1e-3 // so that the first steps depend on the size of gradients, not only on their signs
	actorRow, criticRow := nn.Align(actor.Size()), nn.Align(critic.Size())
	a.actorOptimizer = optim.New(actorState, adam, a.actorRate, actorRow)
	a.criticOptimizer = optim.New(criticState, adam, a.criticRate, 2*criticRow)
	a.targets = a.tensor("targets", nn.Networks(2), engine.Axis("parameter", criticRow))
	a.criticOptimizer.Follow(a.targets, a.tau)
	split, p := engine.Axis("split", 1), engine.Members(sacMembers)
	a.actorGradient = a.state.Scratch("actor_gradient", engine.Float32, split, p, engine.Axis("parameter", actorRow))
	a.criticGradient = a.state.Scratch("critic_gradient", engine.Float32, split, p, nn.Networks(2), engine.Axis("parameter", criticRow))
}

// makeBatch makes the tensors of the batch and those computed from it.
func (a *sac) makeBatch() {
	rows, obs, action, twins := engine.Axis("row", sacRows), engine.Axis("feature", sacObs), engine.Axis("dimension", sacAction), nn.Networks(2)
	outputs := engine.Axis("output", a.head.Outputs())
	a.obs, a.nextObs, a.action = a.tensor("obs", rows, obs), a.tensor("next_obs", rows, obs), a.tensor("action", rows, action)
	a.reward, a.terminated = a.tensor("reward", rows), a.tensor("terminated", rows)
	a.outputs, a.atOutputs = a.tensor("outputs", rows, outputs), a.tensor("at_outputs", rows, outputs)
	a.sampled, a.atAction = a.tensor("sampled", rows, action), a.tensor("at_action", rows, action)
	a.logProb, a.atLogProb = a.tensor("log_prob", rows), a.tensor("at_log_prob", rows)
	a.value, a.atValue, a.target = a.tensor("value", twins, rows), a.tensor("at_value", twins, rows), a.tensor("target", rows)
	a.atActions = a.tensor("at_actions", twins, rows, action)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// loss records one of the kernels above over count elements of each member.
func (a *sac) loss(r *engine.Recorder, k *engine.Kernel, count int, args engine.Args) {
	args["rows"] = count
	k.Record(r, uint32(count+7)/8, sacMembers, 1, args)
}

// record records one update.
func (a *sac) record(r *engine.Recorder) {
	actor, critics := nn.Weights{Params: a.actorOptimizer.Params()}, nn.Weights{Params: a.criticOptimizer.Params()}

	next := nn.HeadBatch{Parameters: actor, Outputs: a.outputs, Draws: nn.Draws{Stream: sacNextStream, Clock: a.clock, Update: a.update}}
	a.actor.Evaluate(r, actor, nn.Inputs{Parts: []*engine.Tensor{a.nextObs}}, a.outputs)
	a.head.Sample(r, next, a.sampled, a.logProb)
	a.critics.Evaluate(r, nn.Weights{Params: a.targets}, nn.Inputs{Parts: []*engine.Tensor{a.nextObs, a.sampled}}, a.value)
	a.loss(r, a.computeTarget, sacRows, engine.Args{
		"Reward": a.reward, "Terminated": a.terminated, "NextValue": a.value, "NextLogProb": a.logProb,
		"Discount": a.discount, "Temperature": a.temperature, "Target": a.target,
	})

	a.criticPass.Forward(r, critics, nn.Inputs{Parts: []*engine.Tensor{a.obs, a.action}}, a.value)
	a.loss(r, a.criticLoss, sacRows, engine.Args{"Value": a.value, "Target": a.target, "AtValue": a.atValue})
	a.criticPass.Backward(r, a.atValue, nn.Gradients{Params: a.criticGradient})
	a.criticOptimizer.Step(r, a.criticGradient) // the targets follow

	own := next
	own.Draws.Stream = sacOwnStream
	a.actorPass.Forward(r, actor, nn.Inputs{Parts: []*engine.Tensor{a.obs}}, a.outputs)
	a.head.Sample(r, own, a.sampled, a.logProb)
	a.criticPass.Forward(r, critics, nn.Inputs{Parts: []*engine.Tensor{a.obs, a.sampled}}, a.value)
	a.loss(r, a.actorLoss, sacRows, engine.Args{"Value": a.value, "Temperature": a.temperature, "AtValue": a.atValue, "AtLogProb": a.atLogProb})
	a.criticPass.Backward(r, a.atValue, nn.Gradients{Inputs: []*engine.Tensor{nil, a.atActions}}) // at the actions only
	a.loss(r, a.actions, sacRows*sacAction, engine.Args{"AtActions": a.atActions, "AtAction": a.atAction})
	a.head.Backward(r, own, nn.HeadGradients{Action: a.atAction, LogProb: a.atLogProb, Outputs: a.atOutputs})
	a.actorPass.Backward(r, a.atOutputs, nn.Gradients{Params: a.actorGradient})
	a.actorOptimizer.Step(r, a.actorGradient)
}

// begin draws batch, parameters and hyperparameters, and copies them to the references.
func (a *sac) begin(t *testing.T) []*sacReference {
	t.Helper()
	references := make([]*sacReference, sacMembers)
	for m := range references {
		references[m] = &sacReference{a: a, member: m, moments: map[string][2][]float64{}, rates: map[string]float64{}}
	}
	set := func(x *engine.Tensor, draw func(m, i int) float64, keep func(f *sacReference, values []float64)) {
		t.Helper()
		values, n := make([]float32, x.Len()), x.Len()/sacMembers
		for m, f := range references {
			member := make([]float64, n)
			for i := range member {
				values[m*n+i] = float32(draw(m, i))
				member[i] = float64(values[m*n+i])
			}
			keep(f, member)
		}
		if err := x.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
	}
	normal := func(scale float64) func(m, i int) float64 {
		return func(int, int) float64 { return scale * rand.NormFloat64() }
	}
	each := func(values ...float64) func(m, i int) float64 { return func(m, _ int) float64 { return values[m] } }
	set(a.obs, normal(1), func(f *sacReference, v []float64) { f.obs = v })
	set(a.nextObs, normal(1), func(f *sacReference, v []float64) { f.nextObs = v })
	set(a.action, func(int, int) float64 { return 2*rand.Float64() - 1 }, func(f *sacReference, v []float64) { f.action = v })
	set(a.reward, normal(1), func(f *sacReference, v []float64) { f.reward = v })
	set(a.terminated, func(_, i int) float64 { return float64(i % 5 / 4) }, func(f *sacReference, v []float64) { f.terminated = v })
	set(a.actorOptimizer.Params(), normal(0.4), func(f *sacReference, v []float64) { f.actor = v })
	set(a.criticOptimizer.Params(), normal(0.4), func(f *sacReference, v []float64) { f.critics = v })
	set(a.targets, normal(0.4), func(f *sacReference, v []float64) { f.targets = v })
	set(a.tau, each(0.005, 0.3, 1), func(f *sacReference, v []float64) { f.tau = v[0] })
	set(a.discount, each(0.99, 0.9, 0), func(f *sacReference, v []float64) { f.discount = v[0] })
	set(a.temperature, each(0.2, 1, 0.01), func(f *sacReference, v []float64) { f.temperature = v[0] })
	set(a.actorRate, each(3e-4, 1e-2, 1e-3), func(f *sacReference, v []float64) { f.rates["actor"] = v[0] })
	set(a.criticRate, each(1e-3, 1e-2, 3e-4), func(f *sacReference, v []float64) { f.rates["critics"] = v[0] })
	for _, gradient := range []*engine.Tensor{a.actorGradient, a.criticGradient} { // between the networks' own floats
		if err := gradient.WriteFloat32(t.Context(), make([]float32, gradient.Len())); err != nil {
			t.Fatal(err)
		}
	}
	return references
}

// Two updates of three members with separate hyperparameters agree with float64, for networks in lanes and layer by
// layer.
func TestSACUpdate(t *testing.T) {
	for _, hidden := range [][]int{{16, 12}, {9, 7, 5}} {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			a := newSAC(t, hidden)
			references := a.begin(t)
			program, err := a.state.Engine().Record("sac", a.record)
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			ctx := context.Background()
			for update := range 2 {
				if err := a.update.WriteUint32(ctx, []uint32{uint32(update)}); err != nil {
					t.Fatal(err)
				}
				if err := program.Run(ctx); err != nil {
					t.Fatal(err)
				}
				for m, f := range references {
					actorGradient, criticGradient := f.step()
					near(t, fmt.Sprintf("update %d: actor's gradient of member %d", update, m), member(t, a.actorGradient, m), actorGradient)
					near(t, fmt.Sprintf("update %d: critics' gradient of member %d", update, m), member(t, a.criticGradient, m), criticGradient)
					near(t, fmt.Sprintf("update %d: actor of member %d", update, m), member(t, a.actorOptimizer.Params(), m), f.actor)
					near(t, fmt.Sprintf("update %d: critics of member %d", update, m), member(t, a.criticOptimizer.Params(), m), f.critics)
					near(t, fmt.Sprintf("update %d: targets of member %d", update, m), member(t, a.targets, m), f.targets)
				}
			}
		})
	}
}

// member returns one member's floats of a tensor.
func member(t *testing.T, x *engine.Tensor, m int) []float32 {
	t.Helper()
	values, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := len(values) / sacMembers
	return values[m*n:][:n]
}

// near compares values; the tolerance is relative to the largest element.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	size, worst := 0.0, 0.0
	for i, v := range want {
		size, worst = max(size, math.Abs(v)), max(worst, math.Abs(float64(got[i])-v))
		if math.IsNaN(float64(got[i])) {
			t.Fatalf("%s: element %d is not a number", what, i)
		}
	}
	t.Logf("%s: deviation %.1e of the largest", what, worst/size)
	if !(worst <= 1e-5*size) {
		t.Errorf("%s: the largest deviation is %g of the largest element", what, worst/size)
	}
}
