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

// matrices stores matrices of several members in a new tensor, with gaps of poison before, between and after.
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

// dense returns a member's matrix as stored, or transposed.
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

// gemmCase is a product of random matrices to compare with float64.
type gemmCase struct {
	members, m, n, k       int
	transposeA, transposeB bool
	aligned                bool
	sharedA, sharedB       int  // consecutive members that share a matrix; 0: 1
	addend                 bool // only without splits, and not for panels
	tail                   int  // columns of A as stored that are in a matrix of their own; only for panels
	sums                   bool // of B's columns; only for panels
	splits                 int
	stride                 int // floats from the end of a member's C to the next one's; 0: any
	bias                   bool
	activation, slope      Activation
	blocks                 bool     // C's rows lie in blocks
	padded                 bool     // C's rows may be written up to a multiple of eight columns
	form                   gemmForm // nil: the device's choice
	terms                  int      // of a dispatch's sums at most; 0: any number
	precision              Precision
	scaleA, scaleB         int // of float16
}

// alpha returns the factor of the product; with sums of columns there is none.
func (c gemmCase) alpha() float32 {
	if c.sums {
		return 1
	}
	return 0.5
}

// product makes the tensors and the product, with C poisoned.
func (c gemmCase) product(t *testing.T, s *engine.State, av, bv []float32) Gemm {
	splits := max(c.splits, 1)
	ar, ac := shape(c.m, c.k, c.transposeA)
	br, bc := shape(c.k, c.n, c.transposeB)
	g := Gemm{Members: c.members, M: c.m, N: c.n, K: c.k, TransposeA: c.transposeA, TransposeB: c.transposeB, Alpha: c.alpha(), Splits: c.splits,
		Activation: c.activation, Slope: c.slope, Precision: c.precision, ScaleA: c.scaleA, ScaleB: c.scaleB,
		TailColumns: c.tail, ColumnSums: c.sums,
		A: matrices(t, s, "a", ceil(c.members, max(c.sharedA, 1)), ar, ac-c.tail, columnsOf(av, ac, 0, ac-c.tail), c.aligned),
		B: matrices(t, s, "b", ceil(c.members, max(c.sharedB, 1)), br, bc, bv, c.aligned),
	}
	g.A.Shared, g.B.Shared = c.sharedA, c.sharedB
	if c.tail > 0 {
		g.Tail = matrices(t, s, "tail", ceil(c.members, max(c.sharedA, 1)), ar, c.tail, columnsOf(av, ac, ac-c.tail, ac), false)
		g.Tail.Shared = c.sharedA
	}
	if c.blocks {
		g.First, g.Inner = 2, 1+rand.IntN(c.m)
		count := (g.First + c.m + g.Inner - 1) / g.Inner
		g.C = matrices(t, s, "c", count*c.members, g.Inner, c.n, nil, c.aligned)
		g.Block = c.members * g.C.Stride
	} else {
		g.C = matrices(t, s, "c", c.members*splits, g.rowsOfC(), c.n, nil, c.aligned)
		g.SplitStride = c.members * g.C.Stride
	}
	if c.stride > 0 {
		g.C.At, g.C.Stride = 8, g.rowsOfC()*g.C.Row+c.stride
		g.C.Tensor = vector(t, s, "c", g.C.At+c.members*g.C.Stride, nil)
	}
	if g.Padded = c.padded; c.padded {
		row := padded(c.n) + 8*rand.IntN(2)
		g.C = Matrix{At: 8 * rand.IntN(3), Row: row, Stride: c.m*row + 8*rand.IntN(2)}
		g.C.Tensor = vector(t, s, "c", g.C.At+c.members*g.C.Stride, nil)
	}
	like := func(name string, values []float32) *engine.Tensor {
		return vector(t, s, name, g.C.Tensor.Len(), values)
	}
	if c.bias {
		g.BiasAt, g.BiasStride = rand.IntN(5), c.n+rand.IntN(3)
		g.Bias = vector(t, s, "bias", g.BiasAt+c.members*g.BiasStride, normals(g.BiasAt+c.members*g.BiasStride))
		g.Kept = like("kept", nil)
	}
	if c.addend {
		g.Addend = like("addend", normals(g.C.Tensor.Len()))
	}
	if c.slope != Linear {
		g.Inputs = like("inputs", normals(g.C.Tensor.Len()))
		g.Outputs = like("outputs", normals(g.C.Tensor.Len()))
	}
	return g
}

