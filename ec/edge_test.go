package ec

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/optim"
)

// gaussians returns the algorithms that sample a normal distribution, and random search.
func gaussians(population int) []Algorithm {
	openES, vanilla, ars, pgpe := DefaultOpenES(), DefaultVanillaES(), DefaultARS(), DefaultPGPE()
	snes, sep, cem, random := DefaultSNES(), DefaultSepCMAES(), DefaultCEM(), DefaultRandomSearch()
	cma, limited, xnes := DefaultCMAES(), DefaultLMMAES(), DefaultXNES()
	cma.Population, limited.Population, xnes.Population = population, population, population
	openES.Population, vanilla.Population, ars.Population, pgpe.Population = population, population, population, population
	snes.Population, sep.Population, cem.Population, random.Population = population, population, population, population
	half := max(1, population/2)
	vanilla.Elites, ars.Elites, cem.Elites = half, half, half
	openES.Mirrored = population%2 == 0
	openES.WeightDecay = 0
	all := []Algorithm{openES, vanilla, snes, sep, cma, limited, xnes, cem, random}
	if population%2 == 0 {
		fast := DefaultCRFMNES()
		fast.Population = population
		all = append(all, ars, pgpe, fast)
	}
	return all
}

// TestLearning: every member maximises a function of ten dimensions.
func TestLearning(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	openES, ars := DefaultOpenES(), DefaultARS()
	openES.Population, openES.LearningRate, openES.NoiseStd, openES.WeightDecay = 32, 0.05, 0.05, 0
	ars.Population, ars.Elites, ars.LearningRate, ars.NoiseStd = 32, 8, 0.01, 0.05
	pgpe := DefaultPGPE()
	pgpe.LearningRate = 0.01 // ClipUp's steps have constant length: the mean stays about this far from the optimum
	for _, c := range []struct {
		algorithm   Algorithm
		generations int
		want        float32 // the fitness to reach, below the maximum 0
	}{
		{openES, 300, -0.01}, {VanillaESConfig{Population: 32, Elites: 8, NoiseStd: 0.05}, 300, -0.1}, {ars, 300, -0.02},
		{pgpe, 600, -0.01}, {DefaultSNES(), 300, -1e-6}, {DefaultSepCMAES(), 300, -1e-6}, {DefaultCMAES(), 300, -1e-6}, {DefaultCRFMNES(),
			300, -1e-6}, {DefaultXNES(), 600, -1e-6}, {DefaultLMMAES(), 300, -1e-4},
		{CEMConfig{Population: 32, Elites: 16, ExtraVariance: 0.01, FinalExtraVariance: 1e-8, ExtraVarianceDecay: 0.1}, 300, -1e-4},
		{DefaultRandomSearch(), 300, -150},
	} {
		t.Run(c.algorithm.Name(), func(t *testing.T) {
			space := Space{Members: 3, Dim: 10}
			tr := newTrial(t, eng, c.algorithm, space, make([]float32, 30))
			before := ellipsoid(0, 0, make([]float32, 10))
			for range c.generations {
				tr.step(ellipsoid)
			}
			for m, x := range tr.solution() {
				f := ellipsoid(m, 0, x)
				t.Logf("member %d: from %g to %g", m, before, f)
				if !(f >= c.want) {
					t.Errorf("member %d: fitness %g; want at least %g", m, f, c.want)
				}
			}
		})
	}
}

// TestOddFitness: with populations of one and others, on fitness that is constant, not finite, or as large as float32
// allows, solutions stay finite.
func TestOddFitness(t *testing.T) {
	eng := engine.New(open(t))
	kinds := map[string]func(g, candidate int) float32{
		"constant":     func(g, c int) float32 { return 4 },
		"NaN":          func(g, c int) float32 { return nan },
		"infinite":     func(g, c int) float32 { return []float32{inf, -inf}[c%2] },
		"some NaN":     func(g, c int) float32 { return []float32{nan, float32(c), -inf}[(c+g)%3] },
		"huge":         func(g, c int) float32 { return 3e38 * float32(math.Sin(float64(c*c+g))) },
		"smaller yet":  func(g, c int) float32 { return 1e-44 * float32(c%3) },
		"negative NaN": func(g, c int) float32 { return math.Float32frombits(0xFFC00001) },
	}
	for _, population := range []int{1, 2, 7, 12} {
		for _, algorithm := range gaussians(population) {
			t.Run(fmt.Sprintf("%s/%d", algorithm.Name(), population), func(t *testing.T) {
				start := []float32{1, -2, 3, 0.5, -0.5}
				tr := newTrial(t, eng, algorithm, Space{Members: 1, Dim: 5}, start)
				for kind, f := range kinds {
					tr.must(tr.strategy.Init(t.Context(), start))
					for g := range 6 {
						tr.step(func(_, c int, _ []float32) float32 { return f(g, c) })
					}
					for i, v := range tr.solution()[0] {
						if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 100 {
							t.Errorf("%s: number %d of the solution is %g", kind, i, v)
						}
					}
					for _, tensor := range tr.state.Tensors() {
						if tensor.Type() != engine.Float32 || tensor == tr.generation.ranking.best {
							continue
						}
						for i, v := range tr.values(tensor) {
							if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
								t.Errorf("%s: number %d of %s is %g", kind, i, tensor.Name(), v)
							}
						}
					}
				}
			})
		}
	}
}

