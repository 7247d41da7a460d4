package ec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// rowOf lays out matrices and vectors, rows and columns each, one after the other; 0 rows: a vector.
func rowOf(shapes ...[2]int) (all []nn.Parameter, dim int) {
	for _, s := range shapes {
		p := nn.Parameter{At: dim, Rows: s[0], Columns: s[1]}
		all, dim = append(all, p), dim+p.Len()
	}
	return all, dim
}

// tied makes references of strategies with a deviation for every matrix.
func tied(of func(settings, []float64, int) reference, shapes [][2]int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, population int) reference {
		var matrices []nn.Parameter
		all, _ := rowOf(shapes...)
		for _, p := range all {
			if p.Rows > 0 {
				matrices = append(matrices, p)
			}
		}
		made := of(h, start, population)
		switch r := made.(type) {
		case *refPGPE:
			r.tied = matrices
		case *refSNES:
			r.tied = matrices
		}
		return made
	}
}

// TestLowRankUpdates compares generations with candidates of low rank with the references that form every candidate and sum over them.
func TestLowRankUpdates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	odd := [][2]int{{5, 7}, {0, 7}, {7, 3}, {0, 3}, {0, 1}}
	for _, c := range []struct {
		updateCase
		shapes [][2]int
	}{
		{updateCase{name: "one", algorithm: OpenESConfig{Population: 10, LearningRate: 0.1, NoiseStd: 0.2, WeightDecay: 0.05, Optimizer: optim.Adam,
			Mirrored: true, Shaping: CenteredRank, Rank: 1}, make: newOpenES(true, CenteredRank, optim.Adam, 0.05)}, odd},
		{updateCase{name: "two", algorithm: OpenESConfig{Population: 7, LearningRate: 0.1, NoiseStd: 0.3, WeightDecay: 0.1, Optimizer: optim.AdamW,
			Shaping: Standardize, Rank: 2}, make: newOpenES(false, Standardize, optim.AdamW, 0.1)}, odd},
		{updateCase{name: "wide", algorithm: OpenESConfig{Population: 34, LearningRate: 0.1, NoiseStd: 0.1, Optimizer: optim.ClipUp,
			Mirrored: true, Shaping: Normalize, Rank: 1}, make: newOpenES(true, Normalize, optim.ClipUp, 0)}, [][2]int{{64, 72}, {0, 72}, {72, 1}}},
		{updateCase{name: "chunks", algorithm: OpenESConfig{Population: 1700, LearningRate: 0.1, NoiseStd: 0.1, Optimizer: optim.SGD,
			Shaping: CenteredRank, Rank: 32}, make: newOpenES(false, CenteredRank, optim.SGD, 0)}, odd},
		{updateCase{name: "grouped", algorithm: OpenESConfig{Population: 12, LearningRate: 0.1, NoiseStd: 0.1, Optimizer: optim.SGD,
			Shaping: Grouped, Group: 4, Rank: 1, NoiseReuse: 3}, make: inGroups(4, optim.SGD)}, odd},
		{updateCase{name: "reuse", algorithm: OpenESConfig{Population: 10, LearningRate: 0.1, NoiseStd: 0.2, Optimizer: optim.Adam,
			Mirrored: true, Shaping: CenteredRank, Rank: 2, NoiseReuse: 2}, make: newOpenES(true, CenteredRank, optim.Adam, 0)}, odd},
		{updateCase{name: "matrix", algorithm: VanillaESConfig{Population: 23, Elites: 5, NoiseStd: 0.3, Rank: 3}, make: newVanillaES(5)}, [][2]int{{6, 4}}},
		{updateCase{name: "pairs", algorithm: PGPEConfig{Population: 12, LearningRate: 0.1, DeviationRate: 0.2, InitStd: 0.4, MaxChange: 0.2, Optimizer: optim.ClipUp,
			Shaping: CenteredRank, Rank: 1}, make: tied(newPGPE(CenteredRank, optim.ClipUp), odd)}, odd},
		{updateCase{name: "ranks", algorithm: PGPEConfig{Population: 1400, LearningRate: 0.1, DeviationRate: 0.2, InitStd: 0.4, MaxChange: 0.1, Optimizer: optim.SGD,
			Shaping: Standardize, Rank: 3}, make: tied(newPGPE(Standardize, optim.SGD), odd)}, odd},
		{updateCase{name: "one", algorithm: SNESConfig{Population: 25, LearningRate: 0.9, DeviationRate: 0.3, InitStd: 0.5, Rank: 1}, make: tied(newSNES, odd)}, odd},
		{updateCase{name: "two", algorithm: SNESConfig{Population: 17, LearningRate: 1, DeviationRate: 0.2, InitStd: 1, Rank: 2}, make: tied(newSNES, odd)}, odd},
		{updateCase{name: "directions", algorithm: ARSConfig{Population: 22, Elites: 4, LearningRate: 0.1, NoiseStd: 0.2, Rank: 1}, make: newARS(4)}, odd},
	} {
		t.Run(c.algorithm.Name()+"/"+c.name, func(t *testing.T) {
			parameters, dim := rowOf(c.shapes...)
			c.dim = dim
			checkUpdatesIn(t, eng, c.updateCase, parameters, nil)
		})
	}
}

