package ec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// mixingTrial is a generation with importance mixing and the test's fitness.
type mixingTrial struct {
	t          *testing.T
	eng        *engine.Engine
	space      Space
	state      *engine.State
	generation *Generation
	mixing     *Mixing
	rows       *engine.Tensor // [M · N, row]
	proposed   *engine.Tensor // [M · N, row]: the strategy's own candidates
	fitness    *engine.Tensor // [M, N]
	open       *engine.Tensor // [M, N] u32
	ask, tell  *engine.Program
	number     int // of the generation
}

// newMixingTrial makes a trial. All that is not saved begins poisoned.
func newMixingTrial(t *testing.T, eng *engine.Engine, algorithm Algorithm, space Space) *mixingTrial {
	t.Helper()
	x := &mixingTrial{t: t, eng: eng, state: eng.NewState()}
	t.Cleanup(func() { _ = x.state.Close() })
	clock, hyper := engine.NewClock(x.state), engine.NewHyper(x.state, space.Members)
	var err error
	x.generation, err = NewGeneration(x.state, clock, hyper, algorithm, space)
	x.must(err)
	x.space = x.generation.Space()
	x.mixing, err = x.generation.NewMixing(x.state.Sub("mixing"), clock)
	x.must(err)
	count := x.generation.Population()
	x.rows, x.proposed = x.generation.NewCandidates("rows", count), x.generation.NewCandidates("own", count)
	x.fitness, x.open = x.generation.NewFitness("evaluated"), x.state.Scratch("open", engine.Uint32, x.generation.dims()...)
	x.must(x.state.Zero(t.Context()))
	x.must(x.state.Poison(t.Context()))
	x.must(hyper.Init(t.Context()))
	x.must(x.generation.Init(t.Context(), starts(space)))
	x.ask, err = eng.Record("ask", func(r *engine.Recorder) {
		x.generation.Ask(r)
		x.generation.Candidates(r, Pick{}, x.rows)
		r.Copy(x.proposed, x.rows)
		x.mixing.Record(r, x.rows, x.open)
	})
	x.must(err)
	x.tell, err = eng.Record("tell", func(r *engine.Recorder) {
		x.mixing.Restore(r, x.fitness)
		x.mixing.Remember(r, x.rows, x.fitness, x.open)
		x.generation.TellCandidates(r, x.rows, x.fitness)
		clock.Tick(r, 1, 0)
	})
	x.must(err)
	t.Cleanup(func() {
		x.ask.Free()
		x.tell.Free()
	})
	return x
}

func (x *mixingTrial) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// candidates asks for a generation in which the given places are open [M][N].
func (x *mixingTrial) candidates(open [][]uint32) {
	x.t.Helper()
	x.must(x.open.WriteUint32(x.t.Context(), slices.Concat(open...)))
	x.must(x.ask.Run(x.t.Context()))
}

// learn tells the generation, with the fitness of each of its candidates.
func (x *mixingTrial) learn(fitness func(x []float32) float32) {
	x.t.Helper()
	rows, row := floats(x.t, x.rows), x.space.Row()
	var all []float32
	for i := range len(rows) / row {
		all = append(all, fitness(rows[i*row:][:x.space.Dim]))
	}
	x.must(x.fitness.WriteFloat32(x.t.Context(), all))
	x.must(x.tell.Run(x.t.Context()))
	x.number++
}

