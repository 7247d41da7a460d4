package ec

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
)

// AskTell runs an algorithm for a caller that evaluates the candidates: ask for a generation's candidates, tell their
// fitness, and repeat. Candidates and fitness pass through host memory; if a Problem can evaluate them on the device,
// a Search is faster.
type AskTell struct {
	space      Space
	eng        *engine.Engine
	state      *engine.State
	clock      engine.Clock
	hyper      *engine.Hyper
	generation *Generation
	candidates *engine.Tensor // [M · N, row]
	fitness    *engine.Tensor // [M, N] or [M, N, K]
	ask, tell  *engine.Program
	tellOthers *engine.Program // for candidates other than those proposed; nil until first used
	asked      [][][]float32   // the generation that has not been told yet; nil: none
}

// Results are the results of a generation's candidates. Greater is better; values that are not finite rank below all
// finite ones.
type Results struct {
	Fitness     [][]float32   // [M][N]: with one objective
	Objectives  [][][]float32 // [M][N][K]: with several objectives
	Descriptors [][][]float32 // [M][N][B]: behaviour of the candidates, if the space bounds descriptors
}

// NewAskTell makes one search for each member of the space. Begin or a checkpoint must fill their state before the
// first Ask. Close it after use.
//
// Errors: settings out of range, a space that the algorithm cannot search, *vk.OutOfMemoryError if memory does not
// suffice (nothing is allocated then).
func NewAskTell(eng *engine.Engine, algo Algorithm, space Space) (*AskTell, error) {
	if err := engine.Require(map[string]any{"engine": eng, "algorithm": algo}); err != nil {
		return nil, fmt.Errorf("ec: ask and tell: %w", err)
	}
	if err := CheckRows(algo); err != nil {
		return nil, err
	}
	a := &AskTell{eng: eng, state: eng.NewState()}
	if err := a.build(algo, space); err != nil {
		return nil, errors.Join(fmt.Errorf("ec: %s: %w", algo.Name(), err), a.Close())
	}
	return a, nil
}

func (a *AskTell) build(algo Algorithm, space Space) (err error) {
	a.clock = engine.NewClock(a.state)
	a.hyper = engine.NewHyper(a.state, space.Members)
	if a.generation, err = NewGeneration(a.state, a.clock, a.hyper, algo, space); err != nil {
		return err
	}
	a.space = a.generation.Space()
	a.candidates, a.fitness = a.generation.NewCandidates("candidates", a.generation.Population()), a.generation.NewFitness("fitness")
	if err := a.state.Allocate(); err != nil {
		return err
	}
	if a.ask, err = a.eng.Record("ask", func(r *engine.Recorder) {
		a.generation.Ask(r)
		a.generation.Candidates(r, Pick{}, a.candidates)
	}); err != nil {
		return err
	}
	a.tell, err = a.eng.Record("tell", func(r *engine.Recorder) {
		a.generation.Tell(r, a.fitness)
		a.clock.Tick(r, 1, 0)
	})
	return err
}

// Begin begins the searches, each at its start point [M][dim]; algorithms that begin with n independent ones
// (Generation.Founders) take [M · n][dim], the points of a search adjacent.
func (a *AskTell) Begin(ctx context.Context, start [][]float32) error {
	all, err := flatten("the start", start, a.space.Members*a.generation.Founders(), a.space.Dim)
	if err != nil {
		return err
	}
	for i, v := range all {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("ec: number %d of the start of member %d is %g; want finite ones", i%a.space.Dim, i/a.space.Dim, v)
		}
	}
	a.asked = nil
	if err := a.state.Zero(ctx); err != nil {
		return err
	}
	return errors.Join(a.hyper.Init(ctx), a.generation.Init(ctx, all))
}

// Ask returns the generation's candidates [M][N][dim]. It returns the same ones until their results are told.
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
	rows, err := a.space.read(ctx, a.candidates)
	a.asked = rows
	return rows, err
}

// Tell reports the results of the candidates asked for last.
func (a *AskTell) Tell(ctx context.Context, results Results) error {
	if err := a.write(ctx, results); err != nil {
		return err
	}
	a.asked = nil
	return a.tell.Run(ctx)
}

