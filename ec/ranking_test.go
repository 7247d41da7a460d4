package ec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// TestRanking compares with float64: non-finite values, ties, the best of all generations, and the summary.
func TestRanking(t *testing.T) {
	eng := engine.New(open(t))
	for _, c := range []struct {
		population, dim int
		make            func(generation, member, candidate int) float32
	}{
		{1, 3, func(g, m, c int) float32 { return []float32{nan, 3, 2, 5}[g] }},
		{7, 1, func(g, m, c int) float32 { return []float32{nan, inf, -inf, 4}[g] }}, // equal within a generation
		{129, 9, func(g, m, c int) float32 {
			switch {
			case c%11 == g:
				return []float32{nan, inf, -inf}[c%3]
			case m == 2 && g == 1:
				return 1e36 * float32(c-64)
			}
			return float32((c*37+g*5+m*11)%64) - 32 // with ties
		}},
		{4097, 2, func(g, m, c int) float32 { return float32(math.Sin(float64(c*c + g + m))) }},
	} {
		t.Run(fmt.Sprintf("population %d", c.population), func(t *testing.T) {
			const members = 3
			space := Space{Members: members, Dim: c.dim}
			tr := newTrial(t, eng, &OpenESConfig{Population: c.population, NoiseStd: 1, LearningRate: 0}, space, make([]float32, members*c.dim))
			best := [members]float64{math.NaN(), math.NaN(), math.NaN()}
			var fittest [members][]float32
			for g := range 4 {
				population, fitness := tr.step(func(m, k int, _ []float32) float32 { return c.make(g, m, k) })
				clean, rank := tr.values(tr.generation.ranking.finite), mustUint32(t, tr.generation.ranking.rank)
				summary, bests, kept := tr.values(tr.generation.ranking.summary), tr.values(tr.generation.ranking.best),
					tr.rows(tr.generation.ranking.fittest, 1)
				for m, f := range fitness {
					want, broken := finite(f)
					for k, w := range want {
						if got := clean[m*c.population+k]; float64(got) != w {
							t.Fatalf("generation %d: fitness %g of member %d's candidate %d counts as %g; want %g", g, f[k], m, k, got, w)
						}
					}
					for k, w := range ranks(worths(f)) {
						if got := rank[m*c.population+k]; int(got) != w {
							t.Fatalf("generation %d: member %d's candidate %d has rank %d; want %d", g, m, k, got, w)
						}
					}
					top, mean, deviation := math.NaN(), math.NaN(), math.NaN()
					if broken < len(f) {
						at, n := -1, float64(len(f)-broken)
						mean = 0
						for k, v := range f {
							if v := float64(v); !math.IsNaN(v) && !math.IsInf(v, 0) {
								mean += v / n
								if at < 0 || v > float64(f[at]) {
									at = k
								}
							}
						}
						deviation = 0
						for _, v := range f {
							if v := float64(v); !math.IsNaN(v) && !math.IsInf(v, 0) {
								deviation += (v - mean) * (v - mean) / n
							}
						}
						top, deviation = float64(f[at]), math.Sqrt(deviation)
						if !(top <= best[m]) {
							best[m], fittest[m] = top, population[m][at]
						}
					}
					for i, w := range []float64{top, mean, deviation, float64(broken)} {
						if got := float64(summary[i*members+m]); !(math.Abs(got-w) <= 1e-6*(math.Abs(w)+math.Abs(mean)+deviation)) && got != w &&
							!(math.IsNaN(got) && math.IsNaN(w)) {
							t.Errorf("generation %d: summary %d of member %d is %g; want %g", g, i, m, got, w)
						}
					}
					if got := float64(bests[m]); got != best[m] && !(math.IsNaN(got) && math.IsNaN(best[m])) {
						t.Errorf("generation %d: best of member %d is %g; want %g", g, m, got, best[m])
					}
					for i, w := range fittest[m] {
						if kept[m][0][i] != w {
							t.Fatalf("generation %d: member %d keeps %v; want %v", g, m, kept[m][0], fittest[m])
						}
					}
				}
			}
		})
	}
}

// finite returns fitness with non-finite values replaced by the worst finite one, or 0, and their number.
func finite(fitness []float32) (clean []float64, broken int) {
	worst := math.Inf(1)
	for _, f := range fitness {
		if v := float64(f); !math.IsNaN(v) && !math.IsInf(v, 0) {
			worst = min(worst, v)
		}
	}
	if math.IsInf(worst, 1) {
		worst = 0
	}
	for _, f := range fitness {
		v := float64(f)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			broken++
			v = worst
		}
		clean = append(clean, v)
	}
	return clean, broken
}

// worths returns fitness with non-finite values below all finite ones.
func worths(fitness []float32) (out []float64) {
	for _, f := range fitness {
		out = append(out, worthOf(f))
	}
	return out
}

