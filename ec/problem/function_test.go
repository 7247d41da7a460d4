package problem

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// values evaluates points [M][n][dim] of a problem's members, as a window that begins in the middle of the
// population, and checks that nothing outside it is written. exact omits noise.
func values(t testing.TB, eng *engine.Engine, f *Function, points [][][]float64, exact bool) [][]float32 {
	t.Helper()
	out := make([][]float32, len(points))
	for m, values := range valuesOf(t, eng, f, points, exact, false) {
		for _, v := range values {
			out[m] = append(out[m], float32(v))
		}
	}
	return out
}

// valuesOf evaluates points of a noiseless function, as double floats if doubleFloat is set. The values are then
// double floats too, if the function supports that.
func valuesOf(t testing.TB, eng *engine.Engine, f *Function, points [][][]float64, exact, doubleFloat bool) [][]float64 {
	t.Helper()
	const first, behind = 3, 2
	members, window := len(points), len(points[0])
	population := first + window + behind
	s := eng.NewState()
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	clock := engine.NewClock(s)
	evaluation, err := f.New(t.Context(), s, clock, members, population)
	must(err)
	e := evaluation.(*functionEvaluation)
	row := f.Space(members).Row()
	candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
	rest := s.Scratch("rest", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
	fitness := s.Scratch("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	more := s.Scratch("fitness_rest", engine.Float32, fitness.Dims()...)
	must(s.Zero(t.Context()))
	must(s.Poison(t.Context()))
	x, low := make([]float32, candidates.Len()), make([]float32, candidates.Len())
	for m, rows := range points {
		for i, p := range rows {
			for j, v := range p {
				at := (m*window+i)*row + j
				x[at] = float32(v)
				low[at] = float32(v - float64(x[at]))
			}
		}
	}
	must(candidates.WriteFloat32(t.Context(), x))
	if doubleFloat {
		must(rest.WriteFloat32(t.Context(), low))
	}
	program, err := eng.Record("functions", func(r *engine.Recorder) {
		switch {
		case doubleFloat && e.DoubleFloatFitness():
			e.RecordDoubleFloat(r, candidates, rest, first, fitness, more)
		case doubleFloat:
			e.RecordDoubleFloat(r, candidates, rest, first, fitness, nil)
		default:
			k := e.of(candidates, first, fitness)
			k.exact = exact
			r.Dispatch(f.call(r, k))
		}
	})
	must(err)
	defer program.Free()
	must(program.Run(t.Context()))
	all, err := fitness.ReadFloat32(t.Context())
	must(err)
	added, err := more.ReadFloat32(t.Context())
	must(err)
	out := make([][]float64, members)
	for m := range out {
		for i := range population {
			v, low := float64(all[m*population+i]), float64(added[m*population+i])
			switch {
			case i >= first && i < first+window && doubleFloat && e.DoubleFloatFitness():
				out[m] = append(out[m], v+low)
			case i >= first && i < first+window:
				out[m] = append(out[m], v)
			case v == v || low == low:
				t.Errorf("%s: candidate %d, outside of the window, was written: %g, %g", f.Name(), i, v, low)
			}
		}
	}
	return out
}

// TestClassicFunctions compares with the formulas, also for candidates that are not finite.
func TestClassicFunctions(t *testing.T) {
	eng := engine.New(open(t))
	formulas := map[string]func(x []float64) float64{
		"sphere": func(x []float64) (f float64) {
			for _, v := range x {
				f += v * v
			}
			return f
		},
		"rosenbrock": func(x []float64) (f float64) {
			for i := range len(x) - 1 {
				f += 100*(x[i]*x[i]-x[i+1])*(x[i]*x[i]-x[i+1]) + (x[i]-1)*(x[i]-1)
			}
			return f
		},
		"rastrigin": func(x []float64) (f float64) {
			for _, v := range x {
				f += 10 - 10*math.Cos(2*math.Pi*v) + v*v
			}
			return f
		},
		"ackley": func(x []float64) float64 {
			square, cosine, n := 0.0, 0.0, float64(len(x))
			for _, v := range x {
				square += v * v
				cosine += math.Cos(2 * math.Pi * v)
			}
			return 20 - 20*math.Exp(-0.2*math.Sqrt(square/n)) + math.E - math.Exp(cosine/n)
		},
	}
	for _, n := range []int{1, 2, 7, 33} {
		for _, f := range []*Function{Sphere(n), Rosenbrock(n), Rastrigin(n), Ackley(n)} {
			const members, count = 2, 5
			rng := engine.NewRng(3, 1, uint32(n), 0, 0)
			points := make([][][]float64, members)
			optimum := make([]float64, n)
			if f.Name() == "rosenbrock" {
				for i := range optimum {
					optimum[i] = 1
				}
			}
			for m := range points {
				for range count {
					p := make([]float64, n)
					for j := range p {
						p[j] = float64(rng.UniformIn(-4, 4))
					}
					points[m] = append(points[m], p)
				}
				wrong := append([]float64(nil), points[m][0]...)
				wrong[n-1] = []float64{math.NaN(), math.Inf(-1)}[m]
				points[m] = append(points[m], optimum, wrong)
			}
			for m, got := range values(t, eng, f, points, false) {
				for i, v := range got[:count] {
					if want := formulas[f.Name()](points[m][i]); !(math.Abs(-float64(v)-want) <= 2e-6*max(1, want)) {
						t.Errorf("%s, %d dimensions: %.9g; want %.9g", f.Name(), n, -v, want)
					}
				}
				if got[count] != 0 {
					t.Errorf("%s, %d dimensions: %g at the optimum", f.Name(), n, got[count])
				}
				if got[count+1] == got[count+1] {
					t.Errorf("%s, %d dimensions, of what is no number: %g", f.Name(), n, got[count+1])
				}
			}
		}
	}
}

// TestFineCandidates: double-float points on the sharp ridge of f13, far along it and very close beside it, have
// their float64 value.
func TestFineCandidates(t *testing.T) {
	const n = 10
	for _, centred := range []bool{false, true} {
		c := BBOBConfig{Function: 13, Dimension: n, Instance: 1, Centred: centred}
		f, err := BBOB(c)
		if err != nil {
			t.Fatal(err)
		}
		of := newInstance(13, n, 1)
		a := mat.DenseCopyOf(of.a)
		a.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, a)
		var points [][]float64
		var want []float64
		for i := range 5 {
			z := mat.NewVecDense(n, nil)
			along, square := math.Pow(10, -float64(i)), 0.0
			z.SetVec(0, along)
			for j := 1; j < n; j++ {
				beside := 1e-2 * along * along * math.Sin(float64(i+5*j))
				z.SetVec(j, beside)
				square += beside * beside
			}
			want = append(want, along*along+100*math.Sqrt(square))
			var d mat.VecDense
			if err := d.SolveVec(a, z); err != nil {
				t.Fatal(err)
			}
			x := make([]float64, n)
			for j := range x {
				x[j] = of.optimum[j] + d.AtVec(j)
				if centred {
					x[j] -= math.Round(of.optimum[j]*256) / 256
				}
			}
			points = append(points, x)
		}
		for i, v := range valuesOf(t, engine.New(open(t)), f, [][][]float64{points}, false, true)[0] {
			if d := math.Abs(-float64(v)-want[i]) / want[i]; !(d <= 2e-6+4e-12/want[i]) { // two floats resolve 1e-14 beside 5
				t.Errorf("centred %v, point %d: %.9g; want %.9g (deviation %.1e)", centred, i, -v, want[i], d)
			}
		}
	}
}

// TestLargeFunctions: dimensions so large that invocations loop often and workgroups are large.
func TestLargeFunctions(t *testing.T) {
	const n, count = 301, 3
	c := BBOBConfig{Function: 12, Dimension: n, Instance: 1}
	f, err := BBOB(c)
	if err != nil {
		t.Fatal(err)
	}
	points := make([][]float64, count)
	for i := range points {
		for j := range n {
			points[i] = append(points[i], 4*math.Sin(float64(i+j*j)))
		}
	}
	of := newInstance(12, n, 1)
	for i, got := range values(t, engine.New(open(t)), f, [][][]float64{points}, false)[0] {
		turned := make([]float64, n)
		for a := range turned {
			for b := range n {
				turned[a] += of.a.At(a, b) * (float64(float32(points[i][b])) - of.optimum[b])
			}
			if v := turned[a]; v > 0 {
				turned[a] = math.Pow(v, 1+0.5*float64(a)/(n-1)*math.Sqrt(v))
			}
		}
		want := 0.0
		for a := range n {
			z := 0.0
			for b, v := range turned {
				z += of.b.At(a, b) * v
			}
			weight := 1e6
			if a == 0 {
				weight = 1
			}
			want += weight * z * z
		}
		if d := math.Abs(-float64(got)-want) / want; !(d <= 1e-5) {
			t.Errorf("point %d: %g; want %g (deviation %.1e)", i, -got, want, d)
		}
	}
}

// TestFunctionSettings: invalid settings are errors.
func TestFunctionSettings(t *testing.T) {
	for _, c := range []struct {
		function, dim, instance int
		want                    string
	}{{0, 10, 1, "function"}, {25, 10, 1, "want 1 to 24"}, {100, 10, 1, "want 1 to 24"}, {131, 10, 1, "function"}, {1, 1, 1, "dimension"},
		{1, 1001, 1, "dimension"}, {1, 10, 0, "instance"}} {
		_, err := BBOB(BBOBConfig{Function: c.function, Dimension: c.dim, Instance: c.instance})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("f%d, %d dimensions, instance %d: %v; want it to say %q", c.function, c.dim, c.instance, err, c.want)
		}
	}
	eng := engine.New(open(t))
	for _, n := range []int{-1, 0} {
		if s, err := ec.NewSearch(t.Context(), eng, ec.DefaultSNES(), Sphere(n), 1); err == nil {
			s.Close()
			t.Errorf("a sphere of %d dimensions", n)
		}
	}
	if _, err := Sphere(3).Front(10); err == nil {
		t.Error("a front of one objective")
	}
}
