package ec

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// AskTell is an algorithm whose candidates the caller evaluates, by whatever takes them: ask for a generation's candidates, tell how fit they are, and so
// on. Candidates and fitness pass through the host's memory; where a Problem can evaluate them on the device, a Search is faster.
type AskTell struct {
	space      Space
	state      *engine.State
	clock      engine.Clock
	hyper      *engine.Hyper
	strategy   Strategy
	inside     inside         // the same, its candidates between the bounds
	judge      *judge         // nil with several objectives
	panel      *panel         // nil with one objective
	formed     *engine.Tensor // [M · P, row]
	raw        *engine.Tensor // [M, P] or [M, P, K]
	descriptor *engine.Tensor // [M, P, B]; nil where the space has none
	ask, tell  *engine.Program
	asked      [][][]float32 // the generation that nothing was told of yet
}

// Judged is how fit a generation's candidates are. Greater is better; what is not finite is worse than anything that is.
type Judged struct {
	Fitness     [][]float32   // [M][P]: with one objective
	Objectives  [][][]float32 // [M][P][K]: with several
	Descriptors [][][]float32 // [M][P][B]: how candidates behave, where the space bounds descriptors
}

// NewAskTell makes so many searches at once as the space has members. Begin or a checkpoint must fill their state before the first Ask. Close it after use.
//
// Errors: settings out of range, a space that the algorithm cannot search, *vk.OutOfMemoryError when memory does not suffice (nothing is
// allocated then).
func NewAskTell(eng *engine.Engine, algo Algorithm, space Space) (*AskTell, error) {
	a := &AskTell{space: space, state: eng.NewState()}
	if err := a.build(eng, algo); err != nil {
		return nil, errors.Join(fmt.Errorf("ec: %s: %w", algo.Name(), err), a.Close())
	}
	return a, nil
}

func (a *AskTell) build(eng *engine.Engine, algo Algorithm) (err error) {
	a.space.Objectives = max(1, a.space.Objectives)
	if err := a.space.Check(); err != nil {
		return err
	}
	a.clock = engine.NewClock(a.state)
	a.hyper = engine.NewHyper(a.state, a.space.Members)
	if a.strategy, err = algo.New(a.state.Sub(algo.Name()), a.clock, a.hyper, a.space); err != nil {
		return err
	}
	search, population, m := a.state.Sub("search"), a.strategy.Population(), engine.Members(a.space.Members)
	a.inside = inside{a.strategy, newRepair(search, a.space)}
	dims := []engine.Dim{m, candidates(population)}
	if k := a.space.Objectives; k > 1 {
		several, err := ofSeveral(a.strategy, k)
		if err != nil {
			return err
		}
		dims = append(dims, engine.Axis("objective", k))
		a.panel = newPanel(search, a.space, population, several)
	} else {
		a.judge = newJudge(search, a.space, population)
	}
	a.formed = search.Scratch("candidates", engine.Float32, engine.Members(a.space.Members*population), engine.Axis("parameter", a.space.Row()))
	a.raw = search.Scratch("told", engine.Float32, dims...)
	if b := len(a.space.DescriptorLow); b > 0 {
		a.descriptor = search.Scratch("descriptors", engine.Float32, m, candidates(population), engine.Axis("descriptor", b))
	}
	if err := a.state.Allocate(); err != nil {
		return err
	}
	if a.ask, err = eng.Record("ask", func(r *engine.Recorder) {
		a.strategy.Ask(r)
		a.inside.Candidates(r, Pick{}, a.formed)
	}); err != nil {
		return err
	}
	a.tell, err = eng.Record("tell", func(r *engine.Recorder) {
		var told Told
		if a.panel != nil {
			told = a.panel.record(r, a.raw)
		} else {
			told = a.judge.record(r, a.raw, a.inside)
		}
		told.Descriptor = a.descriptor
		a.strategy.Tell(r, told)
		a.clock.Tick(r, 1, 0)
	})
	return err
}

// Begin begins the searches, each at its start [M][dim].
func (a *AskTell) Begin(ctx context.Context, start [][]float32) error {
	all, err := flatten("the start", start, a.space.Members, a.space.Dim)
	if err != nil {
		return err
	}
	for i, v := range all {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("ec: number %d of the start of member %d is %g; want finite ones", i%a.space.Dim, i/a.space.Dim, v)
		}
	}
	a.space.nearest(all)
	if err := a.state.Zero(ctx); err != nil {
		return err
	}
	err = errors.Join(a.hyper.Init(ctx), a.strategy.Init(ctx, all), a.Constants(ctx))
	if a.judge != nil {
		err = errors.Join(err, a.judge.init(ctx, all))
	}
	return err
}

