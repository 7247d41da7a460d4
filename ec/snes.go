package ec

import (
	"context"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// SNESConfig are the settings of SNES. Those marked "per member" are tensors on the device that PBT may vary.
type SNESConfig struct {
	Population    int     `min:"0" max:"1048576" doc:"Candidates per generation, N; 0: 4 + 3 ln dim."`
	LearningRate  float64 `min:"0" doc:"Step size of the mean, per member." member:""`
	DeviationRate float64 `min:"0" doc:"Step size of the deviations, per member; 0: (3 + ln dim) / (5 sqrt dim)." member:""`
	InitStd       float64 `above:"0" doc:"Deviation of the initial candidates from their mean."`
	Rank          int     `min:"0" max:"32" doc:"Candidates differ from the mean by matrices of this rank (EGGROLL), for large networks; 0: in every parameter."`
}

// DefaultSNES has the paper's settings (D. Wierstra et al., 2014, table 1) and the initial deviation 1.
func DefaultSNES() SNESConfig { return SNESConfig{LearningRate: 1, InitStd: 1} }

func (c SNESConfig) rank() int { return c.Rank }

// Check checks the settings against a space of candidates. It needs no device.
func (c SNESConfig) Check(space Space) error { return checkRank(c.Rank, space) }

// snes is the separable natural evolution strategy: T. Schaul, T. Glasmachers, J. Schmidhuber, "High Dimensions and
// Heavy Tails for Natural Evolution Strategies", 2011; D. Wierstra et al., "Natural Evolution Strategies", 2014,
// algorithm 6. With a rank, s has low rank in every matrix (Noise.UseRank), all elements of which share a deviation: its gradient is the mean of theirs.
type snes struct {
	perturbed // std: [M, row]
	cfg       SNESConfig
	space     Space
	rates     [2]*engine.Tensor
	utilities *engine.Tensor // [N]
	weights   *engine.Tensor // [M, N]
	first     *engine.Tensor // [splits, M, row]
	second    *engine.Tensor // [splits, M, row]
}

// Name implements Algorithm.
func (c SNESConfig) Name() string { return "snes" }

// New implements Algorithm.
func (c SNESConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if c.Population == 0 {
		c.Population = defaultPopulation(space.Dim)
	}
	if dim := float64(space.Dim); c.DeviationRate == 0 {
		c.DeviationRate = (3 + math.Log(dim)) / (5 * math.Sqrt(dim))
	}
	es := &snes{cfg: c, space: space, perturbed: perturbed{NewNoise(s, clock, space, c.Population, false), space.Tensor(s, "mean"), space.Tensor(s, "deviation")}}
	if err := es.noise.useRankAndSquares(s, c.Rank); err != nil {
		return nil, err
	}
	es.rates = [2]*engine.Tensor{hyper.Add("learning_rate", c.LearningRate), hyper.Add("deviation_rate", c.DeviationRate)}
	es.utilities = rankWeights(s, naturalUtilities(c.Population))
	es.weights = s.Scratch("weights", engine.Float32, engine.Members(space.Members), candidates(c.Population))
	es.first, es.second = es.noise.Sums(s, "first_sums"), es.noise.Sums(s, "second_sums")
	return es, s.Err()
}

func (es *snes) Population() int          { return es.cfg.Population }
func (es *snes) Solution() *engine.Tensor { return es.mean }

func (es *snes) Init(ctx context.Context, start []float32) error {
	if err := es.std.Fill(ctx, float32(es.cfg.InitStd)); err != nil {
		return err
	}
	return es.mean.WriteFloat32(ctx, es.space.Pad(start))
}

// naturalUtilities returns the utilities of natural evolution strategies by rank, max(0, ln(N/2 + 1) − ln i) / Σ −
// 1/N (table 1). They sum to zero.
func naturalUtilities(population int) []float32 {
	values, sum := make([]float64, population), 0.0
	for i := range values {
		values[i] = max(0, math.Log(float64(population)/2+1)-math.Log(float64(i+1)))
		sum += values[i]
	}
	out := make([]float32, population)
	for i, v := range values {
		out[i] = float32(v/sum - 1/float64(population))
	}
	return out
}

// Ask implements Strategy. It records nothing: candidates depend on mean and deviations only.
func (es *snes) Ask(*engine.Recorder) {}

// Candidates implements Strategy: μ + σ s.
func (es *snes) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.noise.Candidates(r, es.mean, es.std, pick, into)
}

// Tell implements Strategy: μ + η_μ σ Σ u s and σ exp(η_σ/2 Σ u (s² − 1)), where the utilities u sum to zero.
func (es *snes) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

// TellCandidates implements CandidateStrategy. Deviations grow with the squares of the noise, so its length is
// limited.
func (es *snes) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	es.learn(r, scores, es.noise.Of(r, injected, es.mean, es.std, es.space.stepLimit()))
}

func (es *snes) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, 1, nil, es.first, es.second)
	d := es.space.diagonal(r, es.first)
	r.Dispatch(snesKernel{
		First: es.first.Range(), Second: es.second.Range(), Mean: es.mean.Range(),
		Deviation:    es.std.Range(),
		LearningRate: es.rates[0].Range(), DeviationRate: es.rates[1].Range(), Splits: d.splits, Row: d.row, LocalSizeX: d.size,
	}.call(d.groups, d.members, 1))
}
