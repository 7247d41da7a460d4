package ec

import (
	"context"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// SepCMAESConfig are the settings of Sep-CMA-ES.
type SepCMAESConfig struct {
	Population int     `min:"0" max:"1048576" doc:"Candidates per generation, N; 0: 4 + 3 ln dim."`
	InitStd    float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
}

// DefaultSepCMAES has the population of the papers and the initial deviation 0.1 of EvoRL's CMA-ES (B. Zheng et al.,
// 2025, table 3).
func DefaultSepCMAES() SepCMAESConfig { return SepCMAESConfig{InitStd: 0.1} }

// sepCMAES is CMA-ES with a diagonal covariance matrix: R. Ros, N. Hansen, "A Simple Modification in CMA-ES Achieving
// Linear Time and Space Complexity", 2008. Equation numbers and constants refer to N. Hansen, "The CMA Evolution
// Strategy: A Tutorial", 2016, without negative weights.
type sepCMAES struct {
	cfg       SepCMAESConfig
	space     Space
	clock     engine.Clock
	noise     *Noise
	rates     cmaRates
	mean      *engine.Tensor // [M, row]
	variance  *engine.Tensor // [M, row]: the diagonal of C
	deviation *engine.Tensor // [M, row]: σ √C
	sigma     *engine.Tensor // [M]
	paths     [2]*engine.Tensor
	utilities *engine.Tensor // [N]
	weights   *engine.Tensor // [M, N]
	first     *engine.Tensor // [splits, M, row]
	second    *engine.Tensor // [splits, M, row]
	factors   *engine.Tensor // [M, 4]
}

// cmaRates holds the constants of CMA-ES (N. Hansen, 2016, table 1).
type cmaRates struct {
	mass             float64 // μ_eff
	cs, ds, cc       float64 // c_σ, d_σ, c_c
	c1, cmu, lengthN float64 // c_1, c_μ, E‖N(0, I)‖
}

// separable returns the constants for a diagonal matrix: its learning rates are (dim + 2)/3 times a full one's
// (R. Ros, N. Hansen, 2008, equation 8).
func separable(dim int, mass float64) cmaRates {
	n := float64(dim)
	r := cmaRates{mass: mass, cs: (mass + 2) / (n + mass + 5), cc: (4 + mass/n) / (n + 4 + 2*mass/n)}
	r.ds = 1 + 2*max(0, math.Sqrt((mass-1)/(n+1))-1) + r.cs
	faster := (n + 2) / 3
	r.c1 = min(1, faster*2/((n+1.3)*(n+1.3)+mass))
	r.cmu = min(1-r.c1, faster*2*(mass-2+1/mass)/((n+2)*(n+2)+mass))
	r.lengthN = math.Sqrt(n) * (1 - 1/(4*n) + 1/(21*n*n))
	return r
}

// Name implements Algorithm.
func (c SepCMAESConfig) Name() string { return "sep-cma-es" }

// New implements Algorithm.
func (c SepCMAESConfig) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = defaultPopulation(space.Dim)
	}
	m := engine.Members(space.Members)
	es := &sepCMAES{
		cfg: c, space: space, clock: clock, noise: NewNoise(s, clock, space, c.Population, false),
		mean: space.Tensor(s, "mean"), variance: space.Tensor(s, "variance"), deviation: space.Tensor(s, "deviation"),
		sigma:   s.Tensor("sigma", engine.Float32, m),
		paths:   [2]*engine.Tensor{space.Tensor(s, "path_sigma"), space.Tensor(s, "path_c")},
		weights: s.Scratch("weights", engine.Float32, m, candidates(c.Population)),
		factors: s.Scratch("factors", engine.Float32, m, engine.Axis("factor", 4)),
	}
	weights := es.weightsByRank()
	es.utilities, es.rates = rankWeights(s, weights), separable(space.Dim, selectionMass(weights))
	es.first, es.second = es.noise.Sums(s, "first_sums"), es.noise.Sums(s, "second_sums")
	return es, s.Err()
}

// weightsByRank returns the weights ln((λ + 1)/2) − ln i of the better half, normalised to sum to one (equation 49).
func (es *sepCMAES) weightsByRank() []float32 {
	return logWeights(es.cfg.Population, max(1, es.cfg.Population/2), (float64(max(2, es.cfg.Population))+1)/2)
}

func (es *sepCMAES) Population() int          { return es.cfg.Population }
func (es *sepCMAES) Solution() *engine.Tensor { return es.mean }

// Init implements Strategy: σ is the initial deviation, C the identity, and the paths are zero.
func (es *sepCMAES) Init(ctx context.Context, start []float32) error {
	for t, value := range map[*engine.Tensor]float64{es.sigma: es.cfg.InitStd, es.deviation: es.cfg.InitStd, es.variance: 1} {
		if err := t.Fill(ctx, float32(value)); err != nil {
			return err
		}
	}
	return es.mean.WriteFloat32(ctx, es.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on mean and deviations only.
func (es *sepCMAES) Ask(*engine.Recorder) {}

// Candidates implements Strategy: x = m + σ √C z (equations 38 to 40).
func (es *sepCMAES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.noise.Candidates(r, es.mean, es.deviation, pick, into)
}

// Tell implements Strategy: from the sums Σ w z and Σ w z² it computes the path of σ and its length, then everything
// else coordinate by coordinate.
func (es *sepCMAES) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

func (es *sepCMAES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	es.learn(r, scores, es.noise.Of(r, injected, es.mean, es.deviation, es.space.stepLimit()))
}

func (es *sepCMAES) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, 1, nil, es.first, es.second)
	d, c := es.space.diagonal(r, es.first), es.rates
	r.Dispatch(sepPathKernel{
		First: es.first.Range(), Path: es.paths[0].Range(), Sigma: es.sigma.Range(),
		Factors: es.factors.Range(), Clock: es.clock.Tensor().Range(), Splits: d.splits, Row: d.row,
		Keep: float32(1 - c.cs), Gain: float32(math.Sqrt(c.cs * (2 - c.cs) * c.mass)), LogKeep: float32(math.Log1p(-c.cs)), Speed: float32(c.cs / c.ds),
		Length: float32(c.lengthN), Most: float32(1.4 + 2/(float64(es.space.Dim)+1)), Workgroup: r.WorkgroupFor(es.space.Row() / 4 * (int(d.splits) + 1)),
	}.call(d.members, 1, 1))
	r.Dispatch(sepCmaKernel{
		First: es.first.Range(), Second: es.second.Range(), Mean: es.mean.Range(),
		Variance: es.variance.Range(), Deviation: es.deviation.Range(),
		Path: es.paths[1].Range(), Factors: es.factors.Range(),
		Splits: d.splits, Row: d.row, Keep: float32(1 - c.cc), Gain: float32(math.Sqrt(c.cc * (2 - c.cc) * c.mass)), C1: float32(c.c1), Cmu: float32(c.cmu),
		Stalled: float32(c.c1 * c.cc * (2 - c.cc)), LocalSizeX: d.size,
	}.call(d.groups, d.members, 1))
}
