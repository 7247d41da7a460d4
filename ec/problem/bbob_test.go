package problem

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// bbobReference is what COCO makes of the functions: tools/reference/ec/bbob.py.
type bbobReference struct {
	Points    [][][]float64 // of each number of dimensions
	Functions []struct {
		Function int
		Instance int
		XOpt     []float64 `json:"x_opt"`
		FOpt     float64   `json:"f_opt"`
		Near     []float64
		Values   []float64 // at the points and, without noise, at Near
	}
}

func readBBOB(t *testing.T) (out bbobReference) {
	t.Helper()
	data, err := os.ReadFile("testdata/bbob.json")
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Functions) != (24+10)*4 {
		t.Fatalf("%d functions in the reference data; want %d", len(out.Functions), (24+10)*4)
	}
	return out
}

// dimensions of an entry: there are two of each function and instance.
func (r bbobReference) dimension(entry int) int { return len(r.Points[entry%4/2][0]) }

// values evaluates points [M][n][dim] of a problem's members, as a window that begins in the middle of the population; what is outside of it
// must stay as it was. Noise is left out if exact is set.
func values(t testing.TB, eng *engine.Engine, f *Function, points [][][]float64, exact bool) [][]float32 {
	t.Helper()
	return valuesOf(t, eng, f, points, exact, false)
}

// valuesOf are values of the points, as sums of two floats if fine is set.
func valuesOf(t testing.TB, eng *engine.Engine, f *Function, points [][][]float64, exact, fine bool) [][]float32 {
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
	candidates := s.Scratch("candidates", engine.Float32, engine.Population(members*window), engine.Axis("parameter", row))
	rest := s.Scratch("rest", engine.Float32, engine.Population(members*window), engine.Axis("parameter", row))
	fitness := s.Scratch("fitness", engine.Float32, engine.Population(members), engine.Axis("candidate", population))
	must(s.Zero(t.Context()))
	must(s.Poison(t.Context()))
	must(e.Constants(t.Context()))
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
	if fine {
		must(rest.WriteFloat32(t.Context(), low))
	}
	program, err := eng.Record("functions", func(r *engine.Recorder) {
		k := e.of(candidates, first, fitness)
		if k.exact = exact; fine {
			k.rest = rest
		}
		r.Dispatch(f.call(r, k))
	})
	must(err)
	defer program.Free()
	must(program.Run(t.Context()))
	all, err := fitness.ReadFloat32(t.Context())
	must(err)
	out := make([][]float32, members)
	for m := range out {
		of := all[m*population:][:population]
		out[m] = of[first:][:window]
		for i, v := range of {
			if (i < first || i >= first+window) && v == v {
				t.Errorf("%s: candidate %d, outside of the window, was written: %g", f.Name(), i, v)
			}
		}
	}
	return out
}

// TestBBOBInstances: optima and optimal values are COCO's.
func TestBBOBInstances(t *testing.T) {
	reference := readBBOB(t)
	for i, entry := range reference.Functions {
		c := BBOBConfig{Function: entry.Function, Dimension: reference.dimension(i), Instance: entry.Instance - 1}
		x, value := c.Optimum(1)
		if math.Abs(value-entry.FOpt) > 1e-9 {
			t.Errorf("f%d, instance %d: f_opt is %g; want %g", entry.Function, entry.Instance, value, entry.FOpt)
		}
		for j, want := range entry.XOpt {
			if math.Abs(x[j]-want) > 1e-8 {
				t.Fatalf("f%d, %d dimensions, instance %d: x_opt is %v; want %v", entry.Function, c.Dimension, entry.Instance, x, entry.XOpt)
			}
		}
	}
}

