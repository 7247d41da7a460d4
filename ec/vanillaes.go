package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// VanillaESConfig are the settings of the canonical evolution strategy. NoiseStd is a tensor on the device, one value
// per member, that PBT may vary.
type VanillaESConfig struct {
	Population int     `min:"1" max:"1048576" doc:"Candidates per generation, N."`
	Elites     int     `min:"1" max:"1048576" doc:"Number of best candidates whose weighted mean becomes the mean."`
	NoiseStd   float64 `above:"0" doc:"Deviation of the candidates from their mean, per member." member:""`
	Rank       int     `min:"0" max:"32" doc:"Candidates differ from the mean by matrices of this rank (EGGROLL), for large networks; 0: in every parameter."`
}

// DefaultVanillaES has the settings of EvoRL's VanillaES (B. Zheng et al., 2025, table 3).
func DefaultVanillaES() VanillaESConfig {
	return VanillaESConfig{Population: 128, Elites: 16, NoiseStd: 0.02}
}

// Validate checks constraints across fields.
func (c VanillaESConfig) Validate() error { return checkElites(c.Elites, c.Population) }

func (c VanillaESConfig) rank() int { return c.Rank }

// Check checks the settings against a space of candidates. It needs no device.
func (c VanillaESConfig) Check(space Space) error { return checkRank(c.Rank, space) }

func checkElites(elites, population int) error {
	if elites > population {
		return config.Invalid("elites", "%d elites of a population of %d; want at most as many", elites, population)
	}
	return nil
}

// vanillaES is the canonical evolution strategy of P. Chrabaszcz, I. Loshchilov, F. Hutter, "Back to Basics:
// Benchmarking Canonical Evolution Strategies for Playing Atari", 2018, algorithm 1.
type vanillaES struct {
	perturbed
	cfg       VanillaESConfig
	space     Space
	optimizer *optim.Optimizer // plain gradient ascent
	utilities *engine.Tensor   // [N]
	weights   *engine.Tensor   // [M, N]
	sums      *engine.Tensor   // [splits, M, row]
}

// Name implements Algorithm.
func (c VanillaESConfig) Name() string { return "vanilla-es" }

// New implements Algorithm.
func (c VanillaESConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	es := &vanillaES{cfg: c, space: space}
	es.perturbed = perturbed{noise: NewNoise(s, clock, space, c.Population, false), std: hyper.Add("noise_std", c.NoiseStd)}
	es.optimizer = optim.New(s, optim.Config{Rule: optim.SGD}, es.std, space.Row())
	es.mean = es.optimizer.Params()
	if err := es.noise.UseRank(s, c.Rank); err != nil {
		return nil, err
	}
	// w_i = (ln(μ + ½) − ln i) / Σ (line 4)
	es.utilities = rankWeights(s, logWeights(c.Population, c.Elites, float64(c.Elites)+0.5))
	es.weights = s.Scratch("weights", engine.Float32, engine.Members(space.Members), candidates(c.Population))
	es.sums = es.noise.Sums(s, "sums")
	return es, s.Err()
}

func (es *vanillaES) Population() int          { return es.cfg.Population }
func (es *vanillaES) Solution() *engine.Tensor { return es.mean }

func (es *vanillaES) Init(ctx context.Context, start []float32) error {
	return es.mean.WriteFloat32(ctx, es.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on the mean only.
func (es *vanillaES) Ask(*engine.Recorder) {}

// Candidates implements Strategy: θ + σ ε (line 6).
func (es *vanillaES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.noise.Candidates(r, es.mean, es.std, pick, into)
}

// Tell implements Strategy: θ + σ Σ w ε over the best (line 9).
func (es *vanillaES) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

func (es *vanillaES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	es.learn(r, scores, es.noise.Of(r, injected, es.mean, es.std, 0))
}

func (es *vanillaES) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, -1, nil, es.sums, nil)
	es.optimizer.Step(r, es.sums)
}
