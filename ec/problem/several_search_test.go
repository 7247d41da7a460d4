package problem

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// budget is the length of a search, as in tools/peers/moo_pymoo.py.
type budget struct {
	name        string
	make        func() (*Function, error)
	population  int
	generations int
}

var budgets = []budget{
	{"zdt1", zdt(1), 100, 200}, {"zdt2", zdt(2), 100, 200}, {"zdt3", zdt(3), 100, 200}, {"zdt4", zdt(4), 100, 300}, {"zdt6", zdt(6), 100, 300},
	{"dtlz1", dtlz(1), 92, 400}, {"dtlz2", dtlz(2), 92, 250}, {"dtlz3", dtlz(3), 92, 600}, {"dtlz4", dtlz(4), 92, 600}, {"dtlz7", dtlz(7), 92, 400},
}

func zdt(n int) func() (*Function, error) {
	return func() (*Function, error) { return ZDT(n, 0) }
}
func dtlz(n int) func() (*Function, error) {
	return func() (*Function, error) { return DTLZ(n, 3, 0) }
}

// likePymoo returns the settings of pymoo's algorithms for a budget. Its polynomial mutation leaves one of ten
// children unchanged.
func (b budget) likePymoo(algorithm string, dim int) ec.Algorithm {
	const mutated = 0.9
	switch algorithm {
	case "nsga-ii":
		c := ec.DefaultNSGA2()
		c.Population, c.CrossoverIndex, c.MutationRate = b.population, 15, mutated/float64(dim)
		return c
	case "nsga-iii":
		c := ec.DefaultNSGA3()
		c.Population, c.MutationRate = b.population, mutated/float64(dim)
		return c
	}
	c := ec.DefaultMOEAD()
	c.Population = b.population
	return c
}

// distances runs several searches and returns their populations' IGD.
func (b budget) distances(t testing.TB, dev *vk.Device, algorithm string, seed uint32, searches, generations int) []float64 {
	t.Helper()
	p, err := b.make()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(seed)), b.likePymoo(algorithm, p.Space(1).Dim), p, searches)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := engine.Learn(t.Context(), s, engine.Iterations(generations)); err != nil {
		t.Fatal(err)
	}
	front, err := p.Front(frontPoints)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, set := range fronts(t, s) {
		d, err := indicator.IGD(set, front)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// fronts reads the objectives of a search's populations: [M][N][K].
func fronts(t testing.TB, s *ec.Search) [][][]float64 {
	t.Helper()
	found, err := s.ReadFront(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := make([][][]float64, len(found))
	for m, front := range found {
		out[m] = front.Objectives
	}
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// BenchmarkSeveralObjectives logs the lines that tools/peers/moo_pymoo.py prints: IGD at the end of the budget, for
// as many searches as that script has seeds. The table of docs/several-objectives.md is made from both.
func BenchmarkSeveralObjectives(b *testing.B) {
	const searches = 31
	dev, err := vk.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	for _, f := range budgets {
		for _, algorithm := range []string{"nsga-ii", "nsga-iii", "moead"} {
			b.Run(f.name+"/"+algorithm, func(b *testing.B) {
				begin := time.Now()
				var all []float64
				for i := range b.N {
					all = append(all, f.distances(b, dev, algorithm, uint32(i+1), searches, f.generations)...)
				}
				seconds := time.Since(begin).Seconds()
				b.Logf("%-6s %s population %d generations %d IGD median %.6f mean %.6f %.1f s", f.name, algorithm, f.population,
					f.generations, median(all), meanOf(all), seconds)
				b.ReportMetric(median(all), "median-IGD")
				b.ReportMetric(meanOf(all), "mean-IGD")
				b.ReportMetric(seconds/float64(len(all)), "s/search")
			})
		}
	}
}

// TestSeveralObjectivesLearn: shortened searches come near to the true fronts; two at once differ. The evaluation is
// the IGD+ of a search's front, and the metrics describe the front.
func TestSeveralObjectivesLearn(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		function, algorithm string
		generations         int
		igd                 float64
	}{{"zdt1", "nsga-ii", 120, 0.06}, {"zdt1", "nsga-iii", 120, 0.06}, {"zdt1", "moead", 120, 0.06}, {"dtlz2", "nsga-ii", 60, 0.1},
		{"dtlz2", "nsga-iii", 60, 0.065}, {"dtlz2", "moead", 60, 0.1}} {
		at := slices.IndexFunc(budgets, func(b budget) bool { return b.name == c.function })
		p, err := budgets[at].make()
		if err != nil {
			t.Fatal(err)
		}
		s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(4)), budgets[at].likePymoo(c.algorithm, p.Space(1).Dim), p, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var last engine.Report
		err = engine.Learn(t.Context(), s, engine.Iterations(c.generations), engine.OnReport(func(_ context.Context,
			r engine.Report) error {
			last = r
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		front, err := p.Front(frontPoints)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := s.Evaluate(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		var found []float64
		for m, set := range fronts(t, s) {
			igd, err := indicator.IGD(set, front)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, igd)
			plus, err := indicator.IGDPlus(set, front)
			if err != nil {
				t.Fatal(err)
			}
			if !(igd <= c.igd) {
				t.Errorf("%s on %s, member %d: IGD %g; want at most %g", c.algorithm, c.function, m, igd, c.igd)
			}
			if r := ev.Returns[m]; len(r) != 2 || !(math.Abs(float64(r[0])+plus) <= 1e-6) || r[1] != r[0] {
				t.Errorf("%s on %s, member %d: evaluates to %v; want twice %g", c.algorithm, c.function, m, r, -plus)
			}
			ideal := slices.Clone(set[0])
			for _, point := range set {
				for k, v := range point {
					ideal[k] = max(ideal[k], v)
				}
			}
			if got, want := last.Metrics["front/size"][m], len(indicator.NonDominated(set)); got != float32(want) || last.Metrics["front/not_finite"][m] != 0 {
				t.Errorf("%s on %s, member %d: a front of %g; want %d", c.algorithm, c.function, m, got, want)
			}
			for k, v := range ideal {
				if got := last.Metrics[fmt.Sprintf("front/ideal_%d", k+1)][m]; float64(got) != v {
					t.Errorf("%s on %s, member %d: ideal value %d is %g; want %g", c.algorithm, c.function, m, k, got, v)
				}
			}
		}
		t.Logf("%s on %s: IGD %.4f", c.algorithm, c.function, found)
		if found[0] == found[1] {
			t.Errorf("%s on %s: two searches came to the same", c.algorithm, c.function)
		}
		if best, candidates := s.Generation().Best(); best != nil || candidates != nil {
			t.Error("a best candidate of several objectives")
		}
	}
}