// bbobDeviation is how far a value may be from COCO's, relative to it: float32's rounding of A (x - x_opt) is carried far by Weierstrass's and Katsuura's
// functions, whose finest ripples are 1/3^11 and 1/2^32 wide, and by the arguments of sines that are large far from the optimum.
func bbobDeviation(function int) float64 {
	switch function {
	case 16:
		return 2e-3
	case 23:
		return 5e-4
	case 19, 125:
		return 5e-3
	}
	return 2e-5
}

// TestBBOBLikeCOCO: values are COCO's, wherever candidates are counted from.
func TestBBOBLikeCOCO(t *testing.T) {
	reference := readBBOB(t)
	eng := engine.New(open(t))
	worst := map[int]float64{}
	for i, entry := range reference.Functions {
		n := reference.dimension(i)
		points := append([][]float64(nil), reference.Points[i%4/2]...)
		if entry.Near != nil {
			points = append(points, entry.Near)
		}
		for _, centred := range []bool{false, true} {
			if centred && (n != 10 || !slices.Contains([]int{1, 6, 12, 13, 18, 20, 21, 24}, entry.Function)) {
				continue
			}
			c := BBOBConfig{Function: entry.Function, Dimension: n, Instance: entry.Instance - 1, Centred: centred}
			if c.Instance == 0 {
				c.Instance = 1
			}
			member := entry.Instance - c.Instance
			f, err := BBOB(c)
			if err != nil {
				t.Fatal(err)
			}
			from := make([]float64, n)
			if centred {
				x, _ := c.Optimum(member)
				for j, v := range x {
					from[j] = math.Round(v*256) / 256
				}
			}
			batch := make([][][]float64, member+1)
			for m := range batch {
				for _, p := range points {
					relative := make([]float64, n)
					for j := range p {
						relative[j] = p[j] - from[j]
					}
					batch[m] = append(batch[m], relative)
				}
			}
			got := valuesOf(t, eng, f, batch, true, centred)[member] // relative to another point they are no floats
			for j, want := range entry.Values {
				d := math.Abs(-float64(got[j])-want) / max(math.Abs(want), 1e-6)
				worst[entry.Function] = max(worst[entry.Function], d)
				if !(d <= bbobDeviation(entry.Function)) {
					t.Errorf("f%d, %d dimensions, instance %d, centred %v, point %d: %.9g; want %.9g (deviation %.1e)", entry.Function, n, entry.Instance, centred, j, -got[j], want, d)
				}
			}
		}
	}
	largest := 0.0
	for function, d := range worst {
		if bbobDeviation(function) < 1e-4 {
			largest = max(largest, d)
		}
	}
	t.Logf("largest deviation %.1e; of f16 %.1e, f19 %.1e, f23 %.1e", largest, worst[16], worst[19], worst[23])
}

// TestBBOBOptima: every function is best at its optimum, where it is 0 but for the rounding of x: what its documentation says can be reached.
func TestBBOBOptima(t *testing.T) {
	eng := engine.New(open(t))
	const members, n = 8, 10
	for function := 1; function <= 24; function++ {
		for _, centred := range []bool{false, true} {
			c := BBOBConfig{Function: function, Dimension: n, Instance: 1, Centred: centred}
			f, err := BBOB(c)
			if err != nil {
				t.Fatal(err)
			}
			points := make([][][]float64, members)
			for m := range points {
				x, _ := c.Optimum(m)
				for j := range x {
					if centred {
						x[j] -= math.Round(x[j]*256) / 256
					}
				}
				points[m] = [][]float64{x}
			}
			most := 1e-7
			switch {
			case centred && (function == 13 || function == 23):
				most = 1e-7
			case centred:
				most = 1e-8
			case function == 13:
				most = 2e-4
			case function == 17:
				most = 2e-6
			case function == 18:
				most = 1e-5
			case function == 23:
				most = 1e-4
			}
			largest := 0.0
			for m, v := range values(t, eng, f, points, true) {
				largest = max(largest, -float64(v[0]))
				if v[0] > 0 || !(-float64(v[0]) <= most) {
					t.Errorf("f%d, member %d, centred %v: %g at the optimum; want at most %g", function, m, centred, -v[0], most)
				}
			}
			t.Logf("f%d, centred %v: %.1e", function, centred, largest)
		}
	}
}