func mustUint32(t testing.TB, tensor *engine.Tensor) []uint32 {
	t.Helper()
	values, err := tensor.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestShaping compares with float64, including constant fitness.
func TestShaping(t *testing.T) {
	eng := engine.New(open(t))
	const members = 3
	for _, population := range []int{1, 2, 33, 1000, 5000} {
		for kind := range 2*byRank + 1 {
			shaping, centered := kind/2, kind%2 == 1
			group := groupOf(population)
			if shaping == Grouped && (centered || group == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%d/centered %v", population, shaping, centered), func(t *testing.T) {
				s := eng.NewState()
				defer s.Close()
				dims := []engine.Dim{engine.Members(members), candidates(population)}
				fitness, rank := s.Tensor("fitness", engine.Float32, dims...), s.Scratch("rank", engine.Uint32, dims...)
				utility, weights := s.Tensor("utility", engine.Float32, candidates(population)), s.Scratch("weights", engine.Float32, dims...)
				dice := rand.New(rand.NewPCG(uint64(population), 3))
				values := make([]float32, members*population)
				for i := range values {
					values[i] = float32(100 + 5*dice.NormFloat64())
					switch i / population {
					case 1:
						values[i] = -7.5 // all equal
					case 2:
						values[i] *= 1e36 // the squares overflow float32
					}
				}
				utilities := make([]float32, population)
				for i := range utilities {
					utilities[i] = float32(dice.NormFloat64())
				}
				for _, err := range []error{s.Zero(t.Context()), s.Poison(t.Context()), fitness.WriteFloat32(t.Context(), values),
					utility.WriteFloat32(t.Context(), utilities)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				p, err := eng.Record("shape", func(r *engine.Recorder) {
					engine.Rank(r, fitness, rank)
					scores := Scores{Fitness: fitness, Finite: fitness, Rank: rank}
					switch {
					case shaping == Grouped:
						GroupWeights(r, scores, group, weights)
					case shaping == byRank:
						Utilities(r, scores, utility, weights)
					case centered:
						shaping.Advantages(r, scores, weights)
					default:
						shaping.Weights(r, scores, weights)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Free()
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := weights.ReadFloat32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for m := range members {
					want := shape(shaping, wide(values[m*population:][:population]), wide(utilities))
					if shaping == Grouped {
						want = grouped(wide(values[m*population:][:population]), group)
					}
					if centered {
						mean := 0.0
						for _, w := range want {
							mean += w / float64(population)
						}
						for i := range want {
							if want[i] -= mean; m == 1 {
								want[i] = 0 // except for rounding
							}
						}
					}
					if d := deviation(got[m*population:][:population], want); !(d <= 3e-6) {
						t.Errorf("member %d: weights deviate by %.1e", m, d)
					}
				}
			})
		}
	}
}

// groupOf returns a size of groups for a population; 0: none divides it.
func groupOf(population int) int {
	return map[int]int{2: 2, 33: 11, 1000: 4, 5000: 625}[population]
}

// grouped returns weights within groups: (F − mean of the group) / √(variance of all + 10⁻⁵).
func grouped(fitness []float64, group int) (out []float64) {
	if slices.Min(fitness) == slices.Max(fitness) {
		return make([]float64, len(fitness))
	}
	n := float64(len(fitness))
	mean, variance := 0.0, 0.0
	for _, f := range fitness {
		mean += f / n
	}
	for _, f := range fitness {
		variance += (f - mean) * (f - mean) / n
	}
	for of := range slices.Chunk(fitness, group) {
		center := 0.0
		for _, f := range of {
			center += f / float64(group)
		}
		for _, f := range of {
			out = append(out, (f-center)/math.Sqrt(variance+1e-5))
		}
	}
	return out
}

// shape applies a shaping to fitness, from the definitions.
func shape(s Shaping, fitness, utilities []float64) []float64 {
	n := float64(len(fitness))
	mean, variance, low, high := 0.0, 0.0, math.Inf(1), math.Inf(-1)
	for _, f := range fitness {
		mean += f / n
		low, high = min(low, f), max(high, f)
	}
	for _, f := range fitness {
		variance += (f - mean) * (f - mean) / n
	}
	rank := ranks(fitness)
	out := make([]float64, len(fitness))
	for i, f := range fitness {
		switch {
		case s == byRank:
			out[i] = utilities[rank[i]]
		case s == Raw:
			out[i] = f
		case low == high:
		case s == CenteredRank:
			out[i] = 0.5 - float64(rank[i])/(n-1)
		case s == Standardize:
			out[i] = (f - mean) / math.Sqrt(variance)
		case s == Normalize:
			out[i] = 2*(f-low)/(high-low) - 1
		}
	}
	return out
}

func TestShapingNames(t *testing.T) {
	for s := Raw; s < byRank; s++ {
		text, err := s.MarshalText()
		var back Shaping
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("shaping %d is written %q and read back as %d", s, text, back)
		}
	}
	eng := engine.New(open(t))
	scope := eng.NewState()
	defer func() { _ = scope.Close() }()
	fitness := scope.Tensor("fitness", engine.Float32, engine.Members(1), candidates(6))
	for _, group := range []int{0, 4} {
		if _, err := eng.Record("grouped", func(r *engine.Recorder) { GroupWeights(r, Scores{Finite: fitness, Rank: fitness}, group, fitness) }); err == nil {
			t.Errorf("6 candidates in groups of %d: no error", group)
		}
	}
	var s Shaping
	if s.UnmarshalText([]byte("rank")) == nil {
		t.Error("shaping rank: no error")
	}
	if _, err := byRank.MarshalText(); err == nil {
		t.Error("the shaping by a list has a name")
	}
}