func floats(t *testing.T, x *engine.Tensor) []float32 {
	t.Helper()
	all, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// gaussian is a Normal of one search in float64.
type gaussian struct{ mean, deviation, basis []float64 }

// gaussian reads a distribution.
func (x *mixingTrial) gaussian(of Normal, search int) gaussian {
	x.t.Helper()
	dim, row := x.space.Dim, x.space.Row()
	g := gaussian{mean: make([]float64, dim), deviation: make([]float64, dim)}
	mean := floats(x.t, of.Mean)
	for i := range dim {
		g.mean[i], g.deviation[i] = float64(mean[search*row+i]), 1
	}
	if of.Deviation != nil {
		for i, v := range floats(x.t, of.Deviation)[search*row:][:dim] {
			g.deviation[i] *= float64(v)
		}
	}
	if of.Factor != nil {
		for i := range dim {
			g.deviation[i] *= float64(floats(x.t, of.Factor)[search])
		}
	}
	for i := range dim * dim {
		b := 0.0
		if i/dim == i%dim {
			b = 1
		}
		if of.Basis != nil {
			b = float64(floats(x.t, of.Basis)[(search*dim+i/dim)*row+i%dim])
		}
		g.basis = append(g.basis, b)
	}
	return g
}

// logDensity returns log p(x), without the constant of all normal distributions.
func (g gaussian) logDensity(x []float32) (log float64) {
	dim := len(g.mean)
	for i := range dim {
		along := 0.0
		for j := range dim {
			along += g.basis[i*dim+j] * (float64(x[j]) - g.mean[j])
		}
		log -= along*along/g.deviation[i]/g.deviation[i]/2 + math.Log(g.deviation[i])
	}
	return log
}

// at returns mean + Σ deviation z b.
func (g gaussian) at(z []float64) []float64 {
	x, dim := slices.Clone(g.mean), len(g.mean)
	for i := range dim {
		for j := range dim {
			x[j] += g.deviation[i] * z[i] * g.basis[i*dim+j]
		}
	}
	return x
}

// expected returns the sources of a search's candidates by the paper's algorithm in float64, as mix_choose.comp numbers
// them.
func (x *mixingTrial) expected(search int, old, open []uint32, now, earlier gaussian) []uint32 {
	x.t.Helper()
	count, row := x.generation.Population(), x.space.Row()
	unit := func(i int) (u [2]float64) {
		words := engine.Philox([2]uint32{x.eng.Seed(), x.mixing.stream}, [4]uint32{uint32(search), uint32(i), uint32(x.number), 0})
		return [2]float64{float64(words[0]>>8) / (1 << 24), float64(words[1]>>8) / (1 << 24)}
	}
	places := 0
	for _, is := range open {
		places += int(is)
	}
	rows, samples := floats(x.t, x.mixing.rows), floats(x.t, x.mixing.samples)
	var taken []uint32
	for i := 0; i < count && len(taken) < places; i++ {
		if old[i] == 0 {
			continue
		}
		u := unit(i)
		of := func(rows []float32) float64 {
			c := rows[(search*count+i)*row:][:x.space.Dim]
			return now.logDensity(c) - earlier.logDensity(c)
		}
		keep, use := min(1, math.Exp(of(rows))), max(0, 1-math.Exp(-of(samples)))
		if math.Abs(keep-u[0]) < 1e-5 || math.Abs(use-u[1]) < 1e-5 {
			x.t.Fatalf("search %d: candidate %d is decided by rounding; want another seed", search, i)
		}
		if keep > u[0] {
			taken = append(taken, uint32(1+i))
		}
		if use > u[1] {
			taken = append(taken, uint32(1+count+i))
		}
	}
	if len(taken) > places {
		at := int(unit(count)[0] * float64(len(taken)))
		taken = slices.Delete(taken, at, at+1)
	}
	slices.SortStableFunc(taken, func(a, b uint32) int { // samples first
		switch before, after := a > uint32(count), b > uint32(count); {
		case before && !after:
			return -1
		case after && !before:
			return 1
		}
		return 0
	})
	source, place := make([]uint32, count), 0
	for i, is := range open {
		if is == 0 {
			continue
		}
		if at := place - (places - len(taken)); at >= 0 {
			source[i] = taken[at]
		}
		place++
	}
	return source
}

// TestMixing: which candidates of generations come from the previous one, and with which fitness, against float64 with the same random numbers. Other
// places are closed in every generation, and closed candidates are not reused.
func TestMixing(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	slow := DefaultOpenES()
	slow.Population, slow.LearningRate, slow.NoiseStd = 22, 0.05, 0.2
	for _, c := range []struct {
		algorithm Algorithm
		dim       int
	}{
		{slow, 7}, {VanillaESConfig{Population: 23, Elites: 9, NoiseStd: 0.3}, 5},
		{PGPEConfig{Population: 18, LearningRate: 0.2, DeviationRate: 0.5, InitStd: 0.4, MaxChange: 0.05, Shaping: Standardize}, 9},
		{SNESConfig{Population: 35, LearningRate: 0.5, DeviationRate: 0.3, InitStd: 0.5}, 6},
		{CEMConfig{Population: 29, Elites: 20, ExtraVariance: 0.3, FinalExtraVariance: 0.1, ExtraVarianceDecay: 0.2}, 3},
		{SepCMAESConfig{Population: 33, InitStd: 0.7}, 5}, {CMAESConfig{Population: 21, InitStd: 0.6}, 5}, {CMAESConfig{Population: 150, InitStd: 0.6}, 11},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.algorithm.Name(), c.dim), func(t *testing.T) {
			const members = 2
			x := newMixingTrial(t, eng, c.algorithm, Space{Members: members, Dim: c.dim})
			count, row := x.generation.Population(), x.space.Row()
			old := make([][]uint32, members)
			for m := range old {
				old[m] = make([]uint32, count)
			}
			var kept []float32
			reused, used, closed := 0, 0, 0
			for g := range 6 {
				var places [][]uint32
				for m := range members {
					places = append(places, make([]uint32, count))
					for i := range count {
						if places[m][i] = 1; (i*7+3*g+m)%5 < g%3 {
							places[m][i], closed = 0, closed+1
						}
					}
				}
				before := floats(t, x.mixing.rows)
				x.candidates(places)
				rows, own, samples := floats(t, x.rows), floats(t, x.proposed), floats(t, x.mixing.samples)
				sources, marks, share := mustUint32(t, x.mixing.source), mustUint32(t, x.mixing.Reused()), floats(t, x.mixing.share)
				for m := range members {
					now := x.gaussian(x.mixing.strategy.Normal(), m)
					for i := range count {
						want := now.at(x.mixing.densities.noise.Draw(eng.Seed(), m, i, g))
						for k, v := range samples[(m*count+i)*row:][:c.dim] {
							if !(math.Abs(float64(v)-want[k]) <= 2e-6*max(1, math.Abs(want[k]))) {
								t.Fatalf("generation %d, search %d: number %d of sample %d is %g; want %g", g, m, k, i, v, want[k])
							}
						}
					}
					expected := make([]uint32, count)
					if g > 0 {
						expected = x.expected(m, old[m], places[m], now, x.gaussian(x.mixing.earlier, m))
					}
					if got := sources[m*count:][:count]; !slices.Equal(got, expected) {
						t.Fatalf("generation %d, search %d: sources %v; want %v", g, m, got, expected)
					}
					here := 0
					for i, s := range expected {
						from, mark := own[(m*count+i)*row:], uint32(0)
						switch {
						case s > uint32(count):
							from, used = samples[(m*count+int(s)-1-count)*row:], used+1
						case s > 0:
							from, mark, here = before[(m*count+int(s)-1)*row:], 1, here+1
						}
						if !slices.Equal(rows[(m*count+i)*row:][:row], from[:row]) || marks[m*count+i] != mark {
							t.Errorf("generation %d, search %d: candidate %d is not that of source %d", g, m, i, s)
						}
					}
					reused += here
					if want := float32(here) / float32(count); share[m] != want {
						t.Errorf("generation %d, search %d: %g are reused; want %g", g, m, share[m], want)
					}
				}
				x.learn(func(x []float32) (f float32) { // differs between generations
					for i, v := range x {
						f -= (v - 0.3*float32(i)) * (v - 0.3*float32(i))
					}
					return f - float32(g)
				})
				fitness := floats(t, x.fitness)
				for i, s := range sources {
					if at := i/count*count + int(s) - 1; s > 0 && s <= uint32(count) && fitness[i] != kept[at] {
						t.Errorf("generation %d: reused candidate %d has fitness %g; before it had %g", g, i, fitness[i], kept[at])
					}
				}
				kept, old = fitness, places
			}
			if t.Logf("%d candidates reused, %d samples used, %d places closed", reused, used, closed); reused < 10 || used < 10 || closed < 10 {
				t.Errorf("%d candidates reused, %d samples used, %d places closed; want at least 10 of each", reused, used, closed)
			}
		})
	}
}

