package ec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
)

// TestExtremes compares with Go the best and the worst candidates by partly non-finite fitness, and the replacement
// of rows.
func TestExtremes(t *testing.T) {
	eng := engine.New(open(t))
	for _, c := range []struct{ members, population, n, dim int }{{1, 1, 1, 1}, {3, 37, 5, 6}, {2, 5, 5, 3}, {2, 4200, 17, 2}} {
		t.Run(fmt.Sprint(c.population), func(t *testing.T) {
			space := Space{Members: c.members, Dim: c.dim}
			vanilla := VanillaESConfig{Population: c.population, Elites: 1, NoiseStd: 1}
			tr := newTrial(t, eng, vanilla, space, make([]float32, c.members*c.dim))
			rows := tr.state.Scratch("rows", engine.Float32, engine.Members(c.members), candidates(c.n), engine.Axis("parameter", space.Row()))
			values := tr.state.Scratch("values", engine.Float32, engine.Members(c.members), candidates(c.n))
			fitness := tr.state.Scratch("returns", engine.Float32, engine.Members(c.members), candidates(c.population))
			tr.must(tr.state.Poison(t.Context()))
			tr.candidates()
			var best, worst *engine.Tensor
			program, err := eng.Record("extremes", func(r *engine.Recorder) {
				g := tr.generation
				best, worst = g.Elites(r, fitness, c.n), g.Worst(r, fitness, c.n)
				g.Replace(r, tr.formed, worst, rows)
				g.Replace(r, fitness, worst, values)
			})
			tr.must(err)
			defer program.Free()
			scores := make([][]float32, c.members)
			for m := range scores {
				for k := range c.population {
					scores[m] = append(scores[m], []float32{float32((k*7+m)%5) - 2, nan, 3, inf, -inf, -4, 1}[(k+m)%7])
				}
			}
			given, news := make([]float32, rows.Len()), make([]float32, values.Len())
			for i := range given {
				given[i] = float32(i) + 0.5
			}
			for i := range news {
				news[i] = float32(i) + 100
			}
			tr.must(fitness.WriteFloat32(t.Context(), slices.Concat(scores...)))
			tr.must(rows.WriteFloat32(t.Context(), given))
			tr.must(values.WriteFloat32(t.Context(), news))
			before := tr.values(tr.formed)
			tr.must(program.Run(t.Context()))
			elites, last := mustUint32(t, best), mustUint32(t, worst)
			for m := range scores {
				clean := make([]float64, c.population)
				for k, f := range scores[m] {
					clean[k] = worthOf(f)
				}
				rank := ranks(clean)
				for i := range c.n {
					if k := elites[m*c.n+i]; rank[k] != i {
						t.Fatalf("member %d: the best number %d is candidate %d of rank %d", m, i, k, rank[k])
					}
					k := int(last[m*c.n+i])
					if rank[k] != c.population-1-i {
						t.Fatalf("member %d: the worst number %d is candidate %d of rank %d", m, i, k, rank[k])
					}
					scores[m][k] = news[m*c.n+i]
					copy(before[(m*c.population+k)*space.Row():], given[(m*c.n+i)*space.Row():][:space.Row()])
				}
			}
			if got := tr.values(tr.formed); !slices.Equal(got, before) {
				t.Error("rows are not where the worst candidates were")
			}
			for i, got := range tr.values(fitness) {
				if want := slices.Concat(scores...)[i]; got != want && (got == got || want == want) {
					t.Fatalf("fitness %d is %g; want %g", i, got, want)
				}
			}
		})
	}
}

// TestExtremesErrors: wrong counts and shapes are recording errors.
func TestExtremesErrors(t *testing.T) {
	eng := engine.New(open(t))
	tr := newTrial(t, eng, VanillaESConfig{Population: 6, Elites: 1, NoiseStd: 1}, Space{Members: 2, Dim: 3}, make([]float32, 6))
	g, short := tr.generation, tr.state.Scratch("short", engine.Float32, engine.Members(2), candidates(5))
	for what, record := range map[string]func(r *engine.Recorder){
		"none":               func(r *engine.Recorder) { g.Worst(r, tr.fitness, 0) },
		"too many":           func(r *engine.Recorder) { g.Elites(r, tr.fitness, 7) },
		"too few values":     func(r *engine.Recorder) { g.Worst(r, short, 1) },
		"rows of one number": func(r *engine.Recorder) { g.Replace(r, tr.formed, g.Worst(r, tr.fitness, 5), short) },
		"told too little":    func(r *engine.Recorder) { g.Tell(r, short) },
		"no candidates":      func(r *engine.Recorder) { g.TellCandidates(r, short, tr.fitness) },
	} {
		if p, err := eng.Record(what, record); err == nil {
			p.Free()
			t.Errorf("%s: no error", what)
		}
	}
}

