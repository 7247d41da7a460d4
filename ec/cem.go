package ec

import (
	"context"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// CEMConfig are the settings of the cross-entropy method. Those marked "per member" are tensors on the device that
// PBT may vary.
type CEMConfig struct {
	Population         int     `min:"1" max:"1048576" doc:"Candidates per generation, N."`
	Elites             int     `min:"1" max:"1048576" doc:"Number of best candidates that the distribution is fitted to."`
	ExtraVariance      float64 `above:"0" doc:"Initial variance of the candidates, and initial addition to that of the elites, per member." member:""`
	FinalExtraVariance float64 `above:"0" doc:"Final addition to the variance of the elites, per member." member:""`
	ExtraVarianceDecay float64 `min:"0" below:"1" doc:"Decay rate of the addition towards its final value per generation, per member." member:""`
	DivideVariance     bool    `doc:"The elites' variance is divided by their number too, as in the code of CEM-RL's authors, not in their paper."`
	Mirrored           bool    `doc:"Candidates come in pairs with opposite noise."`
}

// DefaultCEM has the variances of EvoRL's CEM-RL and the population of its other searches (B. Zheng et al., 2025,
// table 3). Half of the population are elites (A. Pourchot, O. Sigaud, 2019, section 4.1).
func DefaultCEM() CEMConfig {
	return CEMConfig{Population: 128, Elites: 64, ExtraVariance: 1e-2, FinalExtraVariance: 1e-5, ExtraVarianceDecay: 1e-3}
}

// Validate checks constraints across fields.
func (c CEMConfig) Validate() error {
	if c.Mirrored {
		if err := checkPairs(c.Population); err != nil {
			return err
		}
	}
	return checkElites(c.Elites, c.Population)
}

// cem is the cross-entropy method with a diagonal covariance: A. Pourchot, O. Sigaud, "CEM-RL: Combining evolutionary
// and gradient-based methods for policy search", 2019, section 3.2.
type cem struct {
	cfg       CEMConfig
	space     Space
	clock     engine.Clock
	noise     *Noise
	mean      *engine.Tensor // [M, row]
	deviation *engine.Tensor // [M, row]
	extra     [3]*engine.Tensor
	utilities *engine.Tensor // [N]
	weights   *engine.Tensor // [M, N]
	first     *engine.Tensor // [splits, M, row]
	second    *engine.Tensor // [splits, M, row]
}

// Name implements Algorithm.
func (c CEMConfig) Name() string { return "cem" }

// New implements Algorithm.
func (c CEMConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	es := &cem{cfg: c, space: space, clock: clock, noise: NewNoise(s, clock, space, c.Population, c.Mirrored), mean: space.Tensor(s, "mean"),
		deviation: space.Tensor(s, "deviation")}
	es.extra = [3]*engine.Tensor{
		hyper.Add("extra_variance", c.ExtraVariance), hyper.Add("final_extra_variance", c.FinalExtraVariance),
		hyper.Add("extra_variance_decay", c.ExtraVarianceDecay),
	}
	// λ_i = ln((1 + K) / i) / Σ (footnote 1)
	es.utilities = rankWeights(s, logWeights(c.Population, c.Elites, float64(c.Elites)+1))
	es.weights = s.Scratch("weights", engine.Float32, engine.Members(space.Members), candidates(c.Population))
	es.first, es.second = es.noise.Sums(s, "first_sums"), es.noise.Sums(s, "second_sums")
	return es, s.Err()
}

func (es *cem) Population() int          { return es.cfg.Population }
func (es *cem) Solution() *engine.Tensor { return es.mean }

func (es *cem) Init(ctx context.Context, start []float32) error {
	if err := es.deviation.Fill(ctx, float32(math.Sqrt(es.cfg.ExtraVariance))); err != nil {
		return err
	}
	return es.mean.WriteFloat32(ctx, es.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on mean and deviations only.
func (es *cem) Ask(*engine.Recorder) {}

// Candidates implements Strategy: N(μ, Σ).
func (es *cem) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	es.noise.Candidates(r, es.mean, es.deviation, pick, into)
}

// Tell implements Strategy: μ' = Σ λ z and Σ' = Σ λ (z − μ)² + ε over the elites z, where μ is the old mean
// (equations 1, 2); DivideVariance divides the sum by the number of elites. After g generations, ε = final + (first − final) (1 − decay)^g.
func (es *cem) Tell(r *engine.Recorder, scores Scores) { es.learn(r, scores, es.noise) }

// TellCandidates implements CandidateStrategy: z are the given candidates, as in CEM-RL (algorithm 1).
func (es *cem) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	es.learn(r, scores, es.noise.Of(r, injected, es.mean, es.deviation, 0))
}

func (es *cem) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	Utilities(r, scores, es.utilities, es.weights)
	noise.Sum(r, es.weights, 1, nil, es.first, es.second)
	divisor := uint32(1)
	if es.cfg.DivideVariance {
		divisor = uint32(es.cfg.Elites)
	}
	d := es.space.diagonal(r, es.first)
	r.Dispatch(cemKernel{
		First: es.first.Range(), Second: es.second.Range(), Mean: es.mean.Range(),
		Deviation: es.deviation.Range(), Clock: es.clock.Tensor().Range(),
		Extra: es.extra[0].Range(), FinalExtra: es.extra[1].Range(), Decay: es.extra[2].Range(), Splits: d.splits, Row: d.row, Divisor: divisor, LocalSizeX: d.size,
	}.call(d.groups, d.members, 1))
}
