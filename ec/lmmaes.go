package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// LMMAESConfig are the settings of LM-MA-ES.
type LMMAESConfig struct {
	Population int     `min:"0" max:"65536" doc:"Candidates per generation, N; 0: 4 + 3 ln dim."`
	Vectors    int     `min:"0" max:"1024" doc:"Vectors of the memory; 0: 4 + 3 ln dim."`
	InitStd    float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
}

// DefaultLMMAES has the population and the memory of the paper, and the initial deviation 0.1 of the other methods
// that adapt a covariance matrix.
func DefaultLMMAES() LMMAESConfig { return LMMAESConfig{InitStd: 0.1} }

// lmMAES is the limited-memory matrix adaptation evolution strategy: I. Loshchilov, T. Glasmachers, H.-G. Beyer,
// "Large Scale Black-Box Optimization by Limited-Memory Matrix Adaptation", 2019 (arXiv:1705.06693), algorithm 2. In
// small dimensions, for which the method is not intended, rates are limited to one. A candidate is a linear
// combination of its noise and the memory's vectors, and is not stored.
type lmMAES struct {
	cfg        LMMAESConfig
	space      Space
	clock      engine.Clock
	noise      *Noise
	mass       float64        // μ_w
	mean       *engine.Tensor // [M, row]
	memory     *engine.Tensor // [M, vectors, row]
	path       *engine.Tensor // [M, row]
	sigma      *engine.Tensor // [M]
	rates      *engine.Tensor // [vectors, 4]: c_d, 1 − c_c, √(μ_w c_c (2 − c_c))
	utilities  *engine.Tensor // [N]
	weights    *engine.Tensor // [M, N]
	projection *engine.Tensor // [M, N, vectors]
	gram       *engine.Tensor // [M, vectors, vectors]
	shares     *engine.Tensor // [M, N, vectors + 1]: coefficients of the noise and the memory's vectors
	sums       *engine.Tensor // [splits, M, row]
	factors    *engine.Tensor // [M, vectors + 1]
}

// Name implements Algorithm.
func (c LMMAESConfig) Name() string { return "lm-ma-es" }

// New implements Algorithm.
func (c LMMAESConfig) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = defaultPopulation(space.Dim)
	}
	if c.Vectors == 0 {
		c.Vectors = defaultPopulation(space.Dim) // the same formula
	}
	m, vectors, p := engine.Members(space.Members), engine.Axis("vector", c.Vectors), candidates(c.Population)
	es := &lmMAES{
		cfg: c, space: space, clock: clock, noise: NewNoise(s, clock, space, c.Population, false),
		mean: space.Tensor(s, "mean"), memory: s.Tensor("memory", engine.Float32, m, vectors, engine.Axis("parameter", space.Row())),
		path: space.Tensor(s, "path_sigma"), sigma: s.Tensor("sigma", engine.Float32, m),
		weights: s.Scratch("weights", engine.Float32, m, p), projection: s.Scratch("projection", engine.Float32, m, p, vectors),
		gram: s.Scratch("gram", engine.Float32, m, vectors, engine.Axis("other", c.Vectors)), shares: s.Scratch("shares", engine.Float32, m,
			p, engine.Axis("share", c.Vectors+1)),
		factors: s.Scratch("factors", engine.Float32, m, engine.Axis("share", c.Vectors+1)),
	}
	weights := es.weightsByRank()
	es.utilities, es.mass = rankWeights(s, weights), selectionMass(weights)
	es.rates = engine.Constant(s, "rates", es.ratesByVector, vectors, engine.Axis("rate", 4))
	es.sums = es.noise.Sums(s, "sums")
	return es, s.Err()
}

// weightsByRank returns the weights ln(μ + 1/2) − ln i of the better half, normalised to sum to one.
func (es *lmMAES) weightsByRank() []float32 {
	parents := max(1, es.cfg.Population/2)
	return logWeights(es.cfg.Population, parents, float64(parents)+0.5)
}

// ratesByVector returns four numbers for each memory vector j = 0, 1, …: c_d = 1/(1.5^j dim), 1 − c_c and √(μ_eff c_c
// (2 − c_c)), where c_c = N/(4^j dim).
func (es *lmMAES) ratesByVector() []float32 {
	n, rates := float64(es.space.Dim), make([]float32, 4*es.cfg.Vectors)
	for j := range es.cfg.Vectors {
		c := min(1, float64(es.cfg.Population)/(math.Pow(4, float64(j))*n))
		rates[4*j], rates[4*j+1] = float32(1/(math.Pow(1.5, float64(j))*n)), float32(1-c)
		rates[4*j+2] = float32(math.Sqrt(es.mass * c * (2 - c)))
	}
	return rates
}

func (es *lmMAES) Population() int          { return es.cfg.Population }
func (es *lmMAES) Solution() *engine.Tensor { return es.mean }

// Init implements Strategy: path and memory are zero.
func (es *lmMAES) Init(ctx context.Context, start []float32) error {
	return errors.Join(es.sigma.Fill(ctx, float32(es.cfg.InitStd)), es.path.Fill(ctx, 0), es.memory.Fill(ctx, 0), es.mean.WriteFloat32(ctx,
		es.space.Pad(start)))
}

