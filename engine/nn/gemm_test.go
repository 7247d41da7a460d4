package nn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// matrices lays so many members' matrices out in a fresh tensor, with gaps of poison before, between and after.
func matrices(t *testing.T, s *engine.State, name string, members, rows, columns int, values []float32, aligned bool) Matrix {
	x := Matrix{At: 1 + rand.IntN(5), Row: columns + rand.IntN(3)}
	if aligned {
		x.At, x.Row = 4*rand.IntN(3), Align(columns)
	}
	x.Stride = rows*x.Row + rand.IntN(5)
	if aligned {
		x.Stride = Align(x.Stride)
	}
	all := make([]float32, x.At+members*x.Stride+3)
	for i := range all {
		all[i] = poison
	}
	if values != nil {
		for p := range members {
			for i := range rows {
				copy(all[x.At+p*x.Stride+i*x.Row:], values[(p*rows+i)*columns:][:columns])
			}
		}
	}
	x.Tensor = vector(t, s, name, len(all), all)
	return x
}

// dense is a member's matrix, as it is stored or transposed.
func dense(values []float32, member, rows, columns int, transposed bool) mat.Matrix {
	x := mat.NewDense(rows, columns, nil)
	for i := range rows {
		for j := range columns {
			x.Set(i, j, float64(values[(member*rows+i)*columns+j]))
		}
	}
	if transposed {
		return x.T()
	}
	return x
}

type gemmCase struct {
	members, m, n, k       int
	transposeA, transposeB bool
	aligned                bool
	sharedA, sharedB       int  // consecutive members that share a matrix; 0: 1
	addend                 bool // only without splits
	splits                 int
	form                   gemmForm // zero: the device's choice
}

func (c gemmCase) run(t *testing.T) {
	s := testState(t)
	splits := max(c.splits, 1)
	sharedA, sharedB := max(c.sharedA, 1), max(c.sharedB, 1)
	membersA, membersB := (c.members+sharedA-1)/sharedA, (c.members+sharedB-1)/sharedB
	av, bv := normals(membersA*c.m*c.k), normals(membersB*c.k*c.n)
	shape := func(rows, columns int, transposed bool) (int, int) {
		if transposed {
			return columns, rows
		}
		return rows, columns
	}
	ar, ac := shape(c.m, c.k, c.transposeA)
	br, bc := shape(c.k, c.n, c.transposeB)
	g := Gemm{Members: c.members, M: c.m, N: c.n, K: c.k, TransposeA: c.transposeA, TransposeB: c.transposeB, Alpha: 0.5, Splits: c.splits,
		A: matrices(t, s, "a", membersA, ar, ac, av, c.aligned),
		B: matrices(t, s, "b", membersB, br, bc, bv, c.aligned),
	}
	g.C = matrices(t, s, "c", c.members*splits, c.m, c.n, nil, c.aligned)
	g.A.Shared, g.B.Shared = c.sharedA, c.sharedB
	g.SplitStride = c.members * g.C.Stride
	addend := make([]float32, g.C.Tensor.Len())
	if c.addend {
		addend = normals(len(addend))
		g.Addend = vector(t, s, "addend", len(addend), addend)
	}
	record(t, s, func(r *engine.Recorder) {
		if c.form == (gemmForm{}) {
			g.Record(r)
		} else {
			g.record(r, c.form)
		}
	})
	got := read(t, g.C.Tensor)
	written := 0
	for p := range c.members {
		var want, size mat.Dense
		a, b := dense(av, p/sharedA, ar, ac, c.transposeA), dense(bv, p/sharedB, br, bc, c.transposeB)
		want.Mul(a, b)
		absolute := func(_, _ int, v float64) float64 { return math.Abs(v) }
		var aa, ab mat.Dense
		aa.Apply(absolute, a)
		ab.Apply(absolute, b)
		size.Mul(&aa, &ab)
		for i := range c.m {
			for j := range c.n {
				at := g.C.At + p*g.C.Stride + i*g.C.Row + j
				sum, want := 0.0, 0.5*want.At(i, j)+float64(addend[at])
				for part := range splits {
					sum += float64(got[at+part*g.SplitStride])
					written++
				}
				// Rounding of K products and sums, each within half a unit in the last place.
				tolerance := float64(c.k+2) * 0x1p-24 * (size.At(i, j) + math.Abs(float64(addend[at])))
				if !(math.Abs(sum-want) <= tolerance) {
					t.Fatalf("member %d, element (%d, %d): %v, want %v ± %v", p, i, j, sum, want, tolerance)
				}
			}
		}
	}
	for _, v := range got {
		if !isPoison(v) {
			written--
		}
	}
	if written != 0 {
		t.Fatalf("%d elements outside C were written", -written)
	}
}

