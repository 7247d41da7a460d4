package evorl

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/records"
)

// The host acts as the policy's documentation says, for every head and form of network, with the memory after the step.
func TestActor(t *testing.T) {
	for _, c := range modelCases() {
		t.Run(c.name, func(t *testing.T) {
			p := c.policy()
			a, err := p.Actor()
			if err != nil {
				t.Fatal(err)
			}
			rows := c.observations()
			memories := c.memories(len(rows))
			for i, obs := range rows {
				memory := records.Widen(memories[i])
				got, err := a.Act(obs, memory, nil)
				if err != nil {
					t.Fatal(err)
				}
				want, _, next := act(p, obs, memories[i])
				compare(t, "action", i, records.Widen(got), want)
				if len(memory) > 0 {
					compare(t, "memory", i, memory, next)
				}
			}
		})
	}
}

// Drawn actions have the distribution of the head: frequencies of choices, means and deviations.
func TestActorDraws(t *testing.T) {
	const n = 20000
	rng := rand.New(rand.NewPCG(3, 1))
	linear := func(bias ...float32) *Policy {
		layer := PolicyLayer{Weight: [][]float32{make([]float32, len(bias))}, Bias: bias}
		return &Policy{Layers: []PolicyLayer{layer}}
	}
	moments := func(p *Policy) (mean, std []float64) {
		a, err := p.Actor()
		if err != nil {
			t.Fatal(err)
		}
		if !a.Draws() {
			t.Fatalf("%s has no distribution", p.Action.Head)
		}
		for range n {
			x, err := a.Act([]float32{0.5}, nil, rng)
			if err != nil {
				t.Fatal(err)
			}
			if mean == nil {
				mean, std = make([]float64, len(x)), make([]float64, len(x))
			}
			for i, v := range x {
				mean[i] += float64(v) / n
				std[i] += float64(v) * float64(v) / n
			}
		}
		for i := range std {
			std[i] = math.Sqrt(std[i] - mean[i]*mean[i])
		}
		return mean, std
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.03 {
			t.Errorf("%s %g; want %g", what, got, want)
		}
	}
	choice := linear(0, float32(math.Log(3)))
	choice.Action = PolicyAction{Head: nn.Categorical.String(), Discrete: true, Size: 2}
	mean, _ := moments(choice)
	near("frequency of choice 1", mean[0], 0.75)

	box := PolicyAction{Head: nn.Gaussian.String(), Size: 1, Low: []Number{0}, High: []Number{4}}
	fixed := linear(0.25)
	fixed.Action, fixed.Action.LogStd = box, []float32{float32(math.Log(0.5))}
	mean, std := moments(fixed)
	near("mean", mean[0], 2.5)
	near("deviation", std[0], 1)

	spread := linear(0.25, 0) // tanh 0: the middle of the logarithms
	spread.Action, spread.Action.LogStdLow, spread.Action.LogStdHigh = box, float32(math.Log(0.1)), float32(math.Log(0.4))
	_, std = moments(spread)
	near("deviation of the outputs", std[0], 2*math.Sqrt(0.1*0.4))

	bins := linear(0, float32(math.Log(3)))
	bins.Action = box
	bins.Action.Head, bins.Action.Bins = nn.Binned.String(), 2
	mean, _ = moments(bins)
	near("mean of bins", mean[0], 3)
}

// What does not fit is an error.
func TestActorRefuses(t *testing.T) {
	var c modelCase
	for _, c = range modelCases() {
		if c.name == "gru" {
			break
		}
	}
	a, err := c.policy().Actor()
	if err != nil {
		t.Fatal(err)
	}
	obs, memory := make([]float32, 5), make([]float64, 7)
	if _, err := a.Act(obs, memory, rand.New(rand.NewPCG(1, 1))); !errors.Is(err, ErrNoDistribution) {
		t.Errorf("drawn of a deterministic head: %v", err)
	}
	if _, err := a.Act(obs[1:], memory, nil); err == nil {
		t.Error("an observation of 4 floats was taken")
	}
	if _, err := a.Act(obs, nil, nil); err == nil {
		t.Error("no memory was taken")
	}
	obs[3] = float32(math.NaN())
	if _, err := a.Act(obs, memory, nil); err == nil {
		t.Error("NaN was taken")
	}
	for what, change := range map[string]func(p *Policy){
		"no layers":    func(p *Policy) { p.Layers = nil },
		"a row less":   func(p *Policy) { p.Layers[2].Weight = p.Layers[2].Weight[1:] },
		"no outputs":   func(p *Policy) { p.Action.Size = 2 },
		"no bounds":    func(p *Policy) { p.Action.Low = nil },
		"other means":  func(p *Policy) { p.Observation = &PolicyObservation{Mean: []float32{1}, Scale: []float32{1}} },
		"no recurrent": func(p *Policy) { p.Layers[1].Recurrent = nil },
	} {
		p := c.policy()
		change(p)
		if _, err := p.Actor(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Probabilities are the softmax of a distribution's logits; without a distribution the greedy action has 1. Continuous actions have none.
func TestActorProbabilities(t *testing.T) {
	policy := func(head nn.HeadKind, discrete bool) *Policy {
		layer := PolicyLayer{Weight: [][]float32{{1, 0, -1}}, Bias: []float32{0, 0.5, 0.25}}
		return &Policy{
			Layers: []PolicyLayer{layer}, Observation: &PolicyObservation{Mean: []float32{1}, Scale: []float32{0.5}, Limit: 3},
			Action: PolicyAction{Head: head.String(), Size: 3, Discrete: discrete, Low: []Number{-1, -1, -1}, High: []Number{1, 1, 1}},
		}
	}
	logits, sum := []float64{0.5, 0.5, -0.25}, 0.0 // of the observation 2
	for _, x := range logits {
		sum += math.Exp(x)
	}
	for head, want := range map[nn.HeadKind][]float64{
		nn.Categorical:   {math.Exp(0.5) / sum, math.Exp(0.5) / sum, math.Exp(-0.25) / sum},
		nn.EpsilonGreedy: {1, 0, 0},
	} {
		a, err := policy(head, true).Actor()
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Probabilities([]float32{2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, head.String(), 0, got, want)
		if _, err := a.Probabilities([]float32{2, 2}, nil); err == nil {
			t.Errorf("%v: no error of an observation of two floats", head)
		}
	}
	a, err := policy(nn.Deterministic, false).Actor()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := a.Probabilities([]float32{2}, nil); err == nil {
		t.Errorf("continuous actions have the probabilities %v", p)
	}
}
