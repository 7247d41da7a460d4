package problem

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// MultiObjective is a function of several objectives whose best solutions are known: an ec.Problem. The functions are minimisation problems; as
// everywhere objectives are maximised, so they are the functions' negatives.
type MultiObjective struct {
	name       string
	objectives int
	low, high  []float32 // [dim]
	front      func(points int) ([][]float64, error)
	// call evaluates candidates, by so many groups of so many invocations.
	call func(k functionOf, size uint32) vk.Call
}

// functionOf is what kernels of such functions have in common, see shaders/ec/problem/several.glsl.
type functionOf struct {
	candidates, objectives                             vk.Range
	members, window, dim, row, population, first, kind uint32
	groups                                             uint32
}

// Name implements ec.Problem.
func (p *MultiObjective) Name() string { return p.name }

// Objectives implements ec.Problem.
func (p *MultiObjective) Objectives() int { return p.objectives }

// Space implements ec.Problem.
func (p *MultiObjective) Space(members int) ec.Space {
	return ec.Space{Members: members, Dim: len(p.low), Low: p.low, High: p.high}
}

// Start implements ec.Problem: points drawn uniformly between the bounds.
func (p *MultiObjective) Start(seed uint32, members int) []float32 {
	var out []float32
	for m := range members {
		rng := engine.NewRng(seed, engine.Stream("init"), uint32(m), 0, 0)
		for i, low := range p.low {
			out = append(out, rng.UniformIn(low, p.high[i]))
		}
	}
	return out
}

// Front is the true front, [points][objectives], maximised: about so many points, evenly spread. An error where it is not known.
func (p *MultiObjective) Front(points int) ([][]float64, error) {
	if points < 2 || points > 1<<20 {
		return nil, fmt.Errorf("problem: a front of %d points; want 2 to %d", points, 1<<20)
	}
	front, err := p.front(points)
	for _, point := range front {
		for k := range point {
			point[k] = -point[k]
		}
	}
	return front, err
}

// frontPoints is how many points of the true front an evaluation measures distances from.
const frontPoints = 500

// New implements ec.Problem.
func (p *MultiObjective) New(_ context.Context, s *engine.State, _ engine.Clock, members, population int) (ec.Evaluation, error) {
	return &multiObjective{MultiObjective: p, eng: s.Engine(), members: members, population: population}, nil
}

// multiObjective is the evaluation.
type multiObjective struct {
	*MultiObjective
	eng                 *engine.Engine
	members, population int
	evaluators          []*evaluator
}

// Window implements ec.Evaluation.
func (e *multiObjective) Window() int { return e.population }

// Steps implements ec.Evaluation.
func (e *multiObjective) Steps() (candidate, clock int) { return 0, 0 }

// Init implements ec.Evaluation.
func (e *multiObjective) Init(context.Context) error { return nil }

// Constants implements ec.Evaluation.
func (e *multiObjective) Constants(context.Context) error { return nil }

// Record implements ec.Evaluation.
func (e *multiObjective) Record(r *engine.Recorder, candidates *engine.Tensor, first int, objectives *engine.Tensor) {
	row := e.Space(e.members).Row()
	n := candidates.Len() / row
	k := functionOf{
		candidates: candidates.Range(), objectives: objectives.Range(), members: uint32(e.members), window: uint32(n / e.members), dim: uint32(len(e.low)), row: uint32(row),
		population: uint32(objectives.Len() / e.members / e.objectives), first: uint32(first), kind: uint32(e.objectives), groups: r.Share(1, n),
	}
	r.Dispatch(e.call(k, r.WorkgroupFor(n*len(e.low)/int(k.groups))))
}

// Finish implements ec.Evaluation.
func (e *multiObjective) Finish(*engine.Recorder) {}

// Rows implements ec.Evaluation.
func (e *multiObjective) Rows(*engine.Metrics) func(*engine.Recorder) {
	return func(*engine.Recorder) {}
}

// evaluator evaluates solutions apart from the search.
type evaluator struct {
	solutions, objectives *engine.Tensor
	state                 *engine.State
	program               *engine.Program
	front                 [][]float64
}

func (e *multiObjective) prepare(solutions *engine.Tensor) (*evaluator, error) {
	for _, v := range e.evaluators {
		if v.solutions == solutions {
			return v, nil
		}
	}
	front, err := e.Front(frontPoints)
	if err != nil {
		return nil, err
	}
	n := solutions.Len() / e.members / e.Space(e.members).Row()
	v := &evaluator{solutions: solutions, state: e.eng.NewState(), front: front}
	v.objectives = v.state.Scratch("objectives", engine.Float32, engine.Population(e.members), engine.Axis("candidate", n), engine.Axis("objective", e.objectives))
	v.program, err = e.eng.Record("evaluate", func(r *engine.Recorder) { e.Record(r, solutions, 0, v.objectives) })
	if err != nil {
		return nil, errors.Join(err, v.state.Close())
	}
	e.evaluators = append(e.evaluators, v)
	return v, nil
}

// Prepare implements ec.Evaluation.
func (e *multiObjective) Prepare(_ context.Context, solutions *engine.Tensor, _ int) error {
	_, err := e.prepare(solutions)
	return err
}

// Evaluate implements ec.Evaluation: a population is worth the negative of its IGD+ from the true front, the same in every episode.
func (e *multiObjective) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
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
	n := len(values) / e.members / e.objectives
	for m := range e.members {
		set := make([][]float64, n)
		for i := range set {
			for k := range e.objectives {
				set[i] = append(set[i], float64(values[(m*n+i)*e.objectives+k]))
			}
		}
		distance, err := indicator.IGDPlus(set, v.front)
		if err != nil {
			return engine.Evaluation{}, fmt.Errorf("problem: %s, member %d: %w", e.name, m, err)
		}
		for range episodes {
			out.Returns[m], out.Lengths[m] = append(out.Returns[m], float32(-distance)), append(out.Lengths[m], 0)
		}
	}
	return out, nil
}

// Close implements ec.Evaluation.
func (e *multiObjective) Close() {
	for _, v := range e.evaluators {
		v.program.Free()
		_ = v.state.Close() // frees memory, nothing more
	}
	e.evaluators = nil
}

// uniform are n numbers from low to high, both included.
func uniform(n int, low, high float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(max(n-1, 1))
	}
	return out
}

// box are the same bounds for n numbers.
func box(n int, low, high float32) (lows, highs []float32) {
	for range n {
		lows, highs = append(lows, low), append(highs, high)
	}
	return lows, highs
}

// best are the points, to be minimised, that no other one dominates.
func best(points [][]float64) [][]float64 {
	negative := make([][]float64, len(points))
	for i, p := range points {
		for _, v := range p {
			negative[i] = append(negative[i], -v)
		}
	}
	var out [][]float64
	for _, i := range indicator.NonDominated(negative) {
		out = append(out, points[i])
	}
	return out
}

const quarterTurn = math.Pi / 2
