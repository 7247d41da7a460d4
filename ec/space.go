package ec

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Space is the search space.
type Space struct {
	Members int // number of searches, M
	Dim     int // coordinates of a candidate
	// Objectives is the number of objectives, K; NewSearch sets it from the problem.
	Objectives int
	// Low and High bound each coordinate, [dim] each; nil: no bounds. Candidates that an algorithm forms outside, as
	// those that sample a normal distribution do, are moved to the nearest point inside.
	Low, High []float32
	// Open leaves such candidates unchanged: the bounds define only the initial region, and scales such as the largest velocity of particles.
	Open bool
	// Matrices is the number, from 1, of the weight matrix to which each coordinate belongs, [dim]; 0: none, as for
	// biases; nil: candidates are not networks.
	Matrices []uint32
	// Neurons tells to which row of which layer's weights, biases or normalization each coordinate belongs, [dim]: 2^17
	// times the number of the tensor, from 1, plus the row, plus 2^16 in vectors; nil: candidates are not networks.
	Neurons []uint32
	// Parameters lists the matrices and vectors of a candidate, which low-rank perturbations tell apart; nil: candidates are not networks.
	Parameters []nn.Parameter
	// DescriptorLow and DescriptorHigh bound the descriptors of a candidate's behaviour, [B] each; nil: no
	// descriptors.
	DescriptorLow, DescriptorHigh []float32
}

// Row returns the number of floats between consecutive candidates: dim rounded up to a multiple of four.
func (s Space) Row() int { return nn.Align(s.Dim) }

// Bounded reports whether the space has bounds, closed or open.
func (s Space) Bounded() bool { return s.Low != nil }

// Closed reports whether the space has bounds that candidates must not leave.
func (s Space) Closed() bool { return s.Bounded() && !s.Open }

// Check validates the space.
func (s Space) Check() error {
	const most, all = 1 << 31, 1 << 40 // numbers of candidates in bytes do not overflow
	if s.Members < 1 || s.Dim < 1 {
		return fmt.Errorf("ec: a space of %d members and %d dimensions; want at least 1 of each", s.Members, s.Dim)
	}
	if s.Members > most || s.Dim > most || s.Members > all/s.Dim {
		return fmt.Errorf("ec: a space of %d members and %d dimensions; want at most %d of each, and %d in all", s.Members, s.Dim, most, all)
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

// first returns the first of n starts of every member, [M, dim] of [M, n, dim].
func (s Space) first(starts []float32, n int) (first []float32) {
	for m := range s.Members {
		first = append(first, starts[m*n*s.Dim:][:s.Dim]...)
	}
	return first
}

// Tensor makes a saved tensor [M, row].
func (s Space) Tensor(state *engine.State, name string) *engine.Tensor {
	return state.Tensor(name, engine.Float32, engine.Members(s.Members), engine.Axis("parameter", s.Row()))
}

// Pad pads rows of dim numbers, such as [M, dim], to rows of Row numbers.
func (s Space) Pad(values []float32) []float32 {
	count := len(values) / s.Dim
	out := make([]float32, count*s.Row())
	for i := range count {
		copy(out[i*s.Row():], values[i*s.Dim:][:s.Dim])
	}
	return out
}

// candidates returns an axis of n candidates.
func candidates(n int) engine.Dim { return engine.Axis("candidate", n) }