// columnsOf returns columns from to to of rows of the given width.
func columnsOf(values []float32, width, from, to int) (out []float32) {
	for i := 0; i < len(values); i += width {
		out = append(out, values[i+from:i+to]...)
	}
	return out
}

func shape(rows, columns int, transposed bool) (int, int) {
	if transposed {
		return columns, rows
	}
	return rows, columns
}

// at returns the index of an element of C.
func (g Gemm) at(member, row, column int) int {
	if g.Inner != 0 {
		r := row + g.First
		return g.C.At + member*g.C.Stride + r/g.Inner*g.Block + r%g.Inner*g.C.Row + column
	}
	return g.C.At + member*g.C.Stride + row*g.C.Row + column
}

// slopeAt returns the derivative of an activation at z, with value h there; only swish and GELU need z.
func slopeAt(a Activation, z, h float64) float64 {
	s := 1 / (1 + math.Exp(-z))
	switch {
	case a == ReLU && h <= 0:
		return 0
	case a == Tanh:
		return 1 - h*h
	case a == ELU && h <= 0:
		return h + 1
	case a == Swish:
		return s + h*(1-s)
	case a == GELU:
		s = 1 / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
		return s + h*(1-s)*2*math.Sqrt(2/math.Pi)*(1+3*0.044715*z*z)
	}
	return 1
}

func (c gemmCase) run(t *testing.T) {
	t.Helper()
	s := testState(t)
	splits := max(c.splits, 1)
	sharedA, sharedB := max(c.sharedA, 1), max(c.sharedB, 1)
	av, bv := normals(ceil(c.members, sharedA)*c.m*c.k), normals(ceil(c.members, sharedB)*c.k*c.n)
	g := c.product(t, s, av, bv)
	form := c.form
	if form == nil {
		form = chooseGemm(s.Engine().Device().Info(), g)
	}
	record(t, s, func(r *engine.Recorder) {
		if c.terms > 0 {
			g.recordWithin(r, form, c.terms)
		} else {
			g.record(r, form)
		}
	})
	values := func(x *engine.Tensor) []float32 {
		if x == nil {
			return nil
		}
		return read(t, x)
	}
	got, kept, addend, bias := read(t, g.C.Tensor), values(g.Kept), values(g.Addend), values(g.Bias)
	inputs, outputs := values(g.Inputs), values(g.Outputs)
	ar, ac := shape(c.m, c.k, c.transposeA)
	br, bc := shape(c.k, c.n, c.transposeB)
	for p := range c.members {
		var want, size mat.Dense
		a, b := dense(av, p/sharedA, ar, ac, c.transposeA), dense(bv, p/sharedB, br, bc, c.transposeB)
		unit := 0x1p-24 // half a unit in the last place
		if _, ok := form.(float16Form); ok {
			a, b = rounded16(a, c.scaleA), rounded16(b, c.scaleB)
			unit *= 2 // matrix units may truncate
		}
		want.Mul(a, b)
		absolute := func(_, _ int, v float64) float64 { return math.Abs(v) }
		var aa, ab mat.Dense
		aa.Apply(absolute, a)
		ab.Apply(absolute, b)
		size.Mul(&aa, &ab)
		for i := range c.m {
			for j := range c.n {
				at, sum := g.at(p, i, j), 0.0
				for part := range splits {
					sum += float64(got[at+part*g.SplitStride])
				}
				// Rounding of K products and sums.
				v, tolerance := float64(c.alpha())*want.At(i, j), float64(c.k+2)*unit*size.At(i, j)
				if addend != nil {
					v += float64(addend[at])
					tolerance += float64(c.k+2) * 0x1p-24 * math.Abs(float64(addend[at]))
				}
				if bias != nil {
					x := float64(bias[g.BiasAt+p*g.BiasStride+j])
					v, tolerance = v+x, tolerance+0x1p-24*math.Abs(x)
					if !(math.Abs(float64(kept[at])-v) <= tolerance) {
						t.Fatalf("%+v: member %d, element (%d, %d) keeps %v, want %v ± %v", c, p, i, j, kept[at], v, tolerance)
					}
				}
				switch {
				case c.slope != Linear:
					z, h := float64(outputs[at]), float64(outputs[at])
					if c.slope.needsInput() {
						z = float64(inputs[at])
					}
					d := slopeAt(c.slope, z, h)
					v, tolerance = v*d, math.Abs(d)*tolerance+1e-6*math.Abs(v)*(1+h*h)
				case c.activation != Linear: // no slope is larger than GELU's 1.13
					v, _ = activate(c.activation, v)
					tolerance = 1.13*tolerance + 1e-6
				}
				if !(math.Abs(sum-v) <= tolerance) {
					t.Fatalf("%+v: member %d, element (%d, %d): %v, want %v ± %v", c, p, i, j, sum, v, tolerance)
				}
			}
		}
	}
	if c.sums {
		g.checkSums(t, c, got, bv)
	}
	written := func(name string, x []float32) {
		n := 0
		for _, v := range x {
			if !isPoison(v) {
				n++
			}
		}
		for p := range c.members {
			for i := range c.m {
				for j := c.n; x != nil && c.padded && j < padded(c.n); j++ {
					if !isPoison(x[g.at(p, i, j)]) {
						n--
					}
				}
			}
		}
		if want := c.members * g.rowsOfC() * c.n * splits; x != nil && n != want {
			t.Fatalf("%+v: %d elements of %s were written, want %d", c, n, name, want)
		}
	}
	written("C", got)
	written("kept", kept)
}

