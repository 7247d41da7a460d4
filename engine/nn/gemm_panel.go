package nn

import (
	"runtime"

	"github.com/evorl/evorl/internal/processor"
	"github.com/evorl/evorl/vk"
)

// panelForm is a variant of gemm_panel.comp, for software drivers.
type panelForm struct {
	lanes   uint32 // the subgroup size
	depth   uint32 // of the panel of B, a multiple of 4
	columns uint32 // per lane: 4 or 8
	rows    int    // of A, multiplied by a panel in a workgroup; a multiple of 4
	across  uint32 // lanes that share a row of C; the subgroup takes lanes / across rows at once
	halved  bool   // lower lanes store for upper ones, where rows are stored in 64 bits (shaders/engine/halved.glsl)
}

// together reports whether a form is panels that take several rows at once, which C's rows in blocks are not for.
func together(form gemmForm) bool {
	f, ok := form.(panelForm)
	return ok && f.across < f.lanes
}

// choosePanel chooses a variant by shape. ok is false if the device lacks features that the kernel needs, and for
// products too small to repay loading a panel, which costs as much as about six rows, or 30 if code and weights are not
// in the first-level caches.
func choosePanel(info vk.Info, g Gemm) (f panelForm, ok bool) {
	const (
		deepest  = 64 // depth in k of a panel: 16 KiB with 64 columns, half of a core's first-level cache; 16 lanes have 4 each
		shortest = 64 // rows per workgroup
		narrow   = 16 // likewise, where several rows are multiplied at once: a panel is loaded faster than it is multiplied

		narrowest = 4 // columns of a product of patches
	)
	lanes := int(info.SubgroupSize)
	least := lanes + 1 // columns
	if g.ofPatches() {
		least = narrowest
	}
	if info.Type != vk.CPU || lanes != 8 && lanes != 16 || !info.Features.Has(vk.Int64) || g.M < 2*lanes || g.N < least || g.Addend != nil {
		return f, false
	}
	f = panelForm{lanes: info.SubgroupSize, columns: 8, across: info.SubgroupSize, halved: processor.HalvedStores(info.Driver, info.SubgroupSize)}
	// Four columns of two or four lanes take two rows at once, eight of two lanes four: forward products with 16 columns are 1.2 times as fast, but a
	// transposed A is loaded four rows at a time.
	few, four := g.N <= 4*lanes, g.N > lanes && g.N <= 2*lanes && !g.TransposeA && g.Inner == 0
	if few && !four || lanes == 16 {
		f.columns = 4
	}
	for g.Inner == 0 && f.across > 2 && g.N <= int(f.across/2*f.columns) {
		f.across /= 2
	}
	// Deeper panels store fewer partial sums, where the first-level cache has room for them: of 48 KiB, or of 32 KiB with 32 columns, 4 per lane of 8 (products
	// with 256 × 32 matrices are 1.4 times as fast). Unaligned rows of C are stored float by float, which takes as long as the
	// products over 64 k: 257 × 253 by 253 × 255 is 1.4 times as fast, but takes 2 s longer to compile.
	deep := deepest
	if f.columns*f.lanes == 32 || !g.alignedC(4) || processor.Cache() >= 48<<10 {
		deep = 2 * deepest
	}
	depths := ceil(g.chunk(), deep)
	f.depth = uint32(Align(ceil(g.chunk(), depths)))
	// At least four workgroups for each processor, so that its three threads share the work evenly (vk). More would have fewer
	// rows for each panel that they load.
	workgroups := 4 * runtime.NumCPU()
	panels := ceil(g.N, int(f.columns*f.across)) * g.Members * g.splits()
	least = shortest
	if f.across < f.lanes {
		least = narrow
	}
	parts := max(ceil(g.M, longestPanel), min(ceil(workgroups, panels), g.M/least))
	f.rows = Align(ceil(g.rowsOfC(), parts))
	return f, true
}

// longestPanel is the most rows of a workgroup: their partial sums stay in the second-level cache.
const longestPanel = 256

// calls returns one dispatch, or more if K is so deep that one would exceed the loop limit of software drivers: all but
// the last then leave partial sums in C.
func (f panelForm) calls(g Gemm) []vk.Call {
	// Panels per dispatch: half of the 65,535 loop iterations that lavapipe allows per invocation. Rows that are multiplied at once are one iteration.
	most := 32 * longestPanel / int(f.rows)
	depth := int(f.depth)
	end := ceil(g.chunk(), depth) * depth
	sums := g
	sums.Alpha, sums.Bias, sums.Activation, sums.Kept, sums.Slope, sums.lowRank = 1, nil, Linear, nil, Linear, nil
	var calls []vk.Call
	begin := 0
	for ; end-begin > most*depth; begin += most * depth {
		calls = append(calls, f.call(sums, begin, begin+most*depth))
	}
	if g.lowRank != nil {
		return append(calls, f.lowRankCall(g, begin, end))
	}
	return append(calls, f.call(g, begin, end))
}

