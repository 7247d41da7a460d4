package problem

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
)

// bbobReference holds COCO's values of the functions (tools/reference/ec/bbob.py).
type bbobReference struct {
	Points    [][][]float64 // by dimension
	Functions []struct {
		Function int
		Instance int
		XOpt     []float64 `json:"x_opt"`
		FOpt     float64   `json:"f_opt"`
		Near     []float64
		Values   []float64 // at Points and, without noise, at Near
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

// dimension returns the dimension of an entry; there are two entries of each function and instance.
func (r bbobReference) dimension(entry int) int { return len(r.Points[entry%4/2][0]) }

// TestBBOBInstances: optima and optimal values agree with COCO.
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

// bbobDeviation returns the tolerance of a value relative to COCO's. The functions of Weierstrass and Katsuura, whose
// finest ripples are 1/3^11 and 1/2^32 wide, and sines of large arguments far from the optimum amplify float32's
// rounding of A (x - x_opt).
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

// TestBBOBLikeCOCO: values agree with COCO, for candidates in absolute and centred coordinates.
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
			got := valuesOf(t, eng, f, batch, true, centred)[member] // relative to another point they are not representable as floats
			for j, want := range entry.Values {
				d := math.Abs(-float64(got[j])-want) / max(math.Abs(want), 1e-6)
				worst[entry.Function] = max(worst[entry.Function], d)
				if !(d <= bbobDeviation(entry.Function)) {
					t.Errorf("f%d, %d dimensions, instance %d, centred %v, point %d: %.9g; want %.9g (deviation %.1e)", entry.Function, n,
						entry.Instance, centred, j, -got[j], want, d)
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

// TestBBOBOptima: every function is best at its optimum, where it is 0 except for the rounding of x, within the
// limits that the documentation of BBOB states.
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

// TestBBOBNoise: noisy values are the noiseless ones with noise by the definitions' formulas and the counters' random
// numbers. Evaluations apart from the search have no noise.
func TestBBOBNoise(t *testing.T) {
	const seed, n, count, first = 5, 10, 6, 3
	eng := engine.New(open(t), engine.Seed(seed))
	key := [2]uint32{seed, engine.Stream("noise")}
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
			if function < 110 { // the sphere is below 1e-8 there and gets no noise
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

// TestFineRidge: for double-float candidates the fitness of f13 is a double float too. Of its two terms, the square
// of the coordinate along the ridge is exact to 1e-13 relative; the length across the ridge has the precision of one
// float, which suffices near the ridge, far from the optimum.
func TestFineRidge(t *testing.T) {
	const members, n = 2, 10
	c := BBOBConfig{Function: 13, Dimension: n, Instance: 1}
	f, err := BBOB(c)
	if err != nil {
		t.Fatal(err)
	}
	points, want, most := make([][][]float64, members), make([][]float64, members), make([][]float64, members)
	for m := range members {
		of := newInstance(13, n, 1+m)
		constants := of.constants(make([]float64, n), f.space.Row())
		row := f.space.Row()
		a := mat.NewDense(n, n, nil) // rounded to float32
		for i := range n {
			for j := range n {
				a.Set(i, j, float64(constants[(3+i)*row+j]))
			}
		}
		for p := range 12 {
			v := mat.NewVecDense(n, nil)
			for i := range n {
				v.SetVec(i, 1e-6*math.Sin(float64(7*i+5*p+m)))
			}
			along := 12 * math.Cos(float64(p+3*m))
			v.SetVec(0, along)
			var d mat.VecDense
			if err := d.SolveVec(a, v); err != nil {
				t.Fatal(err)
			}
			x := make([]float64, n)
			for i := range x {
				from := float64(constants[i]) + float64(constants[row+i])
				x[i] = from + d.AtVec(i)
				high := float64(float32(x[i])) // the double float passed to the kernel
				x[i] = high + float64(float32(x[i]-high))
				d.SetVec(i, x[i]-from)
			}
			v.MulVec(a, &d)
			across := 0.0
			for i := 1; i < n; i++ {
				across += v.AtVec(i) * v.AtVec(i)
			}
			points[m] = append(points[m], x)
			square, length := v.AtVec(0)*v.AtVec(0), 100*math.Sqrt(across)
			want[m], most[m] = append(want[m], square+length), append(most[m], 1e-13*square+2e-7*length)
		}
	}
	largest := 0.0
	for m, values := range valuesOf(t, engine.New(open(t)), f, points, true, true) {
		for p, v := range values {
			d := math.Abs(-v - want[m][p])
			largest = max(largest, d/most[m][p])
			if !(d <= most[m][p]) {
				t.Errorf("member %d, point %d: %.17g; want %.17g, %.1e more or less", m, p, -v, want[m][p], most[m][p])
			}
		}
	}
	t.Logf("largest deviation %.2f of what may be", largest)
}
