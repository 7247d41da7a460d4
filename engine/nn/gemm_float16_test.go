package nn

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// round16 rounds to the nearest number of float16, ties to even. Finite numbers saturate.
func round16(x float64) float64 {
	const largest, digits, lowest = 65504, 10, -14 // binary digits after the first; exponent of the smallest normal number
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	unit := math.Ldexp(1, max(math.Ilogb(x), lowest)-digits)
	return min(max(math.RoundToEven(x/unit)*unit, -largest), largest)
}

// rounded16 returns a matrix, times a power of two, rounded to float16, and divided by that power.
func rounded16(x mat.Matrix, scale int) mat.Matrix {
	var y mat.Dense
	y.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(round16(math.Ldexp(v, scale)), -scale) }, x)
	return &y
}

func TestRound16(t *testing.T) {
	for x, want := range map[float64]float64{
		1: 1, 2049: 2048, 2051: 2052, 65519: 65504, 1e9: 65504, -1e9: -65504, 0x1p-24: 0x1p-24, 0x1p-25: 0, 0x1.8p-24: 0x1p-23,
		1 + 0x1p-11: 1, 1 + 0x1.8p-10: 1 + 0x1p-9, math.Inf(1): math.Inf(1),
	} {
		if got := round16(x); got != want {
			t.Errorf("%v is rounded to %v, want %v", x, got, want)
		}
	}
}

// float16State returns a state on a device that computes products in float16, and skips the test on others.
func float16State(t *testing.T) *engine.State {
	t.Helper()
	s := testState(t)
	if err := Float16.Check(s.Engine().Device().Info()); err != nil {
		t.Skipf("only devices with cooperative matrices run this test, such as Mesa 26.2's software driver, and not the one of Debian 12: %v", err)
	}
	return s
}

// TestGemmFloat16 tests the device's choice for products of float16: sizes below, at and beyond a workgroup's, scales, shared
// matrices, addends and splits. TestGemm and the tests beside it run the form on small ones.
func TestGemmFloat16(t *testing.T) {
	s := float16State(t)
	for _, c := range []gemmCase{
		{members: 2, m: 16, n: 16, k: 16, aligned: true},
		{members: 2, m: 33, n: 47, k: 65, transposeA: true, scaleB: 7, splits: 2},
		{members: 3, m: 64, n: 40, k: 33, aligned: true, transposeB: true, scaleA: 9, slope: Tanh},
		{members: 4, m: 31, n: 17, k: 40, sharedA: 2, sharedB: 4, addend: true, bias: true, activation: ReLU},
	} {
		c.precision = Float16
		form, ok, err := chooseFloat16(s.Engine().Device().Info(), Gemm{Members: c.members, M: c.m, N: c.n, K: c.k, Precision: Float16})
		if err != nil || !ok {
			t.Fatalf("%+v: form %v, error %v; want one in float16", c, form, err)
		}
		c.form = form
		c.run(t)
	}
}

// TestGemmFloat16Range: finite numbers saturate, a scale makes small ones count, and infinities and NaN stay what they are.
func TestGemmFloat16Range(t *testing.T) {
	s := float16State(t)
	const n = 16
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, want float32
		scale   int
	}{
		{1e9, 65504, 0}, {-1e9, -65504, 0}, {65504, 65504, 0}, {1e-9, 0, 0}, {0x1p-30, 0x1p-30, 16}, {-0x1p-40, -0x1p-40, 30},
		{3e38, 65504.0 / (1 << 30), 30}, {float32(math.Inf(1)), float32(math.Inf(1)), 3}, {nan, nan, 3},
	} {
		a, b := make([]float32, n*n), make([]float32, n*n)
		a[0], b[0] = c.a, 1
		s := s.Sub(fmt.Sprint(c.a, c.scale))
		matrix := func(name string, values []float32) Matrix {
			return Matrix{Tensor: vector(t, s, name, n*n, values), Stride: n * n, Row: n}
		}
		g := Gemm{Members: 1, M: n, N: n, K: n, A: matrix("a", a), B: matrix("b", b), C: matrix("c", nil), Precision: Float16, ScaleA: c.scale}
		record(t, s, g.Record)
		got := read(t, g.C.Tensor)[0]
		if got != c.want && !(math.IsNaN(float64(got)) && math.IsNaN(float64(c.want))) {
			t.Errorf("%v, scaled by 2^%d, times 1: %v, want %v", c.a, c.scale, got, c.want)
		}
	}
}

