package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// PGPEConfig are the settings of PGPE. Those marked "per member" are tensors on the device that PBT may vary.
type PGPEConfig struct {
	Population    int        `min:"2" max:"1048576" doc:"Candidates per generation, N: an even number, two per direction."`
	LearningRate  float64    `min:"0" doc:"Step size of the mean, per member." member:""`
	DeviationRate float64    `min:"0" doc:"Step size of the deviations, per member." member:""`
	InitStd       float64    `above:"0" doc:"Deviation of the initial candidates from their mean."`
	MaxChange     float64    `above:"0" below:"1" doc:"Largest relative change of a deviation per generation, per member." member:""`
	Optimizer     optim.Rule `doc:"Optimizer of the mean: sgd, rmsprop, adam, adamw, clipup."`
	// CorrectionInterval is EvoJAX's center_lr_decay_steps: its PGPE gives the optimizer the generation divided by this number as the number of the update.
	// After hundreds of generations a step of Adam is then a third to a sixth as long as the learning rate says.
	CorrectionInterval int `min:"0" max:"1000000" doc:"Generations that Adam's bias corrections count as one: 1000 in EvoJAX's code, for shorter steps; 0 is 1."`

	Shaping Shaping `doc:"Transformation of fitness into weights: raw, centered_rank, standardize, normalize."`
	Rank    int     `min:"0" max:"32" doc:"Candidates differ from the mean by matrices of this rank (EGGROLL); 0: in every parameter."`
}

// DefaultPGPE has the settings of EvoJAX's PGPE with ClipUp (Y. Tang et al., 2022), with the population of its
// cart-pole example.
func DefaultPGPE() PGPEConfig {
	return PGPEConfig{Population: 64, LearningRate: 0.15, DeviationRate: 0.1, InitStd: 0.1, MaxChange: 0.2, Optimizer: optim.ClipUp,
		CorrectionInterval: 1, Shaping: CenteredRank}
}

// Validate checks constraints across fields.
func (c PGPEConfig) Validate() error {
	if c.Shaping == Grouped {
		return config.Invalid("shaping", "grouped is for openes; want raw, centered_rank, standardize or normalize")
	}
	if c.CorrectionInterval > 1 && c.Optimizer != optim.Adam && c.Optimizer != optim.AdamW {
		return config.Invalid("correction_interval", "optimizer %v has no bias corrections; want 1, or adam or adamw", c.Optimizer)
	}
	return checkPairs(c.Population)
}

func (c PGPEConfig) rank() int { return c.Rank }

// Check checks the settings against a space of candidates. It needs no device.
func (c PGPEConfig) Check(space Space) error { return checkRank(c.Rank, space) }

// pgpe is policy gradients with parameter-based exploration and symmetric sampling: F. Sehnke et al.,
// "Parameter-exploring policy gradients", 2010, section 3, with the optimizer of N. E. Toklu, P. Liskowski, R. K.
// Srivastava, "ClipUp: A Simple and Powerful Optimizer for Distribution-based Policy Evolution", 2020. With a rank, ε
// has low rank in every matrix (Noise.UseRank), all elements of which share a deviation: its gradient is the mean of theirs.
type pgpe struct {
	perturbed // std: [M, row]
	cfg       PGPEConfig
	space     Space
	rate      *engine.Tensor // [M]: learning rate of the deviations
	change    *engine.Tensor // [M]
	optimizer *optim.Optimizer
	weights   *engine.Tensor // [M, N]
	first     *engine.Tensor // [splits, M, row]
	second    *engine.Tensor // [splits, M, row]
	gradient  *engine.Tensor // [M, row]
}

// Name implements Algorithm.
func (c PGPEConfig) Name() string { return "pgpe" }

// New implements Algorithm.
func (c PGPEConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	p := &pgpe{cfg: c, space: space, perturbed: perturbed{noise: NewNoise(s, clock, space, c.Population, true), std: space.Tensor(s, "deviation")}}
	rule := optim.Default(c.Optimizer)
	rule.CorrectionInterval = c.CorrectionInterval
	p.optimizer = optim.New(s, rule, hyper.Add("learning_rate", c.LearningRate), space.Row())
	p.mean = p.optimizer.Params()
	if err := p.noise.useRankAndSquares(s, c.Rank); err != nil {
		return nil, err
	}
	p.rate, p.change = hyper.Add("deviation_rate", c.DeviationRate), hyper.Add("max_change", c.MaxChange)
	p.weights = s.Scratch("weights", engine.Float32, engine.Members(space.Members), candidates(c.Population))
	p.first, p.second = p.noise.Sums(s, "first_sums"), p.noise.Sums(s, "second_sums")
	p.gradient = s.Scratch("gradient", engine.Float32, p.optimizer.Params().Dims()...)
	return p, s.Err()
}

func (p *pgpe) Population() int          { return p.cfg.Population }
func (p *pgpe) Solution() *engine.Tensor { return p.optimizer.Params() }

func (p *pgpe) Init(ctx context.Context, start []float32) error {
	if err := p.std.Fill(ctx, float32(p.cfg.InitStd)); err != nil {
		return err
	}
	return p.optimizer.Params().WriteFloat32(ctx, p.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates depend on mean and deviations only.
func (p *pgpe) Ask(*engine.Recorder) {}

// Candidates implements Strategy: μ + ε and μ − ε, where ε has deviations σ.
func (p *pgpe) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	p.noise.Candidates(r, p.optimizer.Params(), p.std, pick, into)
}

// Tell implements Strategy: the gradients over the N/2 directions, where b is the mean fitness,
//
//	∇μ = 2/N Σ (F(+) − F(−))/2 ε                        (F. Sehnke et al., 2010, equation 17)
//	∇σ = 2/N Σ ((F(+) + F(−))/2 − b) (ε² − σ²)/σ        (equation 18)
func (p *pgpe) Tell(r *engine.Recorder, scores Scores) { p.learn(r, scores, p.noise) }

// TellCandidates implements CandidateStrategy: the sums are over single candidates, mirrored or not.
func (p *pgpe) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	p.learn(r, scores, p.noise.Of(r, injected, p.optimizer.Params(), p.std, 0))
}

func (p *pgpe) learn(r *engine.Recorder, scores Scores, noise *Noise) {
	p.cfg.Shaping.Advantages(r, scores, p.weights)
	noise.Sum(r, p.weights, 1/float64(p.cfg.Population), nil, p.first, p.second)
	d := p.space.diagonal(r, p.first)
	r.Dispatch(pgpeKernel{
		First: p.first.Range(), Second: p.second.Range(), Deviation: p.std.Range(),
		DeviationRate: p.rate.Range(), MaxChange: p.change.Range(), Gradient: p.gradient.Range(),
		Splits: d.splits, Row: d.row, LocalSizeX: d.size,
	}.call(d.groups, d.members, 1))
	p.optimizer.Step(r, p.gradient)
}
