package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// CRFMNESConfig are the settings of CR-FM-NES.
type CRFMNESConfig struct {
	Population int     `min:"0" max:"1048576" doc:"Candidates per generation, N, an even number; 0: 4 + 3 ln dim, made even."`
	InitStd    float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
}

// DefaultCRFMNES has the population of the paper, section 4, and the initial deviation 0.1 of the other methods that
// adapt a covariance matrix.
func DefaultCRFMNES() CRFMNESConfig { return CRFMNESConfig{InitStd: 0.1} }

// Validate rejects populations that cannot be mirrored.
func (c CRFMNESConfig) Validate() error { return checkPairs(c.Population) }

// crFMNES is the cost-reduced fast-moving natural evolution strategy: M. Nomura, I. Ono, "Fast Moving Natural
// Evolution Strategy for High-Dimensional Problems", 2022 (arXiv:2201.11422), algorithm 1. Its covariance matrix σ² D
// (I + v vᵀ) D takes O(dim) memory, and it learns only from sums over the candidates' noise, so that no candidate is
// stored.
type crFMNES struct {
	cfg        CRFMNESConfig
	space      Space
	clock      engine.Clock
	noise      *Noise
	seed       uint32
	first      uint32 // stream of the random numbers of the initial v
	rates      fastMoving
	mean       *engine.Tensor // [M, row]
	v          *engine.Tensor // [M, row]
	deviation  *engine.Tensor // [M, row]: D
	sigma      *engine.Tensor // [M]
	paths      [2]*engine.Tensor
	utilities  *engine.Tensor    // [N]
	weights    *engine.Tensor    // [M, N]
	along      *engine.Tensor    // [M, N]: weights times (zᵀ v̄)
	projection *engine.Tensor    // [M, N, 2]: zᵀ v̄ and |z|²
	sums       [3]*engine.Tensor // [splits, M, row]: sums of w z, w z² and w z (zᵀ v̄)
	factors    *engine.Tensor    // [M, 4]
	gradients  *engine.Tensor    // [M, 2, row]
}

// fastMoving holds the constants of CR-FM-NES (M. Nomura, I. Ono, 2022, section 3.5).
type fastMoving struct {
	cmaRates
	distance                 float64 // α: strength of the distance weight
	move, stagnate, converge float64 // learning rates of σ
	rate                     float64 // η_B
}

func newFastMoving(dim, population int) fastMoving {
	d, lambda := float64(dim), float64(population)
	square := 0.0
	for _, u := range naturalUtilities(population) {
		w := float64(u) + 1/lambda
		square += w * w
	}
	mass := 1 / square
	return fastMoving{
		cmaRates: cmaRates{
			mass: mass, cs: (mass + 2) / (d + mass + 5), cc: (4 + mass/d) / (d + 4 + 2*mass/d),
			c1: max(0, d-5) / 6 * 2 / ((d+1.3)*(d+1.3) + mass), lengthN: expectedLength(dim),
		},
		distance: distanceWeight(d) * min(1, math.Sqrt(lambda/d)),
		move:     1, stagnate: math.Tanh((0.024*lambda + 0.7*d + 20) / (d + 12)), converge: 2 * math.Tanh((0.025*lambda+0.75*d+10)/(d+4)),
		rate: math.Tanh((min(0.02*lambda, 3*math.Log(d)) + 5) / (0.23*d + 25)),
	}
}

// distanceWeight returns the solution a of (1 + a²) exp(a²/2) / 0.24 − 10 = dim.
func distanceWeight(dim float64) float64 {
	low, high := 0.0, 10.0 // the left side increases with a, to 10^24
	for range 100 {
		a := (low + high) / 2
		if (1+a*a)*math.Exp(a*a/2)/0.24-10 < dim {
			low = a
		} else {
			high = a
		}
	}
	return low
}

// Name implements Algorithm.
func (c CRFMNESConfig) Name() string { return "cr-fm-nes" }

// New implements Algorithm.
func (c CRFMNESConfig) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = (defaultPopulation(space.Dim) + 1) / 2 * 2
	}
	m := engine.Members(space.Members)
	es := &crFMNES{
		cfg: c, space: space, clock: clock, noise: NewNoise(s, clock, space, c.Population, true), seed: s.Engine().Seed(),
		first: s.Stream("first_v"), rates: newFastMoving(space.Dim, c.Population),
		mean: space.Tensor(s, "mean"), v: space.Tensor(s, "v"), deviation: space.Tensor(s, "deviation"), sigma: s.Tensor("sigma", engine.Float32, m),
		paths:     [2]*engine.Tensor{space.Tensor(s, "path_sigma"), space.Tensor(s, "path_c")},
		utilities: rankWeights(s, naturalUtilities(c.Population)),
		weights:   s.Scratch("weights", engine.Float32, m, candidates(c.Population)), along: s.Scratch("along", engine.Float32, m, candidates(c.Population)),
		projection: s.Scratch("projection", engine.Float32, m, candidates(c.Population), engine.Axis("projection", 2)),
		factors:    s.Scratch("factors", engine.Float32, m, engine.Axis("factor", 4)),
		gradients:  s.Scratch("gradients", engine.Float32, m, engine.Axis("gradient", 2), engine.Axis("parameter", space.Row())),
	}
	for i, name := range []string{"first_sums", "second_sums", "third_sums"} {
		es.sums[i] = es.noise.Sums(s, name)
	}
	return es, s.Err()
}

func (es *crFMNES) Population() int          { return es.cfg.Population }
func (es *crFMNES) Solution() *engine.Tensor { return es.mean }