// Both forms of the kernel against float64, stored each way, in sizes that fill no tile.
func TestGemm(t *testing.T) {
	for name, form := range gemmForms(testState(t).Engine().Device().Info()) {
		ways := []string{"", "A", "B", "AB"}
		if testing.Short() {
			ways = ways[1:3] // each matrix both ways
		}
		for _, transposed := range ways {
			for _, aligned := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, transposed, aligned), func(t *testing.T) {
					for i, size := range [][3]int{{1, 1, 1}, {17, 33, 5}, {40, 7, 64}, {5, 50, 3}} {
						c := gemmCase{members: 1 + i%3, m: size[0], n: size[1], k: size[2], aligned: aligned, form: form, splits: i % 3,
							transposeA: strings.Contains(transposed, "A"), transposeB: strings.Contains(transposed, "B")}
						c.run(t)
					}
				})
			}
		}
	}
}

// gemmForms are the forms that the device runs.
func gemmForms(info vk.Info) map[string]gemmForm {
	forms := map[string]gemmForm{"tiles": {formTiles, 64, 4, 4, 8}}
	if info.SubgroupOps.Has(vk.SubgroupShuffle) && info.SubgroupSize <= 16 {
		forms["lanes"] = gemmForm{formLanes, info.SubgroupSize, 2, 4, 0} // wider subgroups have no registers for it
	}
	return forms
}

// Members that share an A or a B, with and without an addend, in every form.
func TestGemmShared(t *testing.T) {
	forms := gemmForms(testState(t).Engine().Device().Info())
	forms["vector"] = gemmForm{form: formVector, workgroup: 64, width: 4}
	for name, form := range forms {
		for _, aligned := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, aligned), func(t *testing.T) {
				c := gemmCase{members: 6, m: 9, n: 13, k: 7, aligned: aligned, form: form, sharedA: 2, addend: true}
				if name == "vector" {
					c.m = 1
				}
				c.run(t)
				c.sharedA, c.sharedB, c.addend, c.transposeB = 3, 2, false, true
				c.run(t)
				c.members, c.sharedA, c.sharedB, c.splits = 5, 0, 5, 2
				c.run(t)
			})
		}
	}
}

func TestGemmErrors(t *testing.T) {
	s := testState(t)
	x := vector(t, s, "x", 64, nil)
	y, short := vector(t, s, "y", 64, nil), vector(t, s, "short", 63, nil)
	m := Matrix{Tensor: x, Stride: 16, Row: 4}
	for name, g := range map[string]Gemm{
		"C shared":             {C: Matrix{Tensor: y, Stride: 16, Row: 4, Shared: 2}},
		"addend of other size": {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: short},
		"addend is C":          {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: y},
		"addend with splits":   {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: x, Splits: 2},
		"C too short":          {C: Matrix{Tensor: short, Stride: 16, Row: 4}},
	} {
		g.Members, g.M, g.N, g.K, g.A, g.B = 4, 4, 4, 4, m, m
		if p, err := s.Engine().Record(name, func(r *engine.Recorder) { g.Record(r) }); err == nil {
			p.Free()
			t.Errorf("%s: no error", name)
		}
	}
}