// checkSums compares the last row of every member's C with the sums of columns of its B, stored as K × N in b.
func (g Gemm) checkSums(t *testing.T, c gemmCase, got, b []float32) {
	t.Helper()
	for p := range c.members {
		of := b[p/max(c.sharedB, 1)*c.k*c.n:]
		for j := range c.n {
			sum, want, size := 0.0, 0.0, 0.0
			for part := range max(c.splits, 1) {
				sum += float64(got[g.at(p, c.m, j)+part*g.SplitStride])
			}
			for u := range c.k {
				v := float64(of[u*c.n+j])
				want, size = want+v, size+math.Abs(v)
			}
			if tolerance := float64(c.k) * 0x1p-24 * size; !(math.Abs(sum-want) <= tolerance) {
				t.Fatalf("%+v: member %d, sum of column %d: %v, want %v ± %v", c, p, j, sum, want, tolerance)
			}
		}
	}
}

// gemmForms returns the forms that the device can run, with sizes that leave parts of them unused.
func gemmForms(info vk.Info) map[string]gemmForm {
	forms := map[string]gemmForm{"tiles": tiledForm{formTiles, 64, 4, 4, 8}}
	if tile, err := float16On(info); err == nil {
		forms["float16"] = float16Software.on(info, tile)
	}
	if info.SubgroupOps.Has(vk.SubgroupShuffle) && info.SubgroupSize <= 16 { // wider subgroups have no registers for it
		forms["lanes"] = tiledForm{formLanes, info.SubgroupSize, 2, 4, 0}
		if info.Features.Has(vk.Int64) {
			halved := info.SubgroupSize == 8
			forms["narrow panel"] = panelForm{info.SubgroupSize, 4, 4, 8, info.SubgroupSize, false}
			forms["panel of two rows"] = panelForm{info.SubgroupSize, 4, 4, 8, info.SubgroupSize / 2, halved}
			if !testing.Short() { // GPU-assisted validation takes minutes to compile more
				forms["panel"] = panelForm{info.SubgroupSize, 12, 8, 12, info.SubgroupSize, false}
				if halved {
					forms["narrow panel in halves"] = panelForm{info.SubgroupSize, 4, 4, 8, info.SubgroupSize, true}
					forms["panel in halves"] = panelForm{info.SubgroupSize, 12, 8, 12, info.SubgroupSize, true}
				}
			}
		}
	}
	return forms
}

// inHalves reports whether a form is the same as another one but for how it stores rows of C that begin at multiples of four floats.
func inHalves(form gemmForm) bool {
	f, ok := form.(panelForm)
	return ok && f.halved && f.across == f.lanes
}