// Init implements Strategy: D is one, v is drawn from N(0, I/dim).
func (es *crFMNES) Init(ctx context.Context, start []float32) error {
	members, dim := es.space.Members, es.space.Dim
	v, one := make([]float32, members*dim), make([]float32, members*dim)
	for i := range v {
		z := normals(engine.Philox([2]uint32{es.seed, es.first}, [4]uint32{uint32(i / dim), 0, 0, uint32(i % dim / 4)}))
		v[i], one[i] = z[i%dim%4]/float32(math.Sqrt(float64(dim))), 1
	}
	return errors.Join(
		es.sigma.Fill(ctx, float32(es.cfg.InitStd)), es.paths[0].Fill(ctx, 0), es.paths[1].Fill(ctx, 0), es.mean.WriteFloat32(ctx, es.space.Pad(start)),
		es.v.WriteFloat32(ctx, es.space.Pad(v)), es.deviation.WriteFloat32(ctx, es.space.Pad(one)),
	)
}

// Ask implements Strategy: it records the projections zᵀ v̄ of all candidates.
func (es *crFMNES) Ask(r *engine.Recorder) {
	k := crfmnesProjectKernel{
		V: es.v.Range(), Projection: es.projection.Range(), Clock: es.clock.Tensor().Range(), Seed: es.seed, Stream: es.noise.stream,
		Dim: uint32(es.space.Dim), Row: uint32(es.space.Row()), Population: uint32(es.cfg.Population), Workgroup: r.WorkgroupFor(es.space.Row() / 4),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = es.noise.source()
	r.Dispatch(k.call(r.Share(es.space.Members, es.cfg.Population/2*int(r.Workgroup())), uint32(es.space.Members), 1))
}

// Candidates implements Strategy: m + σ D (z + (√(1 + |v|²) − 1) (zᵀ v̄) v̄).
func (es *crFMNES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	members, row := es.space.Members, es.space.Row()
	k := crfmnesSampleKernel{
		Mean: es.mean.Range(), Deviation: es.deviation.Range(), V: es.v.Range(),
		Sigma: es.sigma.Range(), Projection: es.projection.Range(), Clock: es.clock.Tensor().Range(),
		Candidates: into.Range(), Seed: es.seed, Stream: es.noise.stream, Dim: uint32(es.space.Dim), Row: uint32(row),
		Population: uint32(es.cfg.Population), Count: uint32(into.Len() / row / members), First: uint32(pick.First),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = es.noise.source()
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	count := int(k.Count) * row / 4
	groups := r.Share(members, count)
	k.Workgroup = r.WorkgroupFor(count/int(groups) + row/4)
	r.Dispatch(k.call(groups, uint32(members), 1))
}

func (es *crFMNES) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

func (es *crFMNES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	members, row := es.space.Members, es.space.Row()
	k := crfmnesWhitenKernel{
		Mean: es.mean.Range(), Deviation: es.deviation.Range(), V: es.v.Range(),
		Sigma: es.sigma.Range(), Changed: injected.Changed.Range(), Given: injected.Candidates.Range(),
		Noise: injected.Proposed.Range(), Projection: es.projection.Range(), Clock: es.clock.Tensor().Range(), Seed: es.seed, Stream: es.noise.stream,
		Dim: uint32(es.space.Dim), Row: uint32(row), Population: uint32(es.cfg.Population), Limit: float32(es.space.stepLimit()),
		Workgroup: r.WorkgroupFor(row),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = es.noise.source()
	r.Dispatch(k.call(rowGroups(r, members, es.cfg.Population), uint32(members), 1))
	es.learn(r, scores, es.noise.from(injected))
}

func (es *crFMNES) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, 1, nil, es.sums[0], nil)
	d, c := es.space.diagonal(r, es.sums[0]), es.rates
	r.Dispatch(crfmnesWeightsKernel{
		First: es.sums[0].Range(), Path: es.paths[0].Range(), Projection: es.projection.Range(),
		Weight: es.weights.Range(), Along: es.along.Range(), Factors: es.factors.Range(), Splits: d.splits, Row: d.row, Population: uint32(es.cfg.Population),
		Keep: float32(1 - c.cs), Gain: float32(math.Sqrt(c.cs * (2 - c.cs) * c.mass)), Length: float32(c.lengthN), Distance: float32(c.distance),
		Move: float32(c.move), Stagnate: float32(c.stagnate), Converge: float32(c.converge),
		Workgroup: r.WorkgroupFor(es.space.Row()/4*(int(d.splits)+1) + 3*es.cfg.Population),
	}.call(d.members, 1, 1))
	noise.Sum(r, es.weights, 1, nil, es.sums[0], es.sums[1])
	noise.Sum(r, es.along, 1, nil, es.sums[2], nil)
	r.Dispatch(crfmnesUpdateKernel{
		First: es.sums[0].Range(), Second: es.sums[1].Range(),
		Third: es.sums[2].Range(), Factors: es.factors.Range(), Mean: es.mean.Range(), Path: es.paths[1].Range(),
		V: es.v.Range(), Deviation: es.deviation.Range(), Sigma: es.sigma.Range(),
		Gradients: es.gradients.Range(), Splits: d.splits, Dim: uint32(es.space.Dim), Row: d.row, Keep: float32(1 - c.cc),
		Gain: float32(math.Sqrt(c.cc * (2 - c.cc) * c.mass)), Rate: float32(c.rate), C1: float32(c.c1),
		Workgroup: r.WorkgroupFor(es.space.Row() / 4 * (3*int(d.splits) + 8)),
	}.call(d.members, 1, 1))
}
