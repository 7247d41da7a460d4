package ec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestMAPElites compares generations of both kinds of archive with float64: parents, offspring, and the cells that
// they enter.
func TestMAPElites(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	behave := func(space Space) Space {
		space.DescriptorLow, space.DescriptorHigh = []float32{-1, 0, 5}, []float32{1, 4, 5.5}
		return space
	}
	grid := DefaultMAPElites()
	grid.Cells, grid.Population, grid.Worst = []int{3, 1, 4}, 13, -4
	tessellation := DefaultCVTMAPElites()
	tessellation.Centroids, tessellation.Samples, tessellation.Population = 17, 300, 9
	for _, c := range []struct {
		algo  Algorithm
		space Space
	}{{grid, behave(Space{Members: 2, Dim: 6})}, {tessellation, behave(box(3, 5))}} {
		t.Run(c.algo.Name(), func(t *testing.T) { t.Logf("largest deviation %.1e", generationsOfElites(t, eng, c.algo, c.space)) })
	}
}

func generationsOfElites(t *testing.T, eng *engine.Engine, algo Algorithm, space Space) (worst float64) {
	start := starts(space)
	tr := newTrial(t, eng, algo, space, start)
	var a *archive
	var cells []int
	var centers []float32
	switch s := tr.strategy.(type) {
	case *archive:
		a, cells = s, algo.(MAPElitesConfig).Cells
	case *cvt:
		a, centers = s.archive, centroidsOf(t, 3, s.cells, s.samples, eng.Seed())
	}
	n, b := a.cfg.Population, a.descriptor
	cellOf := func(descriptor []float32) int {
		u := make([]float32, b)
		for i, d := range descriptor {
			u[i] = (d - space.DescriptorLow[i]) / (space.DescriptorHigh[i] - space.DescriptorLow[i])
		}
		if centers != nil {
			return nearestOfAll(centers, u)
		}
		at := 0
		for i, k := range cells {
			at = at*k + min(max(int(math.Floor(float64(u[i]*float32(k)))), 0), k-1)
		}
		return at
	}
	entered := 0
	for g := range 8 {
		elites, fitness, behaviour := tr.rows(a.rows, a.cells), tr.values(a.fitness), tr.values(a.behaviour)
		population := tr.candidates()
		if g == 0 {
			checkInitial(tr, population, start, a.cfg.InitialStd)
		}
		var scores [][]float32
		descriptors := make([]float32, 0, space.Members*n*b)
		for m := range population {
			scores = append(scores, nil)
			for c := range n {
				scores[m] = append(scores[m], rough(eng, g)(m, c, nil))
				for i := range b {
					w := words(eng, "descriptor", uint32(m), uint32(c), uint32(g), uint32(i))
					d := space.DescriptorLow[i] + (1.2*float32(unit(w[0]))-0.1)*(space.DescriptorHigh[i]-space.DescriptorLow[i]) // sometimes outside
					if w[1]%32 == 0 {
						d = float32(math.NaN())
					}
					descriptors = append(descriptors, d)
				}
			}
		}
		tr.must(tr.behaved.WriteFloat32(t.Context(), descriptors))
		tr.learn(scores)
		after, fitnessAfter, behaviourAfter := tr.rows(a.rows, a.cells), tr.values(a.fitness), tr.values(a.behaviour)
		summary, held := tr.values(a.summary), mustUint32(t, a.held)
		for m := range population {
			var occupied []int
			for k := range a.cells {
				if fitness[m*a.cells+k] == fitness[m*a.cells+k] {
					occupied = append(occupied, k)
				}
			}
			for c, x := range population[m] {
				if len(occupied) == 0 {
					break
				}
				parent := func(c int) []float64 {
					return wide(elites[m][occupied[tournamentOf(eng, "ec/mating", m, c, g, len(occupied), 1)]])
				}
				want := offspringOf(eng, a.cfg.VariationConfig, space, [2][]float64{parent(c), parent(c ^ 1)}, m, c, g)
				if d := deviation(x, want); !(d <= 1e-5) {
					t.Fatalf("generation %d, member %d: child %d deviates by %.1e", g, m, c, d)
				} else {
					worst = max(worst, d)
				}
			}
			wantX, wantF, wantB := slices.Clone(elites[m]), slices.Clone(fitness[m*a.cells:][:a.cells]), slices.Clone(behaviour[m*a.cells*b:][:a.cells*b])
			for c, x := range population[m] {
				f, descriptor := scores[m][c], descriptors[(m*n+c)*b:][:b]
				if worthOf(f) == -math.MaxFloat32 || slices.ContainsFunc(descriptor, func(d float32) bool { return d != d }) {
					continue
				}
				if at := cellOf(descriptor); !(wantF[at] >= f) {
					wantX[at], wantF[at] = x, f
					copy(wantB[at*b:], descriptor)
					entered++
				}
			}
			count, score := 0, 0.0
			for k := range a.cells {
				got, want := fitnessAfter[m*a.cells+k], wantF[k]
				if got != want && !(got != got && want != want) || !slices.Equal(after[m][k],
					wantX[k]) || !slices.Equal(behaviourAfter[(m*a.cells+k)*b:][:b], wantB[k*b:][:b]) {
					t.Fatalf("generation %d, member %d, cell %d: elite %v of fitness %g; want %v of %g", g, m, k, after[m][k], got, wantX[k], want)
				}
				if want == want {
					count++
					score += float64(want) - a.cfg.Worst
				}
			}
			for i, w := range []float64{float64(count) / float64(a.cells), score, score/float64(count) + a.cfg.Worst} {
				if got := float64(summary[i*space.Members+m]); !(math.Abs(got-w) <= 1e-5*(1+math.Abs(w))) {
					t.Errorf("generation %d, member %d: summary %d is %g; want %g", g, m, i, got, w)
				}
			}
			if int(held[m]) != count {
				t.Errorf("generation %d, member %d: %d elites are counted; want %d", g, m, held[m], count)
			}
		}
	}
	if entered < 2*space.Members*n {
		t.Errorf("only %d candidates entered", entered)
	}
	return worst
}

