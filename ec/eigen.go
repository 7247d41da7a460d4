package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// eigen is the covariance matrix C = B H Bᵀ of every search, in the basis B of the eigenvectors it had when last decomposed. Decomposing it
// anew makes H diagonal: the squares of scale.
type eigen struct {
	space Space
	clock engine.Clock
	gap   int // generations from one decomposition to the next

	basis      *engine.Tensor // [M, dim, row]: an eigenvector a row
	scale      *engine.Tensor // [M, row]: D, roots of the eigenvalues
	covariance *engine.Tensor // [M, dim, row]: H
	change     *engine.Tensor // [M, dim, row]: what record adds to H
	keep       *engine.Tensor // [M]: times what it was
}

// eigenMatrices is how many matrices [M, dim, row] they take.
func eigenMatrices(s *engine.State, space Space) int { return 3 }

func newEigen(s *engine.State, clock engine.Clock, space Space, gap int) *eigen {
	m := engine.Population(space.Members)
	matrix := []engine.Dim{m, engine.Axis("dimension", space.Dim), engine.Axis("parameter", space.Row())}
	return &eigen{
		space: space, clock: clock, gap: gap,
		basis: s.Tensor("basis", engine.Float32, matrix...), scale: space.Tensor(s, "scale"), covariance: s.Tensor("covariance", engine.Float32, matrix...),
		change: s.Scratch("change", engine.Float32, matrix...), keep: s.Scratch("keep", engine.Float32, m),
	}
}

// init makes the matrices those of a standard normal distribution.
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

// record records keep H + change and, every gap generations, its decomposition.
func (e *eigen) record(r *engine.Recorder) {
	dim := e.space.Dim
	info := r.Engine().Device().Info()
	if need := 4 * (2*dim*(dim|1) + 2*dim + 64); need > int(info.Limits.MaxSharedBytes) {
		r.Fail(fmt.Errorf("ec: eigenvectors of %d dimensions", dim))
		return
	}
	r.Dispatch(jacobiKernel{
		Covariance: e.covariance.Range(), CovarianceTexels: e.covariance.Range(), Change: e.change.Range(), ChangeTexels: e.change.Range(), Keep: e.keep.Range(),
		Basis: e.basis.Range(), BasisTexels: e.basis.Range(), Scale: e.scale.Range(), Clock: e.clock.Tensor().Range(),
		Row: uint32(e.space.Row()), Gap: uint32(e.gap), Workgroup: jacobiWorkgroup(info.SubgroupSize, info.Limits.MaxInvocations, dim), Dim: uint32(dim),
	}.call(uint32(e.space.Members), 1, 1))
}

// jacobiWorkgroup is a good number of invocations for a dimension: about dim²/16 of them, whole subgroups.
func jacobiWorkgroup(subgroup, most uint32, dim int) uint32 {
	size := subgroup
	for int(size)*16 < dim*dim && 2*size <= min(most, 256) {
		size *= 2
	}
	return size
}
