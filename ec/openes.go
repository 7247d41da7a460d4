package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// OpenESConfig are the settings of OpenES. Those marked "per member" are tensors on the device that PBT may vary.
type OpenESConfig struct {
	Population   int        `min:"1" max:"1048576" doc:"Candidates per generation, N; an even number if mirrored."`
	LearningRate float64    `min:"0" doc:"Step size of the optimizer, per member." member:"log_uniform 1e-3 1e-1"`
	NoiseStd     float64    `above:"0" doc:"Deviation of the candidates from their mean, per member." member:"log_uniform 5e-3 5e-1"`
	WeightDecay  float64    `min:"0" doc:"Weight decay times parameters is subtracted from the estimated gradient."`
	Optimizer    optim.Rule `doc:"Optimizer of the mean: sgd, rmsprop, adam, adamw, clipup."`
	Mirrored     bool       `doc:"Candidates come in pairs with opposite noise."`
	Shaping      Shaping    `doc:"Transformation of fitness into weights: raw, centered_rank, standardize, normalize, grouped."`
	Group        int        `min:"0" max:"1048576" doc:"With shaping grouped: consecutive candidates that are compared with each other (see policy.group)."`
	Rank         int        `min:"0" max:"32" doc:"Candidates differ from the mean by matrices of this rank (EGGROLL), for large networks; 0: in every parameter."`
	NoiseReuse   int        `min:"0" max:"1000000000" doc:"With a rank: generations in a row that use the same draws (EGGROLL); 0 and 1: each has its own."`
	NoiseTable   int        `min:"0" max:"268435456" doc:"Size of a shared table that noise is read from; 0: noise is drawn."`
}

// DefaultOpenES has the settings of EvoRL's OpenES (B. Zheng et al., 2025, table 3).
func DefaultOpenES() OpenESConfig {
	return OpenESConfig{
		Population: 128, LearningRate: 0.01, NoiseStd: 0.02, WeightDecay: 0.005, Optimizer: optim.Adam, Mirrored: true, Shaping: CenteredRank,
	}
}

// Validate checks constraints across fields.
func (c OpenESConfig) Validate() error {
	if c.Rank > 0 && c.NoiseTable > 0 {
		return config.Invalid("rank", "noise of rank %d from a table of %d numbers; want one or the other", c.Rank, c.NoiseTable)
	}
	if c.NoiseReuse > 1 && c.Rank == 0 {
		return config.Invalid("noise_reuse", "candidates of rank 0 draw new noise every generation; want 0, or a rank")
	}
	if err := c.checkGroup(); err != nil {
		return err
	}
	if c.Mirrored {
		return checkPairs(c.Population)
	}
	return nil
}

// checkGroup checks the groups of shaping grouped: several candidates each, and whole pairs.
func (c OpenESConfig) checkGroup() error {
	switch {
	case c.Shaping != Grouped && c.Group > 0:
		return config.Invalid("group", "groups of %d candidates with shaping %v; want 0, or shaping grouped", c.Group, c.Shaping)
	case c.Shaping != Grouped:
		return nil
	case c.Group < 2 || c.Population%c.Group != 0:
		return config.Invalid("group", "%d candidates in groups of %d; want a divisor of at least 2", c.Population, c.Group)
	case c.Mirrored && c.Group%2 != 0:
		return config.Invalid("group", "groups of %d candidates divide pairs of opposite noise; want an even number", c.Group)
	}
	return nil
}

func (c OpenESConfig) rank() int { return c.Rank }

// Check checks the settings against a space of candidates. It needs no device.
func (c OpenESConfig) Check(space Space) error {
	if c.NoiseTable > 0 {
		return checkTable(c.NoiseTable, space)
	}
	return checkRank(c.Rank, space)
}

// openES is the evolution strategy of T. Salimans et al., "Evolution Strategies as a Scalable Alternative to
// Reinforcement Learning", 2017, algorithm 1. With a rank, ε has low rank in every matrix (Noise.UseRank); the rest is the same.
type openES struct {
	perturbed
	cfg       OpenESConfig
	space     Space
	optimizer *optim.Optimizer
	weights   *engine.Tensor // [M, N]
	gradient  *engine.Tensor // [splits, M, row]
}

// Name implements Algorithm.
func (c OpenESConfig) Name() string { return "openes" }

// New implements Algorithm.
func (c OpenESConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	rule := optim.Default(c.Optimizer)
	rule.WeightDecay = c.WeightDecay
	es := &openES{
		perturbed: perturbed{noise: NewNoise(s, clock, space, c.Population, c.Mirrored), std: hyper.Add("noise_std", c.NoiseStd)},
		cfg:       c, space: space,
		optimizer: optim.New(s, rule, hyper.Add("learning_rate", c.LearningRate), space.Row()),
		weights:   s.Scratch("weights", engine.Float32, engine.Members(space.Members), candidates(c.Population)),
	}
	es.mean = es.optimizer.Params()
	if c.NoiseTable > 0 {
		if err := es.noise.UseTable(s, c.NoiseTable); err != nil {
			return nil, err
		}
	}
	if err := es.noise.UseRank(s, c.Rank); err != nil {
		return nil, err
	}
	es.noise.reuse(c.NoiseReuse)
	es.gradient = es.noise.Sums(s, "gradient")
	return es, s.Err()
}

func (es *openES) Population() int          { return es.cfg.Population }
func (es *openES) Solution() *engine.Tensor { return es.mean }

func (es *openES) Init(ctx context.Context, start []float32) error {
	return es.mean.WriteFloat32(ctx, es.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on the mean only.
func (es *openES) Ask(*engine.Recorder) {}

// Candidates implements Strategy: θ + σ ε (line 4).
func (es *openES) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.noise.Candidates(r, es.mean, es.std, pick, into)
}

// Tell implements Strategy: θ + α 1/(N σ) Σ F ε (line 6), by an optimizer, which minimises.
func (es *openES) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

func (es *openES) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	es.learn(r, scores, es.noise.Of(r, injected, es.mean, es.std, 0))
}

func (es *openES) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	if es.cfg.Shaping == Grouped {
		GroupWeights(r, scores, es.cfg.Group, es.weights)
	} else {
		es.cfg.Shaping.Weights(r, scores, es.weights)
	}
	noise.Sum(r, es.weights, -1/float64(es.cfg.Population), es.std, es.gradient, nil)
	es.optimizer.Step(r, es.gradient)
}
