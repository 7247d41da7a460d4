package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// XNESConfig are the settings of xNES. Those marked "per member" are tensors on the device that PBT may vary.
type XNESConfig struct {
	Population    int     `min:"0" max:"32768" doc:"Candidates per generation, N; 0: 4 + 3 ln dim."`
	LearningRate  float64 `min:"0" doc:"Step size of the mean, per member." member:""`
	DeviationRate float64 `min:"0" doc:"Step size of the deviation, per member; 0: (9 + 3 ln dim) / (5 dim sqrt dim)." member:""`
	ShapeRate     float64 `min:"0" doc:"Step size of the covariance matrix's shape, per member; 0: that of the deviation by default." member:""`
	InitStd       float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
}

// DefaultXNES has the paper's settings (T. Glasmachers et al., 2010, table 1) and the initial deviation 1.
func DefaultXNES() XNESConfig { return XNESConfig{LearningRate: 1, InitStd: 1} }

// xNES is the exponential natural evolution strategy: T. Glasmachers, T. Schaul, Y. Sun, D. Wierstra, J. Schmidhuber,
// "Exponential Natural Evolution Strategies", 2010, algorithm 1. The covariance matrix is σ² B Bᵀ, where B has
// determinant one.
type xNES struct {
	cfg    XNESConfig
	space  Space
	clock  engine.Clock
	draw   *Noise
	rates  [3]*engine.Tensor // [M]: learning rates of mean, σ and B
	origin *engine.Tensor    // [M, row]: zero
	one    *engine.Tensor    // [M]

	mean      *engine.Tensor // [M, row]
	sigma     *engine.Tensor // [M]
	shape     *engine.Tensor // [M, dim, row]: B, one column per row
	utilities *engine.Tensor // [N]
	weights   *engine.Tensor // [M, N]
	noise     *engine.Tensor // [M, N, row]: z
	steps     *engine.Tensor // [M, N, row]: B z; in Tell the noise times its weights
	sum       *engine.Tensor // [M, 1, row]: sum of the weighted noise
	moved     *engine.Tensor // [M, 1, row]
	trace     *engine.Tensor // [M]
	gradient  *engine.Tensor // [M, dim, row]
	exponent  *engine.Tensor // [M, dim, row]
	term      *engine.Tensor // [M, dim, row]
}

// The exponential of a matrix X is computed for X / 2^halvings, from exponentTerms terms of its series, and squared
// halvings times.
const (
	exponentTerms    = 6
	exponentHalvings = 3
)

// Name implements Algorithm.
func (c XNESConfig) Name() string { return "xnes" }

// New implements Algorithm. If memory does not suffice for a covariance matrix, the error is a *vk.OutOfMemoryError
// that names algorithms which need less.
func (c XNESConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = defaultPopulation(space.Dim)
	}
	n := float64(space.Dim)
	rate := (9 + 3*math.Log(n)) / (5 * n * math.Sqrt(n))
	if c.DeviationRate == 0 {
		c.DeviationRate = rate
	}
	if c.ShapeRate == 0 {
		c.ShapeRate = rate
	}
	if err := roomForMatrices(s, space, 4); err != nil {
		return nil, err
	}
	m, row := engine.Members(space.Members), engine.Axis("parameter", space.Row())
	matrix := []engine.Dim{m, engine.Axis("dimension", space.Dim), row}
	es := &xNES{
		cfg: c, space: space, clock: clock, draw: NewNoise(s, clock, space, c.Population, false),
		rates: [3]*engine.Tensor{hyper.Add("learning_rate", c.LearningRate), hyper.Add("deviation_rate", c.DeviationRate),
			hyper.Add("shape_rate", c.ShapeRate)},
		origin: engine.Constant(s, "origin", engine.Same(space.Members*space.Row(), 0), m, row), one: engine.Constant(s, "one",
			engine.Same(space.Members, 1), m),
		mean: space.Tensor(s, "mean"), sigma: s.Tensor("sigma", engine.Float32, m), shape: s.Tensor("shape", engine.Float32, matrix...),
		utilities: rankWeights(s, naturalUtilities(c.Population)), weights: s.Scratch("weights", engine.Float32, m, candidates(c.Population)),
		noise: s.Scratch("noise", engine.Float32, m, candidates(c.Population), row), steps: s.Scratch("steps", engine.Float32, m,
			candidates(c.Population), row),
		sum: s.Scratch("sum", engine.Float32, m, engine.Axis("sum", 1), row), moved: s.Scratch("moved", engine.Float32, m, engine.Axis("sum", 1), row),
		trace: s.Scratch("trace", engine.Float32, m), gradient: s.Scratch("gradient", engine.Float32, matrix...),
		exponent: s.Scratch("exponent", engine.Float32, matrix...), term: s.Scratch("term", engine.Float32, matrix...),
	}
	return es, s.Err()
}

func (es *xNES) Population() int          { return es.cfg.Population }
func (es *xNES) Solution() *engine.Tensor { return es.mean }

