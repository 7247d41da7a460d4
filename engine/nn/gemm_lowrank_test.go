package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestGemmLowRank compares products of networks of low rank, in every form that completes them, with float64: rows and columns that fill no tile, poisoned
// outputs, partial sums of a deep K, pairs whose first is outside.
func TestGemmLowRank(t *testing.T) {
	forms := gemmForms(testState(t).Engine().Device().Info())
	forms["wide tiles"] = tiledForm{formTiles, 32, 4, 8, 8}
	for name, form := range forms {
		if _, float16 := form.(float16Form); float16 || !takesLowRank(form) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			odd := func(most int) int { return 1 + 2*rand.IntN(most/2) }
			for i, size := range [][3]int{{1, 1, 1}, {odd(40), odd(80), odd(70)}, {24, 64, 40}, {13, 4 * odd(20), 150}} {
				lowRankCase{members: 1 + i%2, each: 1 + i%3, m: size[0], n: size[1], k: size[2], rank: []int{1, 4, 3, 6}[i], mirrored: i%2 == 1,
					first: i, firstRow: 2 * (i % 2), aligned: i > 1, plain: i == 2, activation: []Activation{Linear, Tanh, ReLU, GELU}[i]}.run(t, form)
			}
			for i, c := range []struct {
				image          Shape
				kernel, stride int
				padding        Padding
			}{
				{Shape{7, 5, 3}, 3, 2, Same}, {Shape{6, 9, 1}, 2, 3, Valid}, {Shape{5, 7, 4}, 3, 1, Same}, {Shape{4, 6, 12}, 3, 1, Valid}, {Shape{5, 4, 1}, 5, 3, Same},
			} {
				layer := Sequential{In: c.image, Out: 1, Hidden: []LayerConfig{window(odd(40), c.kernel, c.stride, c.padding, Linear)}}.Layers()[0]
				const images, first = 5, 1
				places := layer.Window.places()
				lowRankCase{members: 2, m: images * places, n: layer.Out, k: layer.In, rank: 1 + 2*(i%2), each: 2 * places, first: i, firstRow: first * places,
					mirrored: i%2 == 0, activation: Tanh, of: &layer, image: c.image}.run(t, form)
			}
		})
	}
}

// lowRankCase is a product of networks of low rank.
type lowRankCase struct {
	members, m, n, k int
	rank, each       int // each: rows of a network
	first, firstRow  int
	mirrored         bool
	aligned          bool
	plain            bool // without a bias
	activation       Activation
	of               *Layer // a convolution, of whose patches A is, in images of this shape; nil: A is a matrix
	image            Shape
}

// images returns images of every member, with poison between them, and their patches, a row each.
func (c lowRankCase) images(t *testing.T, s *engine.State) (Matrix, []float32) {
	places, pixels := c.of.Window.places(), c.image.Size()
	count, apart := c.m/places, 3
	if c.image[2]%4 == 0 {
		apart = 4
	}
	wide := pixels + apart
	values, patches := normals(apart+c.members*count*wide), make([]float32, c.members*c.m*c.k)
	for at := range values {
		if (at+wide-apart)%wide >= pixels {
			values[at] = poison
		}
	}
	for n := range c.members * count {
		affine(*c.of, func(in, weight, out int) {
			patches[(n*places+out/c.of.Out)*c.k+weight/c.of.Out] = values[apart+n*wide+in]
		})
	}
	return Matrix{Tensor: vector(t, s, "images", len(values), values), At: apart, Stride: count * wide, Row: wide}, patches
}

