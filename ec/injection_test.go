package ec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
)

// otherCandidates leaves every third candidate unchanged, and moves one a little and one far.
func otherCandidates(m, c int, x []float32) []float32 {
	for i := range x {
		x[i] += []float32{0, 0.02, 0.7}[c%3] * float32(math.Sin(float64(5*i+3*c+m)))
	}
	return x
}

// noiseOf returns the noise from which a reference would have formed a candidate, by inverting that linear map in
// float64. If the algorithm adapts its steps to their length, the noise is limited as in N. Hansen, 2011.
func noiseOf(ref reference, x []float64, algorithm Algorithm) []float64 {
	n := len(x)
	center := ref.candidate(make([]float64, n))
	a, b := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		unit := make([]float64, n)
		unit[i] = 1
		for j, v := range ref.candidate(unit) {
			a.Set(j, i, v-center[j])
		}
		b.SetVec(i, x[i]-center[i])
	}
	var z mat.VecDense
	if err := z.SolveVec(a, b); err != nil {
		panic(err)
	}
	switch algorithm.(type) {
	case SNESConfig, SepCMAESConfig, LMMAESConfig, CRFMNESConfig:
		limitLength(&z)
	}
	return slices.Clone(z.RawVector().Data)
}

// limitLength shortens a vector to at most √n + 2 n / (n + 2).
func limitLength(z *mat.VecDense) {
	n := float64(z.Len())
	z.ScaleVec(min(1, (math.Sqrt(n)+2*n/(n+2))/mat.Norm(z, 2)), z)
}

// TestUpdatesByOtherCandidates compares generations in which most candidates were changed, some by much, with float64
// references.
func TestUpdatesByOtherCandidates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for _, c := range []updateCase{
		{"adam", OpenESConfig{Population: 11, LearningRate: 0.1, NoiseStd: 0.2, WeightDecay: 0.05, Optimizer: optim.Adam,
			Shaping: CenteredRank}, 7, newOpenES(false, CenteredRank, optim.Adam, 0.05)},
		{"mirrored", OpenESConfig{Population: 34, LearningRate: 0.05, NoiseStd: 0.1, WeightDecay: 0.1, Optimizer: optim.RMSProp,
			Mirrored: true, Shaping: Normalize}, 13, newOpenES(true, Normalize, optim.RMSProp, 0.1)},
		{"odd", VanillaESConfig{Population: 23, Elites: 5, NoiseStd: 0.3}, 10, newVanillaES(5)},
		{"adam", PGPEConfig{Population: 18, LearningRate: 0.1, DeviationRate: 0.5, InitStd: 0.4, MaxChange: 0.05, Optimizer: optim.Adam,
			Shaping: Standardize}, 9, newPGPE(Standardize, optim.Adam)},
		{"default", DefaultSNES(), 10, newSNES},
		{"odd", SNESConfig{Population: 25, LearningRate: 0.9, DeviationRate: 0.3, InitStd: 0.5}, 7, newSNES},
		{"odd", CEMConfig{Population: 9, Elites: 4, ExtraVariance: 0.3, FinalExtraVariance: 0.01, ExtraVarianceDecay: 0.2}, 5, newCEM(4)},
		{"default", DefaultSepCMAES(), 10, newSepCMAES(0.1)},
		{"odd", SepCMAESConfig{Population: 33, InitStd: 0.7}, 5, newSepCMAES(0.7)},
		{"default", DefaultLMMAES(), 30, newLMMAES(0.1, 0)},
		{"odd", LMMAESConfig{Population: 7, Vectors: 3, InitStd: 0.7}, 21, newLMMAES(0.7, 3)},
		{"large", LMMAESConfig{Population: 12, InitStd: 0.3}, 131, newLMMAES(0.3, 0)},
		{"default", DefaultCRFMNES(), 10, newCRFMNES(0.1)},
		{"small", CRFMNESConfig{Population: 8, InitStd: 0.5}, 3, newCRFMNES(0.5)},
		{"large", CRFMNESConfig{Population: 16, InitStd: 0.3}, 131, newCRFMNES(0.3)},
	} {
		t.Run(c.algorithm.Name()+"/"+c.name, func(t *testing.T) { checkUpdates(t, eng, c, otherCandidates) })
	}
}

