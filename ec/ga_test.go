package ec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// TestGA compares generations of every crossover and mutation with float64: parents, children and survivors.
func TestGA(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	worst := 0.0
	for crossover := NoCrossover; crossover <= Line; crossover++ {
		for mutation := NoMutation; mutation <= PolynomialMutation; mutation++ {
			for k, space := range []Space{{Members: 2, Dim: 7}, box(2, 7), box(1, 1), ajar(2, 7)} {
				if k != (int(crossover)+int(mutation))%3 && !(crossover == SBX && mutation == PolynomialMutation) {
					continue // compiling all of them takes long
				}
				c := DefaultGA()
				c.Population, c.EliteRatio, c.Tournament, c.Plus, c.InitialStd = []int{9, 7, 5, 7}[k], []float64{0.5, 1, 0.4, 1}[k], 1+int(mutation), crossover%2 == 0, 0.7
				c.Crossover, c.Mutation, c.CrossoverRate, c.ExchangeRate = crossover, mutation, 0.8, 0.6
				c.MutationStd, c.MutationRate = 0.4, []float64{1, -1, 0.5}[int(crossover)%3]
				c.CrossoverIndex, c.MutationIndex = 2, 3
				t.Run(fmt.Sprintf("%s %s %d", crossoverNames[crossover], mutationNames[mutation], k), func(t *testing.T) {
					worst = max(worst, generationsOfGA(t, eng, c, space, nil))
				})
			}
		}
	}
	t.Logf("largest deviation %.1e", worst)
}

// TestWeightMutation compares ERL's mutation with float64, for a network's matrices, with biases between them, and
// for a space without a network.
func TestWeightMutation(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	network := Space{Members: 2, Dim: 11, Matrices: []uint32{1, 1, 1, 1, 1, 0, 0, 2, 2, 2, 0}}
	for name, space := range map[string]Space{"network": network, "none": {Members: 2, Dim: 7}} {
		c := DefaultGA()
		c.Population, c.EliteRatio, c.InitialStd = 33, 0.5, 0.7
		c.Mutation, c.MutationRate, c.MutationStd = WeightMutation, 0.5, 0.1
		t.Run(name, func(t *testing.T) { generationsOfGA(t, eng, c, space, nil) })
	}
}

// TestElites compares generations with float64, the first from independent starts: the best enter unchanged and are evaluated again;
// and ERL's crossover of neurons and its mutation of shares (S. Khadka, K. Tumer, 2018), of some children.
func TestElites(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(7))
	space := Space{Members: 2, Dim: 11, Matrices: []uint32{1, 1, 1, 1, 1, 1, 0, 0, 0, 2, 2}}
	for i, of := range []uint32{1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3} {
		vector := uint32(0)
		if space.Matrices[i] == 0 {
			vector = 1
		}
		space.Neurons = append(space.Neurons, of<<17|vector<<16|uint32(i%3))
	}
	c := DefaultGA()
	c.Population, c.EliteRatio, c.Elites, c.Tournament, c.IndependentStart = 12, 1, 3, 3, true
	c.Crossover, c.CrossoverRate, c.Mutation, c.MutationRate, c.MutationStd = NeuronCrossover, 0.7, ShareMutation, 0.9, 0.1
	c.MutantRate, c.MutationLimit = 0.8, 0.5
	generationsOfGA(t, eng, c, space, nil)
	generationsOfGA(t, eng, c, Space{Members: 1, Dim: 7}, nil)
	c.EliteRatio, c.IndependentStart, c.InitialStd = 0.5, false, 0.4
	generationsOfGA(t, eng, c, space, nil)
}