// TestClassicFunctions: against their formulas, with candidates that are no numbers.
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

// TestFunctionSettings: what cannot be asked for.
func TestFunctionSettings(t *testing.T) {
	for _, c := range []struct {
		function, dim, instance int
		want                    string
	}{{0, 10, 1, "function"}, {25, 10, 1, "want 1 to 24"}, {100, 10, 1, "want 1 to 24"}, {131, 10, 1, "function"}, {1, 1, 1, "dimension"}, {1, 1001, 1, "dimension"}, {1, 10, 0, "instance"}} {
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

// TestBBOBNoise: values with noise are those without it, made noisy by the definitions' formulas with the counters' random numbers; what is
// asked for apart from the search has none.
func TestBBOBNoise(t *testing.T) {
	const seed, n, count, first = 5, 10, 6, 3
	eng := engine.New(open(t), engine.Seed(seed))
	key := [2]uint32{seed, engine.Stream("ec/problem/noise")}
	for _, function := range []int{101, 102, 103, 107, 108, 109, 128, 129, 130} {
		c := BBOBConfig{Function: function, Dimension: n, Instance: 3}
		f, err := BBOB(c)
		if err != nil {
			t.Fatal(err)
		}
		points := make([][][]float64, 2)
		for m := range points {
			for i := range count {
				p := make([]float64, n)
				for j := range p {
					p[j] = math.Sin(float64(m + 3*i + 7*j))
				}
				points[m] = append(points[m], p)
			}
			x, _ := c.Optimum(m)
			if function < 110 { // a sphere is below 1e-8 there, which is left as it is
				points[m][0] = x
			}
		}
		without, with := values(t, eng, f, points, true), values(t, eng, f, points, false)
		differ := 0
		for m := range without {
			for i, v := range without[m] {
				want := -float64(v)
				unit := func(w uint32) float64 { return float64(w>>8+1) / (1 << 24) }
				normal := func(a, b uint32) float64 {
					return math.Sqrt(-2*math.Log(unit(a))) * math.Cos(2*math.Pi*float64(b>>8)/(1<<24))
				}
				w := engine.Philox(key, [4]uint32{uint32(m), uint32(first + i), 0, 0})
				w2 := engine.Philox(key, [4]uint32{uint32(m), uint32(first + i), 0, 1})
				strength, rare := 1.0, 0.2
				if function <= 106 {
					strength, rare = 0.01, 0.05
				}
				if want >= 1e-8 {
					switch (function - 101) % 3 {
					case 0:
						want *= math.Exp(strength * normal(w[0], w[1]))
					case 1:
						want *= math.Pow(unit(w[0]), strength) * max(1, math.Pow(1e9/(want+1e-99), strength*(0.49+1.0/n)*unit(w[1])))
					case 2:
						cauchy := 1000.0
						if unit(w[0]) < rare {
							cauchy += normal(w2[0], w2[1]) / math.Abs(normal(w2[2], w2[3]))
						}
						want += strength * max(0, cauchy)
					}
					want += 1.01e-8
					differ++
				}
				if got := -float64(with[m][i]); !(math.Abs(got-want) <= 1e-5*max(math.Abs(want), 1e-6)) {
					t.Errorf("f%d, member %d, candidate %d: %.9g; want %.9g", function, m, i, got, want)
				}
			}
		}
		if differ < 2*(count-1) {
			t.Errorf("f%d: noise of %d values", function, differ)
		}
	}
}

// TestFineCandidates: points on the sharp ridge of f13, far along it and next to nothing beside it, have the value that they have in float64 if they are
// sums of two floats.
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

// TestLargeFunctions: with so many numbers that invocations loop much and workgroups are large.
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
