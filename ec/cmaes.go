package ec

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// CMAESConfig are the settings of CMA-ES.
type CMAESConfig struct {
	Population int     `min:"0" max:"32768" doc:"Candidates per generation, N; 0: 4 + 3 ln dim."`
	InitStd    float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
}

// DefaultCMAES has the population of the paper and the initial deviation 0.1 of EvoRL's CMA-ES (B. Zheng et al.,
// 2025, table 3).
func DefaultCMAES() CMAESConfig { return CMAESConfig{InitStd: 0.1} }

// cmaES is CMA-ES with negative weights: N. Hansen, "The CMA Evolution Strategy: A Tutorial", 2016
// (arXiv:1604.00772v2, 2023). Equation numbers refer to this paper; constants are taken from pycma 4.5 and
// differ slightly (see covariant).
//
// The covariance matrix is stored as C = B H Bᵀ. B holds the eigenvectors of the last decomposition, D the square
// roots of the eigenvalues. H is nearly diagonal, so that its small elements are not lost beside large ones as those
// of C would be. In this basis the steps of candidates are D z.
type cmaES struct {
	cfg    CMAESConfig
	space  Space
	clock  engine.Clock
	draw   *Noise
	rates  covariant
	eigen  *eigen
	origin *engine.Tensor // [M, row]: zero

	mean      *engine.Tensor // [M, row]
	meanLow   *engine.Tensor // [M, row]: the low part of the mean, a double float
	sigma     *engine.Tensor // [M]
	paths     [2]*engine.Tensor
	utilities *engine.Tensor // [N]
	weights   *engine.Tensor // [M, N]
	noise     *engine.Tensor // [M, N + 1, row]: D z of the candidates; in Tell followed by the evolution path of C
	steps     *engine.Tensor // [M, N + 1, row]: B D z; in Tell the noise times its weights
	sums      *engine.Tensor // [M, 2, row]
	moved     *engine.Tensor // [M, 2, row]
}

// covariant holds the constants of CMA-ES (N. Hansen, 2016, table 1) as pycma 4.5 computes them: c_1 is smaller for
// populations below six, c_σ uses n + μ_eff + 3 and is at most a half, d_σ is larger for large populations, E‖N(0,
// I)‖ is exact.
type covariant struct {
	cmaRates
	weights []float32 // by rank: the positive ones sum to one, the others are negative (equations 49 to 53)
	sum     float64   // of the weights
	gap     int       // generations between decompositions
}

func newCovariant(dim, population int) covariant {
	n, raw := float64(dim), make([]float64, population)
	positive, negative, squares, below := 0.0, 0.0, 0.0, 0.0
	for i := range raw {
		raw[i] = math.Log(float64(max(population, 2)+1)/2) - math.Log(float64(i+1))
		if raw[i] > 0 {
			positive, squares = positive+raw[i], squares+raw[i]*raw[i]
		} else {
			negative, below = negative-raw[i], below+raw[i]*raw[i]
		}
	}
	mass := positive * positive / squares
	r := covariant{cmaRates: cmaRates{
		mass: mass, cs: min(0.5, (mass+2)/(n+mass+3)), cc: (4 + mass/n) / (n + 4 + 2*mass/n),
		c1: min(1, float64(population)/6) * 2 / ((n+1.3)*(n+1.3) + mass), lengthN: expectedLength(dim),
	}}
	r.cmu = min(1-r.c1, 2*(0.25+mass+1/mass-2)/((n+2)*(n+2)+mass))
	inner := max(1, 3*(1-math.Pow(0.5, n/9)))
	r.ds = 1 + 2*max(0, inner*math.Sqrt((mass-1)/(n+1))-1) + r.cs
	r.gap = max(1, int(math.Ceil(1/(10*n*(r.c1+r.cmu)))))
	most := 0.0 // the sum of the negative weights is limited so that the matrix keeps its trace and stays positive definite
	if negative > 0 {
		most = min(1+r.c1/r.cmu, 1+2*negative*negative/below/(mass+2), (1-r.c1-r.cmu)/(n*r.cmu))
	}
	for _, w := range raw {
		if w > 0 {
			w /= positive
		} else if w < 0 {
			w *= most / negative
		}
		r.weights, r.sum = append(r.weights, float32(w)), r.sum+w
	}
	return r
}

// expectedLength returns the expected length of a standard normal vector: √2 Γ((n + 1)/2) / Γ(n/2).
func expectedLength(dim int) float64 {
	above, _ := math.Lgamma(float64(dim+1) / 2)
	below, _ := math.Lgamma(float64(dim) / 2)
	return math.Sqrt2 * math.Exp(above-below)
}

// Name implements Algorithm.
func (c CMAESConfig) Name() string { return "cma-es" }

