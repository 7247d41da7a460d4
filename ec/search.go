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

	strategy   Strategy
	inside     inside // the same, its candidates between the bounds
	solution   *engine.Tensor
	settle     *engine.Program // puts the strategy's solution into it; nil: they are the same
	evaluation Evaluation
	judge      *judge                   // nil with several objectives
	panel      *panel                   // nil with one objective
	window     *engine.Tensor           // [M · window, row]
	rest       *engine.Tensor           // [M · window, row]: to be added to it; nil: nothing
	raw        *engine.Tensor           // [M, P] or [M, P, K]: as evaluated
	rawRest    *engine.Tensor           // [M, P]: to be added to it; nil: nothing
	fine       FineEvaluation           // nil where there is no rest
	descriptor *engine.Tensor           // [M, P, B]; nil where the problem has none
	rows       []func(*engine.Recorder) // record the metrics
	step       *engine.Program
}

// NewSearch makes so many searches at once. Init or a checkpoint must fill their state before the first Step. Close it after use.
//
// Errors: settings out of range, a problem that the algorithm cannot solve, *vk.OutOfMemoryError when memory does not suffice (nothing is
// allocated then).
func NewSearch(ctx context.Context, eng *engine.Engine, algo Algorithm, problem Problem, members int) (*Search, error) {
	s := &Search{eng: eng, algo: algo, problem: problem, state: eng.NewState()}
	if err := s.build(ctx, members); err != nil {
		return nil, errors.Join(fmt.Errorf("ec: %s on %s: %w", algo.Name(), problem.Name(), err), s.Close())
	}
	return s, nil
}

func (s *Search) build(ctx context.Context, members int) (err error) {
	s.space = s.problem.Space(members)
	s.space.Objectives = s.problem.Objectives()
	if err := s.space.Check(); err != nil {
		return err
	}
	s.clock = engine.NewClock(s.state)
	s.hyper = engine.NewHyper(s.state, members)
	if s.strategy, err = s.algo.New(s.state.Sub(s.algo.Name()), s.clock, s.hyper, s.space); err != nil {
		return err
	}
	population := s.strategy.Population()
	if s.evaluation, err = s.problem.New(ctx, s.state.Sub("problem"), s.clock, members, population); err != nil {
		return err
	}
	search := s.state.Sub("search")
	s.inside, s.solution = inside{s.strategy, newRepair(search, s.space)}, s.strategy.Solution()
	if s.inside.repair != nil {
		s.solution = search.Scratch("solution", engine.Float32, s.solution.Dims()...)
	}
	s.window = search.Scratch("candidates", engine.Float32, engine.Members(members*s.evaluation.Window()), engine.Axis("parameter", s.space.Row()))
	if _, ok := s.strategy.(FineStrategy); ok && s.inside.repair == nil { // what is repaired is where float32 puts it
		if s.fine, ok = s.evaluation.(FineEvaluation); ok {
			s.rest = search.Scratch("rest", engine.Float32, engine.Members(members*s.evaluation.Window()), engine.Axis("parameter", s.space.Row()))
		}
	}
	dims := []engine.Dim{engine.Members(members), candidates(population)}
	if k := s.space.Objectives; k > 1 {
		several, err := ofSeveral(s.strategy, k)
		if err != nil {
			return err
		}
		dims = append(dims, engine.Axis("objective", k))
		s.panel = newPanel(search, s.space, population, several)
	} else {
		s.judge = newJudge(search, s.space, population)
		if s.fine != nil && s.fine.FineFitness() {
			s.rawRest = s.judge.finer(search)
		}
	}
	s.raw = search.Scratch("evaluated", engine.Float32, dims...)
	if b := len(s.space.DescriptorLow); b > 0 {
		describer, ok := s.evaluation.(Describer)
		if !ok {
			return fmt.Errorf("the problem's space has %d descriptors, but its evaluation describes nothing", b)
		}
		s.descriptor = search.Scratch("descriptors", engine.Float32, engine.Members(members), candidates(population), engine.Axis("descriptor", b))
		describer.Describe(s.descriptor)
	}
	s.metrics = engine.NewMetrics(s.state, members, maxMetrics)
	if s.judge != nil {
		s.rows = append(s.rows, s.judge.Rows(s.metrics))
	} else {
		s.rows = append(s.rows, s.panel.Rows(s.metrics))
	}
	if steps, _ := s.evaluation.Steps(); steps > 0 && s.judge != nil {
		returns := s.metrics.Row("episode/return")
		s.rows = append(s.rows, func(r *engine.Recorder) { r.Copy(returns, s.judge.summary.Index(1)) })
	}
	s.rows = append(s.rows, s.evaluation.Rows(s.metrics))
	if measured, ok := s.strategy.(Measured); ok {
		s.rows = append(s.rows, measured.Rows(s.metrics))
	}
	return s.state.Allocate()
}

