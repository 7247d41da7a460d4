package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Matrix locates a row-major matrix of every member in a tensor: element (i, j) of member p is float At + floor(p /
// Shared) Stride + i Row + j.
type Matrix struct {
	Tensor          *engine.Tensor
	At, Stride, Row int
	Shared          int // consecutive members that share a matrix of A or B; 0: 1
}

// aligned reports whether every row begins at a multiple of n floats.
func (x Matrix) aligned(n int) bool { return x.At%n == 0 && x.Stride%n == 0 && x.Row%n == 0 }

// shared returns Shared with its default applied.
func (x Matrix) shared() int { return max(x.Shared, 1) }

// in returns the same location in another tensor.
func (x Matrix) in(t *engine.Tensor) Matrix {
	x.Tensor = t
	return x
}

// contains reports whether the members' matrices of rows × columns lie inside the tensor.
func (x Matrix) contains(members, rows, columns int) bool {
	last := (members - 1) / x.shared()
	return x.At >= 0 && x.Stride >= 0 && x.Row >= columns && x.At+last*x.Stride+(rows-1)*x.Row+columns <= x.Tensor.Len()
}

// Gemm is a matrix product for every member: C = f(Alpha A B + Addend + Bias), with A of M × K, B of K × N and C of M
// × N; A and B may be stored transposed. In float32 the order of summation does not depend on the device, but for a single row
// (gemm_vector.glsl).
type Gemm struct {
	Members, M, N, K       int
	A, B, C                Matrix
	TransposeA, TransposeB bool    // A is stored as K × M, B as N × K
	Alpha                  float32 // 0: 1

	// Precision is how the products are computed. In float16, A and B are multiplied by 2 to the power of ScaleA and ScaleB
	// before they are rounded, which the sums undo.
	Precision      Precision
	ScaleA, ScaleB int

	// The last TailColumns columns of A as it is stored are in Tail, beside those in A. Only for panels (Gemm.Panels).
	Tail        Matrix
	TailColumns int

	// patches, if it has a kernel, makes A the patches of images under this window, one row for each place of each image, or the transposed of
	// that. A holds the images, in its rows: a product that reads them there needs no patches in memory. Only for some forms (Gemm.readsPatches).
	patches Window

	// ColumnSums gives C a row M, after its last, for the sums of B's columns. Only for panels with a transposed A.
	ColumnSums bool

	Addend *engine.Tensor // laid out like C, without blocks, and not C itself; nil: none. Not for panels

	// Bias, nil for none, holds N floats of every member from BiasAt + p BiasStride on.
	Bias               *engine.Tensor
	BiasAt, BiasStride int
	uniformBias        bool           // all columns have the bias of the first
	Activation         Activation     // f
	Kept               *engine.Tensor // stores the input of f (pre-activation), laid out like C; nil: not stored

	// Slope multiplies C by the derivative of this activation. Inputs and outputs are laid out like C. Only
	// swish and GELU need Inputs.
	Slope           Activation
	Inputs, Outputs *engine.Tensor

	// Blocks, if C's rows are not contiguous: row r is row (r + First) mod Inner of block (r + First) / Inner, and
	// blocks are Block floats apart. Inner 0: one block of all rows.
	First, Inner, Block int

	// Padded permits writing anything after the columns of C and Kept, up to a multiple of eight columns.
	Padded bool

	// lowRank completes the product for rows of networks of low rank; nil: one network. Only for some forms (Gemm.lowRankForm), and not beside an addend,
	// a bias, a factor or blocks.
	lowRank *lowRankRows

	// Splits divides the sum over K into parts, each written to its own C, SplitStride floats apart, which the reader
	// must add. 0: 1.
	Splits, SplitStride int
}

// Record records the product.
func (g Gemm) Record(r *engine.Recorder) {
	info := r.Engine().Device().Info()
	form, ok, err := chooseFloat16(info, g)
	switch {
	case err != nil:
		r.Fail(err)
	case ok:
		g.record(r, form)
	default:
		if info.Type == vk.CPU {
			g = g.rowOfColumn()
		}
		g.record(r, chooseGemm(info, g))
	}
}

// rowOfColumn returns a product with one column, such as a layer with one output, as one with one row: C' = B' A'. On
// software drivers the form for one row is three times as fast. Other products it returns as they are.
func (g Gemm) rowOfColumn() Gemm {
	if g.N != 1 || g.TransposeB || g.B.Row != 1 || g.C.Row != 1 || g.Inner != 0 || g.TailColumns > 0 || g.ColumnSums || g.check() != nil {
		return g
	}
	g.M, g.N = 1, g.M
	g.A, g.B = g.B, g.A
	g.A.Row = g.K
	g.TransposeA, g.TransposeB = false, !g.TransposeA
	g.C.At, g.C.Row, g.First = g.C.At+g.First, g.N, 0
	g.uniformBias = true
	return g
}

func (g Gemm) record(r *engine.Recorder, form gemmForm) {
	terms := 0
	if _, tiled := form.(tiledForm); tiled && g.lowRank == nil {
		terms = 4 * int(r.Engine().Device().Info().Limits.MaxLoopIterations) // a loop takes four at once
	}
	g.recordWithin(r, form, terms)
}

// recordWithin records the product with sums of at most so many terms in a dispatch (within).
func (g Gemm) recordWithin(r *engine.Recorder, form gemmForm, terms int) {
	if err := g.check(); err != nil {
		r.Fail(err)
		return
	}
	if _, panel := form.(panelForm); !panel && (g.ColumnSums || g.TailColumns > 0) {
		r.Fail(fmt.Errorf("nn: a product of %d × %d × %d with sums of columns or an A of two matrices; only panels have them", g.M, g.K, g.N))
		return
	}
	if together(form) && g.Inner != 0 {
		r.Fail(fmt.Errorf("nn: a product of %d × %d × %d in blocks, several rows at once; only single rows have blocks", g.M, g.K, g.N))
		return
	}
	if g.ofPatches() && !readsPatches(form) {
		r.Fail(fmt.Errorf("nn: a product of %d × %d × %d of patches; only panels and tiles have them", g.M, g.K, g.N))
		return
	}
	if g.lowRank != nil && !takesLowRank(form) {
		r.Fail(fmt.Errorf("nn: a product of %d × %d × %d of networks of low rank; only panels and tiles have them", g.M, g.K, g.N))
		return
	}
	for _, part := range g.within(terms) {
		for _, call := range form.calls(part) {
			r.Dispatch(call)
		}
	}
}

// Panels reports whether a device computes the product by panels of B.
func (g Gemm) Panels(info vk.Info) bool {
	if _, float16, err := chooseFloat16(info, g); float16 || err != nil {
		return false
	}
	_, ok := choosePanel(info, g)
	return ok
}

// rowsOfC returns M, and one more with a row of column sums.
func (g Gemm) rowsOfC() int {
	if g.ColumnSums {
		return g.M + 1
	}
	return g.M
}

func (g Gemm) splits() int { return max(g.Splits, 1) }

// readsPatches reports whether a device computes the product, of patches, from the images.
func (g Gemm) readsPatches(info vk.Info) bool {
	if _, float16, err := chooseFloat16(info, g); float16 || err != nil {
		return false
	}
	return readsPatches(chooseGemm(info, g))
}

func readsPatches(form gemmForm) bool {
	tiled, ok := form.(tiledForm)
	if !ok {
		_, ok = form.(panelForm)
		return ok
	}
	return tiled.form == formTiles
}

// ofPatches reports whether A is patches of images.
func (g Gemm) ofPatches() bool { return g.patches.Kernel > 0 }

// chunk returns the length of K that a split sums; the last ones may sum less.
func (g Gemm) chunk() int { return Align(ceil(g.K, g.splits())) }

func (g Gemm) alpha() float32 {
	if g.Alpha == 0 {
		return 1
	}
	return g.Alpha
}

// alignedC reports whether every row of C begins at a multiple of n floats.
func (g Gemm) alignedC(n int) bool {
	c := g.C
	if g.Members == 1 {
		c.Stride = 0 // there is no next member
	}
	return c.aligned(n) && g.Block%n == 0 && (g.splits() == 1 || g.SplitStride%n == 0)
}

// gemmForm is a way of computing a product on the device.
type gemmForm interface {
	calls(g Gemm) []vk.Call
}

// tiledForm is a variant of gemm.comp: its specialization constants.
type tiledForm struct {
	form, workgroup uint32
	rows, columns   uint32 // lanes, tiles
	width           uint32 // tiles: invocations along N; vector: those that share a sum
}

// Forms of gemm.comp.
const (
	formLanes  = 0
	formTiles  = 1
	formVector = 2
)

func (f tiledForm) calls(g Gemm) []vk.Call {
	if g.lowRank != nil {
		return []vk.Call{f.lowRankCall(g)}
	}
	return []vk.Call{f.call(g)}
}

// call is the dispatch of gemm.comp.
func (f tiledForm) call(g Gemm) vk.Call {
	k := gemmKernel{
		A: g.A.Tensor.Range(), B: g.B.Tensor.Range(), C: g.C.Tensor.Range(),
		M: uint32(g.M), N: uint32(g.N), K: uint32(g.K), Population: uint32(g.Members), Chunk: uint32(g.chunk()),
		AAt: uint32(g.A.At), AStride: uint32(g.A.Stride), ARow: uint32(g.A.Row), AShared: uint32(g.A.shared()),
		BAt: uint32(g.B.At), BStride: uint32(g.B.Stride), BRow: uint32(g.B.Row), BShared: uint32(g.B.shared()),
		CAt: uint32(g.C.At), CStride: uint32(g.C.Stride), CRow: uint32(g.C.Row), CSplit: uint32(g.SplitStride),
		CFirst: uint32(g.First), CInner: uint32(g.Inner), CBlock: uint32(g.Block), Alpha: g.alpha(),
		Workgroup: f.workgroup, Form: f.form, Rows: f.rows, Columns: f.columns,
		TransposeA: g.TransposeA, TransposeB: g.TransposeB, Blocks: g.Inner != 0,
		Activation: uint32(g.Activation), Slope: uint32(g.Slope),
		AlignedA: g.A.aligned(4), AlignedB: g.B.aligned(4), AlignedC: g.alignedC(4) && g.N%4 == 0,
	}
	if g.Bias != nil {
		k.Bias, k.BiasAt, k.BiasStride = g.Bias.Range(), uint32(g.BiasAt), uint32(g.BiasStride)
		if !g.uniformBias {
			k.BiasStep = 1
		}
	}
	if w := g.patches; g.ofPatches() {
		k.Patches, k.Height, k.Width, k.Channels, k.Kernel, k.Stride = true, uint32(w.Height), uint32(w.Width), uint32(w.Channels), uint32(w.Kernel), uint32(w.Stride)
		k.Top, k.Left, k.OutHeight, k.OutWidth = uint32(w.Top), uint32(w.Left), uint32(w.OutHeight), uint32(w.OutWidth)
	}
	k.Kept, k.Addend, k.Outputs, k.Inputs = optional(g.Kept), optional(g.Addend), optional(g.Outputs), optional(g.Inputs)
	rows, columns := int(f.workgroup*f.rows), int(f.workgroup*f.columns)
	switch f.form {
	case formTiles:
		k.TileWidth = f.width
		rows, columns = int(f.workgroup/f.width*f.rows), int(f.width*f.columns)
	case formVector:
		k.Slices = f.width
		rows, columns = 1, int(4*f.workgroup/f.width)
		if g.TransposeB {
			columns /= 4
		}
	}
	call := k.call(uint32(ceil(g.N, columns)), uint32(ceil(g.M, rows)), uint32(g.splits()*g.Members))
	if f.form == formLanes {
		call.Subgroup = f.workgroup
	}
	return call
}

// optional returns the range of a tensor that a kernel may do without, an empty one for nil.
func optional(t *engine.Tensor) vk.Range {
	if t == nil {
		return vk.Range{}
	}
	return t.Range()
}

// chooseGemm chooses a form by device and shape. The software driver uses panels; products with few rows or columns
// use lanes, with blocks of C as large as compile time allows: 0.4 s for (1, 4), 0.8 s for (2, 4). GPUs use the tiles
// that waste least at the edges, large ones if there are enough of them to fill the device. A product of a single row
// is limited by reading B.
func chooseGemm(info vk.Info, g Gemm) gemmForm {
	if form, ok := choosePanel(info, g); ok {
		return form
	}
	m, n, products := g.M, g.N, g.Members*g.splits()
	vector := m == 1 && !g.TransposeA
	if info.Type == vk.CPU {
		if vector {
			return tiledForm{form: formVector, workgroup: info.SubgroupSize, width: 1}
		}
		form := tiledForm{form: formLanes, workgroup: info.SubgroupSize, rows: 2, columns: 4}
		lanes := int(info.SubgroupSize)
		if m <= lanes {
			form.rows = 1
		}
		if n <= lanes {
			form.rows, form.columns = 2*form.rows, 1
		}
		return form
	}
	const (
		many      = 512
		largeTile = 128 // registers of a lane with 8 × 8 sums; in Intel's 128, it spills 215
	)
	workgroup := min(256, info.Limits.MaxInvocations)
	switch {
	case vector && g.TransposeB:
		return tiledForm{form: formVector, workgroup: workgroup, width: 32}
	case vector:
		return tiledForm{form: formVector, workgroup: workgroup, width: 4}
	case workgroup < 256:
		return tiledForm{formTiles, 128, 4, 4, 16} // 32 × 64
	case n <= 16 && m > 16:
		return tiledForm{formTiles, workgroup, 4, 4, 4} // 256 × 16
	case m <= 16 && n > 16:
		return tiledForm{formTiles, workgroup, 4, 4, 64} // 16 × 256
	case Registers(info) > largeTile && (m+127)/128*((n+127)/128)*products >= many && m%128 == 0 && n%128 == 0:
		return tiledForm{formTiles, workgroup, 8, 8, 16} // 128 × 128
	}
	return tiledForm{formTiles, workgroup, 4, 4, 16} // 64 × 64
}

func (g Gemm) check() error {
	if g.lowRank != nil {
		if err := g.checkLowRank(); err != nil {
			return err
		}
	}
	lies := func(x Matrix, rows, columns, tail int, transposed bool) bool {
		if transposed {
			rows, columns = columns, rows
		}
		return x.contains(g.Members, rows, columns-tail) && (tail == 0 || columns > tail && g.Tail.Tensor != nil && g.Tail.contains(g.Members, rows, tail))
	}
	switch {
	case g.ScaleA < 0 || g.ScaleB < 0 || g.ScaleA+g.ScaleB > maxScale:
		return fmt.Errorf("nn: a product with scales 2^%d and 2^%d; want exponents of at least 0, and of at most %d together", g.ScaleA, g.ScaleB, maxScale)
	case g.Members < 1 || g.M < 1 || g.N < 1 || g.K < 1:
		return fmt.Errorf("nn: products of %d members, %d × %d × %d; want at least 1 of each", g.Members, g.M, g.K, g.N)
	case g.ofPatches() && !g.imagesLie():
		return fmt.Errorf("nn: images of %d × %d × %d floats, with patches for a matrix A of %d × %d, do not lie in %v",
			g.patches.Height, g.patches.Width, g.patches.Channels, g.M, g.K, g.A.Tensor)
	case !g.ofPatches() && !lies(g.A, g.M, g.K, g.TailColumns, g.TransposeA):
		return fmt.Errorf("nn: a matrix A of %d × %d floats does not lie in %v", g.M, g.K, g.A.Tensor)
	case !lies(g.B, g.K, g.N, 0, g.TransposeB):
		return fmt.Errorf("nn: a matrix B of %d × %d floats does not lie in %v", g.K, g.N, g.B.Tensor)
	case g.Inner == 0 && !g.C.contains(g.Members, g.First+g.rowsOfC(), g.N):
		return fmt.Errorf("nn: a matrix C of %d × %d floats does not lie in %v", g.M, g.N, g.C.Tensor)
	case g.C.Shared > 1:
		return fmt.Errorf("nn: %d members share a matrix C; want each member to have its own", g.C.Shared)
	case g.Addend != nil && (g.Inner != 0 || g.Addend == g.C.Tensor || !g.C.in(g.Addend).contains(g.Members, g.First+g.M, g.N)):
		return fmt.Errorf("nn: an addend %v of a matrix C in %v; want another tensor that holds a matrix laid out like C, in one block", g.Addend, g.C.Tensor)
	case g.ColumnSums && (!g.TransposeA || g.Inner != 0 || g.followed()):
		return fmt.Errorf("nn: a product of %d × %d × %d with sums of columns; want a transposed A, no blocks, and nothing after the sum", g.M, g.K, g.N)
	case g.Padded && (g.Inner != 0 || g.C.Row < padded(g.N)):
		return fmt.Errorf("nn: a padded matrix C of %d columns, with rows of %d floats; want at least %d, in one block", g.N, g.C.Row, padded(g.N))
	case g.Splits > 1 && (g.Addend != nil || g.Bias != nil || g.Activation != Linear || g.Slope != Linear || g.Kept != nil):
		return fmt.Errorf("nn: a product in %d parts cannot be followed by an addend, a bias or an activation", g.Splits)
	case g.Slope != Linear && (g.Activation != Linear || g.Outputs == nil || g.Slope.needsInput() && g.Inputs == nil):
		return fmt.Errorf("nn: a product times the slope of %v needs that activation's outputs, and for swish and gelu its inputs", g.Slope)
	}
	return nil
}

// imagesLie reports whether A holds the images whose patches the product multiplies.
func (g Gemm) imagesLie() bool {
	w, rows, patch := g.patches, g.M, g.K
	if g.TransposeA {
		rows, patch = patch, rows
	}
	return patch == w.patch() && rows%w.places() == 0 && g.TailColumns == 0 && g.A.contains(g.Members, rows/w.places(), w.Height*w.Width*w.Channels)
}