// New implements Algorithm. If memory does not suffice for a covariance matrix, the error is a *vk.OutOfMemoryError
// that names algorithms which need less.
func (c CMAESConfig) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = defaultPopulation(space.Dim)
	}
	m, row := engine.Members(space.Members), engine.Axis("parameter", space.Row())
	if err := roomForEigen(s, space); err != nil {
		return nil, err
	}
	es := &cmaES{
		cfg: c, space: space, clock: clock, draw: NewNoise(s, clock, space, c.Population, false), rates: newCovariant(space.Dim, c.Population),
		mean: space.Tensor(s, "mean"), meanLow: space.Tensor(s, "mean_low"), sigma: s.Tensor("sigma", engine.Float32, m),
		paths:   [2]*engine.Tensor{space.Tensor(s, "path_sigma"), space.Tensor(s, "path_c")},
		origin:  engine.Constant(s, "origin", engine.Same(space.Members*space.Row(), 0), m, row),
		weights: s.Scratch("weights", engine.Float32, m, candidates(c.Population)),
		noise:   s.Scratch("noise", engine.Float32, m, candidates(c.Population+1), row), steps: s.Scratch("steps", engine.Float32, m,
			candidates(c.Population+1), row),
		sums: s.Scratch("sums", engine.Float32, m, engine.Axis("sum", 2), row), moved: s.Scratch("moved", engine.Float32, m, engine.Axis("sum", 2), row),
	}
	es.utilities = rankWeights(s, es.rates.weights)
	es.eigen = newEigen(s, clock, space, es.rates.gap)
	return es, s.Err()
}

// roomForMatrices checks that count matrices [M, dim, row] fit the device.
func roomForMatrices(s *engine.State, space Space, count int) error {
	dev := s.Engine().Device()
	each := 4 * uint64(space.Members) * uint64(space.Dim) * uint64(space.Row())
	what := fmt.Sprintf("%d matrices of %d × %d numbers, for each of %d searches,", count, space.Dim, space.Dim, space.Members)
	err := dev.Room(what, uint64(count)*each)
	if most := dev.Info().Limits.MaxStorageRange; err == nil && each > most {
		err = &vk.OutOfMemoryError{What: what, Need: each, Have: most, Why: "a kernel of this device sees no more of one of them"}
	}
	return smaller(err, space)
}

// smaller adds to a non-nil error which algorithms need less memory.
func smaller(err error, space Space) error {
	if err != nil {
		err = fmt.Errorf("%w; sep-cma-es, lm-ma-es, cr-fm-nes, snes and openes need only a few numbers for each of the %d dimensions", err, space.Dim)
	}
	return err
}

func (es *cmaES) Population() int          { return es.cfg.Population }
func (es *cmaES) Solution() *engine.Tensor { return es.mean }

// Init implements Strategy: σ is the initial deviation, C the identity, and the paths are zero.
func (es *cmaES) Init(ctx context.Context, start []float32) error {
	return errors.Join(
		es.sigma.Fill(ctx, float32(es.cfg.InitStd)), es.paths[0].Fill(ctx, 0), es.paths[1].Fill(ctx, 0), es.mean.WriteFloat32(ctx, es.space.Pad(start)),
		es.eigen.init(ctx),
	)
}

// matrix describes a tensor [M, count, row] as a matrix operand.
func (s Space) matrix(t *engine.Tensor) nn.Matrix {
	return nn.Matrix{Tensor: t, Stride: t.Len() / s.Members, Row: s.Row()}
}

// Ask implements Strategy: y = B D z of all candidates (equations 38 and 39).
func (es *cmaES) Ask(r *engine.Recorder) {
	es.draw.Candidates(r, es.origin, es.eigen.scale, Pick{}, es.noise)
	nn.Gemm{
		Members: es.space.Members, M: es.cfg.Population, N: es.space.Row(), K: es.space.Dim,
		A: es.space.matrix(es.noise), B: es.space.matrix(es.eigen.basis), C: es.space.matrix(es.steps),
	}.Record(r)
}

// Candidates implements Strategy: x = m + σ y (equation 40).
func (es *cmaES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.space.form(r, es.mean, es.meanLow, es.sigma, es.steps, pick, into, false)
}

func (es *cmaES) CandidatesLow(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.space.form(r, es.mean, es.meanLow, es.sigma, es.steps, pick, into, true)
}

// form records forming candidates mean + sigma · steps from steps [M, N or more, row]: their high parts, or their low
// parts, which are the rounding errors of the high ones. meanLow is the low part of the mean [M, row]; nil: none.
func (s Space) form(r *engine.Recorder, mean, meanLow, sigma, steps *engine.Tensor, pick Pick, into *engine.Tensor, low bool) {
	row := s.Row()
	k := formKernel{
		Mean: mean.Range(), Sigma: sigma.Range(), Steps: steps.Range(), Candidates: into.Range(),
		Stride: uint32(steps.Len() / row / s.Members), Row: uint32(row),
		Count: uint32(into.Len() / row / s.Members), First: uint32(pick.First), Low: low,
	}
	if meanLow != nil {
		k.MeanLow = meanLow.Range()
	}
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	count := int(k.Count) * row / 4
	groups := r.Share(s.Members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(s.Members), 1))
}

