package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
)

// named returns a function by its name in the reference data.
func named(t testing.TB, name string, objectives, dim int) *Function {
	t.Helper()
	number := int(name[len(name)-1] - '0')
	var p *Function
	var err error
	if strings.HasPrefix(name, "zdt") {
		p, err = ZDT(number, dim)
	} else {
		p, err = DTLZ(number, objectives, dim)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFunctionsLikePymoo compares ZDT and DTLZ with pymoo (tools/reference/ec/several.py). Candidates of two members
// are in a window that begins in the middle of the population; nothing outside it is written.
func TestFunctionsLikePymoo(t *testing.T) {
	data, err := os.ReadFile("testdata/several.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Functions []struct {
			Name       string
			Objectives int
			X, F       [][]float64
		}
	}
	if err := json.Unmarshal(data, &reference); err != nil {
		t.Fatal(err)
	}
	if len(reference.Functions) != 20 {
		t.Fatalf("%d functions in the reference data; want 20", len(reference.Functions))
	}
	eng := engine.New(open(t))
	const members, population, first, window = 2, 9, 3, 4
	worst := 0.0
	for _, c := range reference.Functions {
		p := named(t, c.Name, c.Objectives, len(c.X[0]))
		s := eng.NewState()
		defer s.Close()
		e, err := p.New(t.Context(), s, engine.NewClock(s), members, population)
		if err != nil {
			t.Fatal(err)
		}
		row, k := p.Space(members).Row(), c.Objectives
		candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
		objectives := s.Scratch("objectives", engine.Float32, engine.Members(members), engine.Axis("candidate", population), engine.Axis("objective", k))
		if err := s.Poison(t.Context()); err != nil {
			t.Fatal(err)
		}
		values := make([]float32, candidates.Len())
		for i := range members * window {
			for j, x := range c.X[i%window] {
				values[i*row+j] = float32(x)
			}
		}
		if err := candidates.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		program, err := eng.Record("functions", func(r *engine.Recorder) { e.Record(r, candidates, first, objectives) })
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := objectives.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range members * population {
			at, f := i%population-first, got[i*k:][:k]
			if at < 0 || at >= window {
				if slices.ContainsFunc(f, func(v float32) bool { return v == v }) {
					t.Errorf("%s: candidate %d, outside of the window, was written: %v", c.Name, i, f)
				}
				continue
			}
			for o, want := range c.F[at] {
				d := math.Abs(-float64(f[o])-want) / max(slices.Max(c.F[at]), 1)
				if worst = max(worst, d); !(d <= 3e-6) {
					t.Errorf("%s, point %d: objective %d is %.9g; want %.9g (deviation %.1e)", c.Name, at, o, -f[o], want, d)
				}
			}
		}
	}
	t.Logf("largest deviation %.1e", worst)
}

// TestNothingBeatsTheFront: where solutions of DTLZ1 to DTLZ6 on the front are 0 in an objective, distant solutions
// are not better. Rounding could make a factor of 0 slightly negative, and distant solutions multiply it.
func TestNothingBeatsTheFront(t *testing.T) {
	eng := engine.New(open(t))
	var x [][]float32
	for _, end := range [][2]float32{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0.5, 1}, {1 - 1.0/(1<<24), 0.5}, {0.25, 1 - 1.0/(1<<24)}, {1e-30, 0.75}} {
		for _, rest := range []float32{0.5, 0, 1, 0.37, 0.95} {
			x = append(x, append([]float32{end[0], end[1]}, slices.Repeat([]float32{rest}, 10)...))
		}
	}
	for number := 1; number <= 6; number++ {
		p, err := DTLZ(number, 3, 12)
		if err != nil {
			t.Fatal(err)
		}
		s := eng.NewState()
		defer s.Close()
		e, err := p.New(t.Context(), s, engine.NewClock(s), 1, len(x))
		if err != nil {
			t.Fatal(err)
		}
		candidates := s.Scratch("candidates", engine.Float32, engine.Members(len(x)), engine.Axis("parameter", 12))
		objectives := s.Scratch("objectives", engine.Float32, engine.Members(1), engine.Axis("candidate", len(x)), engine.Axis("objective", 3))
		if err := errors.Join(s.Zero(t.Context()), candidates.WriteFloat32(t.Context(), slices.Concat(x...))); err != nil {
			t.Fatal(err)
		}
		program, err := eng.Record("functions", func(r *engine.Recorder) { e.Record(r, candidates, 0, objectives) })
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		values, err := objectives.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		zeros := 0
		for i, v := range values {
			if v == 0 {
				zeros++
			}
			if !(v <= 0) {
				t.Errorf("DTLZ%d at %v: objective %d is %g, above the front's best, 0", number, x[i/3], i%3, v)
			}
		}
		if zeros < 20 {
			t.Errorf("DTLZ%d: only %d objectives are 0", number, zeros)
		}
	}
}

