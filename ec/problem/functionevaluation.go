package problem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
)

// functionEvaluation evaluates candidates by a Function.
type functionEvaluation struct {
	*Function
	eng                 *engine.Engine
	stream              uint32 // of the noise
	clock               engine.Clock
	members, population int
	numbers             int            // count of a member's constants
	constants           *engine.Tensor // [M, numbers]; nil: none
	descriptors         *engine.Tensor // [M, N, B]; nil: not wanted
	evaluators          []*evaluator
}

// allConstants returns the constants of all members.
func (e *functionEvaluation) allConstants() (all []float32) {
	for m := range e.members {
		all = append(all, e.Function.constants(m)...)
	}
	return all
}

func (e *functionEvaluation) Describe(descriptors *engine.Tensor) { e.descriptors = descriptors }

func (e *functionEvaluation) Window() int {
	if e.slice > 0 {
		return min(e.slice, e.population)
	}
	return e.population
}

// Slices implements ec.SlicedEvaluation: there is nothing but fitness.
func (e *functionEvaluation) Slices() (rows, sums []*engine.Tensor) { return nil, nil }

func (e *functionEvaluation) Steps() (candidate, clock int) { return 0, 0 }

func (e *functionEvaluation) Init(context.Context) error { return nil }

func (e *functionEvaluation) Record(r *engine.Recorder, candidates *engine.Tensor, first int, objectives *engine.Tensor) {
	r.Dispatch(e.call(r, e.of(candidates, first, objectives)))
}

func (e *functionEvaluation) DoubleFloatFitness() bool { return e.doubleFloat }

func (e *functionEvaluation) RecordDoubleFloat(r *engine.Recorder, candidates, candidatesLow *engine.Tensor, first int, fitness, fitnessLow *engine.Tensor) {
	k := e.of(candidates, first, fitness)
	k.low, k.objectivesLow = candidatesLow, fitnessLow
	r.Dispatch(e.call(r, k))
}

func (e *functionEvaluation) of(candidates *engine.Tensor, first int, objectives *engine.Tensor) functionOf {
	space := e.Space(e.members)
	row := space.Row()
	k := functionOf{
		candidates: candidates.Range(), objectives: objectives.Range(), constants: candidates.Range(), descriptors: e.descriptors,
		clock: e.clock.Tensor().Range(), stream: e.stream,
		members: uint32(e.members), window: uint32(candidates.Len() / row / e.members), dim: uint32(space.Dim), row: uint32(row),
		population: uint32(objectives.Len() / e.members / e.objectives), first: uint32(first), objective: uint32(e.objectives), numbers: uint32(e.numbers),
	}
	if e.constants != nil {
		k.constants = e.constants.Range()
	}
	return k
}

func (e *functionEvaluation) Finish(*engine.Recorder) {}

func (e *functionEvaluation) Rows(*engine.Metrics) func(*engine.Recorder) {
	return func(*engine.Recorder) {}
}

// evaluator evaluates solutions apart from the search.
type evaluator struct {
	solutions, objectives *engine.Tensor
	state                 *engine.State
	program               *engine.Program
	front                 [][]float64 // nil with one objective, and where it is unknown
}

// frontPoints is the number of points of the true front to which an evaluation measures distances.
const frontPoints = 500

func (e *functionEvaluation) prepare(solutions *engine.Tensor) (_ *evaluator, err error) {
	for _, v := range e.evaluators {
		if v.solutions == solutions {
			return v, nil
		}
	}
	v := &evaluator{solutions: solutions, state: e.eng.NewState()}
	if e.objectives > 1 && e.reference == nil {
		if v.front, err = e.Front(frontPoints); err != nil {
			return nil, err
		}
	}
	n := solutions.Len() / e.members / e.Space(e.members).Row()
	v.objectives = v.state.Scratch("objectives", engine.Float32, engine.Members(e.members), engine.Axis("candidate", n), engine.Axis("objective", e.objectives))
	v.program, err = e.eng.Record("evaluate", func(r *engine.Recorder) {
		k := e.of(solutions, 0, v.objectives)
		k.exact, k.descriptors = true, nil
		r.Dispatch(e.call(r, k))
	})
	if err != nil {
		return nil, errors.Join(err, v.state.Close())
	}
	e.evaluators = append(e.evaluators, v)
	return v, nil
}

func (e *functionEvaluation) Prepare(_ context.Context, solutions *engine.Tensor, _ int) error {
	_, err := e.prepare(solutions)
	return err
}

// Evaluate implements ec.Evaluation: with one objective, the fitness of the solutions without noise; with several,
// the negative IGD+ of each population from the true front or, where that is unknown, its hypervolume. It is the same in every episode.
func (e *functionEvaluation) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	if err := engine.CheckEpisodes(episodes); err != nil {
		return engine.Evaluation{}, fmt.Errorf("problem: %w", err)
	}
	v, err := e.prepare(solutions)
	if err != nil {
		return engine.Evaluation{}, err
	}
	if err := v.program.Run(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	values, err := v.objectives.ReadFloat32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	out := engine.Evaluation{Returns: make([][]float32, e.members), Lengths: make([][]float32, e.members)}
	each := len(values) / e.members
	for m := range e.members {
		worth, err := e.worth(values[m*each:][:each], v.front)
		if err != nil {
			return engine.Evaluation{}, fmt.Errorf("problem: %s, member %d: %w", e.name, m, err)
		}
		for range episodes {
			out.Returns[m], out.Lengths[m] = append(out.Returns[m], worth), append(out.Lengths[m], 0)
		}
	}
	return out, nil
}

// Fitness implements ec.Evaluation: the fitness of the solutions, without noise.
func (e *functionEvaluation) Fitness(_ context.Context, _ *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		if fitness.Len() != e.members {
			r.Fail(fmt.Errorf("problem: %s: a fitness of %v; want one value for each of %d members, as it has no episodes", e.name, fitness, e.members))
			return
		}
		k := e.of(solutions, 0, fitness)
		k.exact, k.descriptors = true, nil
		r.Dispatch(e.call(r, k))
	}, nil
}

// worth summarises the objectives of a member's solutions by one number.
func (e *functionEvaluation) worth(values []float32, front [][]float64) (float32, error) {
	if e.objectives == 1 {
		return values[0], nil
	}
	set := make([][]float64, len(values)/e.objectives)
	for i := range set {
		for k := range e.objectives {
			set[i] = append(set[i], float64(values[i*e.objectives+k]))
		}
	}
	if e.reference != nil {
		// Solutions with an objective that is not finite have no volume.
		set = slices.DeleteFunc(set, func(f []float64) bool {
			return slices.ContainsFunc(f, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		})
		volume, err := indicator.Hypervolume(set, e.reference)
		return float32(volume), err
	}
	distance, err := indicator.IGDPlus(set, front)
	return float32(-distance), err
}

func (e *functionEvaluation) Close() {
	for _, v := range e.evaluators {
		v.program.Free()
		_ = v.state.Close() // only frees memory
	}
	e.evaluators = nil
}
