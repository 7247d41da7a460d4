package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Search is an algorithm on a problem: an engine.Workflow whose iteration is a generation of every member, one recorded program.
type Search struct {
	eng     *engine.Engine
	algo    Algorithm
	problem Problem
	space   Space
	state   *engine.State
	clock   engine.Clock
	hyper   *engine.Hyper
	metrics *engine.Metrics

	generation  *Generation
	evaluation  Evaluation
	doubleFloat DoubleFloatEvaluation    // nil where candidates are single floats
	window      *engine.Tensor           // [M · window, row]: the candidates that are evaluated together
	windowLow   *engine.Tensor           // [M · window, row]: their low parts; nil where they are single floats
	fitness     *engine.Tensor           // [M, P] or [M, P, K]
	fitnessLow  *engine.Tensor           // [M, P]: the low parts; nil where fitness is single floats
	rows        []func(*engine.Recorder) // record the metrics
	step        *engine.Program

	solution *engine.Tensor  // the generation's, between the bounds
	repair   *engine.Program // brings it there; nil where it is the generation's own
}

// NewSearch makes so many searches at once. Init or a checkpoint must fill their state before the first Step. Close it after use.
//
// Errors: settings out of range, a problem that the algorithm cannot solve, *vk.OutOfMemoryError when memory does not suffice (nothing is
// allocated then).
func NewSearch(ctx context.Context, eng *engine.Engine, algo Algorithm, problem Problem, members int) (*Search, error) {
	err := engine.Require(map[string]any{"engine": eng, "algorithm": algo, "problem": problem})
	if checked, ok := problem.(interface{ Check() error }); ok && err == nil {
		err = checked.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("ec: search: %w", err)
	}
	s := &Search{eng: eng, algo: algo, problem: problem, state: eng.NewState()}
	if err := s.build(ctx, members); err != nil {
		return nil, errors.Join(fmt.Errorf("ec: %s on %s: %w", algo.Name(), problem.Name(), err), s.Close())
	}
	return s, nil
}

func (s *Search) build(ctx context.Context, members int) (err error) {
	s.space = s.problem.Space(members)
	s.space.Objectives = s.problem.Objectives()
	s.clock = engine.NewClock(s.state)
	s.hyper = engine.NewHyper(s.state, members)
	if s.generation, err = NewGeneration(s.state, s.clock, s.hyper, s.algo, s.space); err != nil {
		return err
	}
	if s.evaluation, err = s.problem.New(ctx, s.state.Sub("problem"), s.clock, members, s.generation.Population()); err != nil {
		return err
	}
	s.window, s.fitness = s.generation.NewCandidates("candidates", s.evaluation.Window()), s.generation.NewFitness("fitness_evaluated")
	s.useDoubleFloat()
	if s.solution = s.generation.Solution(); s.generation.Repairs() {
		s.solution = s.state.Sub("search").Scratch("solution", engine.Float32, s.solution.Dims()...)
	}
	if descriptors := s.generation.Descriptors(); descriptors != nil {
		describer, ok := s.evaluation.(Describer)
		if !ok {
			return fmt.Errorf("the problem's space has %d descriptors, but its evaluation describes nothing", len(s.space.DescriptorLow))
		}
		describer.Describe(descriptors)
	}
	s.addMetrics()
	return s.state.Allocate()
}

// useDoubleFloat evaluates candidates as double floats where algorithm and problem know them. What is repaired is where float32 puts it.
func (s *Search) useDoubleFloat() {
	_, formed := s.generation.Strategy().(DoubleFloatStrategy)
	evaluation, evaluated := s.evaluation.(DoubleFloatEvaluation)
	if !formed || !evaluated || s.generation.Repairs() {
		return
	}
	s.doubleFloat, s.windowLow = evaluation, s.generation.NewCandidates("candidates_low", s.evaluation.Window())
	if ranking := s.generation.ranking; ranking != nil && evaluation.DoubleFloatFitness() {
		s.fitnessLow = ranking.useDoubleFloat(s.state.Sub("search"))
	}
}

// addMetrics adds the metrics of ranking, evaluation and strategy.
func (s *Search) addMetrics() {
	s.metrics = engine.NewMetrics(s.state, s.space.Members, maxMetrics)
	s.rows = append(s.rows, s.generation.Rows(s.metrics))
	if steps, _ := s.evaluation.Steps(); steps > 0 && s.generation.ranking != nil {
		returns := s.metrics.Row("episode/return")
		s.rows = append(s.rows, func(r *engine.Recorder) { r.Copy(returns, s.generation.ranking.summary.Index(1)) })
	}
	s.rows = append(s.rows, s.evaluation.Rows(s.metrics))
}

