package ec

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Space is where a search looks for solutions.
type Space struct {
	Members int // searches at once, M
	Dim     int // numbers a candidate has
	// Objectives is how many values a candidate is judged by, K; NewSearch sets it from the problem.
	Objectives int
	// Low and High bound each of them, [dim] each; nil: there are no bounds. Candidates lie between them: those that
	// an algorithm forms outside, as all do that draw from a normal distribution, are moved to the nearest point
	// inside.
	Low, High []float32
	// Open leaves such candidates where they are: the bounds only say where to begin.
	Open bool
	// DescriptorLow and DescriptorHigh bound the numbers that describe how a candidate behaves, [B] each; nil:
	// nothing does.
	DescriptorLow, DescriptorHigh []float32
}

// Row is the number of floats from one candidate to the next.
func (s Space) Row() int { return nn.Align(s.Dim) }

// Bounded is whether there are bounds.
func (s Space) Bounded() bool { return s.Low != nil }

// Check validates the space.
func (s Space) Check() error {
	if s.Members < 1 || s.Dim < 1 {
		return fmt.Errorf("ec: a space of %d members and %d dimensions; want at least 1 of each", s.Members, s.Dim)
	}
	if s.Low != nil || s.High != nil {
		if err := checkBounds("dimension", s.Dim, s.Low, s.High); err != nil {
			return err
		}
	}
	return checkBounds("descriptor", len(s.DescriptorLow), s.DescriptorLow, s.DescriptorHigh)
}

func checkBounds(what string, n int, low, high []float32) error {
	if len(low) != n || len(high) != n {
		return fmt.Errorf("ec: %d lower and %d upper bounds of %d %ss; want one of each for every %s, or none", len(low), len(high), n, what, what)
	}
	for i, l := range low {
		if h := high[i]; !(l < h) || math.IsInf(float64(l), 0) || math.IsInf(float64(h), 0) {
			return fmt.Errorf("ec: %s %d is bounded by %g and %g; want a finite lower bound below a finite upper one", what, i, l, h)
		}
	}
	return nil
}

// Tensor makes a saved tensor [M, row].
func (s Space) Tensor(state *engine.State, name string) *engine.Tensor {
	return state.Tensor(name, engine.Float32, engine.Members(s.Members), engine.Axis("parameter", s.Row()))
}

// Pad lays out rows of dim numbers, such as [M, dim], as rows of Row numbers.
func (s Space) Pad(values []float32) []float32 {
	count := len(values) / s.Dim
	out := make([]float32, count*s.Row())
	for i := range count {
		copy(out[i*s.Row():], values[i*s.Dim:][:s.Dim])
	}
	return out
}

// candidates is an axis of a population's members.
func candidates(n int) engine.Dim { return engine.Axis("candidate", n) }
