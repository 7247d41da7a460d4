package nn

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/evorl/evorl/vk"
)

// Float16Least is the fewest rows, columns and terms of a product in float16. Those of a smaller one would be mostly padding.
const Float16Least = 16

// maxScale is the largest exponent of a product's scales: 2^-126 is the smallest normal number of float32, which undoes them.
const maxScale = 126

// float16Form is a variant of gemm_float16.comp: its specialization constants.
type float16Form struct {
	lanes                  uint32 // of a subgroup
	tile                   vk.MatrixProduct
	subgroupsM, subgroupsN uint32 // of a workgroup
	blockM, blockN         uint32 // tiles of a subgroup
	depth                  uint32 // of a slice of A and B in shared memory
}

// float16On returns the device's cooperative matrices of float16 that are summed in float32, the largest if there are
// several: they read least for each product. The error wraps ErrNoFloat16.
func float16On(info vk.Info) (vk.MatrixProduct, error) {
	lacks := func(what string) error {
		return fmt.Errorf("nn: precision float16: %w: device %q has %s; set precision = \"float32\"", ErrNoFloat16, info.Name, what)
	}
	if !info.Features.Has(vk.CooperativeMatrix) {
		return vk.MatrixProduct{}, lacks("no cooperative matrices (VK_KHR_cooperative_matrix)")
	}
	for _, f := range []vk.Features{vk.Float16, vk.MemoryModel, vk.FullSubgroups} {
		if !info.Features.Has(f) {
			return vk.MatrixProduct{}, lacks(fmt.Sprintf("not the feature %v, which cooperative matrices need", f))
		}
	}
	var best vk.MatrixProduct
	for _, m := range info.MatrixProducts {
		float16 := m.A == vk.ComponentFloat16 && m.B == m.A && m.C == vk.ComponentFloat32 && m.Result == m.C
		if float16 && fits(info, m) && m.M*m.N*m.K > best.M*best.N*best.K {
			best = m
		}
	}
	if best.M == 0 {
		return best, lacks(fmt.Sprintf("no cooperative matrices of float16 with sums in float32 of at most 16 × 16 × 64, but %v", info.MatrixProducts))
	}
	return best, nil
}

// fits reports whether the smallest workgroups have a whole number of such tiles, and their slices fit into shared memory.
func fits(info vk.Info, tile vk.MatrixProduct) bool {
	const side, deepest = 16, 64
	for _, n := range [...]uint32{tile.M, tile.N, tile.K} {
		if n < 4 || bits.OnesCount32(n) != 1 {
			return false
		}
	}
	if tile.M > side || tile.N > side || tile.K > deepest {
		return false
	}
	for _, shape := range float16Shapes[1:] {
		f := shape.on(info, tile)
		if f.workgroup() > info.Limits.MaxInvocations || f.sharedBytes() > info.Limits.MaxSharedBytes {
			return false
		}
	}
	return true
}

// float16Shape is the arrangement of a workgroup: its subgroups, and the rows and columns of C of each.
type float16Shape struct{ subgroupsM, subgroupsN, rows, columns uint32 }

// float16Shapes are the arrangements, of 128 × 128, 64 × 64, 32 × 128 and 128 × 32 in all. With tiles of 16 × 16, a subgroup
// multiplies each tile that it loads by two others, or in the first by two or four. They have room in 32 KiB of shared memory.
var float16Shapes = [...]float16Shape{{2, 4, 64, 32}, {2, 2, 32, 32}, {1, 4, 32, 32}, {4, 1, 32, 32}}

// float16Software is the arrangement on software drivers, which take minutes to compile the others.
var float16Software = float16Shape{2, 1, 16, 16}

// on returns the form of a shape for a device's tiles.
func (s float16Shape) on(info vk.Info, tile vk.MatrixProduct) float16Form {
	const depth = 32 // with 16 terms a tile, two products of tiles follow each barrier
	// Drivers offer cooperative matrices in subgroups of 32 lanes; Intel's need the smallest, 8 or 16, the width of their
	// matrix units.
	lanes := min(max(32, info.MinSubgroupSize), info.MaxSubgroupSize)
	if info.VendorID == vendorIntel {
		lanes = info.MinSubgroupSize
	}
	return float16Form{
		lanes: lanes, tile: tile, subgroupsM: s.subgroupsM, subgroupsN: s.subgroupsN,
		blockM: s.rows / tile.M, blockN: s.columns / tile.N, depth: max(depth, tile.K),
	}
}

func (f float16Form) workgroup() uint32 { return f.lanes * f.subgroupsM * f.subgroupsN }

// size returns the rows and columns of C of a workgroup.
func (f float16Form) size() (rows, columns int) {
	return int(f.subgroupsM * f.blockM * f.tile.M), int(f.subgroupsN * f.blockN * f.tile.N)
}

// sharedBytes returns the largest size of the kernel's shared arrays, over all ways of storing A and B.
func (f float16Form) sharedBytes() uint32 {
	const element, spare, word = 8, 2, 16 // bytes of four numbers; elements between lines; bytes of four sums
	rows, columns := f.size()
	slice := func(lines uint32) uint32 {
		return element * max(lines*(f.depth/4+spare), f.depth*(lines/4+spare))
	}
	return slice(uint32(rows)) + slice(uint32(columns)) + word*f.subgroupsM*f.subgroupsN*f.tile.M*(f.tile.N/4+1)
}

