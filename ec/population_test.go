package ec

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// square returns a space of 10 dimensions from -5 to 5 for five searches, and start points in it.
func square() (Space, []float32) {
	s := Space{Members: 5, Dim: 10}
	for range s.Dim {
		s.Low, s.High = append(s.Low, -5), append(s.High, 5)
	}
	rng := engine.NewRng(1, engine.Stream("test"), 0, 0, 0)
	start := make([]float32, s.Members*s.Dim)
	for i := range start {
		start[i] = rng.UniformIn(-5, 5)
	}
	return s, start
}

func rosenbrock(_, _ int, x []float32) float32 {
	sum := 0.0
	for i := range x[1:] {
		a, b := float64(x[i]), float64(x[i+1])
		sum += 100*(b-a*a)*(b-a*a) + (1-a)*(1-a)
	}
	return float32(-sum)
}

func rastrigin(_, _ int, x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		y := float64(v) - 0.5
		sum += y*y - 10*math.Cos(2*math.Pi*y) + 10
	}
	return float32(-sum)
}

// TestPopulationsLearn: every member of five reaches a fitness that is known for the algorithm in the given
// evaluations. Rastrigin's function is for algorithms that cross over single coordinates.
func TestPopulationsLearn(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	de, best := DefaultDE(), DefaultDE()
	de.Population, best.Population, best.Base, best.Weight = 50, 50, BestBase, 0.8
	shade := DefaultSHADE()
	shade.Population, shade.Memory = 50, 50
	pso, cso := DefaultPSO(), DefaultCSO()
	pso.Population, cso.Population = 50, 25
	gaussian, realCoded := DefaultGA(), RealCodedGA()
	gaussian.Population, gaussian.EliteRatio, gaussian.MutationStd, gaussian.Plus = 50, 0.2, 0.05, true
	realCoded.Population = 50
	for _, c := range []struct {
		algo        Algorithm
		what        string
		f           func(m, c int, x []float32) float32
		generations int
		target      float32 // at least
	}{
		{de, "sphere", sphere, 250, -1e-6},
		{best, "rosenbrock", rosenbrock, 400, -1e-3},
		{shade, "sphere", sphere, 250, -1e-6},
		{shade, "rosenbrock", rosenbrock, 500, -1e-2},
		{shade, "rastrigin", rastrigin, 500, -1e-2},
		{pso, "sphere", sphere, 250, -1e-6},
		{cso, "sphere", sphere, 500, -1e-6},
		{gaussian, "sphere", sphere, 250, -0.02},
		{realCoded, "rastrigin", rastrigin, 300, -1},
	} {
		t.Run(fmt.Sprintf("%s %s", c.algo.Name(), c.what), func(t *testing.T) {
			space, start := square()
			tr := newTrial(t, eng, c.algo, space, start)
			for range c.generations {
				tr.step(c.f)
			}
			best := tr.values(tr.generation.ranking.best)
			t.Logf("after %d evaluations: %.2g", c.generations*tr.strategy.Population(), best)
			for m, f := range best {
				if !(f >= c.target) {
					t.Errorf("member %d reached %g in %d evaluations; want %g", m, f, c.generations*tr.strategy.Population(), c.target)
				}
			}
			for m, x := range tr.solution() {
				if got := c.f(m, 0, x); got != best[m] {
					t.Errorf("member %d: the solution has fitness %g; want the best, %g", m, got, best[m])
				}
			}
		})
	}
}

// TestPopulationsOfFew: populations of one and of odd sizes, and uninformative fitness, have defined outcomes: no
// value becomes NaN or leaves the bounds, and candidates that are not finite never displace finite ones.
func TestPopulationsOfFew(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	ga, pso, cso, de, shade := DefaultGA(), DefaultPSO(), DefaultCSO(), DefaultDE(), DefaultSHADE()
	ga.Population, pso.Population, cso.Population, de.Population, shade.Population, shade.Memory = 1, 1, 1, 5, 3, 1
	coded := RealCodedGA()
	coded.Population = 3
	nan := float32(math.NaN())
	for _, algo := range []Algorithm{ga, coded, pso, cso, de, shade} {
		for what, f := range map[string]func(g, m, c int) float32{
			"constant": func(_, _, _ int) float32 { return -7 },
			"nan":      func(_, _, _ int) float32 { return nan },
			"infinite": func(g, m, c int) float32 { return float32(math.Inf(1 - 2*((g+m+c)%2))) },
			"nan first": func(g, m, c int) float32 {
				if g < 4 || (g+c)%3 == 0 {
					return nan
				}
				return float32(-100 - g)
			},
		} {
			t.Run(algo.Name()+" "+what, func(t *testing.T) {
				space := box(2, 5)
				tr := newTrial(t, eng, algo, space, starts(space))
				var finite bool
				for g := range 10 {
					population, scores := tr.step(func(m, c int, _ []float32) float32 { return f(g, m, c) })
					for m := range population {
						for c, x := range population[m] {
							for i, v := range x {
								if !(v >= space.Low[i] && v <= space.High[i]) {
									t.Fatalf("generation %d, member %d: candidate %d is %v", g, m, c, x)
								}
							}
							finite = finite || worthOf(scores[m][c]) > -math.MaxFloat32
						}
					}
				}
				for m, f := range tr.values(tr.generation.ranking.best) {
					if (f == f) != finite {
						t.Errorf("member %d: best fitness %g", m, f)
					}
				}
				if what == "nan first" && algo.Name() != "ga" && algo.Name() != "cso" { // their parents die, or their losers stay unchanged
					for _, tensor := range tr.state.Tensors() {
						if !strings.HasSuffix(tensor.Name(), "fitness") || strings.HasPrefix(tensor.Name(), "search/") {
							continue
						}
						for i, f := range tr.values(tensor) {
							if worthOf(f) == -math.MaxFloat32 || !(f < -100) {
								t.Errorf("%s: %g at %d although all have had finite fitness", tensor.Name(), f, i)
							}
						}
					}
				}
			})
		}
	}
}

