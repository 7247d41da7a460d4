package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// lowRankRows is what the networks of a perturbation add to the rows of a product with shared weights: C = f(A B + s (A l) r' + bias), with the l, r and bias
// of the row's network.
type lowRankRows struct {
	*Perturbation
	matrix      LowRankMatrix
	bias        int            // where the layer's bias is among a network's vectors; noBias: there is none
	first       int            // the first row's number among all rows of its member
	each        int            // rows of a network
	projections *engine.Tensor // s (A l): for every row of every member Rank floats, Align(Rank) apart
	product     *engine.Tensor // A B, laid out like C, if that was computed before; else nil
}

// noBias is where products without a bias have theirs: a cell's memory.
const noBias = -1

// biases returns the vectors with the networks' biases, an empty range without a bias, and where the bias is.
func (of *lowRankRows) biases() (vectors vk.Range, at uint32) {
	if of.bias == noBias {
		return vk.Range{}, 0
	}
	return of.Vectors.Range(), uint32(of.bias)
}

// takesLowRank reports whether a form completes the products of networks of low rank.
func takesLowRank(form gemmForm) bool { return readsPatches(form) }

// lowRankForm returns the form in which a device completes a product of networks of low rank; ok is false if a kernel of its own has to.
func (g Gemm) lowRankForm(info vk.Info) (form gemmForm, ok bool) {
	if _, float16, err := chooseFloat16(info, g); float16 || err != nil {
		return nil, false
	}
	form = chooseGemm(info, g)
	return form, takesLowRank(form)
}

// checkLowRank checks a product of networks of low rank.
func (g Gemm) checkLowRank() error {
	of := g.lowRank
	switch {
	case g.TransposeA || g.TransposeB || g.TailColumns > 0 || g.ColumnSums || g.Inner != 0 || g.splits() > 1 || g.alpha() != 1 ||
		g.Addend != nil || g.Bias != nil || g.Kept != nil || g.Slope != Linear || g.A.shared() > 1:
		return fmt.Errorf("nn: a product of %d × %d × %d of networks of low rank; want a plain one", g.M, g.K, g.N)
	case of.matrix.Rows != g.K || of.matrix.Columns != g.N:
		return fmt.Errorf("nn: a perturbation of a matrix of %d × %d in a product with one of %d × %d", of.matrix.Rows, of.matrix.Columns, g.K, g.N)
	case of.projections.Len() < g.Members*g.M*Align(of.Layout.Rank):
		return fmt.Errorf("nn: projections %v of rank %d of %d × %d rows", of.projections, of.Layout.Rank, g.Members, g.M)
	}
	return nil
}

// project returns the call that computes the projections of a product's rows. width is how many lanes share a row.
func (g Gemm) project(workgroup, width, subgroup uint32) vk.Call {
	of := g.lowRank
	k := lowRankProjectKernel{
		Inputs: g.A.Tensor.Range(), Factors: of.Factors.Range(), Deviation: of.Deviation.Range(), Projections: of.projections.Range(),
		K: uint32(g.K), AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row),
		Component: uint32(of.Layout.Component), Draws: uint32(of.Draws()), Factor: uint32(of.matrix.A),
		Rows: uint32(g.M), FirstRow: uint32(of.first), Each: uint32(of.each), First: uint32(of.First), Scale: float32(of.Layout.Scale()),
		Workgroup: workgroup, Width: width, Aligned: g.A.aligned(4), Rank: uint32(of.Layout.Rank), Mirrored: of.Mirrored,
	}
	if w := g.patches; g.ofPatches() {
		k.Images = g.A.Tensor.Range()
		k.Height, k.ImageWidth, k.Channels, k.Kernel, k.Stride = uint32(w.Height), uint32(w.Width), uint32(w.Channels), uint32(w.Kernel), uint32(w.Stride)
		k.Top, k.Left, k.OutHeight, k.OutWidth = uint32(w.Top), uint32(w.Left), uint32(w.OutHeight), uint32(w.OutWidth)
	}
	k.DeviationStride, k.DeviationAt = of.deviation(of.matrix)
	call := k.call((k.Rows*width+workgroup-1)/workgroup, uint32(g.Members), 1)
	call.Subgroup = subgroup
	return call
}