// TestGAErrors: settings that contradict each other are refused with what would be right.
func TestGAErrors(t *testing.T) {
	for want, change := range map[string]func(*GAConfig){
		"want 0, or plus = false":        func(c *GAConfig) { c.Elites, c.Plus = 1, true },
		"want at most the parents":       func(c *GAConfig) { c.Elites = 65 },
		"fewer than candidates":          func(c *GAConfig) { c.Elites, c.EliteRatio = 128, 1 },
		"want elite_ratio = 1, or false": func(c *GAConfig) { c.IndependentStart = true },
	} {
		c := DefaultGA()
		change(&c)
		if err := config.Check(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
}

func generationsOfGA(t *testing.T, eng *engine.Engine, c GAConfig, space Space, others func(int, int, []float32) []float32) (worst float64) {
	founders := space
	if c.IndependentStart {
		founders.Members *= c.Population
	}
	start := starts(founders)
	tr := newTrial(t, eng, c, space, start)
	if others != nil {
		tr.change(others)
	}
	elites := tr.strategy.(*ga).elites.size
	own := tr.state.Lookup("ec/elites")
	if first := tr.rows(own, elites); !c.IndependentStart {
		checkInitial(tr, first, start, c.InitialStd)
	} else if got := slices.Concat(slices.Concat(first...)...); !slices.Equal(got, start) {
		t.Fatalf("the first generation is %v; want the starts %v", got, start)
	}
	for g := range 4 {
		before, fitness := tr.rows(own, elites), tr.values(tr.state.Lookup("ec/fitness"))
		children, scores := tr.step(rough(eng, g))
		after, next := tr.rows(own, elites), tr.values(tr.state.Lookup("ec/fitness"))
		for m, x := range tr.solution() {
			if !slices.Equal(x, after[m][0]) {
				t.Fatalf("generation %d, member %d: the solution is %v; want the best parent, %v", g, m, x, after[m][0])
			}
			chosen := func(i int) []float64 { // the parent at i
				return wide(before[m][tournamentOf(eng, "ec/mating", m, i, g, elites, c.Tournament)])
			}
			for k, x := range tr.proposed[m] {
				if k < c.Elites || c.IndependentStart && g == 0 {
					if !slices.Equal(x, before[m][k]) {
						t.Fatalf("generation %d, member %d: candidate %d is %v; want that of the population, %v", g, m, k, x, before[m][k])
					}
					continue
				}
				child := k - c.Elites
				want := offspringOf(eng, c.VariationConfig, space, [2][]float64{chosen(child), chosen(child ^ 1)}, m, child, g)
				d := deviation(x, want)
				if worst = max(worst, d); !(d <= 2e-5) {
					t.Fatalf("generation %d, member %d: child %d is %v; want %v", g, m, child, x, want)
				}
			}
			type one struct {
				fitness float64
				x       []float32
			}
			var all []one // parents first, which decides ties
			if c.Plus && g > 0 {
				for i, x := range before[m] {
					all = append(all, one{float64(fitness[m*elites+i]), x})
				}
			}
			for i, x := range children[m] {
				all = append(all, one{worthOf(scores[m][i]), x})
			}
			slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(b.fitness, a.fitness) })
			for i, x := range after[m] {
				if !slices.Equal(x, all[i].x) || float64(next[m*elites+i]) != all[i].fitness {
					t.Fatalf("generation %d, member %d: parent %d is %v of fitness %g; want %v of %g", g, m, i, x, next[m*elites+i], all[i].x, all[i].fitness)
				}
			}
		}
	}
	return worst
}

// TestNearBounds: if a bound is 0, children of parents closer to it than the spacing of float32 at the size of the
// bounds are as precise as their parents. Functions such as ZDT6 depend on it.
func TestNearBounds(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(12))
	space := Space{Members: 1, Dim: 16}
	for range space.Dim {
		space.Low, space.High = append(space.Low, 0), append(space.High, 1)
	}
	for _, c := range []struct {
		crossover Crossover
		mutation  Mutation
	}{{SBX, NoMutation}, {NoCrossover, PolynomialMutation}} {
		cfg := RealCodedGA()
		cfg.Population, cfg.EliteRatio, cfg.Crossover, cfg.CrossoverRate, cfg.ExchangeRate, cfg.Mutation, cfg.MutationRate = 64, 0.25,
			c.crossover, 1, 1, c.mutation, 1
		cfg.Tournament = 1
		tr := newTrial(t, eng, cfg, space, make([]float32, space.Dim))
		tr.step(sphere) // the first generation is the initial population
		elites := tr.strategy.(*ga).elites.size
		parents := make([]float32, elites*space.Dim)
		for i := range parents {
			w := words(eng, "near", uint32(i), 0, 0, 0)
			parents[i] = float32(math.Pow(10, -8*unit(w[0])))
		}
		tr.must(tr.state.Lookup("ec/elites").WriteFloat32(t.Context(), parents))
		chosen := func(child int) []float64 {
			return wide(parents[tournamentOf(eng, "ec/mating", 0, child, 1, elites, 1)*space.Dim:][:space.Dim])
		}
		worst, small := 0.0, 0
		for child, x := range tr.candidates()[0] {
			a, b := chosen(child), chosen(child^1)
			for i, want := range offspringOf(eng, cfg.VariationConfig, space, [2][]float64{a, b}, 0, child, 1) {
				from := a[i]
				if c.crossover == SBX {
					from = min(a[i], b[i])
				}
				d := math.Abs(float64(x[i])-want) / max(want, from)
				if worst = max(worst, d); !(d <= 5e-6) {
					t.Errorf("%s, %s: child %g of %g and %g; want %g", crossoverNames[c.crossover], mutationNames[c.mutation], x[i], a[i], b[i], want)
				}
				if want < 1e-5 {
					small++
				}
			}
		}
		if t.Logf("%s, %s: largest relative deviation %.1e, %d children below 1e-5", crossoverNames[c.crossover], mutationNames[c.mutation],
			worst, small); small < 50 {
			t.Errorf("only %d children are small", small)
		}
	}
}
