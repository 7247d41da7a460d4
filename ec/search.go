package ec

import (
	"context"
	"errors"
	"fmt"
	"image"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Search runs an algorithm on a problem. It is an engine.Workflow; an iteration is one generation of every member, one
// recorded program.
type Search struct {
	engine.Base
	algo    Algorithm
	problem Problem
	space   Space

	generation  *Generation
	evaluation  Evaluation
	doubleFloat DoubleFloatEvaluation    // nil if candidates are single floats
	lowRank     *lowRankWindow           // nil if candidates are rows
	window      *engine.Tensor           // [M · window, row]: the candidates that are evaluated together; nil if they are of low rank
	windowLow   *engine.Tensor           // [M · window, row]: their low parts; nil if they are single floats
	fitness     *engine.Tensor           // [M, N] or [M, N, K]
	fitnessLow  *engine.Tensor           // [M, N]: the low parts; nil if fitness is single floats
	shared      *shared                  // nil: the engine has the search for itself
	rows        []func(*engine.Recorder) // record the metrics

	solution *engine.Tensor  // the generation's solution, repaired
	repair   *engine.Program // repairs it; nil if solution is the generation's own
}

// NewSearch makes one search per member. Init or a checkpoint must fill their state before the first Step. Close it
// after use.
//
// Errors: settings out of range, a problem that the algorithm cannot solve, *vk.OutOfMemoryError if memory does not
// suffice (nothing is allocated then).
func NewSearch(ctx context.Context, eng *engine.Engine, algo Algorithm, problem Problem, members int) (*Search, error) {
	err := engine.Require(map[string]any{"engine": eng, "algorithm": algo, "problem": problem})
	if checked, ok := problem.(interface{ Check() error }); ok && err == nil {
		err = checked.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("ec: search: %w", err)
	}
	s := &Search{Base: engine.NewBase(eng, members, maxMetrics), algo: algo, problem: problem}
	if err := s.build(ctx, members); err != nil {
		return nil, errors.Join(fmt.Errorf("ec: %s on %s: %w", algo.Name(), problem.Name(), err), s.Close())
	}
	return s, nil
}

func (s *Search) build(ctx context.Context, members int) (err error) {
	s.space = s.problem.Space(members)
	s.space.Objectives = s.problem.Objectives()
	if s.generation, err = NewGeneration(s.State(), s.Clock(), s.Hyper(), s.algo, s.space); err != nil {
		return err
	}
	if err := s.newEvaluation(ctx, members); err != nil {
		return err
	}
	s.fitness = s.generation.NewFitness("fitness")
	s.useDoubleFloat()
	if s.solution = s.generation.Solution(); s.generation.Repairs() {
		s.solution = s.State().Sub("search").Scratch("solution", engine.Float32, s.solution.Dims()...)
	}
	if descriptors := s.generation.Descriptors(); descriptors != nil {
		describer, ok := s.evaluation.(Describer)
		if !ok {
			return fmt.Errorf("the problem's space has %d descriptors, but its evaluation writes none", len(s.space.DescriptorLow))
		}
		describer.Describe(descriptors)
	}
	if s.shared, err = s.newShared(); err != nil {
		return err
	}
	s.addMetrics()
	return s.Complete(engine.Parts{Description: s.description(), Record: s.Record, Init: s.begin, Evaluator: solutions{s}})
}

// newEvaluation makes what evaluates candidates: rows, or perturbations of low rank.
func (s *Search) newEvaluation(ctx context.Context, members int) (err error) {
	scope, population := s.State().Sub("problem"), s.generation.Population()
	of, ok := s.generation.Strategy().(LowRankStrategy)
	if !ok || of.LowRank() == nil {
		if s.evaluation, err = s.problem.New(ctx, scope, s.Clock(), members, population); err != nil {
			return err
		}
		s.window = s.generation.NewCandidates("candidates", s.evaluation.Window())
		return nil
	}
	if err := CheckLowRank(s.algo, s.problem); err != nil {
		return err
	}
	evaluation, err := s.problem.(LowRankProblem).NewLowRank(ctx, scope, s.Clock(), members, population, of.LowRank())
	if err != nil {
		return err
	}
	s.evaluation = evaluation
	s.lowRank = &lowRankWindow{of, evaluation, of.NewPerturbation(s.State().Sub("search"), evaluation.Window())}
	return nil
}

// lowRankWindow is the candidates of low rank that are evaluated together.
type lowRankWindow struct {
	LowRankStrategy
	evaluation LowRankEvaluation
	candidates *nn.Perturbation
}

// useDoubleFloat evaluates candidates as double floats if algorithm and problem support them. Repaired candidates are
// single floats.
func (s *Search) useDoubleFloat() {
	_, formed := s.generation.Strategy().(DoubleFloatStrategy)
	evaluation, evaluated := s.evaluation.(DoubleFloatEvaluation)
	if !formed || !evaluated || s.generation.Repairs() || s.lowRank != nil {
		return
	}
	s.doubleFloat, s.windowLow = evaluation, s.generation.NewCandidates("candidates_low", s.evaluation.Window())
	if ranking := s.generation.ranking; ranking != nil && evaluation.DoubleFloatFitness() {
		s.fitnessLow = ranking.useDoubleFloat(s.State().Sub("search"))
	}
}

// addMetrics adds the metrics of ranking, evaluation and strategy.
func (s *Search) addMetrics() {
	s.rows = append(s.rows, s.generation.Rows(s.Metrics()))
	if steps, _ := s.evaluation.Steps(); steps > 0 && s.generation.ranking != nil {
		returns := s.Metrics().Row(engine.ReturnMetric)
		s.rows = append(s.rows, func(r *engine.Recorder) { r.Copy(returns, s.generation.ranking.summary.Index(1)) })
	}
	s.rows = append(s.rows, s.evaluation.Rows(s.Metrics()))
}

// maxMetrics leaves room for the metrics of problems and of methods around a search.
const maxMetrics = 32

// Record implements engine.Trainable: it records one generation.
func (s *Search) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	s.shared.sync(r)
	s.generation.Ask(r)
	s.evaluateAll(r)
	s.evaluation.Finish(r)
	s.generation.Tell(r, s.fitness)
	for _, record := range s.rows {
		record(r)
	}
	_, steps := s.evaluation.Steps()
	s.End(r, rows, steps)
}

