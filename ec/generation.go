package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Generation runs an algorithm on the device: it proposes candidates, ranks their fitness and learns from it. Search
// evaluates its candidates by a Problem, AskTell passes them to the caller, and hybrids combine it with gradient
// descent. In every iteration a program records, in this order,
//
//	g.Ask(r)
//	g.Candidates(r, Pick{}, candidates) // whole or window by window, to be evaluated into fitness
//	g.Tell(r, fitness)                  // or TellCandidates, if the candidates were changed
//
// and ticks the clock. No data pass through the host.
type Generation struct {
	algorithm   Algorithm
	space       Space
	state       *engine.State // state of everything but the algorithm
	strategy    Strategy
	repair      *repair        // nil if candidates always stay in the bounds
	ranking     *ranking       // nil with several objectives
	objectives  *objectives    // nil with one objective
	descriptors *engine.Tensor // nil if the space has no descriptors
}

// NewGeneration makes the tensors of an algorithm and of the ranking in s, and its hyperparameters in hyper. clock
// counts generations. Objectives = 0 in the space means 1.
//
// Errors: settings out of range, a space that the algorithm cannot search, *vk.OutOfMemoryError if its matrices do
// not fit the device.
func NewGeneration(s *engine.State, clock engine.Clock, hyper *engine.Hyper, algorithm Algorithm, space Space) (*Generation, error) {
	space.Objectives = max(1, space.Objectives)
	if err := space.Check(); err != nil {
		return nil, err
	}
	strategy, err := algorithm.New(s.Sub(algorithm.Name()), clock, hyper, space)
	if err != nil {
		return nil, err
	}
	g := &Generation{algorithm: algorithm, space: space, state: s.Sub("search"), strategy: strategy}
	g.repair = newRepair(g.state, space)
	if k := space.Objectives; k > 1 {
		several, ok := strategy.(MultiObjective)
		if !ok {
			return nil, fmt.Errorf("it maximises one objective and the problem has %d; want an algorithm for several objectives, such as nsga-ii", k)
		}
		g.objectives = newObjectives(g.state, space, strategy.Population(), several)
	} else {
		g.ranking = newRanking(g.state, space, strategy.Population())
	}
	if b := len(space.DescriptorLow); b > 0 {
		g.descriptors = g.state.Scratch("descriptors", engine.Float32, append(g.dims(), engine.Axis("descriptor", b))...)
	}
	return g, s.Err()
}

// Population returns the number of candidates per generation, N.
func (g *Generation) Population() int { return g.strategy.Population() }

// Space returns the search space.
func (g *Generation) Space() Space { return g.space }

// Strategy returns the algorithm's strategy. Its candidates and its solution may lie outside the bounds; Generation
// repairs them.
func (g *Generation) Strategy() Strategy { return g.strategy }

// Descriptors returns [M, N, B], into which an evaluation for quality diversity writes the candidates' behaviour
// before Tell; nil if the space has no descriptors.
func (g *Generation) Descriptors() *engine.Tensor { return g.descriptors }

func (g *Generation) dims() []engine.Dim {
	return []engine.Dim{engine.Members(g.space.Members), candidates(g.Population())}
}

// NewFitness makes a scratch tensor for the fitness that Tell takes: [M, N], with several objectives [M, N, K].
func (g *Generation) NewFitness(name string) *engine.Tensor {
	dims := g.dims()
	if k := g.space.Objectives; k > 1 {
		dims = append(dims, engine.Axis("objective", k))
	}
	return g.state.Scratch(name, engine.Float32, dims...)
}

// NewCandidates makes a scratch tensor for count candidates of each member: [M · count, row].
func (g *Generation) NewCandidates(name string, count int) *engine.Tensor {
	return g.state.Scratch(name, engine.Float32, engine.Members(g.space.Members*count), engine.Axis("parameter", g.space.Row()))
}

// Founders returns the number of starts of each member with which the algorithm begins, 1 of most.
func (g *Generation) Founders() int {
	if of, ok := g.strategy.(Founded); ok {
		return of.Founders()
	}
	return 1
}

// Init begins the searches at start [M, Founders, dim]. Every saved tensor must be zero.
func (g *Generation) Init(ctx context.Context, start []float32) error {
	n := g.Founders()
	if want := g.space.Members * n * g.space.Dim; len(start) != want {
		return fmt.Errorf("ec: a start of %d numbers; want %d, %d of each of %d candidates of %d members", len(start), want, g.space.Dim, n, g.space.Members)
	}
	start = g.space.clamped(start)
	err := g.strategy.Init(ctx, start)
	if g.ranking != nil {
		err = errors.Join(err, g.ranking.init(ctx, g.space.first(start, n)))
	}
	return err
}

// Ask records the preparation of the generation's candidates, once per generation.
func (g *Generation) Ask(r *engine.Recorder) { g.strategy.Ask(r) }