// matrixDevice describes a device with cooperative matrices.
func matrixDevice(vendor uint32, lanes, least, most uint32, tiles ...[3]uint32) vk.Info {
	info := vk.Info{
		Name: "test", Type: vk.DiscreteGPU, VendorID: vendor, SubgroupSize: lanes, MinSubgroupSize: least, MaxSubgroupSize: most,
		Features: vk.CooperativeMatrix | vk.Float16 | vk.MemoryModel | vk.FullSubgroups | vk.SubgroupSizeControl,
		Limits:   vk.Limits{MaxInvocations: 1024, MaxSharedBytes: 32 << 10},
	}
	for _, tile := range tiles {
		info.MatrixProducts = append(info.MatrixProducts,
			vk.MatrixProduct{M: tile[0], N: tile[1], K: tile[2]}, // sums in float16
			vk.MatrixProduct{M: tile[0], N: tile[1], K: tile[2], C: vk.ComponentFloat32, Result: vk.ComponentFloat32})
	}
	return info
}

// TestChooseFloat16: tiles, subgroups and workgroups for the tiles that vendors offer, without such a device.
func TestChooseFloat16(t *testing.T) {
	for name, c := range map[string]struct {
		info  vk.Info
		tile  [3]uint32
		lanes uint32
	}{
		"NVIDIA":      {matrixDevice(vendorNVIDIA, 32, 32, 32, [3]uint32{16, 8, 8}, [3]uint32{16, 8, 16}, [3]uint32{16, 16, 16}), [3]uint32{16, 16, 16}, 32},
		"AMD":         {matrixDevice(vendorAMD, 64, 32, 64, [3]uint32{16, 16, 16}), [3]uint32{16, 16, 16}, 32},
		"AMD, GCN":    {matrixDevice(vendorAMD, 64, 64, 64, [3]uint32{16, 16, 16}), [3]uint32{16, 16, 16}, 64},
		"Intel, Xe":   {matrixDevice(vendorIntel, 32, 8, 32, [3]uint32{8, 8, 16}), [3]uint32{8, 8, 16}, 8},
		"Intel, Xe 2": {matrixDevice(vendorIntel, 32, 16, 32, [3]uint32{8, 16, 16}), [3]uint32{8, 16, 16}, 16},
		"not too big": {matrixDevice(vendorNVIDIA, 32, 32, 32, [3]uint32{64, 64, 16}, [3]uint32{16, 16, 16}, [3]uint32{12, 16, 64}), [3]uint32{16, 16, 16}, 32},
	} {
		for _, p := range []struct{ members, m, n, k, rows, columns int }{
			{160, 256, 256, 256, 128, 128}, {2, 256, 256, 256, 64, 64}, {160, 255, 256, 17, 64, 64},
			{80, 17, 256, 256, 32, 128}, {80, 256, 32, 256, 128, 32}, {80, 32, 32, 4096, 64, 64},
		} {
			g := Gemm{Members: p.members, M: p.m, N: p.n, K: p.k, Precision: Float16}
			f, ok, err := chooseFloat16(c.info, g)
			if err != nil || !ok {
				t.Fatalf("%s: %+v: ok %v, error %v", name, p, ok, err)
			}
			if tile := [3]uint32{f.tile.M, f.tile.N, f.tile.K}; tile != c.tile || f.lanes != c.lanes {
				t.Errorf("%s: tiles %v in subgroups of %d, want %v, %d", name, tile, f.lanes, c.tile, c.lanes)
			}
			if rows, columns := f.size(); rows != p.rows || columns != p.columns {
				t.Errorf("%s: %+v by workgroups of %d × %d", name, p, rows, columns)
			}
			limits := c.info.Limits
			if f.workgroup() > limits.MaxInvocations || f.sharedBytes() > limits.MaxSharedBytes ||
				f.depth%f.tile.K != 0 || f.blockM < 2 || f.blockN < 2 {
				t.Errorf("%s: form %+v with workgroups of %d and %d bytes of shared memory", name, f, f.workgroup(), f.sharedBytes())
			}
		}
		for _, small := range [][3]int{{15, 64, 64}, {64, 1, 64}, {64, 64, 3}} {
			g := Gemm{Members: 1, M: small[0], N: small[1], K: small[2], Precision: Float16}
			if _, ok, err := chooseFloat16(c.info, g); ok || err != nil {
				t.Errorf("%s: a product of %v in float16: %v, error %v; want float32", name, small, ok, err)
			}
		}
		if _, ok, err := chooseFloat16(c.info, Gemm{Members: 1, M: 64, N: 64, K: 64}); ok || err != nil {
			t.Errorf("%s: a product in float32: %v, error %v", name, ok, err)
		}
	}
	deep := matrixDevice(vendorNVIDIA, 32, 32, 32, [3]uint32{16, 16, 16})
	deep.Limits.MaxLoopIterations = 65535
	_, _, err := chooseFloat16(deep, Gemm{Members: 1, M: 64, N: 64, K: 1 << 20, Precision: Float16})
	if err == nil || !strings.Contains(err.Error(), "loop iterations") {
		t.Errorf("a product that exceeds the loop limit: error %v", err)
	}
}