// evaluateAll records evaluating the population.
func (s *Search) evaluateAll(r *engine.Recorder) {
	if s.shared != nil {
		s.shared.record(r)
		return
	}
	population, window := s.generation.Population(), s.evaluation.Window()
	for first := 0; first < population; first += window {
		s.evaluate(r, min(first, population-window)) // the last window ends with the population; candidates in two windows get the same fitness twice
	}
}

// evaluate records evaluating a window of candidates.
func (s *Search) evaluate(r *engine.Recorder, first int) {
	if of := s.lowRank; of != nil {
		of.evaluation.RecordLowRank(r, of.Perturb(r, first, of.candidates), first, s.fitness)
		return
	}
	pick := Pick{First: first}
	s.generation.Candidates(r, pick, s.window)
	if s.doubleFloat == nil {
		s.evaluation.Record(r, s.window, first, s.fitness)
		return
	}
	s.generation.Strategy().(DoubleFloatStrategy).CandidatesLow(r, pick, s.windowLow)
	s.doubleFloat.RecordDoubleFloat(r, s.window, s.windowLow, first, s.fitness, s.fitnessLow)
}

// description returns the workflow's description. A search of policies takes at most StepsPerIter steps;
// engine.EnvSteps counts them.
func (s *Search) description() engine.Description {
	steps, _ := s.evaluation.Steps()
	return engine.Description{
		Workflow: s.algo.Name(), Environment: s.problem.Name(), Members: s.space.Members,
		StepsPerIter: s.space.Members * s.generation.Population() * steps,
	}
}

// Generation returns the algorithm on the device.
func (s *Search) Generation() *Generation { return s.generation }

// Config implements engine.Trainable: it returns the Algorithm.
func (s *Search) Config() any { return s.algo }

// begin begins a run at the problem's start points.
func (s *Search) begin(ctx context.Context) error {
	start := s.problem.Start(s.State().Engine().Seed(), s.State().Stream("init"), s.space.Members*s.generation.Founders())
	return errors.Join(s.evaluation.Init(ctx), s.generation.Init(ctx, start))
}

// recordSolution records copying the current solutions, moved into the bounds, into solution.
func (s *Search) recordSolution(r *engine.Recorder) {
	if s.generation.Repairs() {
		r.Copy(s.solution, s.generation.Solution())
		s.generation.Repair(r, s.solution)
	}
}

// repaired runs recordSolution.
func (s *Search) repaired(ctx context.Context) (err error) {
	if !s.generation.Repairs() {
		return nil
	}
	if s.repair == nil {
		if s.repair, err = s.State().Engine().Record("solution", s.recordSolution); err != nil {
			return err
		}
	}
	return s.repair.Run(ctx)
}

// Fitness implements engine.Trainable: it returns the fitness of the searches' solutions. With several objectives it
// returns an error.
func (s *Search) Fitness(ctx context.Context, scope *engine.State, episodes int) (engine.Fitness, error) {
	if s.space.Objectives > 1 {
		return nil, fmt.Errorf("ec: %s on %s has %d objectives; members are compared by one", s.algo.Name(), s.problem.Name(), s.space.Objectives)
	}
	evaluate, err := s.evaluation.Fitness(ctx, scope, s.solution, episodes)
	if err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		s.recordSolution(r)
		evaluate(r, fitness)
	}, nil
}

// Evaluator returns what runs the policies that the searches have found; nil if the candidates are not policies.
func (s *Search) Evaluator(ctx context.Context) (*envs.Evaluator, error) {
	acting, ok := s.evaluation.(Acting)
	if !ok {
		return nil, nil
	}
	if err := s.repaired(ctx); err != nil {
		return nil, err
	}
	return acting.Evaluator(ctx, s.solution)
}

// Picture returns the picture of a member's solution, see Pictured; nil if the candidates are not pictures.
func (s *Search) Picture(ctx context.Context, member, size int) (image.Image, error) {
	of, ok := s.evaluation.(Pictured)
	if !ok {
		return nil, nil
	}
	if member < 0 || member >= s.space.Members {
		return nil, fmt.Errorf("ec: the picture of member %d; want 0 to %d", member, s.space.Members-1)
	}
	if err := s.repaired(ctx); err != nil {
		return nil, err
	}
	return of.Picture(ctx, s.solution, member, size)
}

// solutions is an engine.Evaluator of a search's solutions.
type solutions struct{ *Search }

func (s solutions) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	return s.evaluation.Prepare(ctx, s.solution, episodes)
}

func (s solutions) Run(ctx context.Context, _ engine.Clock, episodes int) (engine.Evaluation, error) {
	if err := s.repaired(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	return s.evaluation.Evaluate(ctx, s.solution, episodes)
}

func (s solutions) Close() {
	s.repair.Free()
	s.shared.close()
	s.evaluation.Close()
}