// TellCandidates implements CandidateStrategy: the noise of a changed candidate x is D⁻¹ Bᵀ (x − m) / σ, limited in
// length.
func (es *cmaES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	members, row, population := es.space.Members, es.space.Row(), es.cfg.Population
	groups := r.Share(members, population*row/4)
	r.Dispatch(cmaGivenKernel{
		Mean: es.mean.Range(), MeanLow: es.meanLow.Range(), Sigma: es.sigma.Range(),
		Given: injected.Candidates.Range(), Changed: injected.Changed.Range(), Steps: es.steps.Range(),
		Population: uint32(population), Row: uint32(row), LocalSizeX: r.WorkgroupFor(population * row / 4 / int(groups)),
	}.call(groups, uint32(members), 1))
	nn.Gemm{
		Members: members, M: population, N: es.space.Dim, K: es.space.Dim, A: es.space.matrix(es.steps), B: es.space.matrix(es.eigen.basis), TransposeB: true,
		C: es.space.matrix(injected.Proposed),
	}.Record(r)
	r.Dispatch(cmaInjectKernel{
		Projected: injected.Proposed.Range(), Scale: es.eigen.scale.Range(),
		Changed: injected.Changed.Range(), Noise: es.noise.Range(), Population: uint32(population), Dim: uint32(es.space.Dim), Row: uint32(row),
		Limit: float32(es.space.stepLimit()), Workgroup: r.WorkgroupFor(row / 2),
	}.call(rowGroups(r, members, population), uint32(members), 1))
	es.Tell(r, scores)
}

// Tell implements Strategy: mean, paths and σ are updated by the weighted sum of the noise (equations 41 to 45), then
// the covariance matrix (equation 47).
func (es *cmaES) Tell(r *engine.Recorder, scores Scores) {
	Utilities(r, scores, es.utilities, es.weights)
	c, members, dim, row, population := es.rates, es.space.Members, es.space.Dim, es.space.Row(), es.cfg.Population
	groups := r.Share(members, population*int(r.Workgroup()))
	r.Dispatch(cmaWeighKernel{
		Noise: es.noise.Range(), Scale: es.eigen.scale.Range(), Weight: es.weights.Range(),
		Weighted: es.steps.Range(), Population: uint32(population), Dim: uint32(dim), Row: uint32(row), Cmu: float32(c.cmu), Workgroup: es.narrow(r),
	}.call(groups, uint32(members), 1))
	share := r.Share(members, row/4)
	r.Dispatch(cmaMeanKernel{
		Noise: es.noise.Range(), Scale: es.eigen.scale.Range(), Weight: es.weights.Range(),
		Sums: es.sums.Range(), Population: uint32(population), Row: uint32(row), LocalSizeX: r.WorkgroupFor(row / 4 * population / int(share)),
	}.call(share, uint32(members), 1))
	nn.Gemm{Members: members, M: 2, N: row, K: dim, A: es.space.matrix(es.sums), B: es.space.matrix(es.eigen.basis), C: es.space.matrix(es.moved)}.Record(r)
	r.Dispatch(cmaStepKernel{
		Moved: es.moved.Range(), Mean: es.mean.Range(), MeanLow: es.meanLow.Range(), PathSigma: es.paths[0].Range(),
		PathC: es.paths[1].Range(), Sigma: es.sigma.Range(), Keep: es.eigen.keep.Range(),
		Clock: es.clock.Tensor().Range(), Dim: uint32(dim), Row: uint32(row), KeepSigma: float32(1 - c.cs),
		GainSigma: float32(math.Sqrt(c.cs * (2 - c.cs) * c.mass)),
		LogKeep:   float32(math.Log1p(-c.cs)), Speed: float32(c.cs / c.ds), Length: float32(c.lengthN), KeepC: float32(1 - c.cc),
		GainC: float32(math.Sqrt(c.cc * (2 - c.cc) * c.mass)), KeepMatrix: float32(1 - c.c1 - c.cmu*c.sum), Stalled: float32(c.c1 * c.cc * (2 - c.cc)),
		Workgroup: r.WorkgroupFor(row / 2),
	}.call(uint32(members), 1, 1))
	r.Dispatch(cmaFrameKernel{
		Basis: es.eigen.basis.Range(), Path: es.paths[1].Range(),
		Noise: es.noise.Range(), Weighted: es.steps.Range(), Population: uint32(population), Dim: uint32(dim), Row: uint32(row), C1: float32(c.c1),
		Workgroup: es.narrow(r),
	}.call(r.Share(members, row*int(r.Workgroup())), uint32(members), 1))
	nn.Gemm{
		Members: members, M: dim, N: row, K: population + 1, A: es.space.matrix(es.steps), TransposeA: true, B: es.space.matrix(es.noise),
		C: es.space.matrix(es.eigen.change),
	}.Record(r)
	es.eigen.record(r)
}

// narrow returns the workgroup size of kernels that sum rows: one subgroup.
func (es *cmaES) narrow(r *engine.Recorder) uint32 { return r.Engine().Device().Info().SubgroupSize }