// maxMetrics leaves room for those of problems and of methods around a search.
const maxMetrics = 32

// Record records one generation. rows, if not nil, is called before the metrics are put into their ring, to add to them.
func (s *Search) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	s.generation.Ask(r)
	population, window := s.generation.Population(), s.evaluation.Window()
	for first := 0; first < population; first += window {
		s.evaluate(r, min(first, population-window)) // the last window ends with the population; what two share is evaluated to the same twice
	}
	s.evaluation.Finish(r)
	s.generation.Tell(r, s.fitness)
	for _, record := range s.rows {
		record(r)
	}
	if rows != nil {
		rows(r)
	}
	s.metrics.Record(r, s.clock)
	_, steps := s.evaluation.Steps()
	s.clock.Tick(r, 1, steps)
}

// evaluate records evaluating a window of candidates.
func (s *Search) evaluate(r *engine.Recorder, first int) {
	pick := Pick{First: first}
	s.generation.Candidates(r, pick, s.window)
	if s.doubleFloat == nil {
		s.evaluation.Record(r, s.window, first, s.fitness)
		return
	}
	s.generation.Strategy().(DoubleFloatStrategy).CandidatesLow(r, pick, s.windowLow)
	s.doubleFloat.RecordDoubleFloat(r, s.window, s.windowLow, first, s.fitness, s.fitnessLow)
}

// Describe implements engine.Workflow. A search of policies takes no more steps than StepsPerIter; engine.EnvSteps says how many.
func (s *Search) Describe() engine.Description {
	steps, _ := s.evaluation.Steps()
	return engine.Description{
		Workflow: s.algo.Name(), Environment: s.problem.Name(), Members: s.space.Members,
		StepsPerIter: s.space.Members * s.generation.Population() * steps,
	}
}

func (s *Search) State() *engine.State     { return s.state }
func (s *Search) Clock() engine.Clock      { return s.clock }
func (s *Search) Metrics() *engine.Metrics { return s.metrics }
func (s *Search) Hyper() *engine.Hyper     { return s.hyper }

// Generation is the algorithm at work.
func (s *Search) Generation() *Generation { return s.generation }

// Init implements engine.Workflow.
func (s *Search) Init(ctx context.Context) error {
	if err := s.state.Zero(ctx); err != nil {
		return err
	}
	start := s.problem.Start(s.eng.Seed(), s.state.Stream("init"), s.space.Members)
	return errors.Join(s.hyper.Init(ctx), s.evaluation.Init(ctx), s.generation.Init(ctx, start))
}

// record records the program of Step, once.
func (s *Search) record() (err error) {
	if s.step == nil {
		s.step, err = s.eng.Record(s.algo.Name(), func(r *engine.Recorder) { s.Record(r, nil) })
	}
	return err
}

// Step implements engine.Workflow.
func (s *Search) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := s.record(); err != nil {
		return nil, err
	}
	return s.step.Submit(ctx)
}

// Prepare implements engine.Workflow.
func (s *Search) Prepare(ctx context.Context, episodes int) error {
	if err := s.record(); err != nil {
		return err
	}
	return s.evaluation.Prepare(ctx, s.solution, episodes)
}

// repaired brings what the searches would hand out now, between the bounds, into solution.
func (s *Search) repaired(ctx context.Context) (err error) {
	if !s.generation.Repairs() {
		return nil
	}
	if s.repair == nil {
		if s.repair, err = s.eng.Record("solution", func(r *engine.Recorder) {
			r.Copy(s.solution, s.generation.Solution())
			s.generation.Repair(r, s.solution)
		}); err != nil {
			return err
		}
	}
	return s.repair.Run(ctx)
}

// Evaluate implements engine.Workflow: it evaluates the searches' solutions.
func (s *Search) Evaluate(ctx context.Context, episodes int) (engine.Evaluation, error) {
	if err := s.repaired(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	return s.evaluation.Evaluate(ctx, s.solution, episodes)
}

// Evaluator runs the policies that the searches have found; nil where the problem is another.
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

// Close implements engine.Workflow.
func (s *Search) Close() error {
	s.step.Free()
	s.repair.Free()
	if s.evaluation != nil {
		s.evaluation.Close()
	}
	return s.state.Close()
}