// Products of one row, their sums whole and shared by invocations.
func TestGemmVector(t *testing.T) {
	forms := []gemmForm{{form: formVector, workgroup: 64, width: 4}, {form: formVector, workgroup: 8, width: 1}}
	if testing.Short() {
		forms = forms[:1]
	}
	for _, form := range forms {
		for _, transposed := range []bool{false, true} {
			for i, size := range [][2]int{{1, 1}, {35, 6}, {40, 64}, {7, 130}} {
				gemmCase{members: 3, m: 1, n: size[0], k: size[1], transposeB: transposed, aligned: i%2 == 0, splits: i, form: form}.run(t)
			}
		}
	}
}

// What the device chooses for shapes of all proportions.
func TestGemmShapes(t *testing.T) {
	for _, size := range [][3]int{{3, 5, 9}, {37, 2, 21}, {6, 70, 10}, {130, 136, 16}, {1, 9, 5}} {
		c := gemmCase{members: 2, m: size[0], n: size[1], k: size[2], aligned: true, transposeA: true}
		t.Run(fmt.Sprintf("%d×%d×%d", c.m, c.n, c.k), c.run)
	}
}

// BenchmarkGemm measures the forms on shapes of learning, one run a measurement.
func BenchmarkGemm(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name             string
		members, m, n, k int
		ta, tb           bool
		splits           int
	}{
		{"forward 16x256^3", 16, 256, 256, 256, false, false, 1},
		{"forward 64x128x64x64", 64, 128, 64, 64, false, false, 1},
		{"forward 16x256x2x256", 16, 256, 2, 256, false, false, 1},
		{"forward 16x256x256x4", 16, 256, 256, 4, false, false, 1},
		{"inputs 16x256^3", 16, 256, 256, 256, false, true, 1},
		{"inputs 16x256x256x2", 16, 256, 256, 2, false, true, 1},
		{"weights 16x256^3", 16, 256, 256, 256, true, false, 1},
		{"weights 16x4x256x256", 16, 4, 256, 256, true, false, 1},
		{"weights 16x256x2x256", 16, 256, 2, 256, true, false, 1},
		{"weights 1x64x64x4096", 1, 64, 64, 4096, true, false, 16},
		{"forward 256x1x256x256", 256, 1, 256, 256, false, false, 1},
		{"inputs 256x1x256x256", 256, 1, 256, 256, false, true, 1},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "/"), func(b *testing.B) {
			s := testState(b)
			x := func(name string, rows, columns int) Matrix {
				return Matrix{Tensor: vector(b, s, name, c.members*rows*columns, normals(c.members*rows*columns)), Stride: rows * columns, Row: columns}
			}
			ar, ac, br, bc := c.m, c.k, c.k, c.n
			if c.ta {
				ar, ac = ac, ar
			}
			if c.tb {
				br, bc = bc, br
			}
			g := Gemm{Members: c.members, M: c.m, N: c.n, K: c.k, TransposeA: c.ta, TransposeB: c.tb, A: x("a", ar, ac), B: x("b", br, bc), C: x("c", c.splits*c.m, c.n),
				Splits: c.splits, SplitStride: c.members * c.m * c.n}
			p, err := s.Engine().Record(c.name, func(r *engine.Recorder) { g.Record(r) })
			if err != nil {
				b.Fatal(err)
			}
			defer p.Free()
			if err := p.Run(ctx); err != nil {
				b.Fatal(err)
			}
			cpu := cpuTime()
			for b.Loop() {
				if err := p.Run(ctx); err != nil {
					b.Fatal(err)
				}
			}
			flops := 2 * float64(c.members) * float64(c.m) * float64(c.n) * float64(c.k) * float64(b.N)
			b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(flops/(cpuTime()-cpu)/1e9, "GFLOP/cpu-s")
		})
	}
}