// TestFronts: the true fronts agree with the functions at known optima, no point is dominated by another, and there
// are about as many points as requested.
func TestFronts(t *testing.T) {
	for _, name := range []string{"zdt1", "zdt2", "zdt3", "zdt4", "zdt5", "zdt6", "dtlz1", "dtlz2", "dtlz3", "dtlz4", "dtlz5", "dtlz6", "dtlz7"} {
		for _, k := range []int{2, 3, 4} {
			if strings.HasPrefix(name, "zdt") != (k == 2) && k != 3 {
				continue
			}
			objectives := k
			if strings.HasPrefix(name, "zdt") {
				objectives = 2
			}
			p := named(t, name, objectives, 0)
			front, err := p.Front(200)
			if (name == "dtlz5" || name == "dtlz6") && k == 4 {
				if err == nil {
					t.Errorf("%s with 4 objectives: a front, which is not known", name)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(front); name != "zdt5" && (n < 100 || n > 420) || name == "zdt5" && n != 31 {
				t.Errorf("%s: %d points; want about 200", name, n)
			}
			if left := indicator.NonDominated(front); len(left) != len(front) {
				t.Errorf("%s: %d of %d points are dominated", name, len(front)-len(left), len(front))
			}
			for _, point := range front {
				if d := offFront(name, point); !(math.Abs(d) <= 1e-9) {
					t.Fatalf("%s: %v is off by %.1e", name, point, d)
				}
			}
		}
	}
}

// offFront returns the distance of a maximised point from the equation of a front.
func offFront(name string, point []float64) float64 {
	sum, square := 0.0, 0.0
	for _, v := range point {
		sum -= v
		square += v * v
	}
	x, y := -point[0], -point[1]
	switch name {
	case "zdt1", "zdt4":
		return y - 1 + math.Sqrt(x)
	case "zdt2", "zdt6":
		return y - 1 + x*x
	case "zdt3":
		return y - 1 + math.Sqrt(x) + x*math.Sin(10*math.Pi*x)
	case "zdt5":
		return x*y - 10
	case "dtlz1":
		return sum - 0.5
	case "dtlz7":
		k := len(point)
		h := float64(k)
		for _, v := range point[:k-1] {
			h -= -v / 2 * (1 + math.Sin(-3*math.Pi*v))
		}
		return -point[k-1] - 2*h
	}
	return square - 1
}

// TestFunctionErrors: functions that do not exist, and fronts of invalid sizes.
func TestFunctionErrors(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {7, 0}, {1, 1}, {5, 30}, {2, -3}} {
		if p, err := ZDT(c[0], c[1]); err == nil {
			t.Errorf("ZDT%v is %v", c, p.Name())
		}
	}
	for _, c := range [][3]int{{0, 3, 0}, {8, 3, 0}, {1, 1, 0}, {1, 17, 0}, {2, 3, 2}} {
		if p, err := DTLZ(c[0], c[1], c[2]); err == nil {
			t.Errorf("DTLZ%v is %v", c, p.Name())
		}
	}
	p := named(t, "zdt1", 2, 0)
	for _, n := range []int{-1, 0, 1, 1 << 21} {
		if _, err := p.Front(n); err == nil {
			t.Errorf("a front of %d points", n)
		}
	}
	eng := engine.New(open(t))
	for _, c := range []struct {
		algo    ec.Algorithm
		problem ec.Problem
		want    string
	}{
		{ec.DefaultOpenES(), p, "2"},
		{ec.DefaultNSGA2(), Arm(3), "1 objective"},
		{ec.DefaultNSGA3(), Arm(3), "1 objective"},
		{ec.DefaultMOEAD(), Arm(3), "1 objective"},
		{ec.NSGA3Config{ReferenceConfig: ec.ReferenceConfig{Population: 10, Partitions: []int{12}}, VariationConfig: ec.RealCodedVariation()}, p, "13 points"},
		{ec.NSGA3Config{ReferenceConfig: ec.ReferenceConfig{Population: 10, Partitions: []int{1, 1, 1}},
			VariationConfig: ec.RealCodedVariation()}, p, "3 layers"},
		{ec.NSGA2Config{Population: 0, Tournament: 2, VariationConfig: ec.RealCodedVariation()}, p, "population"},
		{ec.NSGA2Config{Population: 16384, Tournament: 2, VariationConfig: ec.RealCodedVariation()}, p, "smaller population"},
	} {
		s, err := ec.NewSearch(t.Context(), eng, c.algo, c.problem, 1)
		if err == nil {
			s.Close()
			if c.want == "smaller population" && eng.Device().Info().Limits.MaxLoopIterations == 0 {
				continue
			}
			t.Errorf("%s on %s: no error", c.algo.Name(), c.problem.Name())
			continue
		}
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s on %s: %v; want it to say %q", c.algo.Name(), c.problem.Name(), err, c.want)
		}
	}
}