// Candidates records forming the picked candidates of the generation, moved into the bounds, into [M · count, row].
// It may be recorded any number of times between Ask and Tell.
func (g *Generation) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	g.strategy.Candidates(r, pick, into)
	g.repair.record(r, into)
}

// Tell records learning from the proposed candidates. Their fitness is [M, N], with several objectives [M, N, K].
// Greater is better; values that are not finite rank below all finite ones.
func (g *Generation) Tell(r *engine.Recorder, fitness *engine.Tensor) {
	if g.checkFitness(r, fitness) {
		g.strategy.Tell(r, g.rank(r, fitness, g.Candidates))
	}
}

// TellCandidates records learning from candidates [M · N, row] that differ in part from the proposed ones: trained
// by gradient descent or injected by Replace, for example. They must lie in the bounds. Candidates that are
// bit-identical to the proposed ones count as in Tell; to detect them the strategy forms its candidates again, which
// takes memory for a population. A candidate that is not finite is replaced by the strategy's own, with fitness NaN.
// The recording fails if CheckCandidates returns an error.
func (g *Generation) TellCandidates(r *engine.Recorder, injected, fitness *engine.Tensor) {
	if err := g.CheckCandidates(); err != nil {
		r.Fail(err)
		return
	}
	rows := g.Population() * g.space.Row()
	if injected.Len() != g.space.Members*rows {
		r.Fail(fmt.Errorf("ec: told of candidates %v; want %d members of %d rows of %d", injected, g.space.Members, g.Population(), g.space.Row()))
		return
	}
	if g.checkFitness(r, fitness) {
		of := g.compare(r, injected, fitness)
		scores := g.rank(r, fitness, func(r *engine.Recorder, pick Pick, into *engine.Tensor) {
			g.space.PickRows(r, injected, pick, into)
		})
		g.strategy.(CandidateStrategy).TellCandidates(r, of, scores)
	}
}

// CheckCandidates returns nil if the strategy can be told candidates that it did not propose, else a *CandidatesError or a
// *RankError.
func (g *Generation) CheckCandidates() error {
	if _, ok := g.strategy.(CandidateStrategy); !ok {
		return &CandidatesError{Algorithm: g.algorithm.Name()}
	}
	return CheckRows(g.algorithm)
}

// rank records ranking the fitness of candidates formed by form.
func (g *Generation) rank(r *engine.Recorder, fitness *engine.Tensor, form func(*engine.Recorder, Pick, *engine.Tensor)) Scores {
	var scores Scores
	if g.objectives != nil {
		scores = g.objectives.record(r, fitness)
	} else {
		scores = g.ranking.record(r, fitness, form)
	}
	scores.Descriptor = g.descriptors
	return scores
}

// checkFitness reports whether the fitness has the size that Tell expects; if not, the recording fails.
func (g *Generation) checkFitness(r *engine.Recorder, fitness *engine.Tensor) bool {
	want := g.space.Members * g.Population() * g.space.Objectives
	if fitness.Len() != want {
		r.Fail(fmt.Errorf("ec: told of fitness %v; want %d values: %d members, %d candidates, %d objectives", fitness, want,
			g.space.Members, g.Population(), g.space.Objectives))
	}
	return fitness.Len() == want
}

// Solution returns the current solutions [M, row], with several objectives [M, N, row]; see Strategy. Repair moves
// them into the bounds.
func (g *Generation) Solution() *engine.Tensor { return g.strategy.Solution() }

// Repairs reports whether candidates and solutions may leave the bounds and need Repair.
func (g *Generation) Repairs() bool { return g.repair != nil }

// Repair records moving candidates [.., row] outside the bounds to the nearest point inside.
func (g *Generation) Repair(r *engine.Recorder, candidates *engine.Tensor) {
	g.repair.record(r, candidates)
}

// Best returns the best fitness [M] of all generations, NaN before the first, and its candidates [M, row], before the
// first the start; nil with several objectives.
func (g *Generation) Best() (fitness, candidates *engine.Tensor) {
	if g.ranking == nil {
		return nil, nil
	}
	return g.ranking.best, g.ranking.fittest
}

// Front returns the population [M, N, row] of a search with several objectives, and its objectives [M, N, K]; nil
// with one objective.
func (g *Generation) Front() (candidates, objectives *engine.Tensor) {
	if g.objectives == nil {
		return nil, nil
	}
	return g.strategy.Solution(), g.objectives.strategy.Objectives()
}

// Rows adds the metrics of the ranking, and of a strategy that is Measured. The returned function records them
// after Tell.
func (g *Generation) Rows(m *engine.Metrics) func(*engine.Recorder) {
	var all []func(*engine.Recorder)
	if g.ranking != nil {
		all = append(all, g.ranking.Rows(m))
	} else {
		all = append(all, g.objectives.Rows(m))
	}
	if measured, ok := g.strategy.(Measured); ok {
		all = append(all, measured.Rows(m))
	}
	return func(r *engine.Recorder) {
		for _, record := range all {
			record(r)
		}
	}
}