// TestFloat16Refused: the error says what a device lacks and what to set.
func TestFloat16Refused(t *testing.T) {
	whole := matrixDevice(vendorNVIDIA, 32, 32, 32, [3]uint32{16, 16, 16})
	without := func(f func(*vk.Info)) vk.Info {
		info := whole
		f(&info)
		return info
	}
	for text, info := range map[string]vk.Info{
		"no cooperative matrices (VK_KHR_cooperative_matrix)": without(func(i *vk.Info) { i.Features &^= vk.CooperativeMatrix }),
		"not the feature memory_model":                        without(func(i *vk.Info) { i.Features &^= vk.MemoryModel }),
		"sums in float32":                                     without(func(i *vk.Info) { i.MatrixProducts = i.MatrixProducts[:1] }),
		"of at most 16 × 16 × 64":                             without(func(i *vk.Info) { i.Limits.MaxSharedBytes = 16 << 10 }),
	} {
		err := Float16.Check(info)
		if !errors.Is(err, ErrNoFloat16) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), `precision = "float32"`) {
			t.Errorf("error %v, want one with %q and what to set", err, text)
		}
		if err := Float32.Check(info); err != nil {
			t.Errorf("float32: %v", err)
		}
	}
	if err := Float16.Check(whole); err != nil {
		t.Error(err)
	}
}

// TestNetworkFloat16 tests a network's passes in float16: on a device that lacks what they need the network is refused; on others
// outputs and gradients agree with float32 within the rounding of the products in a row, also where gradients are
// smaller than float16's normal numbers.
func TestNetworkFloat16(t *testing.T) {
	s := testState(t)
	const members, rows = 2, 40
	mlp := MLP{In: 20, Out: 3, Hidden: []int{40, 24}, Activation: Swish, Precision: Float16}
	half, err := New(s.Sub("half"), mlp, members, rows)
	if missing := Float16.Check(s.Engine().Device().Info()); missing != nil {
		if !errors.Is(err, ErrNoFloat16) {
			t.Fatalf("error %v, want %v", err, missing)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	mlp.Precision = Float32
	full, err := newNetwork(mlp, members, 1, rows)
	if err == nil {
		full, err = full.byLayers(s.Sub("full"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !half.Layered() {
		t.Fatal("a network in float16 is not layered")
	}
	const small = 1e-6
	row, n := Align(mlp.Size()), engine.Members(members)
	tensor := func(name string, values []float32, dims ...engine.Dim) *engine.Tensor {
		x := s.Scratch(name, engine.Float32, dims...)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		fill(t, x, values)
		return x
	}
	scaled := func(n int, by float32) []float32 {
		x := normals(n)
		for i := range x {
			x[i] *= by
		}
		return x
	}
	params := tensor("params", scaled(members*row, 0.2), n, engine.Axis("parameter", row))
	x := tensor("x", normals(members*rows*mlp.In), n, engine.Axis("row", rows), engine.Axis("in", mlp.In))
	at := tensor("at", scaled(members*rows*mlp.Out, small), n, engine.Axis("row", rows), engine.Axis("out", mlp.Out))
	var got [2][3][]float32
	for i, net := range []*Network{full, half} {
		s := s.Sub(fmt.Sprint("run ", i))
		pass, err := net.NewPass(s, rows)
		if err != nil {
			t.Fatal(err)
		}
		y := s.Scratch("y", engine.Float32, at.Dims()...)
		atX := s.Scratch("at_x", engine.Float32, x.Dims()...)
		g := s.Scratch("gradient", engine.Float32, engine.Axis("split", 1), n, engine.Axis("parameter", row))
		var first []float32
		for range 2 {
			for _, out := range []*engine.Tensor{y, atX, g} {
				fill(t, out, nil)
			}
			record(t, s, func(r *engine.Recorder) {
				pass.Forward(r, Weights{Params: params}, Inputs{Parts: []*engine.Tensor{x}}, y)
				pass.Backward(r, at, Gradients{Params: g, Inputs: []*engine.Tensor{atX}})
			})
			gradient := read(t, g)
			got[i] = [3][]float32{read(t, y), read(t, atX), nil}
			for p := range members {
				got[i][2] = append(got[i][2], gradient[p*row:][:mlp.Size()]...)
			}
			if first != nil && !sameBits(first, got[i][2]) {
				t.Error("gradients of two runs differ in their bits")
			}
			first = got[i][2]
		}
	}
	for i, what := range []string{"outputs", "gradients at inputs", "gradients of parameters"} {
		difference, size := 0.0, 0.0
		for j, want := range got[0][i] {
			difference, size = difference+math.Abs(float64(got[1][i][j]-want)), size+math.Abs(float64(want))
		}
		// Each of up to five products in a row rounds both operands to 11 binary digits.
		if share := difference / size; !(share <= 5*0x1p-11) || share == 0 {
			t.Errorf("%s differ by %g of their size from float32, want at most %g, and more than 0", what, share, 5*0x1p-11)
		}
	}
}

func sameBits(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}