// TestConstantFitness: algorithms that compare fitness learn nothing from constant fitness.
func TestConstantFitness(t *testing.T) {
	eng := engine.New(open(t))
	for _, algorithm := range gaussians(12) {
		switch algorithm.(type) {
		case OpenESConfig, ARSConfig, PGPEConfig:
		default:
			continue // by rank only: they perform a random walk
		}
		start := []float32{1, -2, 3, 0.5, -0.5}
		tr := newTrial(t, eng, algorithm, Space{Members: 1, Dim: 5}, start)
		for range 5 {
			tr.step(func(int, int, []float32) float32 { return -3.25 })
		}
		for i, v := range tr.solution()[0] {
			if v != start[i] {
				t.Errorf("%s: number %d moved from %g to %g", algorithm.Name(), i, start[i], v)
			}
		}
	}
}

// TestResume: a run that is saved halfway and resumed in poisoned tensors is bit-identical to an uninterrupted one.
func TestResume(t *testing.T) {
	dev := open(t)
	for _, algorithm := range gaussians(14) {
		t.Run(algorithm.Name(), func(t *testing.T) {
			space := Space{Members: 2, Dim: 9}
			begin := func() *trial {
				return newTrial(t, engine.New(dev, engine.Seed(9)), algorithm, space, make([]float32, 18))
			}
			digest := func(tr *trial) string {
				d, err := tr.state.Digest(t.Context())
				tr.must(err)
				return d
			}
			run := func(tr *trial) {
				for range 4 {
					tr.step(ellipsoid)
				}
			}
			whole := begin()
			run(whole)
			dir := t.TempDir()
			_, err := whole.state.Save(t.Context(), dir, 4)
			whole.must(err)
			half := digest(whole)
			run(whole)
			rest := begin()
			saved, _, err := checkpoint.Latest(dir)
			rest.must(err)
			rest.must(rest.state.Load(t.Context(), saved))
			rest.must(rest.state.Poison(t.Context()))
			if got := digest(rest); got != half {
				t.Fatalf("loaded %s; saved %s", got, half)
			}
			run(rest)
			if a, b := digest(whole), digest(rest); a != b || a == half {
				t.Errorf("the whole run ends with %s, the resumed one with %s, both having been at %s", a, b, half)
			}
		})
	}
}

// TestSettings: invalid settings give one clear error.
func TestSettings(t *testing.T) {
	eng := engine.New(open(t))
	with := func(change func(*PGPEConfig)) Algorithm {
		c := DefaultPGPE()
		change(&c)
		return c
	}
	openES := DefaultOpenES()
	openES.Population = 7
	for _, c := range []struct {
		algorithm Algorithm
		want      string
	}{
		{openES, "a population of 7 cannot be mirrored; want an even number"},
		{ARSConfig{Population: 9, Elites: 2, NoiseStd: 1}, "a population of 9 cannot be mirrored"},
		{ARSConfig{Population: 8, Elites: 5, NoiseStd: 1}, "5 elites of 4 directions, half of the population; want at most as many"},
		{VanillaESConfig{Population: 8, Elites: 9, NoiseStd: 1}, "9 elites of a population of 8; want at most as many"},
		{VanillaESConfig{Population: 0, Elites: 1, NoiseStd: 1}, `"population" is 0: want at least 1`},
		{VanillaESConfig{Population: 8, Elites: 2}, `"noise_std" is 0: want above 0`},
		{CEMConfig{Population: 4, Elites: 5, ExtraVariance: 1, FinalExtraVariance: 1}, "5 elites of a population of 4"},
		{CEMConfig{Population: 4, Elites: 2, ExtraVariance: 1, FinalExtraVariance: 1, ExtraVarianceDecay: 1}, `"extra_variance_decay" is 1`},
		{with(func(c *PGPEConfig) { c.Population = 3 }), "a population of 3 cannot be mirrored"},
		{with(func(c *PGPEConfig) { c.MaxChange = 1 }), `"max_change" is 1`},
		{with(func(c *PGPEConfig) { c.Optimizer = optim.Rule(9) }), "optimizer 9"},
		{with(func(c *PGPEConfig) { c.LearningRate = math.NaN() }), `"learning_rate" is NaN`},
		{SNESConfig{Population: -1, InitStd: 1}, `"population" is -1`},
		{CMAESConfig{Population: 40000, InitStd: 1}, `"population" is 40000`},
		{CRFMNESConfig{Population: 9, InitStd: 1}, "a population of 9 cannot be mirrored"},
		{LMMAESConfig{Vectors: -1, InitStd: 1}, `"vectors" is -1`},
		{XNESConfig{ShapeRate: math.NaN(), InitStd: 1}, `"shape_rate" is NaN`},
		{SepCMAESConfig{InitStd: math.Inf(1)}, `"init_std" is +Inf`},
		{RandomSearchConfig{Population: 3}, `"noise_std" is 0: want above 0`},
	} {
		s := eng.NewState()
		_, err := c.algorithm.New(s, engine.NewClock(s), engine.NewHyper(s, 1), Space{Members: 1, Dim: 3})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v; want %q in it", c.algorithm, err, c.want)
		}
		_ = s.Close()
	}
}

// TestDefaultPopulation compares with the formula's values (N. Hansen, 2016).
func TestDefaultPopulation(t *testing.T) {
	for dim, want := range map[int]int{1: 4, 2: 6, 10: 10, 100: 17, 1000: 24} {
		if got := defaultPopulation(dim); got != want {
			t.Errorf("dimension %d: population %d; want %d", dim, got, want)
		}
	}
}