// Ask returns the generation's candidates, [M][P][dim]; the same again until something was told of them.
func (a *AskTell) Ask(ctx context.Context) ([][][]float32, error) {
	if a.asked != nil {
		return a.asked, nil
	}
	if !a.state.Begun() {
		return nil, errors.New("ec: asked for candidates of a search that has not begun: call Begin, or load a checkpoint")
	}
	if err := a.ask.Run(ctx); err != nil {
		return nil, err
	}
	rows, err := a.space.read(ctx, a.formed)
	a.asked = rows
	return rows, err
}

// Tell says how fit the candidates are that were asked for last.
func (a *AskTell) Tell(ctx context.Context, judged Judged) error {
	if a.asked == nil {
		return errors.New("ec: told of candidates that nobody asked for: call Ask first")
	}
	members, population := a.space.Members, a.strategy.Population()
	var raw, described []float32
	var err error
	if k := a.space.Objectives; k > 1 {
		raw, err = flatten3("objectives", judged.Objectives, members, population, k)
	} else {
		raw, err = flatten("fitness", judged.Fitness, members, population)
	}
	if err != nil {
		return err
	}
	if b := len(a.space.DescriptorLow); b > 0 {
		if described, err = flatten3("descriptors", judged.Descriptors, members, population, b); err != nil {
			return err
		}
		if err := a.descriptor.WriteFloat32(ctx, described); err != nil {
			return err
		}
	}
	if err := a.raw.WriteFloat32(ctx, raw); err != nil {
		return err
	}
	a.asked = nil
	return a.tell.Run(ctx)
}

// Best is the best fitness of all generations [M], NaN before the first, and the candidates [M][dim] that had it, at first the start; nil with several
// objectives.
func (a *AskTell) Best(ctx context.Context) (fitness []float32, x [][]float32, err error) {
	return a.judge.read(ctx)
}

// Solution is what the searches would hand out now, [M][N][dim]: the mean of a distribution or the best of a population, N = 1; with several objectives the
// population, whose Objectives they are.
func (a *AskTell) Solution(ctx context.Context) ([][][]float32, error) {
	return a.space.read(ctx, a.strategy.Solution())
}

// Objectives are those of the solution, [M][N][K]; nil with one objective.
func (a *AskTell) Objectives(ctx context.Context) ([][][]float32, error) {
	if a.panel == nil {
		return nil, nil
	}
	values, err := a.panel.strategy.Objectives().ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	k := a.space.Objectives
	return blocks(values, a.space.Members, len(values)/a.space.Members/k, k, k), nil
}

// Strategy is the algorithm at work.
func (a *AskTell) Strategy() Strategy { return a.strategy }

// State is what a checkpoint saves; call Constants after loading one.
func (a *AskTell) State() *engine.State { return a.state }

// Constants writes what is neither saved nor changes.
func (a *AskTell) Constants(ctx context.Context) error {
	a.asked = nil
	return errors.Join(a.strategy.Constants(ctx), a.inside.repair.constants(ctx))
}

// Close frees the memory. It may be called twice.
func (a *AskTell) Close() error {
	a.ask.Free()
	a.tell.Free()
	return a.state.Close()
}

// read reads candidates [M, count, row] as [M][count][dim], between the bounds.
func (s Space) read(ctx context.Context, tensor *engine.Tensor) ([][][]float32, error) {
	values, err := tensor.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	out := blocks(values, s.Members, len(values)/s.Members/s.Row(), s.Row(), s.Dim)
	for _, rows := range out {
		for _, row := range rows {
			s.nearest(row)
		}
	}
	return out, nil
}

// blocks are the first `used` of every row of [members, count, row].
func blocks(values []float32, members, count, row, used int) [][][]float32 {
	out := make([][][]float32, members)
	for m := range out {
		for c := range count {
			out[m] = append(out[m], values[(m*count+c)*row:][:used:used])
		}
	}
	return out
}

// flatten puts n numbers of each of so many rows behind each other.
func flatten(what string, rows [][]float32, count, n int) ([]float32, error) {
	if len(rows) != count {
		return nil, fmt.Errorf("ec: %s of %d members; want %d", what, len(rows), count)
	}
	var out []float32
	for m, row := range rows {
		if len(row) != n {
			return nil, fmt.Errorf("ec: %s of member %d: %d numbers; want %d", what, m, len(row), n)
		}
		out = append(out, row...)
	}
	return out, nil
}

func flatten3(what string, all [][][]float32, members, count, n int) ([]float32, error) {
	if len(all) != members {
		return nil, fmt.Errorf("ec: %s of %d members; want %d", what, len(all), members)
	}
	var out []float32
	for m, rows := range all {
		if len(rows) != count {
			return nil, fmt.Errorf("ec: %s of %d candidates of member %d; want %d", what, len(rows), m, count)
		}
		for c, row := range rows {
			if len(row) != n {
				return nil, fmt.Errorf("ec: %s of candidate %d of member %d: %d numbers; want %d", what, c, m, len(row), n)
			}
			out = append(out, row...)
		}
	}
	return out, nil
}
