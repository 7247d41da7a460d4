package evorl

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/records"
)

// Actor acts by a policy on the host, in float64 and without a device. It is safe for concurrent use.
type Actor struct {
	policy       *Policy
	host         *nn.Host
	middle, half []float32
}

// ErrNoDistribution is the error of drawing actions of a policy that has no distribution of actions: its head is deterministic or epsilon_greedy, whose
// exploration belongs to training.
var ErrNoDistribution = errors.New("the policy has no distribution of actions to draw from")

// Actor returns what acts by the policy. It is an error if the policy's parts do not fit each other.
func (p *Policy) Actor() (*Actor, error) {
	failed := func(format string, args ...any) (*Actor, error) {
		return nil, fmt.Errorf("evorl: policy of %s on %s: "+format, append([]any{p.Workflow, p.Env}, args...)...)
	}
	if len(p.Layers) == 0 {
		return failed("it has no layers")
	}
	layers, row := p.network()
	host, err := nn.NewHost(layers, row, p.inputs())
	if err != nil {
		return failed("%w", err)
	}
	if o := p.Observation; o != nil && (len(o.Mean) != p.inputs() || len(o.Scale) != p.inputs()) {
		return failed("%d means and %d scales of %d observations", len(o.Mean), len(o.Scale), p.inputs())
	}
	a, per := p.Action, 1
	switch {
	case a.Size < 1 || !a.Discrete && (len(a.Low) != a.Size || len(a.High) != a.Size) || a.LogStd != nil && len(a.LogStd) != a.Size:
		return failed("%d actions with %d lower and %d upper bounds and %d deviations", a.Size, len(a.Low), len(a.High), len(a.LogStd))
	case a.Bins > 1:
		per = a.Bins
	case a.Atoms > 1:
		per = a.Atoms
	case p.spreads():
		per = 2
	}
	outputs := a.Size * per
	if a.Dueling {
		outputs += per
	}
	if host.Outputs() != outputs {
		return failed("its network has %d outputs; want %d for %d actions", host.Outputs(), outputs, a.Size)
	}
	actor := &Actor{policy: p, host: host}
	actor.middle, actor.half = a.scales()
	return actor, nil
}

// spreads reports whether the network's outputs after the means are log standard deviations.
func (p *Policy) spreads() bool {
	return p.Action.Head == nn.Gaussian.String() && p.Action.LogStd == nil && p.outputs() > p.Action.Size
}

// Policy returns the policy.
func (a *Actor) Policy() *Policy { return a.policy }

// Observations returns the number of floats of an observation.
func (a *Actor) Observations() int { return a.host.Inputs() }

// Memory returns the number of floats that the policy carries from step to step, zeros at the beginning of an episode; 0: none.
func (a *Actor) Memory() int { return a.host.Memory() }

// Draws reports whether the policy has a distribution of actions, from which Act can draw.
func (a *Actor) Draws() bool {
	switch a.policy.Action.Head {
	case nn.Categorical.String(), nn.Binned.String():
		return true
	case nn.Gaussian.String():
		return a.policy.Action.LogStd != nil || a.policy.spreads()
	}
	return false
}

// Act returns the action at an observation, which is in the environment's units: the index of a discrete action, or Size floats, which the environment
// clips to its bounds. It is the most likely action or, with rng, one that is drawn. It replaces memory, of Memory values, by that after the step.
//
// Errors: slices of another length, a rng for a policy without a distribution (ErrNoDistribution), an observation that is not finite.
func (a *Actor) Act(obs []float32, memory []float64, rng *rand.Rand) ([]float32, error) {
	if rng != nil && !a.Draws() {
		return nil, fmt.Errorf("evorl: a %s head: %w", a.policy.Action.Head, ErrNoDistribution)
	}
	y, err := a.outputs(obs, memory)
	if err != nil {
		return nil, err
	}
	if a.policy.Action.Discrete {
		return []float32{float32(a.choose(y, rng))}, nil
	}
	return a.control(y, rng), nil
}

