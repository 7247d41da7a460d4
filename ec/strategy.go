package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
)

// Algorithm is the configuration of an algorithm. New makes what it does.
type Algorithm interface {
	// Name is the one it has in TOML, for example "openes".
	Name() string
	// New makes the algorithm's tensors in s and its hyperparameters in hyper. clock counts generations.
	New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error)
}

// Strategy is an algorithm at work: ask, evaluate, tell, each recorded into a program.
type Strategy interface {
	// Population is the number of candidates a generation, P.
	Population() int
	// Init begins a search at start [M, dim], row by row. Every saved tensor is zero before.
	Init(ctx context.Context, start []float32) error
	// Ask records what candidates are formed from, once a generation.
	Ask(r *engine.Recorder)
	// Candidates records forming some of the generation's candidates, into [M · count, row]. It may be recorded any
	// number of times between Ask and Tell, so that no more candidates need memory than are evaluated at once.
	Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor)
	// Tell records learning from the generation.
	Tell(r *engine.Recorder, told Told)
	// Solution is [M, row], what the search would hand out now: the mean of a distribution, or the best of a
	// population. With several objectives it is a population [M, N, row], in which solutions none of which is better
	// in all of them stand side by side.
	Solution() *engine.Tensor
}

// DoubleFloatStrategy is a Strategy whose candidates are double floats: sums of a high float, what Candidates forms,
// and a low one.
type DoubleFloatStrategy interface {
	Strategy
	// CandidatesLow records forming the low parts into [M · count, row].
	CandidatesLow(r *engine.Recorder, pick Pick, into *engine.Tensor)
}

// MultiObjective is a Strategy for problems of several objectives.
type MultiObjective interface {
	Strategy
	// Objectives are those of the Solution, [M, N, K]: maximised, and the lowest number there is where they were not
	// finite.
	Objectives() *engine.Tensor
}

// Pick chooses candidates of a generation, the same number of every member: those that an index tensor [M, count] u32
// names or, without one, count candidates from First on.
type Pick struct {
	First int
	Index *engine.Tensor
}

// Told is the result of a generation, which a strategy is told. Greater is better. With several objectives only they and the
// descriptors are there, else all but the objectives.
type Told struct {
	Fitness    *engine.Tensor // [M, P]: as evaluated, maybe not finite
	Finite     *engine.Tensor // [M, P]: fitness, what is not finite replaced by the worst that is
	Rank       *engine.Tensor // [M, P] u32: 0 for the fittest
	Fittest    *engine.Tensor // [M, row]: the best candidate of all generations, the start while none was finite
	Objectives *engine.Tensor // [M, P, K]: all the lowest there is where one was not finite
	Descriptor *engine.Tensor // [M, P, B]: a candidate's behaviour, for quality diversity; nil where the problem has none
}

// Measured is a Strategy with metrics of its own. Rows adds them before the first recording; the function returned
// records them after Tell.
type Measured interface {
	Rows(m *engine.Metrics) func(r *engine.Recorder)
}