// TestLowRankMoments: every element of A Bᵀ / √r has mean 0, variance 1 and kurtosis 3 + 6 / r, and different ones are uncorrelated, for every rank, also
// of at least min(a, b); vectors are normal.
func TestLowRankMoments(t *testing.T) {
	s := engine.New(open(t), engine.Seed(3)).NewState()
	defer func() { _ = s.Close() }()
	parameters, dim := rowOf([2]int{3, 5}, [2]int{0, 2})
	space := Space{Members: 1, Dim: dim, Parameters: parameters}
	const draws = 40000
	for _, rank := range []int{1, 2, 3, 8} {
		noise := NewNoise(s.Sub(fmt.Sprint(rank)), engine.NewClock(s.Sub(fmt.Sprint(rank))), space, draws, false)
		layout, err := space.lowRank(rank)
		if err != nil {
			t.Fatal(err)
		}
		noise.lowRank = &lowRank{LowRank: layout, reuse: 1}
		mean, product, fourth := make([]float64, dim), make([][]float64, dim), make([]float64, dim)
		for i := range product {
			product[i] = make([]float64, dim)
		}
		for c := range draws {
			z := noise.Draw(3, 0, c, 0)
			for i, x := range z {
				mean[i] += x / draws
				fourth[i] += x * x * x * x / draws
				for j, y := range z {
					product[i][j] += x * y / draws
				}
			}
		}
		kurtosis := 3 + 6/float64(rank)
		for i := range dim {
			want, bound := kurtosis, 2.5 // of rank 1, the deviation of the mean fourth power is sqrt(105² - 9²) / 200
			if i >= 15 {
				want, bound = 3, 0.25
			}
			if !(math.Abs(mean[i]) < 0.03) || !(math.Abs(fourth[i]-want) < bound) {
				t.Errorf("rank %d: element %d has mean %g and kurtosis %g; want 0 and %g", rank, i, mean[i], fourth[i], want)
			}
			for j := range dim {
				want := 0.0
				if i == j {
					want = 1
				}
				if !(math.Abs(product[i][j]-want) < 0.08) {
					t.Errorf("rank %d: the covariance of elements %d and %d is %g; want %g", rank, i, j, product[i][j], want)
				}
			}
		}
	}
}

// TestLowRankPerturb: factors and vectors of any window are those of which the candidates are formed.
func TestLowRankPerturb(t *testing.T) {
	parameters, dim := rowOf([2]int{5, 7}, [2]int{0, 7}, [2]int{7, 3}, [2]int{0, 3})
	const members, population = 2, 10
	for _, mirrored := range []bool{false, true} {
		cfg := OpenESConfig{Population: population, NoiseStd: 0.3, Mirrored: mirrored, Rank: 2}
		start := make([]float32, members*dim)
		for i := range start {
			start[i] = float32(math.Cos(float64(i)))
		}
		tr := newTrial(t, engine.New(open(t), engine.Seed(9)), cfg, Space{Members: members, Dim: dim, Parameters: parameters}, start)
		whole, of := tr.candidates(), tr.strategy.(LowRankStrategy)
		layout := of.LowRank()
		for first, count := range map[int]int{0: 10, 3: 4, 5: 5, 9: 1, 2: 3} {
			scope := tr.state.Sub(fmt.Sprint(mirrored, first))
			into := of.NewPerturbation(scope, count)
			tr.must(tr.state.Poison(t.Context()))
			var weights nn.Weights
			program, err := tr.eng.Record("perturb", func(r *engine.Recorder) { weights = of.Perturb(r, first, into) })
			tr.must(err)
			tr.must(program.Run(t.Context()))
			program.Free()
			p := weights.Perturbation
			if p.First != first || p.Mirrored != mirrored {
				t.Errorf("first %d, mirrored %t; want %d, %t", p.First, p.Mirrored, first, mirrored)
			}
			factors, vectors := tr.values(p.Factors), tr.values(p.Vectors)
			for m := range members {
				for c := range count {
					draw, sign := c, 1.0
					if mirrored {
						draw, sign = (first+c)/2-first/2, 1-2*float64((first+c)%2)
					}
					numbers := wide(factors[(m*p.Draws()+draw)*2*layout.Component:][:2*layout.Component])
					z := (&lowRank{LowRank: layout, reuse: 1}).form(append(numbers, make([]float64, layout.Floats)...), dim)
					for i := range z {
						z[i] = float64(start[m*dim+i]) + 0.3*sign*z[i]
					}
					for _, v := range layout.Vectors {
						copy(z[v.At:], wide(vectors[(m*count+c)*layout.Floats+v.Offset:][:v.Columns]))
					}
					if d := deviation(whole[m][first+c], z); !(d <= 1e-5) {
						t.Errorf("mirrored %t: candidate %d of member %d deviates by %.1e", mirrored, first+c, m, d)
					}
				}
			}
		}
	}
}