// Ask implements Strategy: it records the coefficients of the candidates' noise and of the memory's vectors.
func (es *lmMAES) Ask(r *engine.Recorder) {
	members, row, vectors := es.space.Members, es.space.Row(), es.cfg.Vectors
	memory := es.space.matrix(es.memory)
	nn.Gemm{
		Members: members, M: vectors, N: vectors, K: row, A: memory, B: memory, TransposeB: true,
		C: nn.Matrix{Tensor: es.gram, Stride: vectors * vectors, Row: vectors},
	}.Record(r)
	es.share(r, es.noise)
}

// share records computing, for candidates with the given noise, the coefficients of the noise and of the memory's
// vectors.
func (es *lmMAES) share(r *engine.Recorder, noise *Noise) {
	members, row, vectors, population := es.space.Members, es.space.Row(), es.cfg.Vectors, es.cfg.Population
	k := lmmaesProjectKernel{
		Memory: es.memory.Range(), Projection: es.projection.Range(), Clock: es.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: noise.stream, Dim: uint32(es.space.Dim), Row: uint32(row), Population: uint32(population), Vectors: uint32(vectors),
		Workgroup: r.WorkgroupFor(row / 4 * (vectors + 7) / 8),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = noise.source()
	r.Dispatch(k.call(r.Share(members, population*int(r.Workgroup())), uint32(members), 1))
	groups := r.Share(members, population)
	r.Dispatch(lmmaesMixKernel{
		Projection: es.projection.Range(), Gram: es.gram.Range(), Rates: es.rates.Range(), Shares: es.shares.Range(), Clock: es.clock.Tensor().Range(),
		Population: uint32(population), Vectors: uint32(vectors), LocalSizeX: r.WorkgroupFor(population * vectors * vectors / int(groups)),
	}.call(groups, uint32(members), 1))
}

// Candidates implements Strategy: m + σ d.
func (es *lmMAES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	members, row := es.space.Members, es.space.Row()
	k := lmmaesSampleKernel{
		Mean: es.mean.Range(), Memory: es.memory.Range(), Sigma: es.sigma.Range(),
		Shares: es.shares.Range(), Clock: es.clock.Tensor().Range(),
		Candidates: into.Range(), Seed: r.Engine().Seed(), Stream: es.noise.stream, Dim: uint32(es.space.Dim), Row: uint32(row),
		Population: uint32(es.cfg.Population), Vectors: uint32(es.cfg.Vectors), Count: uint32(into.Len() / row / members), First: uint32(pick.First),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = es.noise.source()
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	count := int(k.Count) * row / 4
	groups := r.Share(members, count)
	k.LocalSizeX = r.WorkgroupFor(count * (es.cfg.Vectors + 1) / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

func (es *lmMAES) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

func (es *lmMAES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	members, row, vectors := es.space.Members, es.space.Row(), es.cfg.Vectors
	k := lmmaesWhitenKernel{
		Mean: es.mean.Range(), Memory: es.memory.Range(), Sigma: es.sigma.Range(),
		Rates: es.rates.Range(), Changed: injected.Changed.Range(), Given: injected.Candidates.Range(),
		Noise: injected.Proposed.Range(), Clock: es.clock.Tensor().Range(), Seed: r.Engine().Seed(), Stream: es.noise.stream, Dim: uint32(es.space.Dim),
		Row: uint32(row), Population: uint32(es.cfg.Population), Vectors: uint32(vectors), Limit: float32(es.space.stepLimit()),
		Workgroup: r.WorkgroupFor(row / 4 * (2*vectors + 3)),
	}
	k.Mirrored, k.Stored, k.Table, k.TableFours = es.noise.source()
	r.Dispatch(k.call(rowGroups(r, members, es.cfg.Population), uint32(members), 1))
	noise := es.noise.from(injected)
	es.share(r, noise)
	es.learn(r, scores, noise)
}

func (es *lmMAES) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, 1, nil, es.sums, nil)
	d, vectors, population := es.space.diagonal(r, es.sums), es.cfg.Vectors, es.cfg.Population
	c := min(1, 2*float64(population)/float64(es.space.Dim)) // c_σ
	r.Dispatch(lmmaesPathKernel{
		First: es.sums.Range(), Path: es.path.Range(), Weight: es.weights.Range(),
		Shares: es.shares.Range(), Sigma: es.sigma.Range(), Factors: es.factors.Range(), Splits: d.splits, Dim: uint32(es.space.Dim), Row: d.row,
		Population: uint32(population), Vectors: uint32(vectors), Keep: float32(1 - c), Gain: float32(math.Sqrt(es.mass * c * (2 - c))), Rate: float32(c / 2),
		Workgroup: r.WorkgroupFor(es.space.Row()/4*(int(d.splits)+1) + vectors*population),
	}.call(d.members, 1, 1))
	groups := r.Share(es.space.Members, es.space.Row()/4)
	r.Dispatch(lmmaesUpdateKernel{
		First: es.sums.Range(), Factors: es.factors.Range(), Rates: es.rates.Range(), Mean: es.mean.Range(),
		Memory: es.memory.Range(), Splits: d.splits, Row: d.row, Vectors: uint32(vectors),
		LocalSizeX: r.WorkgroupFor(es.space.Row() / 4 * (int(d.splits) + vectors) / int(groups)),
	}.call(groups, d.members, 1))
}
