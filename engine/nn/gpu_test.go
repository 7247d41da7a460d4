package nn

import (
	"testing"

	"github.com/evorl/evorl/vk"
)

// The forms in this file are those that only GPUs choose. Every device runs them.

// asGPU returns a device's properties as if it were a GPU, with NVIDIA's registers.
func asGPU(info vk.Info) vk.Info {
	info.Type, info.VendorID = vk.DiscreteGPU, vendorNVIDIA
	return info
}

// TestGemmOfGPUs compares the products' forms on GPUs, in workgroups of 256, with float64. The first shape is one for which GPUs
// choose the form, the second what is multiplied: more than a tile, and not a multiple of one.
func TestGemmOfGPUs(t *testing.T) {
	info := asGPU(testState(t).Engine().Device().Info())
	for name, c := range map[string]struct {
		want                   tiledForm
		members, m, n          int
		transposeA, transposeB bool
		try                    gemmCase
	}{
		"tiles": {tiledForm{formTiles, 256, 4, 4, 16}, 2, 70, 70, false, true, gemmCase{members: 2, m: 67, n: 69, k: 41, splits: 2}},
		"tiles of 128 × 128": {
			tiledForm{formTiles, 256, 8, 8, 16}, 512, 128, 128, true, false, gemmCase{members: 2, m: 131, n: 130, k: 70, aligned: true},
		},
		"narrow tiles":           {tiledForm{formTiles, 256, 4, 4, 4}, 2, 260, 9, false, false, gemmCase{members: 2, m: 259, n: 9, k: 33}},
		"low tiles":              {tiledForm{formTiles, 256, 4, 4, 64}, 2, 9, 260, false, false, gemmCase{members: 2, m: 9, n: 261, k: 33, aligned: true}},
		"a vector":               {tiledForm{form: formVector, workgroup: 256, width: 4}, 3, 1, 64, false, false, gemmCase{members: 3, m: 1, n: 259, k: 70}},
		"a vector, transposed B": {tiledForm{form: formVector, workgroup: 256, width: 32}, 3, 1, 64, false, true, gemmCase{members: 3, m: 1, n: 37, k: 270}},
	} {
		t.Run(name, func(t *testing.T) {
			g := Gemm{Members: c.members, M: c.m, N: c.n, K: 64, TransposeA: c.transposeA, TransposeB: c.transposeB}
			if form := chooseGemm(info, g); form != c.want {
				t.Fatalf("for %d products of %d × 64 × %d GPUs choose %+v; want %+v", c.members, c.m, c.n, form, c.want)
			}
			c.try.form, c.try.transposeA, c.try.transposeB, c.try.bias, c.try.activation = c.want, c.transposeA, c.transposeB, c.try.splits == 0, Tanh
			if c.try.splits > 0 {
				c.try.activation = Linear
			}
			c.try.run(t)
		})
	}
}

// TestLayersOfGPUs: gradients of networks with layers that are not padded, with sums over rows by workgroups of 256, and with layer
// normalization of a row by several lanes.
func TestLayersOfGPUs(t *testing.T) {
	for _, net := range []MLP{{In: 6, Out: 3, Hidden: []int{67}, Activation: Swish}, {In: 5, Out: 2, Hidden: []int{70}, Activation: Tanh, LayerNorm: true}} {
		c := networkCase{net: net, layered: true, gpu: true, members: 2, stack: 1, inner: 37, first: 2, normalize: true, splits: 3}
		l := c.network(t, testState(t), 8).form.(*layered)
		if width := l.normWidth(); l.padded() || l.pitch(67) != 67 || l.line() != 256 || width != min(l.info.SubgroupSize, 32) {
			t.Errorf("network %v: padded %v, rows of %d floats for 67 units, workgroups of %d, rows of %d lanes", net, l.padded(), l.pitch(67), l.line(), width)
		}
		t.Run(net.String(), c.run)
	}
}
