package ec

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) { vktest.Main(m) }

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Device(t)
}

// trial is a Generation with the test's fitness. Ask and Tell are separate programs, so that the test can
// inspect the state between them.
type trial struct {
	t          testing.TB
	eng        *engine.Engine
	space      Space
	state      *engine.State
	clock      engine.Clock
	hyper      *engine.Hyper
	generation *Generation
	strategy   Strategy
	formed     *engine.Tensor // [M · N, row]
	fitness    *engine.Tensor // [M, N] or [M, N, K]
	behaved    *engine.Tensor // [M, N, B]: descriptors written by the test; nil: the space has none
	ask        *engine.Program
	tell       *engine.Program
	// others changes candidates before they are told; nil: the strategy is told its own candidates.
	others     func(member, candidate int, x []float32) []float32
	tellOthers *engine.Program
	proposed   [][][]float32 // the candidates asked for last: [M][N][dim]
}

// newTrial makes a trial. Tensors that are not saved begin poisoned.
func newTrial(t testing.TB, eng *engine.Engine, algo Algorithm, space Space, start []float32) *trial {
	t.Helper()
	tr := &trial{t: t, eng: eng, state: eng.NewState()}
	tr.clock = engine.NewClock(tr.state)
	tr.hyper = engine.NewHyper(tr.state, space.Members)
	var err error
	tr.generation, err = NewGeneration(tr.state, tr.clock, tr.hyper, scoped{algo}, space)
	tr.must(err)
	tr.space, tr.strategy, tr.behaved = tr.generation.Space(), tr.generation.Strategy(), tr.generation.Descriptors()
	tr.formed, tr.fitness = tr.generation.NewCandidates("formed", tr.generation.Population()), tr.generation.NewFitness("evaluated")
	ctx := t.Context()
	tr.must(tr.state.Zero(ctx))
	tr.must(tr.state.Poison(ctx))
	tr.must(tr.hyper.Init(ctx))
	tr.must(tr.generation.Init(ctx, start))
	tr.ask, err = eng.Record("ask", func(r *engine.Recorder) {
		tr.generation.Ask(r)
		tr.generation.Candidates(r, Pick{}, tr.formed)
	})
	tr.must(err)
	tr.tell, err = eng.Record("tell", func(r *engine.Recorder) {
		tr.generation.Tell(r, tr.fitness)
		tr.clock.Tick(r, 1, 0)
	})
	tr.must(err)
	t.Cleanup(func() {
		tr.ask.Free()
		tr.tell.Free()
		_ = tr.state.Close()
	})
	return tr
}

// scoped gives the tensors and random streams of any algorithm the same names, "ec/<name>".
type scoped struct{ Algorithm }

func (scoped) Name() string { return "ec" }

// scope returns the algorithm's part of the trial's state.
func (tr *trial) scope() *engine.State { return tr.state.Sub("ec") }

func (tr *trial) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

// candidates asks for a generation [M][N][dim].
func (tr *trial) candidates() [][][]float32 {
	tr.t.Helper()
	tr.must(tr.ask.Run(tr.t.Context()))
	return tr.rows(tr.formed, tr.strategy.Population())
}

// learn tells the fitness of the generation: [M][N], with several objectives [M][N · K].
func (tr *trial) learn(fitness [][]float32) {
	tr.t.Helper()
	var all []float32
	for _, f := range fitness {
		all = append(all, f...)
	}
	tr.must(tr.fitness.WriteFloat32(tr.t.Context(), all))
	if tr.others == nil {
		tr.must(tr.tell.Run(tr.t.Context()))
		return
	}
	tr.must(tr.tellOthers.Run(tr.t.Context()))
}

// change makes the trial tell candidates changed by a function.
func (tr *trial) change(others func(member, candidate int, x []float32) []float32) {
	tr.t.Helper()
	var err error
	tr.others = others
	tr.tellOthers, err = tr.eng.Record("tell others", func(r *engine.Recorder) {
		tr.generation.TellCandidates(r, tr.formed, tr.fitness)
		tr.clock.Tick(r, 1, 0)
	})
	tr.must(err)
	tr.must(tr.state.Poison(tr.t.Context()))
	tr.t.Cleanup(tr.tellOthers.Free)
}

// changed returns the candidates changed by others and writes them to the tensor that is told.
func (tr *trial) changed(population [][][]float32) [][][]float32 {
	tr.t.Helper()
	out, values := make([][][]float32, len(population)), []float32(nil)
	for m, rows := range population {
		for c, x := range rows {
			out[m] = append(out[m], tr.others(m, c, slices.Clone(x)))
			values = append(values, out[m][c]...)
		}
	}
	tr.must(tr.formed.WriteFloat32(tr.t.Context(), tr.space.Pad(values)))
	return out
}

// step asks and tells with the fitness of a function. It returns the candidates and the fitness told.
func (tr *trial) step(f func(member, candidate int, x []float32) float32) (population [][][]float32, fitness [][]float32) {
	tr.t.Helper()
	population = tr.candidates()
	tr.proposed = population
	if tr.others != nil {
		population = tr.changed(population)
	}
	fitness = make([][]float32, len(population))
	for m, rows := range population {
		for c, x := range rows {
			fitness[m] = append(fitness[m], f(m, c, x))
		}
	}
	tr.learn(fitness)
	return population, fitness
}

// solution returns the strategy's solution [M][dim].
func (tr *trial) solution() [][]float32 {
	tr.t.Helper()
	var out [][]float32
	for _, rows := range tr.rows(tr.strategy.Solution(), 1) {
		out = append(out, rows[0])
	}
	return out
}

// rows reads [M, count, row] as [M][count][dim]. The padding of the rows must be zero.
func (tr *trial) rows(tensor *engine.Tensor, count int) [][][]float32 {
	tr.t.Helper()
	values := tr.values(tensor)
	out := make([][][]float32, tr.space.Members)
	row := tr.space.Row()
	for m := range out {
		for c := range count {
			whole := values[(m*count+c)*row:][:row]
			for i, v := range whole[tr.space.Dim:] {
				if v != 0 {
					tr.t.Errorf("%s: member %d, row %d: padding %d is %g; want 0", tensor.Name(), m, c, i, v)
				}
			}
			out[m] = append(out[m], whole[:tr.space.Dim])
		}
	}
	return out
}

func (tr *trial) values(tensor *engine.Tensor) []float32 {
	tr.t.Helper()
	values, err := tensor.ReadFloat32(tr.t.Context())
	tr.must(err)
	return values
}

// deviation returns the largest difference between got and want relative to the largest element of want; infinite if
// an element of got is NaN.
func deviation(got []float32, want []float64) float64 {
	largest, far := 1e-30, 0.0
	if len(got) != len(want) {
		return math.Inf(1)
	}
	for i, w := range want {
		d := math.Abs(float64(got[i]) - w)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		largest, far = max(largest, math.Abs(w)), max(far, d)
	}
	return far / largest
}

// ranks returns the ranks of float64 fitness: 0 for the largest, ties in the order of the candidates.
func ranks(fitness []float64) []int {
	rank := make([]int, len(fitness))
	for i, a := range fitness {
		for j, b := range fitness {
			if b > a || b == a && j < i {
				rank[i]++
			}
		}
	}
	return rank
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// sphere has its maximum, 0, at 1.
func sphere(_, _ int, x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		sum -= (float64(v) - 1) * (float64(v) - 1)
	}
	return float32(sum)
}