// Probabilities returns those of discrete actions at an observation, and replaces memory as Act does. A policy without a distribution has 1 for the action of
// Act.
//
// Errors: slices of another length, continuous actions, an observation that is not finite.
func (a *Actor) Probabilities(obs []float32, memory []float64) ([]float64, error) {
	of := a.policy.Action
	if !of.Discrete {
		return nil, errors.New("evorl: probabilities of continuous actions; want discrete ones")
	}
	y, err := a.outputs(obs, memory)
	if err != nil {
		return nil, err
	}
	if a.Draws() {
		return probabilities(y), nil
	}
	p := make([]float64, of.Size)
	p[a.choose(y, nil)] = 1
	return p, nil
}

// outputs returns the network's outputs at an observation.
func (a *Actor) outputs(obs []float32, memory []float64) ([]float64, error) {
	if len(obs) != a.Observations() || len(memory) != a.Memory() {
		return nil, fmt.Errorf("evorl: an observation of %d and a memory of %d floats; want %d and %d", len(obs), len(memory), a.Observations(), a.Memory())
	}
	x := records.Widen(obs)
	for i, v := range x {
		if v-v != 0 {
			return nil, fmt.Errorf("evorl: float %d of the observation is %g; want finite numbers", i, v)
		}
	}
	if o := a.policy.Observation; o != nil {
		limit := float64(o.Limit)
		for i := range x {
			x[i] = min(max((x[i]-float64(o.Mean[i]))*float64(o.Scale[i]), -limit), limit)
		}
	}
	return a.host.Evaluate(x, memory), nil
}

// choose returns the index of a discrete action.
func (a *Actor) choose(y []float64, rng *rand.Rand) int {
	of := a.policy.Action
	if of.Head != nn.EpsilonGreedy.String() {
		return index(y, rng)
	}
	atoms := max(of.Atoms, 1)
	values := make([]float64, of.Size)
	for i := range values {
		logits := slices.Clone(y[i*atoms:][:atoms])
		if of.Dueling && atoms > 1 {
			for k := range logits {
				mean := 0.0
				for j := range of.Size {
					mean += y[j*atoms+k] / float64(of.Size)
				}
				logits[k] += y[of.Size*atoms+k] - mean
			}
		}
		if values[i] = logits[0]; atoms > 1 { // the state value alone changes no order
			values[i] = 0
			for k, p := range probabilities(logits) {
				values[i] += p * float64(k)
			}
		}
	}
	return records.Largest(values)
}

// control returns a continuous action.
func (a *Actor) control(y []float64, rng *rand.Rand) []float32 {
	of, out := a.policy.Action, make([]float32, a.policy.Action.Size)
	for i := range out {
		var v float64
		if of.Bins > 1 {
			v = 2*float64(index(y[i*of.Bins:][:of.Bins], rng))/float64(of.Bins-1) - 1
		} else {
			v = y[i]
			if rng != nil {
				v += math.Exp(of.logStd(y, i)) * rng.NormFloat64()
			}
			if of.Squash {
				v = math.Tanh(v)
			}
		}
		out[i] = float32(float64(a.middle[i]) + float64(a.half[i])*v)
	}
	return out
}

// logStd returns the log standard deviation of a dimension.
func (a PolicyAction) logStd(y []float64, i int) float64 {
	if a.LogStd != nil {
		return float64(a.LogStd[i])
	}
	low, high := float64(a.LogStdLow), float64(a.LogStdHigh)
	return low + (high-low)*(math.Tanh(y[a.Size+i])+1)/2
}

// index returns the index of the largest of some logits or, with rng, one that is drawn.
func index(logits []float64, rng *rand.Rand) int {
	if rng == nil {
		return records.Largest(logits)
	}
	u := rng.Float64()
	for i, p := range probabilities(logits) {
		if u -= p; u < 0 {
			return i
		}
	}
	return records.Largest(logits) // by rounding
}

func probabilities(logits []float64) []float64 {
	most, sum, p := slices.Max(logits), 0.0, make([]float64, len(logits))
	for i, x := range logits {
		p[i] = math.Exp(x - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
