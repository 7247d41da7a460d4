package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// TestImplicitPatches: products that read patches in images have the bits of the same products of gathered patches, which TestGemm compares with
// float64. Images lie apart, with poison between them; members share images; C is poisoned.
func TestImplicitPatches(t *testing.T) {
	const images, members, shared = 5, 4, 2
	info := testState(t).Engine().Device().Info()
	panels := info.Features.Has(vk.Int64) && info.SubgroupSize <= 16 && info.SubgroupOps.Has(vk.SubgroupShuffle)
	for i, c := range []struct {
		image          Shape
		kernel, stride int
		padding        Padding
		channels       int
		across         uint32 // the part of a subgroup that shares a row
	}{
		{Shape{7, 5, 3}, 3, 2, Same, 5, 4}, {Shape{6, 9, 1}, 2, 3, Valid, 17, 1}, {Shape{3, 3, 2}, 5, 1, Same, 8, 2}, {Shape{4, 6, 5}, 4, 1, Valid, 9, 2},
		{Shape{5, 7, 4}, 3, 2, Same, 6, 4}, {Shape{6, 5, 12}, 3, 1, Valid, 16, 2}, {Shape{6, 7, 8}, 2, 1, Same, 33, 1}, {Shape{5, 4, 1}, 5, 3, Same, 4, 4},
	} {
		model := Sequential{In: c.image, Out: 1, Hidden: []LayerConfig{window(c.channels, c.kernel, c.stride, c.padding, Linear)}}
		layer := model.Layers()[0]
		places, pixels := layer.Window.places(), c.image.Size()
		apart := 3
		if c.image[2]%4 == 0 {
			apart = 4
		}
		wide, sets := pixels+apart, members/shared
		values := normals(apart + sets*images*wide)
		for at := range values {
			if (at+wide-apart)%wide >= pixels {
				values[at] = poison
			}
		}
		gathered := make([]float32, sets*images*places*layer.In)
		for n := range sets * images {
			affine(layer, func(in, weight, out int) {
				gathered[(n*places+out/layer.Out)*layer.In+weight/layer.Out] = values[apart+n*wide+in]
			})
		}
		for _, transposed := range []bool{false, true} {
			t.Run(fmt.Sprint(model, transposed), func(t *testing.T) {
				s := testState(t)
				forms := []gemmForm{tiledForm{formTiles, 64, 4, 4, 8}}
				if panels {
					forms = append(forms, panelForm{info.SubgroupSize, 12, 4, 12, info.SubgroupSize / c.across, info.SubgroupSize == 8})
				}
				rows := images * places
				g := Gemm{Members: members, M: rows, N: c.channels, K: layer.In, Splits: 1 + i%2}
				if transposed {
					g.M, g.K, g.TransposeA = layer.In, rows, true
				}
				g.A = Matrix{Tensor: vector(t, s, "images", len(values), values), At: apart, Stride: images * wide, Row: wide, Shared: shared}
				g.patches = layer.Window
				g.B = matrices(t, s, "b", members, g.K, g.N, normals(members*g.K*g.N), false)
				gathers := g
				gathers.patches = Window{}
				gathers.A = Matrix{Tensor: vector(t, s, "patches", len(gathered), gathered), Stride: rows * layer.In, Row: layer.In, Shared: shared}
				for k, form := range forms {
					g.ColumnSums = transposed && k > 0
					g.C = matrices(t, s, "c"+fmt.Sprint(k), members*g.Splits, g.rowsOfC(), g.N, nil, false)
					g.SplitStride = members * g.C.Stride
					whole := gathers
					whole.ColumnSums, whole.SplitStride = g.ColumnSums, g.SplitStride
					whole.C = g.C.in(vector(t, s, "whole"+fmt.Sprint(k), g.C.Tensor.Len(), nil))
					record(t, s, func(r *engine.Recorder) {
						g.record(r, form)
						whole.record(r, form)
					})
					got, want := read(t, g.C.Tensor), read(t, whole.C.Tensor)
					for at := range want {
						if math.Float32bits(got[at]) != math.Float32bits(want[at]) {
							t.Fatalf("%+v: float %d of C is %v; want %v", form, at, got[at], want[at])
						}
					}
				}
			})
		}
	}
}