// Init implements Strategy: B is the identity.
func (es *xNES) Init(ctx context.Context, start []float32) error {
	dim, row := es.space.Dim, es.space.Row()
	identity := make([]float32, es.space.Members*dim*row)
	for m := range es.space.Members {
		for i := range dim {
			identity[(m*dim+i)*row+i] = 1
		}
	}
	return errors.Join(es.sigma.Fill(ctx, float32(es.cfg.InitStd)), es.shape.WriteFloat32(ctx, identity), es.mean.WriteFloat32(ctx, es.space.Pad(start)))
}

// Ask implements Strategy: B z of all candidates.
func (es *xNES) Ask(r *engine.Recorder) {
	es.draw.Candidates(r, es.origin, es.one, Pick{}, es.noise)
	es.product(r, es.cfg.Population, es.noise, es.shape, es.steps)
}

// product records c = a b, where a is [M, rows, dim] in rows of the space's length and b is [M, dim, row].
func (es *xNES) product(r *engine.Recorder, rows int, a, b, c *engine.Tensor) {
	nn.Gemm{Members: es.space.Members, M: rows, N: es.space.Row(), K: es.space.Dim, A: es.space.matrix(a), B: es.space.matrix(b),
		C: es.space.matrix(c)}.Record(r)
}

// Candidates implements Strategy: μ + σ B z.
func (es *xNES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.space.form(r, es.mean, nil, es.sigma, es.steps, pick, into, false)
}

// Tell implements Strategy: with utilities u that sum to zero, G_δ = Σ u z and G_M = Σ u z zᵀ, it computes μ + η_μ σ
// B G_δ, σ exp(η_σ/2 tr(G_M)/dim) and B exp(η_B/2 (G_M − tr(G_M)/dim I)).
func (es *xNES) Tell(r *engine.Recorder, scores Scores) {
	Utilities(r, scores, es.utilities, es.weights)
	members, dim, row, population := es.space.Members, es.space.Dim, es.space.Row(), es.cfg.Population
	share := r.Share(members, population*row/4)
	r.Dispatch(xnesWeighKernel{
		Noise: es.noise.Range(), Weight: es.weights.Range(), Weighted: es.steps.Range(),
		Population: uint32(population), Row: uint32(row), LocalSizeX: r.WorkgroupFor(population * row / 4 / int(share)),
	}.call(share, uint32(members), 1))
	nn.Gemm{
		Members: members, M: 1, N: row, K: population, A: nn.Matrix{Tensor: es.weights, Stride: population, Row: population},
		B: es.space.matrix(es.noise), C: es.space.matrix(es.sum),
	}.Record(r)
	es.product(r, 1, es.sum, es.shape, es.moved)
	nn.Gemm{
		Members: members, M: dim, N: row, K: population, A: es.space.matrix(es.steps), TransposeA: true, B: es.space.matrix(es.noise),
		C: es.space.matrix(es.gradient),
	}.Record(r)
	r.Dispatch(xnesStepKernel{
		Gradient: es.gradient.Range(), Moved: es.moved.Range(), Mean: es.mean.Range(),
		Sigma: es.sigma.Range(), Trace: es.trace.Range(), LearningRate: es.rates[0].Range(), DeviationRate: es.rates[1].Range(),
		Dim: uint32(dim), Row: uint32(row), Workgroup: r.WorkgroupFor(row),
	}.call(uint32(members), 1, 1))
	share = r.Share(members, dim*row/4)
	r.Dispatch(xnesShapeKernel{
		Gradient: es.gradient.Range(), Trace: es.trace.Range(), ShapeRate: es.rates[2].Range(),
		Exponent: es.exponent.Range(), Term: es.term.Range(), Dim: uint32(dim), Row: uint32(row), Terms: exponentTerms, By: 1 << exponentHalvings,
		LocalSizeX: r.WorkgroupFor(dim * row / 4 / int(share)),
	}.call(share, uint32(members), 1))
	// exp(X) − 1 = X (1 + X/2 (1 + X/3 …)): without the one, small elements lose no digits. The gradient's tensor is
	// no longer needed.
	for k := exponentTerms - 1; k > 0; k-- {
		es.product(r, dim, es.exponent, es.term, es.gradient)
		es.add(r, 1/float64(k), es.exponent, 1/float64(k), es.gradient, es.term)
	}
	for range exponentHalvings {
		es.product(r, dim, es.term, es.term, es.gradient)
		es.add(r, 2, es.term, 1, es.gradient, es.term)
	}
	es.product(r, dim, es.term, es.shape, es.gradient)
	es.add(r, 1, es.shape, 1, es.gradient, es.shape)
}

// add records c = alpha a + beta b of matrices [M, dim, row].
func (es *xNES) add(r *engine.Recorder, alpha float64, a *engine.Tensor, beta float64, b, c *engine.Tensor) {
	fours := c.Len() / 4
	share := r.Share(1, fours)
	r.Dispatch(sumKernel{
		A: a.Range(), B: b.Range(), C: c.Range(), Fours: uint32(fours), Alpha: float32(alpha), Beta: float32(beta),
		LocalSizeX: r.WorkgroupFor(fours / int(share)),
	}.call(share, 1, 1))
}
