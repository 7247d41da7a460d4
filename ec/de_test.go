package ec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestDE compares generations of every base with float64.
func TestDE(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	worst := 0.0
	for base := Rand; base <= RandToBest; base++ {
		for differences := 1; differences <= 2; differences++ {
			c := DefaultDE()
			c.Base, c.Differences, c.CrossoverRate, c.InitialStd = base, differences, 0.6, 0.8
			c.Population = 7 + int(base)
			space := Space{Members: 2, Dim: 5 + differences}
			if (int(base)+differences)%2 == 0 {
				space = box(2, 9)
				space.Open = base == CurrentToBest
			}
			t.Run(fmt.Sprintf("%s %d", baseNames[base], differences), func(t *testing.T) {
				worst = max(worst, generationsOfDE(t, eng, c, space, nil))
			})
		}
	}
	t.Logf("largest deviation %.1e", worst)
}

// TestSHADE does the same with a history, over enough generations that the archive overflows and the memory wraps.
func TestSHADE(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	for k, space := range []Space{{Members: 2, Dim: 6}, box(3, 5), box(1, 2)} {
		c := DefaultSHADE()
		c.Population, c.Memory, c.InitialStd, c.PBest = []int{11, 70, 4700}[k], 4, 0.8, 0.5 // the last: more than are ranked at once
		t.Run(fmt.Sprint(c.Population), func(t *testing.T) {
			t.Logf("largest deviation %.1e", generationsOfDE(t, eng, c, space, nil))
		})
	}
}

// chooser draws random words as shaders/ec/de_choose.comp does.
type chooser struct {
	eng                   *engine.Engine
	search, p, generation int
	drawn                 int
	taken                 []int
}

func (c *chooser) word() uint32 {
	w := words(c.eng, "ec/de/choose", uint32(c.search), uint32(c.p), uint32(c.generation), uint32(c.drawn/4))
	c.drawn++
	return w[(c.drawn-1)%4]
}

// other returns one of n indices that are not taken: the x-th of those left.
func (c *chooser) other(n int) int {
	x := belowOf(c.word(), n-len(c.taken))
	for i := range n {
		if slices.Contains(c.taken, i) {
			continue
		}
		if x == 0 {
			c.taken = append(c.taken, i)
			return i
		}
		x--
	}
	panic("none is left")
}