// TestPopulationsOfOtherCandidates: algorithms with a population as their state adopt the given candidates; against
// float64.
func TestPopulationsOfOtherCandidates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	t.Run("ga", func(t *testing.T) {
		c := DefaultGA()
		c.Population, c.EliteRatio, c.Plus, c.InitialStd, c.MutationStd, c.Crossover = 9, 0.5, true, 0.7, 0.4, UniformCrossover
		generationsOfGA(t, eng, c, Space{Members: 2, Dim: 7}, otherCandidates)
		c.Plus = false
		generationsOfGA(t, eng, c, Space{Members: 3, Dim: 5}, otherCandidates)
	})
	t.Run("de", func(t *testing.T) {
		c := DefaultDE()
		c.Population, c.InitialStd = 11, 0.8
		generationsOfDE(t, eng, c, Space{Members: 2, Dim: 6}, otherCandidates)
	})
	t.Run("shade", func(t *testing.T) {
		c := DefaultSHADE()
		c.Population, c.Memory, c.InitialStd = 70, 4, 0.8
		generationsOfDE(t, eng, c, Space{Members: 2, Dim: 6}, otherCandidates)
	})
	inside := func(m, c int, x []float32) []float32 { // in the bounds of box
		s := box(1, len(x))
		if x = otherCandidates(m, c, x); m < 2 && len(x) < 7 {
			s.clamp(x)
		}
		return x
	}
	t.Run("pso", func(t *testing.T) { generationsOfPSO(t, inside) })
	t.Run("cso", func(t *testing.T) { generationsOfCSO(t, inside) })
}

// candidateAlgorithms returns the algorithms that can be told other candidates, with the tolerance of their state
// when told their own: those that draw mirrored noise then sum it in another order.
func candidateAlgorithms() map[Algorithm]float64 {
	const rounding = 2e-6
	shade, de, pso := DefaultSHADE(), DefaultDE(), DefaultPSO()
	shade.Population, de.Population, pso.Population = 20, 20, 20
	ga := DefaultGA()
	ga.Population = 15
	table := DefaultOpenES()
	table.Population, table.Mirrored, table.NoiseTable = 33, false, 4096
	return map[Algorithm]float64{
		DefaultOpenES(): rounding, table: 0, DefaultVanillaES(): 0, DefaultPGPE(): rounding, DefaultSNES(): 0, DefaultCEM(): 0,
		DefaultCMAES(): 0, DefaultSepCMAES(): 0,
		DefaultLMMAES(): 0, DefaultCRFMNES(): rounding, ga: 0, de: 0, shade: 0, pso: 0, DefaultCSO(): 0, DefaultRandomSearch(): 0,
	}
}

// TestOwnCandidates: told its own candidates, an algorithm makes the same update as by Tell.
func TestOwnCandidates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(11))
	for algorithm, tolerance := range candidateAlgorithms() {
		t.Run(algorithm.Name(), func(t *testing.T) {
			space := Space{Members: 2, Dim: 9}
			scores, given := newTrial(t, eng, algorithm, space, starts(space)), newTrial(t, eng, algorithm, space, starts(space))
			given.change(func(_, _ int, x []float32) []float32 { return x })
			for range 4 {
				scores.step(ellipsoid)
				given.step(ellipsoid)
			}
			for _, tensor := range scores.state.Tensors() {
				if tensor.Type() != engine.Float32 {
					if got, want := mustUint32(t, given.state.Lookup(tensor.Name())), mustUint32(t, tensor); !slices.Equal(got, want) {
						t.Errorf("%s is %v; want %v", tensor.Name(), got, want)
					}
					continue
				}
				got, want := given.values(given.state.Lookup(tensor.Name())), scores.values(tensor)
				for i := range want { // some tensors use NaN for empty
					if want[i] != want[i] && got[i] != got[i] {
						want[i], got[i] = 0, 0
					}
				}
				if d := deviation(got, wide(want)); !(d <= tolerance) {
					t.Errorf("%s deviates by %.1e; want at most %.1e", tensor.Name(), d, tolerance)
				}
			}
		})
	}
}

// TestCMAESByOtherCandidates compares generations of full-matrix CMA-ES in which most candidates were changed with
// float64.
func TestCMAESByOtherCandidates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for _, c := range []struct {
		dim, population int
		std             float64
	}{{2, 6, 0.5}, {7, 21, 0.3}, {33, 20, 0.5}, {61, 17, 0.2}} {
		t.Run(fmt.Sprint(c.dim), func(t *testing.T) { checkCMAESByOthers(t, eng, c.dim, c.population, c.std) })
	}
}

