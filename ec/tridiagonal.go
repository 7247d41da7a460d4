package ec

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// tridiagonal decomposes symmetric matrices of any size: Householder reflections reduce them to tridiagonal form, QL
// iterations to diagonal form; both are applied to the eigenvectors.
type tridiagonal struct {
	reflectors *engine.Tensor // [M, blocks, dim, 8]
	grams      *engine.Tensor // [M, blocks, 9, 8]
	vectors    *engine.Tensor // [M, 2, 2, row]
	beta       *engine.Tensor // [M, row]
	diagonal   *engine.Tensor // [M, 2, row]
	unit       *engine.Tensor // [M]
	progress   *engine.Tensor // [M, 4 + 2 blocks] u32
	rotations  *engine.Tensor // [M, blocks, dim + 8, 8, 2]
}

// sweepBlocks is the maximum number of blocks of eight QL sweeps per dispatch.
const sweepBlocks = 12

func newTridiagonal(s *engine.State, space Space) *tridiagonal {
	m, row, blocks := engine.Members(space.Members), engine.Axis("parameter", space.Row()), engine.Axis("block", (space.Dim+7)/8)
	eight := engine.Axis("step", 8)
	t := &tridiagonal{
		reflectors: s.Scratch("reflectors", engine.Float32, m, blocks, engine.Axis("dimension", space.Dim), eight),
		grams:      s.Scratch("grams", engine.Float32, m, blocks, engine.Axis("product", 9), eight),
		vectors:    s.Scratch("vectors", engine.Float32, m, engine.Axis("vector", 4), row), beta: s.Scratch("beta", engine.Float32, m, row),
		diagonal: s.Scratch("diagonal", engine.Float32, m, engine.Axis("diagonal", 2), row), unit: s.Scratch("unit", engine.Float32, m),
		progress: s.Scratch("progress", engine.Uint32, m, engine.Axis("count", 4+2*sweepBlocks)),
		rotations: s.Scratch("rotations", engine.Float32, m, engine.Axis("block", sweepBlocks), engine.Axis("dimension", space.Dim+8),
			engine.Axis("rotation", 16)),
	}
	return t
}

// tridiagonalMost returns the largest dimension that QL iterations support: they keep two numbers per dimension in
// shared memory.
func tridiagonalMost(info vk.Info) int { return int(info.Limits.MaxSharedBytes)/8 - 64 }

// record records the update of e's matrices and, every gap generations, the decomposition.
func (t *tridiagonal) record(r *engine.Recorder, e *eigen) {
	members, dim, row, info := uint32(e.space.Members), e.space.Dim, e.space.Row(), r.Engine().Device().Info()
	clock := e.clock.Tensor().Range()
	rows := r.Share(e.space.Members, dim*int(r.Workgroup()))
	r.Dispatch(eigenBeginKernel{
		Covariance: e.covariance.Range(), Change: e.change.Range(), Keep: e.keep.Range(),
		Scale: e.scale.Range(), Unit: t.unit.Range(), Clock: clock, Dim: uint32(dim), Row: uint32(row), Gap: uint32(e.gap), Workgroup: r.Workgroup(),
	}.call(rows, members, 1))
	for step := dim - 1; step >= 0; step-- {
		groups := r.Share(e.space.Members, (step/4+1)*int(r.Workgroup()))
		if info.Type == vk.CPU {
			groups = min(groups, 8) // the redundant work of every workgroup costs as much as its rows
		}
		size := r.Workgroup()
		for size > info.SubgroupSize && int(size)*4 > step { // an invocation has four columns
			size /= 2
		}
		r.Dispatch(eigenReflectKernel{
			Matrix: e.covariance.Range(), Vectors: t.vectors.Range(),
			Reflectors: t.reflectors.Range(), Beta: t.beta.Range(), Diagonal: t.diagonal.Range(), Clock: clock,
			Dim: uint32(dim), Row: uint32(row), Step: uint32(step), Gap: uint32(e.gap), Workgroup: size,
		}.call(groups, members, 1))
	}
	blocks := (dim + 7) / 8
	r.Dispatch(eigenGramKernel{
		Reflectors: t.reflectors.Range(), Beta: t.beta.Range(), Grams: t.grams.Range(), Clock: clock,
		Dim: uint32(dim), Row: uint32(row), Gap: uint32(e.gap), LocalSizeX: info.SubgroupSize,
	}.call(uint32(blocks), members, 1))
	columns := r.Share(e.space.Members, row/4)
	for last := blocks - 1; last >= 0; {
		count := min(last+1, max(1, t.loops(r)/(2*dim)))
		r.Dispatch(eigenTurnKernel{
			Reflectors: t.reflectors.Range(), Grams: t.grams.Range(), Basis: e.basis.Range(),
			Clock: clock, Dim: uint32(dim), Row: uint32(row), Gap: uint32(e.gap), Block: uint32(last), Count: uint32(count), LocalSizeX: info.SubgroupSize,
		}.call(columns, members, 1))
		last -= count
	}
	t.ql(r, e, columns)
	r.Dispatch(eigenEndKernel{
		Diagonal: t.diagonal.Range(), Unit: t.unit.Range(), Covariance: e.covariance.Range(), Scale: e.scale.Range(), Clock: clock,
		Dim: uint32(dim), Row: uint32(row), Gap: uint32(e.gap), Workgroup: r.Workgroup(),
	}.call(rows, members, 1))
}

// loops returns how many loop iterations an invocation may take.
func (t *tridiagonal) loops(r *engine.Recorder) int {
	if most := r.Engine().Device().Info().Limits.MaxLoopIterations; most > 0 {
		return int(most) * 9 / 10
	}
	return 1 << 20
}

// ql records twice as many QL iterations as matrices are known to need: three per dimension, on average over half of
// it.
func (t *tridiagonal) ql(r *engine.Recorder, e *eigen, columns uint32) {
	members, dim, row, info := uint32(e.space.Members), e.space.Dim, e.space.Row(), r.Engine().Device().Info()
	most, sweeps := t.loops(r)*3/4, 8*sweepBlocks
	dispatches := max((3*dim+sweeps-1)/sweeps, (3*dim*dim/2+most-1)/most) + 1
	for i := range dispatches {
		r.Dispatch(eigenQlKernel{
			Diagonal: t.diagonal.Range(), Progress: t.progress.Range(), Rotations: t.rotations.Range(), Clock: e.clock.Tensor().Range(),
			Row: uint32(row), Gap: uint32(e.gap), Blocks: sweepBlocks, Most: uint32(most), Begin: i == 0,
			Workgroup: r.WorkgroupFor(16 * sweepBlocks * (dim + 8)), Dim: uint32(dim),
		}.call(members, 1, 1))
		r.Dispatch(eigenRotateKernel{
			Progress: t.progress.Range(), Rotations: t.rotations.Range(), Basis: e.basis.Range(),
			Clock: e.clock.Tensor().Range(), Dim: uint32(dim), Row: uint32(row), Gap: uint32(e.gap), Blocks: sweepBlocks, LocalSizeX: info.SubgroupSize,
		}.call(columns, members, 1))
	}
}