func generationsOfDE(t *testing.T, eng *engine.Engine, algo Algorithm, space Space, others func(int, int, []float32) []float32) (worst float64) {
	start := starts(space)
	tr := newTrial(t, eng, algo, space, start)
	if others != nil {
		tr.change(others)
	}
	d := tr.strategy.(*de)
	c, n := d.cfg, d.size
	read := func(what string) []float32 { return tr.values(tr.state.Lookup("ec/" + what)) }
	rows := func(what string) [][][]float32 { return tr.rows(tr.state.Lookup("ec/"+what), n) }
	checkInitial(tr, rows("population"), start, c.InitialStd)
	place := make([]int, space.Members) // position in SHADE's memory
	for g := range 6 {
		before, fitness := rows("population"), read("population_fitness")
		var old [][][]float32
		var memoryF, memoryCR []float32
		var archived []uint32
		if d.history != nil {
			old, memoryF, memoryCR, archived = rows("archive"), read("memory_weight"), read("memory_crossover_rate"), mustUint32(t, d.history.archived)
		}
		trials, scores := tr.step(rough(eng, g))
		after, next := rows("population"), read("population_fitness")
		for m := range space.Members {
			f := wide(fitness[m*n : (m+1)*n])
			order := make([]int, n)
			clean := slices.Clone(f)
			for i, v := range clean {
				if math.IsNaN(v) {
					clean[i] = math.Inf(-1)
				}
			}
			for i, k := range ranks(clean) {
				order[k] = i
			}
			type success struct {
				p           int
				gain, F, CR float64
				own         bool // told unchanged: F and CR are learned from it
			}
			var successes []success
			for p, x := range trials[m] { // as told
				ch := &chooser{eng: eng, search: m, p: p, generation: g}
				F, CR := c.Weight, c.CrossoverRate
				if h := d.history; h != nil {
					at := m*h.memory + belowOf(ch.word(), h.memory)
					first, second := ch.word(), ch.word()
					CR = min(max(float64(memoryCR[at])+0.1*gauss(first, second), 0), 1) // (4)
					F = 0
					for !(F > 0) { // (5)
						F = float64(memoryF[at]) + 0.1*math.Tan(math.Pi*(unit(ch.word())-0.5))
					}
					F = min(F, 1)
				}
				crossed := belowOf(ch.word(), space.Dim)
				best := order[0]
				if h := d.history; h != nil { // (6)
					low := 2 / float32(n)
					part := low + (float32(h.pbest)-low)*float32(unit(ch.word()))
					best = order[belowOf(ch.word(), min(max(int(part*float32(n)), 1), n))]
				}
				ch.taken = []int{p}
				at := func(i int) []float64 {
					if i >= n {
						return wide(old[m][i-n])
					}
					return wide(before[m][i])
				}
				own := at(p)
				v := make([]float64, space.Dim)
				add := func(scale float64, x []float64) {
					for i := range v {
						v[i] += scale * x[i]
					}
				}
				switch c.Base {
				case Rand:
					add(1, at(ch.other(n)))
				case BestBase:
					add(1, at(best))
				case RandToBest:
					r := ch.other(n)
					add(1-F, at(r))
					add(F, at(best))
				default:
					add(1-F, own)
					add(F, at(best))
				}
				add(F, at(ch.other(n)))
				among := n
				if d.history != nil {
					among += int(archived[m])
				}
				add(-F, at(ch.other(among)))
				if c.Differences > 1 {
					add(F, at(ch.other(n)))
					add(-F, at(ch.other(n)))
				}
				for i := range v {
					u := unit(words(eng, "ec/de/crossover", uint32(m), uint32(p), uint32(g), uint32(i/4))[i%4])
					if !(u < CR) && i != crossed {
						v[i] = own[i]
					}
					if space.Closed() {
						if low := float64(space.Low[i]); v[i] < low {
							v[i] = (own[i] + low) / 2
						}
						if high := float64(space.High[i]); v[i] > high {
							v[i] = (own[i] + high) / 2
						}
					}
				}
				if math.IsNaN(f[p]) {
					v = own
				}
				dev := deviation(tr.proposed[m][p], v)
				if worst = max(worst, dev); !(dev <= 1e-5) {
					t.Fatalf("generation %d, member %d: trial %d is %v; want %v", g, m, p, tr.proposed[m][p], v)
				}
				now, stays := worthOf(scores[m][p]), f[p]
				survivor, fit := before[m][p], stays
				if math.IsNaN(stays) || now >= stays {
					survivor, fit = x, now
				}
				if now > stays {
					successes = append(successes, success{p, min(now-stays, math.MaxFloat32), F, CR, slices.Equal(x, tr.proposed[m][p])})
				}
				if !slices.Equal(after[m][p], survivor) || float64(next[m*n+p]) != fit {
					t.Fatalf("generation %d, member %d: candidate %d is %v of fitness %g; want %v of %g", g, m, p, after[m][p], next[m*n+p], survivor, fit)
				}
			}
			if h := d.history; h != nil {
				if g > 1 && len(successes) == 0 {
					t.Fatal("no successes, so that nothing is tested")
				}
				all, weights := 0.0, make([]float64, len(successes))
				learned := 0
				for _, s := range successes {
					if s.own {
						all += s.gain
						learned++
					}
				}
				var mean, sum, square float64
				for i, s := range successes {
					if !s.own {
						continue
					}
					weights[i] = s.gain / all
					mean += weights[i] * s.CR
					sum += weights[i] * s.F
					square += weights[i] * s.F * s.F
				}
				wantF, wantCR := wide(memoryF[m*h.memory:][:h.memory]), wide(memoryCR[m*h.memory:][:h.memory])
				if learned > 0 {
					wantF[place[m]], wantCR[place[m]] = square/sum, mean
					place[m] = (place[m] + 1) % h.memory
				}
				for i, got := range [][]float32{read("memory_weight")[m*h.memory:][:h.memory], read("memory_crossover_rate")[m*h.memory:][:h.memory]} {
					dev := deviation(got, [][]float64{wantF, wantCR}[i])
					if worst = max(worst, dev); !(dev <= 1e-5) {
						t.Fatalf("generation %d, member %d: memory %v; want %v, %v", g, m, got, wantF, wantCR)
					}
				}
				checkArchive(t, old[m], rows("archive")[m], before[m], int(archived[m]), int(mustUint32(t, h.archived)[m]), len(successes),
					func(yield func(int)) {
						for _, s := range successes {
							yield(s.p)
						}
					})
			}
		}
	}
	return worst
}

// checkArchive: the archive holds all candidates replaced by better ones, and as many of the earlier ones as fit.
func checkArchive(t *testing.T, before, after, population [][]float32, stored, now, successes int, each func(func(p int))) {
	t.Helper()
	n := len(population)
	if want := min(stored+successes, n); now != want {
		t.Fatalf("the archive holds %d; want %d", now, want)
	}
	count := func(rows [][]float32, x []float32) (c int) {
		for _, r := range rows {
			if slices.Equal(r, x) {
				c++
			}
		}
		return c
	}
	each(func(p int) {
		if count(after[:now], population[p]) == 0 {
			t.Fatalf("candidate %d was replaced by a better one but is not in the archive", p)
		}
	})
	kept := 0
	for i := range stored {
		if slices.Equal(before[i], after[i]) {
			kept++
		}
	}
	if want := now - successes; kept < want {
		t.Fatalf("%d of the archive's candidates are left; want %d", kept, want)
	}
}