func checkCMAESByOthers(t *testing.T, eng *engine.Engine, dim, population int, std float64) {
	space := Space{Members: 2, Dim: dim}
	tr := newTrial(t, eng, CMAESConfig{Population: population, InitStd: std}, space, starts(space))
	tr.change(otherCandidates)
	var refs [2]*refCMAES
	for m := range refs {
		refs[m] = newRefCMAES(wide(starts(space)[m*dim:][:dim]), std)
	}
	worst, long := 0.0, 0
	for g := range 6 {
		var roots [2]*mat.Dense
		for m := range roots {
			roots[m] = inverseRoot(tr.frame(m))
		}
		given, scores := tr.step(ellipsoid)
		for m, ref := range refs {
			steps := make([][]float64, population)
			for k, x := range given[m] {
				y, z := mat.NewVecDense(dim, wide(x)), mat.NewVecDense(dim, nil)
				y.SubVec(y, ref.mean)
				y.ScaleVec(1/ref.sigma, y)
				z.MulVec(roots[m], y)
				before := mat.Norm(z, 2)
				if limitLength(z); !slices.Equal(x, tr.proposed[m][k]) && mat.Norm(z, 2) < before {
					y.ScaleVec(mat.Norm(z, 2)/before, y)
					long++
				}
				steps[k] = y.RawVector().Data
			}
			ref.tell(steps, wide(scores[m]), roots[m])
			for name, want := range map[string][]float64{
				"mean": ref.mean.RawVector().Data, "sigma": {ref.sigma}, "path_sigma": ref.ps.RawVector().Data, "path_c": ref.pc.RawVector().Data,
			} {
				tensor := tr.state.Lookup("ec/" + name)
				d := deviation(tr.values(tensor)[m*tensor.Len()/2:][:len(want)], want)
				if worst = max(worst, d); !(d <= 1e-5) {
					t.Errorf("generation %d: %s of member %d deviates by %.1e", g, name, m, d)
				}
			}
			got := tr.covariance(m)
			got.Sub(got, ref.c)
			if d := max(mat.Max(got), -mat.Min(got)) / mat.Max(ref.c); !(d <= 1e-5) {
				t.Errorf("generation %d: the covariance matrix of member %d deviates by %.1e", g, m, d)
			}
		}
	}
	if t.Logf("largest relative deviation %.1e, %d steps were too long", worst, long); long == 0 {
		t.Error("no step was longer than the limit, so that it is not tested")
	}
}

// TestBrokenCandidates: candidates that are not finite do not spread: the algorithm is told its own in their place,
// with fitness NaN.
func TestBrokenCandidates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(12))
	for algorithm, tolerance := range candidateAlgorithms() {
		t.Run(algorithm.Name(), func(t *testing.T) {
			space := Space{Members: 2, Dim: 9}
			scores, given := newTrial(t, eng, algorithm, space, starts(space)), newTrial(t, eng, algorithm, space, starts(space))
			given.change(func(m, c int, x []float32) []float32 {
				if c%4 == 1 {
					x[(c+m)%9] = []float32{nan, inf, -inf}[c%3]
				}
				return x
			})
			for range 3 {
				given.step(func(_, c int, x []float32) float32 {
					if c%4 == 1 {
						return 1000
					}
					return ellipsoid(0, 0, x)
				})
				scores.step(func(_, c int, x []float32) float32 {
					if c%4 == 1 {
						return nan
					}
					return ellipsoid(0, 0, x)
				})
			}
			if d := deviation(slices.Concat(given.solution()...), wide(slices.Concat(scores.solution()...))); !(d <= tolerance) {
				t.Errorf("the solution deviates by %.1e; want at most %.1e", d, tolerance)
			}
		})
	}
}

// TestCandidatesError: the other algorithms return a CandidatesError, and the list of CandidateStrategy algorithms is
// complete.
func TestCandidatesError(t *testing.T) {
	eng := engine.New(open(t))
	named := CandidateAlgorithms()
	var can []string
	for algorithm := range candidateAlgorithms() {
		can = append(can, algorithm.Name())
	}
	slices.Sort(named)
	slices.Sort(can)
	if can = slices.Compact(can); !slices.Equal(can, named) {
		t.Errorf("the error names %v; want %v", named, can)
	}
	for _, c := range []struct {
		algorithm  Algorithm
		objectives int
	}{{DefaultARS(), 1}, {DefaultXNES(), 1}, {DefaultNSGA2(), 2}, {DefaultNSGA3(), 2}, {DefaultMOEAD(), 2}} {
		s := eng.NewState()
		space := Space{Members: 1, Dim: 3, Objectives: c.objectives}
		g, err := NewGeneration(s, engine.NewClock(s), engine.NewHyper(s, 1), c.algorithm, space)
		if err != nil {
			t.Fatal(err)
		}
		_, err = eng.Record("tell", func(r *engine.Recorder) {
			g.TellCandidates(r, g.NewCandidates("candidates", g.Population()), g.NewFitness("evaluated"))
		})
		var refused *CandidatesError
		if !errors.As(err, &refused) || refused.Algorithm != c.algorithm.Name() || !errors.As(g.CheckCandidates(),
			&refused) || !strings.Contains(err.Error(), "vanilla-es") {
			t.Errorf("%s told of other candidates: error %v; want a *CandidatesError", c.algorithm.Name(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
