package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// eigen is the covariance matrix C = B H Bᵀ of every search, in the basis B of the eigenvectors of the last
// decomposition. A decomposition makes H diagonal, with the squares of scale.
type eigen struct {
	space Space
	clock engine.Clock
	gap   int // generations between decompositions

	basis      *engine.Tensor // [M, dim, row]: one eigenvector per row
	scale      *engine.Tensor // [M, row]: D, square roots of the eigenvalues
	covariance *engine.Tensor // [M, dim, row]: H
	change     *engine.Tensor // [M, dim, row]: added to H by record
	keep       *engine.Tensor // [M]: factor of H in record

	tridiagonal *tridiagonal // nil if Jacobi's method is used
}

// roomForEigen checks that the device can hold and decompose the matrices of a space.
func roomForEigen(s *engine.State, space Space) error {
	info, matrices := s.Engine().Device().Info(), 4
	if jacobiFits(info, space.Dim) {
		matrices = 3
	}
	if err := roomForMatrices(s, space, matrices); err != nil {
		return err
	}
	if most := tridiagonalMost(info); matrices == 4 && space.Dim > most {
		return smaller(fmt.Errorf("ec: eigenvectors of %d dimensions; this device finds those of up to %d", space.Dim, most), space)
	}
	return nil
}

func newEigen(s *engine.State, clock engine.Clock, space Space, gap int) *eigen {
	m, row, dev := engine.Members(space.Members), engine.Axis("parameter", space.Row()), s.Engine().Device().Info()
	matrix := []engine.Dim{m, engine.Axis("dimension", space.Dim), row}
	e := &eigen{
		space: space, clock: clock, gap: gap,
		basis: s.Tensor("basis", engine.Float32, matrix...), scale: space.Tensor(s, "scale"), covariance: s.Tensor("covariance", engine.Float32, matrix...),
		change: s.Scratch("change", engine.Float32, matrix...), keep: s.Scratch("keep", engine.Float32, m),
	}
	if !jacobiFits(dev, space.Dim) {
		e.tridiagonal = newTridiagonal(s, space)
	}
	return e
}

// init sets the matrices of a standard normal distribution.
func (e *eigen) init(ctx context.Context) error {
	dim, row := e.space.Dim, e.space.Row()
	one, scale := make([]float32, e.space.Members*dim*row), make([]float32, e.space.Members*row)
	for m := range e.space.Members {
		for i := range dim {
			one[(m*dim+i)*row+i], scale[m*row+i] = 1, 1
		}
	}
	return errors.Join(e.basis.WriteFloat32(ctx, one), e.covariance.WriteFloat32(ctx, one), e.scale.WriteFloat32(ctx, scale))
}

// record records H = keep H + change and, every gap generations, its decomposition: by Jacobi's method if matrices
// fit a workgroup's shared memory, else by reduction to tridiagonal form and QL iterations.
func (e *eigen) record(r *engine.Recorder) {
	if e.tridiagonal != nil {
		e.tridiagonal.record(r, e)
		return
	}
	dim, info := e.space.Dim, r.Engine().Device().Info()
	r.Dispatch(eigenJacobiKernel{
		Covariance: e.covariance.Range(), Change: e.change.Range(), Keep: e.keep.Range(),
		Basis: e.basis.Range(), Scale: e.scale.Range(), Clock: e.clock.Tensor().Range(),
		Row: uint32(e.space.Row()), Gap: uint32(e.gap), Workgroup: jacobiWorkgroup(info, dim), Dim: uint32(dim),
	}.call(uint32(e.space.Members), 1, 1))
}

// jacobiFits reports whether Jacobi's method is faster, and two matrices and some more data fit the shared memory of
// a workgroup. On the software driver its many small steps cost as much as the other method's dispatches at dimension
// 10, and five times as much at 20.
func jacobiFits(info vk.Info, dim int) bool {
	if info.Type == vk.CPU && dim > 12 {
		return false
	}
	return 4*(2*dim*(dim|1)+dim+int(jacobiWorkgroup(info, dim))+8) <= int(info.Limits.MaxSharedBytes)
}

// jacobiWorkgroup returns a good number of invocations for a dimension: about dim²/16, in whole subgroups.
func jacobiWorkgroup(info vk.Info, dim int) uint32 {
	size := info.SubgroupSize
	for int(size)*16 < dim*dim && 2*size <= min(info.Limits.MaxInvocations, 256) {
		size *= 2
	}
	return size
}