// TestPopulationConfigs: an invalid setting gives one error that names it.
func TestPopulationConfigs(t *testing.T) {
	eng := engine.New(open(t))
	de, small, shade, ga, pso := DefaultDE(), DefaultDE(), DefaultSHADE(), DefaultGA(), DefaultPSO()
	de.Population, small.Population, small.Differences, shade.Population, ga.MutationRate, pso.Population = 3, 4, 2, 2, -0.5, 0
	for _, c := range []struct {
		algo Algorithm
		want string
	}{{de, "takes 4 different"}, {small, "takes 6 different"}, {shade, `"population"`}, {ga, `"mutation_rate"`}, {pso, `"population"`}} {
		s := eng.NewState()
		_, err := c.algo.New(s, engine.NewClock(s), engine.NewHyper(s, 1), Space{Members: 1, Dim: 2})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want one with %q", c.algo.Name(), err, c.want)
		}
		_ = s.Close()
	}
	for _, text := range []string{"", "SBX", "blx"} {
		if new(Crossover).UnmarshalText([]byte(text)) == nil || new(Mutation).UnmarshalText([]byte(text)) == nil ||
			new(Base).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is the name of something", text)
		}
	}
	for i := range crossoverNames {
		var back Crossover
		if text, err := Crossover(i).MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != Crossover(i) {
			t.Errorf("crossover %d is written %q and read back as %d", i, text, back)
		}
	}
}

// TestPopulationTOML: settings, operators' too, are decoded by their names and encoded unchanged.
func TestPopulationTOML(t *testing.T) {
	ga, grid, tessellation, de := DefaultGA(), DefaultMAPElites(), DefaultCVTMAPElites(), DefaultDE()
	sections := config.Sections{{Name: "ga", Value: &ga}, {Name: "map-elites", Value: &grid}, {Name: "cvt-map-elites",
		Value: &tessellation}, {Name: "de", Value: &de}}
	read := func(text string) error {
		doc, err := config.Parse("test.toml", []byte(text))
		if err == nil {
			err = doc.Decode(sections)
		}
		return err
	}
	err := read("[ga]\nplus = true\ncrossover = \"sbx\"\nmutation_rate = -1\n" +
		"[map-elites]\ncells = [3, 4]\nworst = -2.5\nline_std = 0.1\n" +
		"[cvt-map-elites]\ncentroids = 7\nmutation = \"polynomial\"\n" +
		"[de]\nbase = \"current_to_best\"\ndifferences = 2\n")
	if err != nil {
		t.Fatal(err)
	}
	if !ga.Plus || ga.Crossover != SBX || ga.MutationRate != -1 || len(grid.Cells) != 2 || grid.Worst != -2.5 || grid.LineStd != 0.1 ||
		tessellation.Centroids != 7 || tessellation.Mutation != PolynomialMutation || de.Base != CurrentToBest || de.Differences != 2 {
		t.Errorf("read %+v %+v %+v %+v", ga, grid, tessellation, de)
	}
	var first, second strings.Builder
	if err := config.Encode(&first, sections); err != nil {
		t.Fatal(err)
	}
	if err := read(first.String()); err != nil {
		t.Fatal(err)
	}
	if err := config.Encode(&second, sections); err != nil || first.String() != second.String() {
		t.Errorf("error %v; written\n%s\nthen\n%s", err, first.String(), second.String())
	}
	for text, want := range map[string]string{
		"[ga]\ncrossover = \"blx\"":             `is "blx": want one of`,
		"[ga]\nmutation_rate = -0.5":            "-1 for one number",
		"[ga]\nelite_ratio = 0":                 "above 0",
		"[map-elites]\ncells = []":              "want their number along each descriptor",
		"[cvt-map-elites]\nsamples = 3":         "3 samples for",
		"[de]\npopulation = 4\nbase = \"rand\"": "takes 6 different",
	} {
		ga, grid, tessellation, de = DefaultGA(), DefaultMAPElites(), DefaultCVTMAPElites(), DefaultDE()
		de.Differences = 2
		if err := read(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "test.toml:") {
			t.Errorf("%q: error %v; want one with %q and the place", text, err, want)
		}
	}
}
