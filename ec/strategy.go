package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
)

// Algorithm is the configuration of an algorithm. New makes its strategy.
type Algorithm interface {
	// Name is the algorithm's name in TOML, for example "openes".
	Name() string
	// New makes the algorithm's tensors in s and its hyperparameters in hyper. clock counts generations.
	New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error)
}

// Strategy is an algorithm on the device: ask, evaluate, tell, each recorded into a program.
type Strategy interface {
	// Population returns the number of candidates per generation, N.
	Population() int
	// Init begins a search at start [M, dim], row by row. Every saved tensor must be zero.
	Init(ctx context.Context, start []float32) error
	// Ask records the preparation of the generation's candidates, once per generation.
	Ask(r *engine.Recorder)
	// Candidates records forming some of the generation's candidates into [M · count, row]. It may be recorded any
	// number of times between Ask and Tell, so that only the candidates evaluated at once need memory.
	Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor)
	// Tell records learning from the generation.
	Tell(r *engine.Recorder, scores Scores)
	// Solution returns the current solutions [M, row]: the mean of a distribution, or the best of a population. With
	// several objectives it returns a population [M, N, row] of mutually non-dominated solutions where possible.
	Solution() *engine.Tensor
}

// DoubleFloatStrategy is a Strategy with candidates of double floats: sums of a high float, formed by Candidates,
// and a low one.
type DoubleFloatStrategy interface {
	Strategy
	// CandidatesLow records forming the low parts into [M · count, row].
	CandidatesLow(r *engine.Recorder, pick Pick, into *engine.Tensor)
}

// MultiObjective is a Strategy for problems of several objectives.
type MultiObjective interface {
	Strategy
	// Objectives returns the objectives of the Solution, [M, N, K]: maximised; the lowest float where they were not
	// finite.
	Objectives() *engine.Tensor
}

// Founded is a Strategy that may begin with several independent starts.
type Founded interface {
	Strategy
	// Founders returns the number n of starts of each member, at least 1; Init takes [M, n, dim].
	Founders() int
}

// Pick chooses candidates of a generation, equally many of every member: those in the index tensor [M, count] u32 or,
// without one, count candidates beginning at First.
type Pick struct {
	First int
	Index *engine.Tensor
}

// Scores are the result of a generation. Greater is better. With several objectives only Objectives and Descriptor are
// set, otherwise all but Objectives.
type Scores struct {
	Fitness    *engine.Tensor // [M, N]: as evaluated, possibly not finite
	Finite     *engine.Tensor // [M, N]: fitness, with non-finite values replaced by the worst finite one
	Rank       *engine.Tensor // [M, N] u32: 0 for the fittest; those whose fitness is not finite come last
	Fittest    *engine.Tensor // [M, row]: the best candidate of all generations; the start while none was finite
	Objectives *engine.Tensor // [M, N, K]: all of them the lowest float if one was not finite
	Descriptor *engine.Tensor // [M, N, B]: a candidate's behaviour, for quality diversity; nil if the problem has none
}

// Measured is a Strategy with its own metrics. Rows adds them before the first recording; the returned function
// records them after Tell.
type Measured interface {
	Rows(m *engine.Metrics) func(r *engine.Recorder)
}