// ofSeveral is a strategy for so many objectives.
func ofSeveral(strategy Strategy, objectives int) (MultiObjective, error) {
	several, ok := strategy.(MultiObjective)
	if !ok {
		return nil, fmt.Errorf("it maximises one value and the problem has %d; want an algorithm for several objectives, such as nsga-ii", objectives)
	}
	return several, nil
}

// maxMetrics leaves room for those of problems and of methods around a search.
const maxMetrics = 32

// Record records one generation. rows, if not nil, is called before the metrics are put into their ring, to add to them.
func (s *Search) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	s.strategy.Ask(r)
	population, window := s.strategy.Population(), s.evaluation.Window()
	for first := 0; first < population; first += window {
		from := min(first, population-window) // the last window ends with the population; what two share is evaluated to the same twice
		s.inside.Candidates(r, Pick{First: from}, s.window)
		if s.rest != nil {
			s.strategy.(FineStrategy).Rest(r, Pick{First: from}, s.rest)
			s.fine.RecordFine(r, s.window, s.rest, from, s.raw, s.rawRest)
			continue
		}
		s.evaluation.Record(r, s.window, from, s.raw)
	}
	s.evaluation.Finish(r)
	var told Told
	if s.panel != nil {
		told = s.panel.record(r, s.raw)
	} else {
		told = s.judge.record(r, s.raw, s.inside)
	}
	told.Descriptor = s.descriptor
	s.strategy.Tell(r, told)
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

// Describe implements engine.Workflow. A search of policies takes no more steps than StepsPerIter; engine.EnvSteps says how many.
func (s *Search) Describe() engine.Description {
	steps, _ := s.evaluation.Steps()
	return engine.Description{
		Workflow: s.algo.Name(), Environment: s.problem.Name(), Members: s.space.Members,
		StepsPerIter: s.space.Members * s.strategy.Population() * steps,
	}
}

func (s *Search) State() *engine.State     { return s.state }
func (s *Search) Clock() engine.Clock      { return s.clock }
func (s *Search) Metrics() *engine.Metrics { return s.metrics }
func (s *Search) Hyper() *engine.Hyper     { return s.hyper }

// Strategy is the algorithm at work. It knows nothing of bounds that it does not keep: ReadSolution does.
func (s *Search) Strategy() Strategy { return s.strategy }

// Best is the best fitness [M] of all generations, NaN before the first, and the candidates [M, row] that had it, at first the
// start; nil with several objectives.
func (s *Search) Best() (fitness, candidates *engine.Tensor) {
	if s.judge == nil {
		return nil, nil
	}
	return s.judge.best, s.judge.fittest
}

// Front is the population [M, N, row] that a search with several objectives has found, and its objectives [M, N, K]; nil with one objective.
func (s *Search) Front() (candidates, objectives *engine.Tensor) {
	if s.panel == nil {
		return nil, nil
	}
	return s.panel.strategy.Solution(), s.panel.strategy.Objectives()
}

// Init implements engine.Workflow.
func (s *Search) Init(ctx context.Context) error {
	if err := s.state.Zero(ctx); err != nil {
		return err
	}
	start := s.problem.Start(s.eng.Seed(), s.space.Members)
	s.space.nearest(start)
	err := errors.Join(s.hyper.Init(ctx), s.evaluation.Init(ctx), s.strategy.Init(ctx, start), s.Constants(ctx))
	if s.judge != nil {
		err = errors.Join(err, s.judge.init(ctx, start))
	}
	return err
}

// Constants implements engine.Workflow.
func (s *Search) Constants(ctx context.Context) error {
	return errors.Join(s.evaluation.Constants(ctx), s.strategy.Constants(ctx), s.inside.repair.constants(ctx))
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

// settled brings what the searches would hand out now, between the bounds, into solution.
func (s *Search) settled(ctx context.Context) (err error) {
	if s.inside.repair == nil {
		return nil
	}
	if s.settle == nil {
		if s.settle, err = s.eng.Record("solution", func(r *engine.Recorder) {
			r.Copy(s.solution, s.strategy.Solution())
			s.inside.repair.record(r, s.solution)
		}); err != nil {
			return err
		}
	}
	return s.settle.Run(ctx)
}

// Evaluate implements engine.Workflow: it evaluates the searches' solutions.
func (s *Search) Evaluate(ctx context.Context, episodes int) (engine.Evaluation, error) {
	if err := s.settled(ctx); err != nil {
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
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	return acting.Evaluator(ctx, s.solution)
}

// Close implements engine.Workflow.
func (s *Search) Close() error {
	s.step.Free()
	s.settle.Free()
	if s.evaluation != nil {
		s.evaluation.Close()
	}
	return s.state.Close()
}