func (c lowRankCase) run(t *testing.T, form gemmForm) {
	t.Helper()
	s := testState(t)
	av, bv := normals(c.members*c.m*c.k), normals(c.members*c.k*c.n)
	g := Gemm{Members: c.members, M: c.m, N: c.n, K: c.k, Activation: c.activation, A: matrices(t, s, "a", c.members, c.m, c.k, av, c.aligned),
		B: matrices(t, s, "b", c.members, c.k, c.n, bv, c.aligned), C: matrices(t, s, "c", c.members, c.m, c.n, nil, c.aligned)}
	if c.of != nil {
		g.A, av = c.images(t, s)
		g.patches = c.of.Window
	}
	networks := (c.firstRow + c.m + c.each - 1) / c.each
	all := []Parameter{{Rows: 3, Columns: 2}, {At: 6, Rows: c.k, Columns: c.n}, {At: 6 + c.k*c.n, Columns: 5}, {At: 11 + c.k*c.n, Columns: c.n}}
	layout, err := NewLowRank(all, c.rank)
	if err != nil {
		t.Fatal(err)
	}
	deviations := []float32{0.3, 0.2}[:c.members]
	p := NewPerturbation(s, layout, c.members, networks, vector(t, s, "deviation", c.members, deviations), c.mirrored)
	p.First = c.first
	factors, vectors := normals(p.Factors.Len()), normals(p.Vectors.Len())
	fill(t, p.Factors, factors)
	fill(t, p.Vectors, vectors)
	m, bias := layout.Matrices[1], layout.Vectors[1].Offset
	if c.plain {
		bias = noBias
	}
	g.lowRank = &lowRankRows{p, m, bias, c.firstRow, c.each,
		s.Scratch("projections", engine.Float32, engine.Members(c.members), engine.Axis("row", c.m), engine.Axis("component", Align(c.rank))), nil}
	fill(t, g.lowRank.projections, nil)
	info := s.Engine().Device().Info()
	record(t, s, func(r *engine.Recorder) {
		r.Dispatch(g.project(2*info.SubgroupSize, min(4, info.SubgroupSize), info.SubgroupSize))
		g.record(r, form)
	})
	got, written := read(t, g.C.Tensor), 0
	for _, x := range got {
		if !isPoison(x) {
			written++
		}
	}
	if written != c.members*c.m*c.n {
		t.Errorf("%+v: %d elements of C were written; want %d", c, written, c.members*c.m*c.n)
	}
	for member := range c.members {
		for row := range c.m {
			network := (c.firstRow + row) / c.each
			draw, sign := network, 1.0
			if c.mirrored {
				draw, sign = (c.first+network)/2-c.first/2, 1-2*float64((c.first+network)%2)
			}
			of, sigma := factors[(member*p.Draws()+draw)*c.rank*layout.Component:], sign*float64(deviations[member])/math.Sqrt(float64(c.rank))
			for j := range c.n {
				want, size := 0.0, 1.0
				if !c.plain {
					want = float64(vectors[(member*networks+network)*p.Vectors.Size("float")+bias+j])
				}
				for k := range c.k {
					w := float64(bv[(member*c.k+k)*c.n+j])
					for q := range c.rank {
						w += sigma * float64(of[q*layout.Component+m.A+k]) * float64(of[q*layout.Component+m.B+j])
					}
					x := w * float64(av[(member*c.m+row)*c.k+k])
					want, size = want+x, size+math.Abs(x)
				}
				want, _ = activate(c.activation, want)
				if x := float64(got[g.at(member, row, j)]); !(math.Abs(x-want) <= float64(c.k+c.rank+8)*0x1p-23*size) {
					t.Fatalf("%+v: member %d, element (%d, %d): %v; want %v", c, member, row, j, x, want)
				}
			}
		}
	}
}

// TestGemmLowRankErrors: products that no form completes are refused.
func TestGemmLowRankErrors(t *testing.T) {
	s := testState(t)
	x := vector(t, s, "x", 64, nil)
	layout, err := NewLowRank([]Parameter{{Rows: 4, Columns: 4}, {At: 16, Columns: 4}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPerturbation(s, layout, 1, 4, vector(t, s, "deviation", 1, nil), false)
	of := Matrix{Tensor: x, Stride: 16, Row: 4}
	enough := s.Scratch("projections", engine.Float32, engine.Members(1), engine.Axis("row", 4), engine.Axis("component", 4))
	few := s.Scratch("few", engine.Float32, engine.Members(1), engine.Axis("row", 1), engine.Axis("component", 4))
	for name, g := range map[string]Gemm{
		"bias": {Bias: x, lowRank: &lowRankRows{p, layout.Matrices[0], 0, 0, 1, enough, nil}},
		"few":  {lowRank: &lowRankRows{p, layout.Matrices[0], 0, 0, 1, few, nil}},
		"rows": {lowRank: &lowRankRows{p, LowRankMatrix{Parameter: Parameter{Rows: 3, Columns: 4}}, 0, 0, 1, enough, nil}},
	} {
		g.Members, g.M, g.N, g.K, g.A, g.B, g.C = 1, 4, 4, 4, of, of, of
		if err := g.check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	g := Gemm{Members: 1, M: 4, N: 4, K: 4, A: of, B: of, C: of, lowRank: &lowRankRows{p, layout.Matrices[0], 0, 0, 1, enough, nil}}
	_, err = s.Engine().Record("lanes", func(r *engine.Recorder) { g.record(r, tiledForm{form: formLanes, workgroup: 8, rows: 2, columns: 4}) })
	if err == nil {
		t.Error(fmt.Errorf("a form that completes no products of low rank is not refused"))
	}
}