// TestMixingFollowsDensity: however much the distribution has moved, candidates follow the new one, and as many are reused as the densities have in common.
func TestMixingFollowsDensity(t *testing.T) {
	const members, population = 2, 4096
	eng := engine.New(open(t), engine.Seed(4))
	for _, c := range []struct{ mean, deviation float64 }{{0.1, 1}, {0.8, 1.3}, {-0.5, 0.6}, {3, 1}} {
		for _, dim := range []int{1, 3} {
			cfg := DefaultCEM()
			cfg.Population, cfg.Elites, cfg.ExtraVariance = population, population/2, 1
			x := newMixingTrial(t, eng, cfg, Space{Members: members, Dim: dim})
			of := x.mixing.strategy.Normal()
			set := func(mean, deviation float64) {
				for y, v := range map[*engine.Tensor]float64{of.Mean: mean, of.Deviation: deviation} {
					all := make([]float32, y.Len())
					for i := range all {
						if i%x.space.Row() < dim {
							all[i] = float32(v)
						}
					}
					x.must(y.WriteFloat32(t.Context(), all))
				}
			}
			places := [][]uint32{slices.Repeat([]uint32{1}, population), slices.Repeat([]uint32{1}, population)}
			set(0, 1)
			x.candidates(places)
			x.learn(func([]float32) float32 { return 0 })
			set(c.mean, c.deviation)
			x.candidates(places)
			rows, share := floats(t, x.rows), floats(t, x.mixing.share)
			for m := range members {
				var bins [20]int
				var first, second float64
				for i := range population * dim {
					z := (float64(rows[(m*population+i/dim)*x.space.Row()+i%dim]) - c.mean) / c.deviation
					bins[min(int(20*(1+math.Erf(z/math.Sqrt2))/2), 19)]++
					first, second = first+z, second+z*z
				}
				n, chi := float64(population*dim), 0.0
				for _, b := range bins {
					chi += (float64(b) - n/20) * (float64(b) - n/20) / (n / 20)
				}
				first, second = first/math.Sqrt(n), (second-n)/math.Sqrt(2*n) // in their standard errors
				if t.Logf("%v, %d dimensions: chi-square %.1f, mean %.2f, variance %.2f, reused %.3f", c, dim, chi, first, second, share[m]); chi > 52.4 {
					t.Errorf("%v, %d dimensions: chi-square %.1f of 19 degrees; want at most 52.4, which 1 of 17,000 exceeds", c, dim, chi)
				}
				if math.Abs(first) > 4.5 || math.Abs(second) > 4.5 {
					t.Errorf("%v, %d dimensions: mean and variance are off by %.2f and %.2f standard errors", c, dim, first, second)
				}
				if dim > 1 {
					continue
				}
				common := 0.0 // of both densities
				for z := -10.0; z < 10; z += 1e-3 {
					a, b := math.Exp(-z*z/2), math.Exp(-(z-c.mean)*(z-c.mean)/2/c.deviation/c.deviation)/c.deviation
					common += 1e-3 * min(a, b) / math.Sqrt(2*math.Pi)
				}
				if off := math.Abs(float64(share[m]) - common); off > 0.005+4*math.Sqrt(common*(1-common)/population) {
					t.Errorf("%v: %g of the candidates are reused; the densities have %g in common", c, share[m], common)
				}
			}
		}
	}
}