// lowRankCall sums the part of K from begin to end, after what C holds of the part before, and completes C.
func (f panelForm) lowRankCall(g Gemm, begin, end int) vk.Call {
	of, c := g.lowRank, g.C.Tensor.Range()
	k := gemmPanelLowRankKernel{
		A: g.A.Tensor.Range(), B: g.B.Tensor.Range(), Sums: c, SumQuads: c, C: c, C8: c,
		Projections: of.projections.Range(), Factors: of.Factors.Range(),
		M: uint32(g.M), N: uint32(g.N), K: uint32(g.K), Rows: uint32(f.rows), Begin: uint32(begin), End: uint32(end),
		AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row),
		BAt: uint32(g.B.At), BStride: uint32(g.B.Stride), BRow: uint32(g.B.Row), BShared: uint32(g.B.shared()),
		CAt: uint32(g.C.At + g.First*g.C.Row), CStride: uint32(g.C.Stride), CRow: uint32(g.C.Row),
		Component: uint32(of.Layout.Component), Draws: uint32(of.Draws()), Networks: uint32(of.Vectors.Size(NetworkAxis)),
		Vector: uint32(of.Vectors.Size("float")), Factor: uint32(of.matrix.B), FirstRow: uint32(of.first), First: uint32(of.First),
		Lanes: f.lanes, Depth: f.depth, Columns: f.columns, Across: f.across, Deep: end-begin > int(f.depth), Edge: f.edge(g),
		AlignedA: g.A.aligned(4), AlignedB: g.B.aligned(4), AlignedC: g.alignmentC(), Activation: uint32(g.Activation),
		Each: uint32(of.each), Rank: uint32(of.Layout.Rank), Mirrored: of.Mirrored, Halved: f.halved && g.alignedC(4),
	}
	k.Vectors, k.Bias = of.biases()
	if w := g.patches; g.ofPatches() {
		k.Images = g.A.Tensor.Range()
		k.Height, k.Width, k.Channels, k.Kernel, k.Stride = uint32(w.Height), uint32(w.Width), uint32(w.Channels), uint32(w.Kernel), uint32(w.Stride)
		k.Top, k.Left, k.OutHeight, k.OutWidth = uint32(w.Top), uint32(w.Left), uint32(w.OutHeight), uint32(w.OutWidth)
	}
	call := k.call(uint32(ceil(g.N, int(f.across*f.columns))), uint32(ceil(g.M, f.rows)), uint32(g.Members))
	call.Subgroup = f.lanes
	return call
}

// lowRankCall is call of a product of networks of low rank, by tiles.
func (f tiledForm) lowRankCall(g Gemm) vk.Call {
	of := g.lowRank
	k := gemmLowRankKernel{
		A: g.A.Tensor.Range(), B: g.B.Tensor.Range(), C: g.C.Tensor.Range(),
		Projections: of.projections.Range(), Factors: of.Factors.Range(),
		M: uint32(g.M), N: uint32(g.N), K: uint32(g.K),
		AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row),
		BAt: uint32(g.B.At), BStride: uint32(g.B.Stride), BRow: uint32(g.B.Row), BShared: uint32(g.B.shared()),
		CAt: uint32(g.C.At + g.First*g.C.Row), CStride: uint32(g.C.Stride), CRow: uint32(g.C.Row),
		Component: uint32(of.Layout.Component), Draws: uint32(of.Draws()), Networks: uint32(of.Vectors.Size(NetworkAxis)),
		Vector: uint32(of.Vectors.Size("float")), Factor: uint32(of.matrix.B), FirstRow: uint32(of.first), First: uint32(of.First),
		Workgroup: f.workgroup, Rows: f.rows, Columns: f.columns, TileWidth: f.width,
		AlignedA: g.A.aligned(4), AlignedB: g.B.aligned(4), AlignedC: g.alignedC(4) && g.N%4 == 0, Activation: uint32(g.Activation),
		Each: uint32(of.each), Rank: uint32(of.Layout.Rank), Mirrored: of.Mirrored,
	}
	k.Vectors, k.Bias = of.biases()
	if w := g.patches; g.ofPatches() {
		k.Patches = true
		k.Height, k.Width, k.Channels, k.Kernel, k.Stride = uint32(w.Height), uint32(w.Width), uint32(w.Channels), uint32(w.Kernel), uint32(w.Stride)
		k.Top, k.Left, k.OutHeight, k.OutWidth = uint32(w.Top), uint32(w.Left), uint32(w.OutHeight), uint32(w.OutWidth)
	}
	return k.call(uint32(ceil(g.N, int(f.width*f.columns))), uint32(ceil(g.M, int(f.workgroup/f.width*f.rows))), uint32(g.Members))
}