// TellCandidates reports candidates [M][N][dim] other than those asked for last, with their results: improved by a
// local search, for example. Candidates that are bit-identical to the proposed ones count as in Tell; candidates
// outside the bounds are moved to the nearest point inside. The error is a *CandidatesError if the algorithm can
// learn only from its own candidates.
func (a *AskTell) TellCandidates(ctx context.Context, others [][][]float32, results Results) error {
	if err := a.generation.CheckCandidates(); err != nil {
		return err
	}
	values, err := flatten3("candidates", others, a.space.Members, a.generation.Population(), a.space.Dim)
	if err == nil {
		err = a.write(ctx, results)
	}
	if err == nil {
		a.space.clamp(values)
		err = a.candidates.WriteFloat32(ctx, a.space.Pad(values))
	}
	if err != nil {
		return err
	}
	if a.tellOthers == nil {
		if a.tellOthers, err = a.eng.Record("tell of candidates", func(r *engine.Recorder) {
			a.generation.TellCandidates(r, a.candidates, a.fitness)
			a.clock.Tick(r, 1, 0)
		}); err != nil {
			return err
		}
	}
	a.asked = nil
	return a.tellOthers.Run(ctx)
}

// write copies results to the device.
func (a *AskTell) write(ctx context.Context, results Results) error {
	if a.asked == nil {
		return errors.New("ec: told results of no candidates: call Ask first")
	}
	members, population := a.space.Members, a.generation.Population()
	var fitness []float32
	var err error
	if k := a.space.Objectives; k > 1 {
		fitness, err = flatten3("objectives", results.Objectives, members, population, k)
	} else {
		fitness, err = flatten("fitness", results.Fitness, members, population)
	}
	if err != nil {
		return err
	}
	if b := len(a.space.DescriptorLow); b > 0 {
		described, err := flatten3("descriptors", results.Descriptors, members, population, b)
		if err == nil {
			err = a.generation.Descriptors().WriteFloat32(ctx, described)
		}
		if err != nil {
			return err
		}
	}
	return a.fitness.WriteFloat32(ctx, fitness)
}

// Best returns the best fitness of all generations [M], NaN before the first, and its candidates [M][dim], before the
// first the start; nil with several objectives.
func (a *AskTell) Best(ctx context.Context) (fitness []float32, x [][]float32, err error) {
	if err := a.state.Ready(); err != nil {
		return nil, nil, fmt.Errorf("ec: %w", err)
	}
	return a.generation.ranking.read(ctx)
}

// Solution returns the current solutions [M][N][dim]: the mean of a distribution or the best of a population, N = 1;
// with several objectives the population; Objectives returns its values.
func (a *AskTell) Solution(ctx context.Context) ([][][]float32, error) {
	if err := a.state.Ready(); err != nil {
		return nil, fmt.Errorf("ec: %w", err)
	}
	return a.space.read(ctx, a.generation.Solution())
}

// Objectives returns the objectives of the solutions [M][N][K]; nil with one objective.
func (a *AskTell) Objectives(ctx context.Context) ([][][]float32, error) {
	_, objectives := a.generation.Front()
	if objectives == nil {
		return nil, nil
	}
	values, err := objectives.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	k := a.space.Objectives
	return blocks(values, a.space.Members, len(values)/a.space.Members/k, k, k), nil
}

// Generation returns the algorithm on the device.
func (a *AskTell) Generation() *Generation { return a.generation }

// State returns the state that a checkpoint saves; Load restores it.
func (a *AskTell) State() *engine.State { return a.state }

// Load continues searches from a checkpoint of their state. Candidates asked for earlier are discarded.
func (a *AskTell) Load(ctx context.Context, c *checkpoint.Checkpoint) error {
	a.asked = nil
	return a.state.Load(ctx, c)
}

// Close frees the memory. Calling Close twice is allowed.
func (a *AskTell) Close() error {
	a.ask.Free()
	a.tell.Free()
	a.tellOthers.Free()
	return a.state.Close()
}

// read reads candidates [M, count, row] as [M][count][dim] and clamps them to the bounds.
func (s Space) read(ctx context.Context, tensor *engine.Tensor) ([][][]float32, error) {
	values, err := tensor.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	out := blocks(values, s.Members, len(values)/s.Members/s.Row(), s.Row(), s.Dim)
	for _, rows := range out {
		for _, row := range rows {
			s.clamp(row)
		}
	}
	return out, nil
}

// blocks returns the first `used` values of every row of [members, count, row].
func blocks(values []float32, members, count, row, used int) [][][]float32 {
	out := make([][][]float32, members)
	for m := range out {
		for c := range count {
			out[m] = append(out[m], values[(m*count+c)*row:][:used:used])
		}
	}
	return out
}

// flatten concatenates count rows of n numbers; what names them in errors.
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