// chooseFloat16 returns the form of a product in float16. ok is false for products that stay in float32.
func chooseFloat16(info vk.Info, g Gemm) (form float16Form, ok bool, err error) {
	if g.Precision != Float16 {
		return form, false, nil
	}
	tile, err := float16On(info)
	if err != nil || min(g.M, g.N, g.K) < Float16Least {
		return form, false, err
	}
	const (
		many = 256 // workgroups that fill a large GPU: an H100 has 132 multiprocessors
		slim = 32
	)
	shape := float16Shapes[1]
	switch large := float16Shapes[0].on(info, tile); {
	case info.Type == vk.CPU:
		shape = float16Software
	case g.M <= slim && g.N > slim:
		shape = float16Shapes[2]
	case g.N <= slim && g.M > slim:
		shape = float16Shapes[3]
	case g.M%128 == 0 && g.N%128 == 0 && g.M/128*(g.N/128)*g.Members*g.splits() >= many &&
		large.workgroup() <= info.Limits.MaxInvocations && large.sharedBytes() <= info.Limits.MaxSharedBytes:
		shape = float16Shapes[0]
	}
	form = shape.on(info, tile)
	if most, need := int(info.Limits.MaxLoopIterations), form.iterations(g); most > 0 && need > most {
		return form, false, fmt.Errorf("nn: a product of %d × %d × %d in float16 takes %d loop iterations of an invocation; "+
			"device %q allows %d: want fewer terms, or more splits", g.M, g.K, g.N, need, info.Name, most)
	}
	return form, true, nil
}

// iterations returns how many loop iterations an invocation takes.
func (f float16Form) iterations(g Gemm) int {
	rows, columns := f.size()
	loads := ceil(rows*int(f.depth)/4, int(f.workgroup())) + ceil(columns*int(f.depth)/4, int(f.workgroup()))
	stores := int(f.blockM*f.blockN) * ceil(int(f.tile.M*f.tile.N)/4, int(f.lanes))
	return ceil(g.chunk(), int(f.depth))*(1+loads) + stores
}

// gradientScale returns the power of two by which a gradient over a batch of the given number of rows is multiplied before it
// is rounded to float16: losses are means over the batch, so that the gradient of a row is smaller than its own by the
// number of rows. The product undoes it. A row's own gradients, from 2^-19 to 2^10, then lie in the range of float16's normal
// numbers, from 2^-14 to 2^15.
func gradientScale(rows int) int {
	const margin = 5
	return margin + bits.Len(uint(rows)) - 1
}

func (f float16Form) calls(g Gemm) []vk.Call {
	k := gemmFloat16Kernel{
		A: g.A.Tensor.Range(), B: g.B.Tensor.Range(), C: g.C.Tensor.Range(),
		M: uint32(g.M), N: uint32(g.N), K: uint32(g.K), Population: uint32(g.Members), Chunk: uint32(g.chunk()),
		AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row), AShared: uint32(g.A.shared()),
		BAt: uint32(g.B.At), BStride: uint32(g.B.Stride), BRow: uint32(g.B.Row), BShared: uint32(g.B.shared()),
		CAt: uint32(g.C.At), CStride: uint32(g.C.Stride), CRow: uint32(g.C.Row), CSplit: uint32(g.SplitStride),
		CFirst: uint32(g.First), CInner: uint32(g.Inner), CBlock: uint32(g.Block),
		Alpha:     float32(math.Ldexp(float64(g.alpha()), -g.ScaleA-g.ScaleB)),
		Workgroup: f.workgroup(), Lanes: f.lanes, TileM: f.tile.M, TileN: f.tile.N, TileK: f.tile.K,
		SubgroupsN: f.subgroupsN, BlockM: f.blockM, BlockN: f.blockN, Depth: f.depth, ScaleA: uint32(g.ScaleA), ScaleB: uint32(g.ScaleB),
		TransposeA: g.TransposeA, TransposeB: g.TransposeB, Blocks: g.Inner != 0,
		Activation: uint32(g.Activation), Slope: uint32(g.Slope),
		AlignedA: g.A.aligned(4), AlignedB: g.B.aligned(4), AlignedC: g.alignedC(4) && g.N%4 == 0,
	}
	if g.Bias != nil {
		k.Bias, k.BiasAt, k.BiasStride, k.BiasStep = g.Bias.Range(), uint32(g.BiasAt), uint32(g.BiasStride), 1
	}
	k.Kept, k.Addend, k.Outputs, k.Inputs = optional(g.Kept), optional(g.Addend), optional(g.Outputs), optional(g.Inputs)
	rows, columns := f.size()
	call := k.call(uint32(ceil(g.N, columns)), uint32(ceil(g.M, rows)), uint32(g.splits()*g.Members))
	call.Subgroup = f.lanes
	return []vk.Call{call}
}