// TestGemm compares every form of the kernels with float64, for each way of storing, with sizes that do not fill a
// tile, and some that do.
func TestGemm(t *testing.T) {
	for name, form := range gemmForms(testState(t).Engine().Device().Info()) {
		ways := []string{"", "A", "B", "AB"}
		switch {
		case testing.Short():
			ways = ways[1:3] // each matrix both ways
		case inHalves(form):
			ways = ways[:2] // B is loaded as by other panels
		}
		for _, transposed := range ways {
			for _, aligned := range []bool{true, false} {
				if !aligned && inHalves(form) {
					continue // the other panel's kernel
				}
				t.Run(fmt.Sprintf("%s/%s/%v", name, transposed, aligned), func(t *testing.T) {
					odd := func(most int) int { return 1 + 2*rand.IntN(most/2) }
					for i, size := range [][3]int{
						{1, 1, 1}, {odd(40), odd(80), odd(70)}, {40, 7, 64}, {5, 50, 3}, {13, 64, 41}, {14, 4 * odd(20), odd(50)},
					} {
						c := gemmCase{members: 1 + i%3, m: size[0], n: size[1], k: size[2], aligned: aligned, form: form, splits: i % 3,
							transposeA: strings.Contains(transposed, "A"), transposeB: strings.Contains(transposed, "B")}
						c.run(t)
					}
				})
			}
		}
	}
}

// TestGemmEpilogue tests what follows the sums, in every form: bias, activation, stored pre-activation, slope; and
// rows of C in blocks.
func TestGemmEpilogue(t *testing.T) {
	for name, form := range gemmForms(testState(t).Engine().Device().Info()) {
		t.Run(name, func(t *testing.T) {
			for i, a := range []Activation{ReLU, Tanh, ELU, Swish, GELU} {
				if testing.Short() && a != Swish {
					continue
				}
				c := gemmCase{members: 2, m: 11 + rand.IntN(20), n: 8 * (1 + rand.IntN(5)), k: 1 + rand.IntN(45)}
				c.aligned, c.form, c.blocks = i%2 == 0, form, i < 2 && !together(form)
				if rand.IntN(2) == 0 {
					c.n = 33 + rand.IntN(10)
				}
				forward, backward := c, c
				forward.bias, forward.activation = true, a
				forward.run(t)
				backward.transposeB, backward.slope = true, a
				backward.run(t)
			}
		})
	}
}

// TestGemmPanel tests a panel of the size that the device chooses, with several panels along K and N.
func TestGemmPanel(t *testing.T) {
	info := testState(t).Engine().Device().Info()
	if info.Type != vk.CPU || !info.Features.Has(vk.Int64) {
		t.Skip("panels are for software drivers with 64-bit integers")
	}
	// In one dispatch this would exceed the loop iterations that lavapipe allows per invocation.
	gemmCase{members: 1, m: 256, n: 20, k: 600, transposeA: true, aligned: true, form: panelForm{info.SubgroupSize, 4, 4, 256, info.SubgroupSize, false}}.run(t)
	gemmCase{members: 2, m: 33, n: 77, k: 70, padded: true, bias: true, activation: Tanh}.run(t)
	if testing.Short() {
		return
	}
	gemmCase{members: 2, m: 35, n: 27, k: 9, padded: true, transposeB: true, slope: Swish}.run(t)
	gemmCase{members: 2, m: 67, n: 128, k: 130, aligned: true, bias: true, activation: Tanh}.run(t)
	gemmCase{members: 2, m: 64, n: 71, k: 259, transposeA: true, splits: 2}.run(t)
	gemmCase{members: 2, m: 65, n: 23, k: 131, transposeB: true}.run(t)
}

// TestGemmAlignment: rows of C that begin at multiples of eight floats are stored eight floats at once. The stride from member to member counts only if there
// are several: that of a network's parameters may be an odd number of fours.
func TestGemmAlignment(t *testing.T) {
	g := Gemm{Members: 1, M: 65, N: 64, K: 128, C: Matrix{At: 592, Stride: 132180, Row: 64}}
	if got := g.alignmentC(); got != 8 {
		t.Errorf("one member: rows begin at multiples of %d floats; want 8", got)
	}
	g.Members = 2
	if got := g.alignmentC(); got != 4 {
		t.Errorf("two members, %d floats apart: rows begin at multiples of %d floats; want 4", g.C.Stride, got)
	}
	// The product of one member with such a stride, by the form that the device chooses; other tests have strides at random.
	gemmCase{members: 1, m: 67, n: 64, k: 130, transposeA: true, aligned: true, stride: 4}.run(t)
}