// TestLowRankReuse: the noise changes after as many generations as settings say, not before.
func TestLowRankReuse(t *testing.T) {
	parameters, dim := rowOf([2]int{5, 7}, [2]int{0, 7})
	for _, reuse := range []int{0, 1, 2, 1000} {
		cfg := OpenESConfig{Population: 4, LearningRate: 0, NoiseStd: 0.3, Rank: 1, NoiseReuse: reuse} // the mean stays where it is
		tr := newTrial(t, engine.New(open(t)), cfg, Space{Members: 1, Dim: dim, Parameters: parameters}, make([]float32, dim))
		var before []float32
		for g := range 5 {
			population, _ := tr.step(ellipsoid)
			now := population[0][0]
			if g > 0 {
				if same := slices.Equal(now, before); same != (g%max(1, reuse) != 0) {
					t.Errorf("noise_reuse %d: generation %d has the candidates of the one before: %t", reuse, g, same)
				}
			}
			before = now
		}
	}
}

// TestOpenESErrors: groups and reuse that do not suit the other settings.
func TestOpenESErrors(t *testing.T) {
	for want, change := range map[string]func(*OpenESConfig){
		"or shaping grouped": func(c *OpenESConfig) { c.Group = 4 },
		"want a divisor":     func(c *OpenESConfig) { c.Shaping, c.Group = Grouped, 5 },
		"in groups of 0":     func(c *OpenESConfig) { c.Shaping = Grouped },
		"groups of 3":        func(c *OpenESConfig) { c.Shaping, c.Group, c.Population = Grouped, 3, 12 },
		"every generation":   func(c *OpenESConfig) { c.NoiseReuse = 2 },
		"from a table of":    func(c *OpenESConfig) { c.NoiseTable, c.Rank = 1<<20, 1 },
		"cannot be mirrored": func(c *OpenESConfig) { c.Population = 7 },
	} {
		c := DefaultOpenES()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	c := DefaultPGPE()
	if c.Shaping = Grouped; c.Validate() == nil {
		t.Error("PGPE takes shaping grouped")
	}
}

// TestLowRankErrors: what takes rows refuses candidates of low rank.
func TestLowRankErrors(t *testing.T) {
	eng := engine.New(open(t))
	parameters, dim := rowOf([2]int{3, 2})
	space := Space{Members: 1, Dim: dim, Parameters: parameters}
	cfg := DefaultOpenES()
	cfg.Rank = 1
	var of *RankError
	if _, err := NewAskTell(eng, cfg, space); !errors.As(err, &of) || of.Rank != 1 {
		t.Errorf("ask and tell: %v; want a *RankError", err)
	}
	s := eng.NewState()
	defer func() { _ = s.Close() }()
	g, err := NewGeneration(s, engine.NewClock(s), engine.NewHyper(s, 1), cfg, space)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.CheckCandidates(); !errors.As(err, &of) {
		t.Errorf("candidates of others: %v; want a *RankError", err)
	}
	for want, space := range map[string]Space{
		"without matrices": {Members: 1, Dim: 6},
		"want as many":     {Members: 1, Dim: 7, Parameters: parameters},
		"with bounds":      {Members: 1, Dim: 6, Parameters: parameters, Low: make([]float32, 6), High: []float32{1, 1, 1, 1, 1, 1}},
	} {
		if err := cfg.Check(space); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	cfg.NoiseTable = 1 << 20
	if err := cfg.Validate(); err == nil {
		t.Error("rank 1 with a table of noise is accepted")
	}
}
