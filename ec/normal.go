package ec

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Normal is the normal distribution of a strategy's candidates: x = mean + Σ_i factor · deviation_i · z_i · b_i, with
// standard normal z and orthonormal b. Its tensors are the strategy's.
type Normal struct {
	Mean      *engine.Tensor // [M, row]
	Deviation *engine.Tensor // [M, row]; nil: 1
	Factor    *engine.Tensor // [M]; nil: 1
	Basis     *engine.Tensor // [M, dim, row]: b, one per row; nil: the axes
}

// NormalStrategy is a Strategy that draws each candidate from a normal distribution, which Tell changes.
type NormalStrategy interface {
	CandidateStrategy
	// Normal returns the distribution of the candidates of the next Ask.
	Normal() Normal
}

// NormalAlgorithms returns the names of the algorithms with a NormalStrategy.
func NormalAlgorithms() []string {
	return []string{"openes", "vanilla-es", "pgpe", "snes", "cem", "cma-es", "sep-cma-es"}
}

// NormalError is the error of an algorithm that does not draw candidates from a normal distribution.
type NormalError struct{ Algorithm string }

// Error implements error.
func (e *NormalError) Error() string {
	return fmt.Sprintf("ec: the density of the candidates of %s is not known; those with a normal distribution are %s", e.Algorithm,
		strings.Join(NormalAlgorithms(), ", "))
}

func (es *openES) Normal() Normal { return Normal{Mean: es.mean, Factor: es.std} }

func (es *vanillaES) Normal() Normal { return Normal{Mean: es.mean, Factor: es.std} }

func (p *pgpe) Normal() Normal { return Normal{Mean: p.mean, Deviation: p.std} }

func (es *snes) Normal() Normal { return Normal{Mean: es.mean, Deviation: es.std} }

func (es *cem) Normal() Normal { return Normal{Mean: es.mean, Deviation: es.deviation} }

func (es *sepCMAES) Normal() Normal { return Normal{Mean: es.mean, Deviation: es.deviation} }

// Normal implements NormalStrategy. The low part of the mean, less than its rounding error, is left out.
func (es *cmaES) Normal() Normal {
	return Normal{Mean: es.mean, Deviation: es.eigen.scale, Factor: es.sigma, Basis: es.eigen.basis}
}

// copied makes saved tensors of the same shapes.
func (n Normal) copied(s *engine.State) Normal {
	like := func(name string, x *engine.Tensor) *engine.Tensor {
		if x == nil {
			return nil
		}
		return s.Tensor(name, engine.Float32, x.Dims()...)
	}
	return Normal{Mean: like("mean", n.Mean), Deviation: like("deviation", n.Deviation), Factor: like("factor", n.Factor), Basis: like("basis", n.Basis)}
}

// copy records copying another distribution of the same shapes.
func (n Normal) copy(r *engine.Recorder, from Normal) {
	for _, x := range [][2]*engine.Tensor{{n.Mean, from.Mean}, {n.Deviation, from.Deviation}, {n.Factor, from.Factor}, {n.Basis, from.Basis}} {
		if x[0] != nil {
			r.Copy(x[0], x[1])
		}
	}
}

// densities computes ratios of the densities of candidates under two normal distributions, and samples from them.
type densities struct {
	space  Space
	count  int            // candidates of each search, N
	noise  *Noise         // of the samples
	origin *engine.Tensor // [M, row]: zero; nil like the others unless the distributions have a basis
	away   *engine.Tensor // [M, N, row]
	along  [2]*engine.Tensor
}

// newDensities makes what computes densities of `count` candidates of every search; its tensors are in s.
func newDensities(s *engine.State, clock engine.Clock, space Space, count int, of Normal) *densities {
	d := &densities{space: space, count: count, noise: NewNoise(s, clock, space, count, false)}
	if of.Basis == nil {
		return d
	}
	m, row := engine.Members(space.Members), engine.Axis("parameter", space.Row())
	d.origin = engine.Constant(s, "origin", engine.Same(space.Members*space.Row(), 0), m, row)
	d.away = s.Scratch("away", engine.Float32, m, candidates(count), row)
	for i, name := range []string{"along", "along_earlier"} {
		d.along[i] = s.Scratch(name, engine.Float32, m, candidates(count), row)
	}
	return d
}

// sample records drawing candidates [M, N, row] from a distribution.
func (d *densities) sample(r *engine.Recorder, of Normal, into *engine.Tensor) {
	deviation := of.Deviation
	if deviation == nil {
		deviation = of.Factor
	}
	if of.Basis == nil {
		d.noise.Candidates(r, of.Mean, deviation, Pick{}, into)
		return
	}
	s := d.space
	d.noise.Candidates(r, d.origin, deviation, Pick{}, d.away)
	nn.Gemm{Members: s.Members, M: d.count, N: s.Row(), K: s.Dim, A: s.matrix(d.away), B: s.matrix(of.Basis), C: s.matrix(d.along[0])}.Record(r)
	s.form(r, of.Mean, nil, of.Factor, d.along[0], Pick{}, into, false)
}

// logRatio records computing log p(x) / p'(x) of candidates [M, N, row] into [M, N].
func (d *densities) logRatio(r *engine.Recorder, x *engine.Tensor, now, earlier Normal, into *engine.Tensor) {
	s := d.space
	k := logRatioKernel{
		X: x.Range(), EarlierX: x.Range(), Ratio: into.Range(), Dim: uint32(s.Dim), Row: uint32(s.Row()), Population: uint32(d.count),
		Workgroup: r.WorkgroupFor(s.Row() / 4 * 8),
	}
	if now.Basis == nil {
		k.Mean, k.EarlierMean = now.Mean.Range(), earlier.Mean.Range()
	} else {
		k.X, k.EarlierX = d.project(r, x, now, d.along[0]).Range(), d.project(r, x, earlier, d.along[1]).Range()
	}
	if now.Deviation != nil {
		k.Deviation, k.EarlierDeviation = now.Deviation.Range(), earlier.Deviation.Range()
	}
	if now.Factor != nil {
		k.Factor, k.EarlierFactor = now.Factor.Range(), earlier.Factor.Range()
	}
	r.Dispatch(k.call(rowGroups(r, s.Members, d.count), uint32(s.Members), 1))
}

// project records computing the coordinates of candidates along a basis, relative to the mean.
func (d *densities) project(r *engine.Recorder, x *engine.Tensor, of Normal, into *engine.Tensor) *engine.Tensor {
	s, count := d.space, d.count*d.space.Row()/4
	groups := r.Share(s.Members, count)
	r.Dispatch(awayKernel{
		X: x.Range(), Mean: of.Mean.Range(), Away: d.away.Range(), Population: uint32(d.count), Row: uint32(s.Row()),
		LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, uint32(s.Members), 1))
	nn.Gemm{
		Members: s.Members, M: d.count, N: s.Dim, K: s.Dim, A: s.matrix(d.away), B: s.matrix(of.Basis), TransposeB: true, C: s.matrix(into),
	}.Record(r)
	return into
}