// edge returns the largest of 1, 4 and 8 columns that the last panel's columns of C are stored by; 0: C fills all panels.
func (f panelForm) edge(g Gemm) (edge uint32) {
	if g.N%int(f.across*f.columns) == 0 && f.across == f.lanes {
		return 0
	}
	for _, n := range []int{1, 4, 8} {
		if g.N%n == 0 || g.Padded {
			edge = uint32(n)
		}
	}
	return edge
}

// alignmentC returns the largest of 1, 4 and 8 floats that rows of C begin at multiples of.
func (g Gemm) alignmentC() (aligned uint32) {
	for _, n := range []int{1, 4, 8} {
		if g.alignedC(n) {
			aligned = uint32(n)
		}
	}
	return aligned
}

// followed reports whether something follows the sum.
func (g Gemm) followed() bool {
	return g.alpha() != 1 || g.Bias != nil || g.Activation != Linear || g.Kept != nil || g.Slope != Linear
}

// call sums the part of K from begin to end, multiples of f.depth, of each split.
func (f panelForm) call(g Gemm, begin, end int) vk.Call {
	c := g.C.Tensor.Range()
	k := gemmPanelKernel{
		A: g.A.Tensor.Range(), B: g.B.Tensor.Range(), Sums: c, SumQuads: c, C: c, C8: c,
		M: uint32(g.rowsOfC()), N: uint32(g.N), K: uint32(g.K), Population: uint32(g.Members), Rows: uint32(f.rows),
		Chunk: uint32(g.chunk()), Begin: uint32(begin), End: uint32(end),
		AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row), AShared: uint32(g.A.shared()),
		BAt: uint32(g.B.At), BStride: uint32(g.B.Stride), BRow: uint32(g.B.Row), BShared: uint32(g.B.shared()),
		CAt: uint32(g.C.At), CStride: uint32(g.C.Stride), CRow: uint32(g.C.Row), CSplit: uint32(g.SplitStride),
		CFirst: uint32(g.First), CInner: uint32(g.Inner), CBlock: uint32(g.Block), Alpha: g.alpha(),
		Lanes: f.lanes, Depth: f.depth, Columns: f.columns, Across: f.across, Deep: end-begin > int(f.depth),
		Followed: g.followed(), ColumnSums: g.ColumnSums,
		TransposeA: g.TransposeA, TransposeB: g.TransposeB, Blocks: g.Inner != 0,
		Activation: uint32(g.Activation), Slope: uint32(g.Slope),
		AlignedA: g.A.aligned(4), AlignedB: g.B.aligned(4), AlignedC: g.alignmentC(), Edge: f.edge(g), Halved: f.halved && g.alignedC(4),
	}
	if g.Bias != nil {
		k.Bias, k.BiasAt, k.BiasStride = g.Bias.Range(), uint32(g.BiasAt), uint32(g.BiasStride)
	}
	if g.Kept != nil {
		k.Kept, k.Kept8 = g.Kept.Range(), g.Kept.Range()
	}
	if w := g.patches; g.ofPatches() {
		k.Images = g.A.Tensor.Range()
		k.Height, k.Width, k.Channels, k.Kernel, k.Stride = uint32(w.Height), uint32(w.Width), uint32(w.Channels), uint32(w.Kernel), uint32(w.Stride)
		k.Top, k.Left, k.OutHeight, k.OutWidth = uint32(w.Top), uint32(w.Left), uint32(w.OutHeight), uint32(w.OutWidth)
	}
	if g.TailColumns > 0 {
		k.Tail, k.TailColumns = g.Tail.Tensor.Range(), uint32(g.TailColumns)
		k.TailAt, k.TailStride, k.TailRow, k.TailShared = uint32(g.Tail.At), uint32(g.Tail.Stride), uint32(g.Tail.Row), uint32(g.Tail.shared())
	}
	if g.Slope != Linear {
		k.Outputs = g.Outputs.Range()
	}
	if g.Slope.needsInput() {
		k.Inputs = g.Inputs.Range()
	}
	call := k.call(uint32(ceil(g.N, int(f.across*f.columns))), uint32(ceil(g.rowsOfC(), f.rows)), uint32(g.splits()*g.Members))
	call.Subgroup = f.lanes
	return call
}

// padded returns a number of columns, rounded up to a multiple of eight.
func padded(columns int) int { return (columns + 7) &^ 7 }

// ceil returns a / b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
