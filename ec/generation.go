package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Generation is an algorithm at work on the device: it proposes candidates, ranks the fitness they had and learns
// from it. Search evaluates its candidates by a Problem, AskTell hands them to the caller, and hybrids put it beside
// gradient descent. In every iteration a program records, in this order,
//
//	g.Ask(r)
//	g.Candidates(r, Pick{}, candidates) // whole or window by window, to be evaluated into fitness
//	g.Tell(r, fitness)                  // or TellCandidates, where somebody has changed the candidates
//
// and ticks the clock. Nothing of it passes through the host.
type Generation struct {
	algorithm   Algorithm
	space       Space
	state       *engine.State // of what the algorithm does not make
	strategy    Strategy
	repair      *repair        // nil where candidates keep the bounds
	ranking     *ranking       // nil with several objectives
	objectives  *objectives    // nil with one objective
	descriptors *engine.Tensor // nil where the space bounds none
}

// NewGeneration makes an algorithm's tensors, and those of the ranking, in s and its hyperparameters in hyper. clock
// counts generations. A space of 0 objectives has one.
//
// Errors: settings out of range, a space that the algorithm cannot search, *vk.OutOfMemoryError where it needs
// matrices that do not fit the device.
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
			return nil, fmt.Errorf("it maximises one value and the problem has %d; want an algorithm for several objectives, such as nsga-ii", k)
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

// Population is the number of candidates a generation, P.
func (g *Generation) Population() int { return g.strategy.Population() }

// Space is where candidates are.
func (g *Generation) Space() Space { return g.space }

// Strategy is the algorithm at work. Its candidates and its solution may lie outside of the bounds; Generation
// repairs them.
func (g *Generation) Strategy() Strategy { return g.strategy }

// Descriptors [M, P, B] are where an evaluation for quality diversity writes how candidates behave, before Tell; nil
// where the space bounds none.
func (g *Generation) Descriptors() *engine.Tensor { return g.descriptors }

func (g *Generation) dims() []engine.Dim {
	return []engine.Dim{engine.Members(g.space.Members), candidates(g.Population())}
}

// NewFitness makes a scratch tensor that Tell takes: [M, P] or, with several objectives, [M, P, K].
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

// Init begins the searches at start [M, dim]. Every saved tensor is zero before.
func (g *Generation) Init(ctx context.Context, start []float32) error {
	if want := g.space.Members * g.space.Dim; len(start) != want {
		return fmt.Errorf("ec: a start of %d numbers; want %d, %d of each of %d members", len(start), want, g.space.Dim, g.space.Members)
	}
	start = g.space.clamped(start)
	err := g.strategy.Init(ctx, start)
	if g.ranking != nil {
		err = errors.Join(err, g.ranking.init(ctx, start))
	}
	return err
}

// Ask records what candidates are formed from, once a generation.
func (g *Generation) Ask(r *engine.Recorder) { g.strategy.Ask(r) }

// Candidates records forming some of the generation's candidates, between the bounds, into [M · count, row]. It may
// be recorded any number of times between Ask and Tell.
func (g *Generation) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	g.strategy.Candidates(r, pick, into)
	g.repair.record(r, into)
}

// Tell records learning from the candidates that were proposed. Their fitness is [M, P], with several objectives [M,
// P, K]; greater is better, and what is not finite is worse than all that is.
func (g *Generation) Tell(r *engine.Recorder, fitness *engine.Tensor) {
	if g.checkFitness(r, fitness) {
		g.strategy.Tell(r, g.rank(r, fitness, g.Candidates))
	}
}

// TellCandidates records learning from other candidates [M · P, row] than those proposed, or partly others: trained
// by gradient descent, injected by Replace, or whatever the caller makes. Where there are bounds they must lie
// between them. Those that are what the strategy proposed, bit by bit, count as in Tell; it forms them again to find
// that out, which takes memory for a population. One that is not finite is replaced by the strategy's own, its
// fitness by NaN. The recording fails where Accepts returns an error.
func (g *Generation) TellCandidates(r *engine.Recorder, given, fitness *engine.Tensor) {
	if err := g.Accepts(); err != nil {
		r.Fail(err)
		return
	}
	rows := g.Population() * g.space.Row()
	if given.Len() != g.space.Members*rows {
		r.Fail(fmt.Errorf("ec: told of candidates %v; want %d members of %d rows of %d", given, g.space.Members, g.Population(), g.space.Row()))
		return
	}
	if g.checkFitness(r, fitness) {
		of := g.compare(r, given, fitness)
		told := g.rank(r, fitness, func(r *engine.Recorder, pick Pick, into *engine.Tensor) {
			g.space.PickRows(r, given, pick, into)
		})
		g.strategy.(CandidateStrategy).TellCandidates(r, of, told)
	}
}

// Accepts is nil where the strategy can be told candidates other than those it proposed, else a *CandidatesError.
func (g *Generation) Accepts() error {
	if _, ok := g.strategy.(CandidateStrategy); !ok {
		return &CandidatesError{Algorithm: g.algorithm.Name()}
	}
	return nil
}

// rank records ranking the fitness of candidates that form forms.
func (g *Generation) rank(r *engine.Recorder, fitness *engine.Tensor, form func(*engine.Recorder, Pick, *engine.Tensor)) Told {
	var told Told
	if g.objectives != nil {
		told = g.objectives.record(r, fitness)
	} else {
		told = g.ranking.record(r, fitness, form)
	}
	told.Descriptor = g.descriptors
	return told
}

// checkFitness is whether the fitness has the size that Tell wants.
func (g *Generation) checkFitness(r *engine.Recorder, fitness *engine.Tensor) bool {
	want := g.space.Members * g.Population() * g.space.Objectives
	if fitness.Len() != want {
		r.Fail(fmt.Errorf("ec: told of fitness %v; want %d values: %d members, %d candidates, %d objectives", fitness, want,
			g.space.Members, g.Population(), g.space.Objectives))
	}
	return fitness.Len() == want
}

// Solution is what the searches would hand out now, [M, row] or, with several objectives, [M, N, row]: see Strategy.
// Repair puts it between the bounds.
func (g *Generation) Solution() *engine.Tensor { return g.strategy.Solution() }

// Repairs is whether candidates and solutions may leave the bounds, so that they have to be repaired.
func (g *Generation) Repairs() bool { return g.repair != nil }

// Repair records moving candidates [.., row] that left the bounds to the nearest point inside.
func (g *Generation) Repair(r *engine.Recorder, candidates *engine.Tensor) {
	g.repair.record(r, candidates)
}

// Best is the best fitness [M] of all generations, NaN before the first, and the candidates [M, row] that had it, at
// first the start; nil with several objectives.
func (g *Generation) Best() (fitness, candidates *engine.Tensor) {
	if g.ranking == nil {
		return nil, nil
	}
	return g.ranking.best, g.ranking.fittest
}

// Front is the population [M, N, row] that has been found with several objectives, and its objectives [M, N, K]; nil
// with one objective.
func (g *Generation) Front() (candidates, objectives *engine.Tensor) {
	if g.objectives == nil {
		return nil, nil
	}
	return g.strategy.Solution(), g.objectives.strategy.Objectives()
}

// Rows adds the metrics of the ranking, and of the strategy where it is Measured; the function returned records them
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