// TestERL compares with float64, for the same noise, an iteration of evolutionary reinforcement learning (S. Khadka,
// K. Tumer, 2018) composed of public parts in one program: a generation is asked for and evaluated, an externally
// trained actor with its own fitness replaces the worst candidate, and the strategy is told the result. The fitness,
// minus the mean of its row, stands in for episodes.
func TestERL(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	vanilla := VanillaESConfig{Population: 21, Elites: 6, NoiseStd: 0.3}
	genetic := DefaultGA()
	genetic.Population, genetic.EliteRatio, genetic.InitialStd, genetic.MutationStd = 11, 0.4, 0.5, 0.2
	t.Run("vanilla-es", func(t *testing.T) {
		it := newERL(t, eng, vanilla)
		noise := NewNoise(it.scope(), it.clock, it.space, vanilla.Population, false)
		for m, start := range it.start {
			z := make([][]float64, vanilla.Population)
			for k := range z {
				z[k] = noise.Draw(eng.Seed(), m, k, 0)
			}
			ref := &refVanillaES{isotropic{newStep(optim.SGD, 0, 0, start), vanilla.NoiseStd}, vanilla.Elites}
			fitness := it.check(m, func(k int) []float64 { return ref.candidate(z[k]) })
			k := it.worst(m)
			for i, x := range it.actors[m] {
				z[k][i] = (float64(x) - start[i]) / vanilla.NoiseStd
			}
			ref.tell(z, fitness)
			if d := deviation(it.solution()[m], ref.mean); !(d <= 2e-6) {
				t.Errorf("member %d: the mean deviates by %.1e", m, d)
			}
		}
	})
	t.Run("ga", func(t *testing.T) {
		it := newERL(t, eng, genetic)
		elites := it.strategy.(*ga).elites.size
		next := it.rows(it.state.Lookup("ec/elites"), elites)
		for m := range it.start {
			fitness := it.check(m, func(k int) []float64 {
				chosen := func(i int) []float64 { return wide(it.parents[m][tournamentOf(eng, "ec/mating", m, i, 0, elites, 1)]) }
				return offspringOf(eng, genetic.VariationConfig, it.space, [2][]float64{chosen(k), chosen(k ^ 1)}, m, k, 0)
			})
			for k, r := range ranks(fitness) {
				if r < elites && !slices.Equal(next[m][r], it.given[m][k]) {
					t.Errorf("member %d: elite %d is %v; want candidate %d, %v", m, r, next[m][r], k, it.given[m][k])
				}
			}
		}
	})
}

// erl is the state of a trial after one iteration.
type erl struct {
	*trial
	start    [][]float64   // [M][dim]
	actors   [][]float32   // [M][dim]
	parents  [][][]float32 // [M][elites][dim]: the parents of a genetic algorithm before the iteration
	given    [][][]float32 // [M][N][dim]: the candidates told
	replaced []uint32      // [M]
}

// erlReturns are the actors' fitness: the first member's is the best, the second's the worst.
var erlReturns = []float32{100, -100}

func newERL(t *testing.T, eng *engine.Engine, algorithm Algorithm) *erl {
	t.Helper()
	const members, dim = 2, 7
	space := Space{Members: members, Dim: dim}
	it := &erl{trial: newTrial(t, eng, algorithm, space, starts(space))}
	actor := it.state.Scratch("agent/actor/params", engine.Float32, engine.Members(members), engine.Axis("parameter", space.Row()))
	returns := it.state.Scratch("agent/return", engine.Float32, engine.Members(members))
	var worst *engine.Tensor
	step, err := eng.Record("erl", func(r *engine.Recorder) {
		g := it.generation
		g.Ask(r)
		g.Candidates(r, Pick{}, it.formed)
		engine.Mean(r, it.fitness, it.formed, nil, -1)
		worst = g.Worst(r, it.fitness, 1)
		g.Replace(r, it.formed, worst, actor)
		g.Replace(r, it.fitness, worst, returns)
		g.TellCandidates(r, it.formed, it.fitness)
		it.clock.Tick(r, 1, 0)
	})
	it.must(err)
	t.Cleanup(step.Free)
	it.must(it.state.Poison(t.Context()))
	for m := range members {
		it.start = append(it.start, wide(starts(space)[m*dim:][:dim]))
		it.actors = append(it.actors, nil)
		for i := range dim {
			it.actors[m] = append(it.actors[m], float32(math.Cos(float64(3*i+m))))
		}
	}
	it.must(actor.WriteFloat32(t.Context(), space.Pad(slices.Concat(it.actors...))))
	it.must(returns.WriteFloat32(t.Context(), erlReturns))
	if elites := it.state.Lookup("ec/elites"); elites != nil {
		it.parents = it.rows(elites, elites.Len()/members/space.Row())
	}
	it.must(step.Run(t.Context()))
	it.given, it.replaced = it.rows(it.formed, it.generation.Population()), mustUint32(t, worst)
	return it
}

// worst returns the index of a member's candidate that the actor replaced.
func (it *erl) worst(m int) int { return int(it.replaced[m]) }

// check compares a member's candidates with a reference, except the replaced one, which must be the worst.
// It returns the fitness that the strategy was told.
func (it *erl) check(m int, candidate func(k int) []float64) []float64 {
	it.t.Helper()
	var fitness []float64
	for k, x := range it.given[m] {
		want, sum := candidate(k), 0.0
		for _, v := range want {
			sum -= v / float64(it.space.Row())
		}
		fitness = append(fitness, sum)
		if k != it.worst(m) {
			if d := deviation(x, want); !(d <= 2e-5) {
				it.t.Errorf("member %d: candidate %d deviates by %.1e", m, k, d)
			}
		} else if !slices.Equal(x, it.actors[m]) {
			it.t.Errorf("member %d: candidate %d is %v; want the actor, %v", m, k, x, it.actors[m])
		}
	}
	if k := it.worst(m); ranks(fitness)[k] != len(fitness)-1 {
		it.t.Errorf("member %d: the actor has replaced candidate %d of rank %d", m, k, ranks(fitness)[k])
	}
	fitness[it.worst(m)] = float64(erlReturns[m])
	return fitness
}