// TestMixingErrors: importance mixing is refused where densities are unknown, and the algorithms with densities are those that are named.
func TestMixingErrors(t *testing.T) {
	eng := engine.New(open(t))
	have := map[string]bool{}
	make := func(algorithm Algorithm, space Space) error {
		s := eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		g, err := NewGeneration(s, clock, engine.NewHyper(s, space.Members), algorithm, space)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.NewMixing(s.Sub("mixing"), clock)
		return err
	}
	for algorithm := range candidateAlgorithms() {
		err := make(algorithm, Space{Members: 1, Dim: 5})
		var unknown *NormalError
		switch {
		case err == nil:
			have[algorithm.Name()] = true
		case !errors.As(err, &unknown) || unknown.Algorithm != algorithm.Name() || !strings.Contains(err.Error(), "sep-cma-es"):
			t.Errorf("%s: error %v", algorithm.Name(), err)
		}
	}
	for _, name := range NormalAlgorithms() {
		if !have[name] {
			t.Errorf("%s has no density", name)
		}
		delete(have, name)
	}
	if len(have) > 0 {
		t.Errorf("%v are not named", have)
	}
	if err := make(DefaultCEM(), box(1, 4)); err == nil || !strings.Contains(err.Error(), "bounds") {
		t.Errorf("error %v; want one of bounds", err)
	}
}