// TestGemmTerms: sums that are longer than a dispatch may have are computed in parts, each split's by itself, which the device's loop limit asks for.
func TestGemmTerms(t *testing.T) {
	forms := gemmForms(testState(t).Engine().Device().Info())
	form, ok := forms["lanes"] // what software drivers choose
	if !ok {
		form = forms["tiles"]
	}
	vector := tiledForm{form: formVector, workgroup: 64, width: 4}
	gemmCase{members: 3, m: 5, n: 4, k: 22, form: form, transposeA: true, splits: 2, sharedA: 3, terms: 4}.run(t)
	gemmCase{members: 2, m: 1, n: 13, k: 21, form: vector, bias: true, terms: 8}.run(t)
	if testing.Short() { // an instrumented kernel takes ten seconds to compile
		return
	}
	gemmCase{members: 2, m: 5, n: 7, k: 5, form: form, transposeA: true, transposeB: true, splits: 4, terms: 4}.run(t) // two without terms
	gemmCase{members: 2, m: 9, n: 13, k: 17, form: form, transposeB: true, addend: true, slope: Swish, terms: 8}.run(t)
	gemmCase{members: 2, m: 9, n: 13, k: 17, form: form, blocks: true, terms: 8}.run(t)
	gemmCase{members: 2, m: 9, n: 13, k: 24, aligned: true, form: form, bias: true, activation: Tanh, terms: 8}.run(t)
	gemmCase{members: 3, m: 5, n: 4, k: 24, aligned: true, form: form, transposeA: true, splits: 2, terms: 4}.run(t)
	gemmCase{members: 1, m: 5, n: 3, k: 4*65535 + 70, transposeA: true, splits: 1}.run(t)
	gemmCase{members: 1, m: 1, n: 5, k: 4*65535 + 7}.run(t)
}

// TestGemmShared tests members that share an A or a B, with and without an addend, in every form.
func TestGemmShared(t *testing.T) {
	forms := gemmForms(testState(t).Engine().Device().Info())
	forms["vector"] = tiledForm{form: formVector, workgroup: 64, width: 4}
	for name, form := range forms {
		for _, aligned := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, aligned), func(t *testing.T) {
				_, panel := form.(panelForm)
				c := gemmCase{members: 6, m: 9, n: 13, k: 7, aligned: aligned, form: form, sharedA: 2, addend: !panel}
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

// TestGemmJoined tests an A of two matrices side by side, and sums of B's columns, which only panels have.
func TestGemmJoined(t *testing.T) {
	for name, form := range gemmForms(testState(t).Engine().Device().Info()) {
		if _, panel := form.(panelForm); !panel {
			continue
		}
		for _, aligned := range []bool{true, false} {
			if !aligned && inHalves(form) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", name, aligned), func(t *testing.T) {
				for i, size := range [][3]int{{23, 13, 7}, {17, 40, 23}, {12, 8, 30}} {
					c := gemmCase{members: 6, m: size[0], n: size[1], k: size[2], aligned: aligned, form: form, tail: 1 + rand.IntN(6), bias: i == 0}
					c.sharedA = 1 + i
					c.run(t)
					c.transposeA, c.sums, c.bias, c.splits = true, true, false, i
					c.run(t)
					c.tail = 0
					c.run(t)
				}
			})
		}
	}
}

func TestGemmErrors(t *testing.T) {
	s := testState(t)
	x := vector(t, s, "x", 64, nil)
	y, short := vector(t, s, "y", 64, nil), vector(t, s, "short", 63, nil)
	m := Matrix{Tensor: x, Stride: 16, Row: 4}
	c := Matrix{Tensor: y, Stride: 16, Row: 4}
	for name, g := range map[string]Gemm{
		"C shared":             {C: Matrix{Tensor: y, Stride: 16, Row: 4, Shared: 2}},
		"addend of other size": {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: short},
		"addend is C":          {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: y},
		"addend with splits":   {C: Matrix{Tensor: y, Stride: 16, Row: 4}, Addend: x, Splits: 2},
		"C too short":          {C: Matrix{Tensor: short, Stride: 16, Row: 4}},
		"tail missing":         {C: c, TailColumns: 1},
		"sums with alpha":      {C: Matrix{Tensor: y, Stride: 12, Row: 4}, TransposeA: true, ColumnSums: true, Alpha: 2},
		"sums without room":    {C: c, TransposeA: true, ColumnSums: true},
		"negative scale":       {C: c, ScaleB: -1},
		"scales too large":     {C: c, ScaleA: 100, ScaleB: 27},
		"too small for panels": {C: Matrix{Tensor: y, Stride: 8, Row: 4}, TransposeA: true, ColumnSums: true},
	} {
		g.Members, g.M, g.N, g.K, g.A, g.B = 4, 4, 4, 4, m, m
		if p, err := s.Engine().Record(name, func(r *engine.Recorder) { g.Record(r) }); err == nil {
			p.Free()
			t.Errorf("%s: no error", name)
		}
	}
}