func centroidsOf(t *testing.T, b, k, samples int, seed uint32) []float32 {
	t.Helper()
	centers, err := centroids(t.Context(), b, k, samples, engine.NewRng(seed, engine.Stream("ec/centroids"), 0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return centers
}

// nearestOfAll returns the index of the first of the centers [k, len(p)] nearest to p.
func nearestOfAll(centers, p []float32) int {
	at, least := 0, math.Inf(1)
	for c := 0; c*len(p) < len(centers); c++ {
		if far := float64(distance(centers[c*len(p):(c+1)*len(p)], p)); far < least {
			at, least = c, far
		}
	}
	return at
}

// TestIndependentStart: the first candidates are the starts. While none enters the archive, each generation is of new ones around
// them.
func TestIndependentStart(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	c := DefaultMAPElites()
	c.Population, c.Cells, c.IndependentStart = 5, []int{3}, true
	space := Space{Members: 2, Dim: 6, DescriptorLow: []float32{0}, DescriptorHigh: []float32{1}}
	start := starts(Space{Members: 10, Dim: 6})
	tr := newTrial(t, eng, c, space, start)
	nan := float32(math.NaN())
	for g := range uint32(3) {
		for m, rows := range tr.candidates() {
			for n, x := range rows {
				want := wide(start[(m*5+n)*6:][:6])
				for i := range want {
					if w := words(eng, "ec/initial", uint32(m), uint32(n), g, uint32(i/4)); g > 0 {
						want[i] += c.InitialStd * float64(normals(w)[i%4])
					}
				}
				if d := deviation(x, want); !(d <= 2e-6) || g == 0 && d > 0 {
					t.Fatalf("generation %d, member %d: candidate %d is %v; want %v", g, m, n, x, want)
				}
			}
		}
		tr.must(tr.behaved.WriteFloat32(t.Context(), make([]float32, 10)))
		tr.learn([][]float32{{nan, nan, nan, nan, nan}, {nan, nan, nan, nan, nan}})
	}
	if got := tr.solution()[1]; !slices.Equal(got, start[30:36]) {
		t.Errorf("the solution is %v; want the first start", got)
	}
}

// TestEmptyArchive: while no candidate enters the archive, all of each generation are drawn anew.
func TestEmptyArchive(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	c := DefaultMAPElites()
	c.Population, c.Cells = 5, []int{3}
	space := box(1, 6)
	space.DescriptorLow, space.DescriptorHigh = []float32{0}, []float32{1}
	tr := newTrial(t, eng, c, space, starts(space))
	nan := float32(math.NaN())
	for g := range uint32(3) {
		for n, x := range tr.candidates()[0] {
			for i, v := range x {
				want := float64(space.Low[i]) + unit(words(eng, "ec/initial", 0, uint32(n), g, uint32(i/4))[i%4])*float64(space.High[i]-space.Low[i])
				if n == 0 && g == 0 {
					want = float64(starts(space)[i])
				}
				if !(math.Abs(float64(v)-want) <= 1e-6) {
					t.Fatalf("generation %d: number %d of candidate %d is %g; want %g", g, i, n, v, want)
				}
			}
		}
		tr.must(tr.behaved.WriteFloat32(t.Context(), make([]float32, 5)))
		tr.learn([][]float32{{nan, nan, nan, nan, nan}})
	}
}

// TestCentroids: cells of a tessellation are about equally likely, and each centroid is the mean of the points
// nearest to it.
func TestCentroids(t *testing.T) {
	const k, samples = 20, 4000
	centers := centroidsOf(t, 2, k, samples, 3)
	rng := engine.NewRng(3, engine.Stream("another"), 0, 0, 0)
	counts, sums := make([]float64, k), make([]float64, 2*k)
	const n = 40000
	for range n {
		p := []float32{rng.Uniform(), rng.Uniform()}
		c := nearestOfAll(centers, p)
		counts[c]++
		sums[2*c] += float64(p[0])
		sums[2*c+1] += float64(p[1])
	}
	for c := range k {
		if counts[c] < 0.5*n/k || counts[c] > 1.6*n/k {
			t.Errorf("cell %d has %g of %d", c, counts[c], n)
		}
		for i := range 2 {
			if d := math.Abs(sums[2*c+i]/counts[c] - float64(centers[2*c+i])); d > 0.02 {
				t.Errorf("centroid %d lies %.3f from the mean of its cell", c, d)
			}
		}
	}
}

// TestNearestOf: the search returns the nearest center for every guess, also if centers share a first coordinate.
func TestNearestOf(t *testing.T) {
	rng := engine.NewRng(5, engine.Stream("near"), 0, 0, 0)
	for _, b := range []int{1, 2, 5} {
		const k = 64
		all := make([]float32, k*b)
		for i := range all {
			all[i] = float32(math.Round(float64(rng.Uniform())*40) / 40)
		}
		centers := make([][]float32, k)
		for c := range centers {
			centers[c] = all[c*b : (c+1)*b]
		}
		slices.SortFunc(centers, func(x, y []float32) int { return cmp.Compare(x[0], y[0]) })
		for range 2000 {
			p := make([]float32, b)
			for i := range p {
				p[i] = 1.2*rng.Uniform() - 0.1
			}
			guess := min(int(k*rng.Uniform()), k-1)
			got := distance(centers[nearestOf(centers, p, guess)], p)
			want := distance(all[nearestOfAll(all, p)*b:][:b], p)
			if got != want {
				t.Fatalf("%v is %g from what nearestOf found, and %g from the nearest center", p, got, want)
			}
		}
	}
}

// TestCentroidsCancelled: cancellation interrupts the computation of a large tessellation.
func TestCentroidsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := centroids(ctx, 2, 16384, 262144, engine.NewRng(1, 0, 0, 0, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want that it was cancelled", err)
	}
}

// TestMAPElitesRefuses: invalid settings give one clear error.
func TestMAPElitesRefuses(t *testing.T) {
	eng := engine.New(open(t))
	grid := DefaultMAPElites()
	grid.Cells = []int{2000, 2000}
	many := DefaultCVTMAPElites()
	many.Centroids = 16384
	odd := DefaultMAPElites()
	odd.Cells = []int{3, 3, 3}
	plane := Space{Members: 1, Dim: 2, DescriptorLow: []float32{0, 0}, DescriptorHigh: []float32{1, 1}}
	type refusal struct {
		algo  Algorithm
		space Space
		want  string
	}
	refusals := []refusal{
		{DefaultMAPElites(), Space{Members: 1, Dim: 2}, "does not describe"},
		{DefaultCVTMAPElites(), Space{Members: 1, Dim: 2}, "does not describe"},
		{grid, plane, "at most 1048576 cells"},
		{odd, plane, "a grid of 3 axes for 2 descriptors"},
		{MAPElitesConfig{ArchiveConfig: defaultArchive()}, plane, "\"cells\""},
	}
	if eng.Device().Info().Limits.MaxLoopIterations > 0 {
		wide := Space{Members: 1, Dim: 1, DescriptorLow: make([]float32, 64), DescriptorHigh: make([]float32, 64)}
		refusals = append(refusals, refusal{many, wide, "can compare a candidate with at most"})
	}
	for _, c := range refusals {
		s := eng.NewState()
		_, err := c.algo.New(s, engine.NewClock(s), engine.NewHyper(s, 1), c.space)
		if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: error %v; want one with %q", c.algo.Name(), err, c.want)
		}
		_ = s.Close()
	}
}