// TestGemmVector tests products of one row, with sums computed by one invocation and by several.
func TestGemmVector(t *testing.T) {
	forms := []tiledForm{{form: formVector, workgroup: 64, width: 4}, tiledForm{form: formVector, workgroup: 8, width: 1}}
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

// TestGemmColumn tests products of one column, which software drivers compute as one row.
func TestGemmColumn(t *testing.T) {
	s := testState(t)
	for i, transposed := range []bool{false, true, false} {
		members, m, k := 2+i, 5+rand.IntN(60), 1+rand.IntN(70)
		ar, ac := shape(m, k, transposed)
		a, b, bias := normals(members*m*k), normals(members*k), normals(members)
		g := Gemm{Members: members, M: m, N: 1, K: k, TransposeA: transposed, A: matrices(t, s, "a", members, ar, ac, a, i == 0),
			B: Matrix{Tensor: vector(t, s, "b", len(b), b), Stride: k, Row: 1}, C: Matrix{Tensor: vector(t, s, "c", 3+members*(m+2), nil), At: 3, Stride: m + 2, Row: 1},
			Activation: Tanh}
		g.Bias, g.BiasStride = vector(t, s, "bias", members, bias), 1
		if turned := g.rowOfColumn(); turned.M != 1 || turned.N != m {
			t.Fatalf("a product of %d × %d × 1 was not turned", m, k)
		}
		record(t, s, g.Record)
		got := read(t, g.C.Tensor)
		for p := range members {
			var want mat.Dense
			want.Mul(dense(a, p, ar, ac, transposed), dense(b, p, k, 1, false))
			for j := range m {
				if v := math.Tanh(want.At(j, 0) + float64(bias[p])); !(math.Abs(float64(got[3+p*(m+2)+j])-v) <= 1e-5) {
					t.Fatalf("member %d of %d × %d × 1, row %d: %v, want %v", p, m, k, j, got[3+p*(m+2)+j], v)
				}
			}
			for j := range 2 {
				if x := got[3+p*(m+2)+m+j]; !isPoison(x) {
					t.Fatalf("member %d of %d × %d × 1: %v was written beyond C", p, m, k, x)
				}
			}
		}
	}
}

// TestGemmShapes tests the forms that the device chooses, for shapes of all proportions.
func TestGemmShapes(t *testing.T) {
	for _, size := range [][3]int{{3, 5, 9}, {37, 2, 21}, {6, 70, 10}, {130, 136, 16}, {1, 9, 5}} {
		c := gemmCase{members: 2, m: size[0], n: size[1], k: size[2], aligned: true, transposeA: true}
		t.Run(fmt.Sprintf("%d×%d×%d", c.m, c.n, c.k), c.run)
	}
}

// BenchmarkGemm measures the forms on shapes of learning, one run per measurement.
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
		{"forward 1x1024x128x1024", 1, 1024, 128, 1024, false, false, 1},
		{"inputs 1x1024x1024x128", 1, 1024, 1024, 128, false, true, 1},
		{"weights 1x1024x128x1024", 1, 1024, 128, 1024, true, false, 2},
		{"forward 1x65536x16x36", 1, 65536, 16, 36, false, false, 1},
		{"patches 1x65536x16x36", 1, 65536, 16, 36, false, false, 1},
		{"weights 1x36x16x65536", 1, 36, 16, 65536, true, false, 2},
		{"patches 1x36x16x65536", 1, 36, 16, 65536, true, false, 2},
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
			if strings.HasPrefix(c.name, "patches") { // of MinAtar's convolution
				g.A = x("images", 1024, 400)
				g.patches = Sequential{In: Shape{10, 10, 4}, Out: 1, Hidden: []LayerConfig{window(16, 3, 1, Valid, Linear)}}.Layers()[0].Window
			}
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
