package ec

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Base is the base vector that differences are added to: x_base + F (x_to - x_from). The numbers are as in
// shaders/ec/de_choose.comp.
type Base uint32

const (
	Rand           Base = iota // a random candidate
	BestBase                   // the best candidate
	CurrentToBest              // the candidate to be replaced, moved towards the best
	RandToBest                 // a random candidate, moved towards the best
	currentToPBest             // SHADE's
)

var baseNames = []string{"rand", "best", "current_to_best", "rand_to_best"}

// UnmarshalText parses a base's name: rand, best, current_to_best or rand_to_best.
func (b *Base) UnmarshalText(text []byte) error {
	return config.UnmarshalName(b, "base", baseNames, text)
}

// MarshalText returns a base's name.
func (b Base) MarshalText() ([]byte, error) { return config.MarshalName(b, "base", baseNames) }

// DEConfig are the settings of differential evolution.
type DEConfig struct {
	Population    int     `min:"3" max:"1048576" doc:"Candidates per generation, N."`
	Base          Base    `doc:"Base vector that differences are added to: rand, best, current_to_best, rand_to_best."`
	Differences   int     `min:"1" max:"2" doc:"Differences of random candidates that are added."`
	Weight        float64 `min:"0" max:"2" doc:"Differential weight F, per member." member:""`
	CrossoverRate float64 `min:"0" max:"1" doc:"Probability CR that a coordinate is the mutant's, per member; one always is." member:""`
	InitialStd    float64 `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`
}

// DefaultDE is DE/rand/1/bin with EvoX's weights (B. Huang et al., 2024).
func DefaultDE() DEConfig {
	return DEConfig{Population: 100, Base: Rand, Differences: 1, Weight: 0.5, CrossoverRate: 0.9, InitialStd: 1}
}

// Validate checks constraints across fields.
func (c DEConfig) Validate() error {
	least := 1 + 2*c.Differences
	if c.Base == Rand || c.Base == RandToBest {
		least++
	}
	if c.Population < least {
		return config.Invalid("population", "%d candidates; %s with %d differences takes %d different ones", c.Population,
			baseNames[min(int(c.Base), len(baseNames)-1)], c.Differences, least)
	}
	return nil
}

// Name implements Algorithm.
func (c DEConfig) Name() string { return "de" }

// de is differential evolution: R. Storn, K. Price, "Differential Evolution - A Simple and Efficient Heuristic for
// Global Optimization over Continuous Spaces", 1997, with binomial crossover.
type de struct {
	*stored
	cfg          DEConfig
	clock        engine.Clock
	weight, rate *engine.Tensor // [M]; with a history [M, H]
	rank, order  *engine.Tensor // [M, N] u32
	index        *engine.Tensor // [M, N, 8] u32: see shaders/ec/de_choose.comp
	scale        *engine.Tensor // [M, N, 2]: F, CR
	trial        *engine.Tensor // [M, N, row]
	best         *engine.Tensor // [M, row]
	history      *history       // nil except for SHADE
}

// New implements Algorithm.
func (c DEConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	d := newDE(c, s, clock, space)
	d.weight, d.rate = hyper.Add("weight", c.Weight), hyper.Add("crossover_rate", c.CrossoverRate)
	return d, s.Err()
}

func newDE(c DEConfig, s *engine.State, clock engine.Clock, space Space) *de {
	m, p := engine.Members(space.Members), candidates(c.Population)
	return &de{
		cfg: c, clock: clock, stored: newStored(s, "population", newBounds(s, space), c.Population, c.InitialStd),
		rank: s.Scratch("rank", engine.Uint32, m, p), order: s.Scratch("order", engine.Uint32, m, p),
		index: s.Scratch("index", engine.Uint32, m, p, engine.Axis("choice", 8)), scale: s.Scratch("scale", engine.Float32, m, p, engine.Axis("scale", 2)),
		trial: s.Scratch("trial", engine.Float32, m, p, engine.Axis("parameter", space.Row())), best: space.Tensor(s, "best"),
	}
}

func (d *de) Population() int          { return d.cfg.Population }
func (d *de) Solution() *engine.Tensor { return d.best }

func (d *de) Init(ctx context.Context, start []float32) error {
	err := errors.Join(d.stored.init(ctx, start), d.best.WriteFloat32(ctx, d.space.Pad(start)))
	if d.history != nil {
		err = errors.Join(err, d.history.init(ctx))
	}
	return err
}

// Ask implements Strategy: mutation and crossover.
func (d *de) Ask(r *engine.Recorder) {
	engine.Rank(r, d.fitness, d.rank)
	engine.Order(r, d.rank, d.order)
	members, row := d.space.Members, d.space.Row()
	size, each := r.Invocations(d.size)
	choose := deChooseKernel{
		Order: d.order.Range(), Weight: d.weight.Range(), Rate: d.rate.Range(), Clock: d.clock.Tensor().Range(), Index: d.index.Range(),
		Scale: d.scale.Range(), Seed: r.Engine().Seed(), Stream: d.scope.Stream("de/choose"), Dim: uint32(d.space.Dim), Population: uint32(d.size),
		Differences: uint32(d.cfg.Differences), Base: uint32(d.cfg.Base), LocalSizeX: size,
	}
	trial := deTrialKernel{
		Population: d.rows.Range(), Index: d.index.Range(),
		Scale: d.scale.Range(), Fitness: d.fitness.Range(), Clock: d.clock.Tensor().Range(), Trial: d.trial.Range(), Low: d.low.Range(),
		High: d.high.Range(), Seed: r.Engine().Seed(), Stream: d.scope.Stream("de/crossover"), Dim: uint32(d.space.Dim),
		Size: uint32(d.size), Differences: uint32(d.cfg.Differences), Bounded: d.space.Bounded(), Open: d.space.Open,
	}
	if h := d.history; h != nil {
		choose.History, choose.Stored, choose.Memory, choose.Pbest = true, h.archived.Range(), uint32(h.memory), float32(h.pbest)
		trial.Archive = h.archive.Range()
	}
	r.Dispatch(choose.call(each, uint32(members), 1))
	count := d.size * row / 4
	groups := r.Share(members, count)
	trial.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(trial.call(groups, uint32(members), 1))
}

func (d *de) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	d.space.PickRows(r, d.trial, pick, into)
}

// Tell implements Strategy: selection.
func (d *de) Tell(r *engine.Recorder, scores Scores) { d.selection(r, d.trial, nil, scores) }

// TellCandidates implements CandidateStrategy: the trial vectors are the given candidates.
func (d *de) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	d.selection(r, injected.Candidates, injected.Changed, scores)
}

// selection records selection between each trial vector [M · N, row] and the candidate that it competes with. changed
// [M, N] may be nil.
func (d *de) selection(r *engine.Recorder, trial, changed *engine.Tensor, scores Scores) {
	d.compare(r, scores.Fitness)
	if d.history != nil {
		d.history.learn(r, d, changed)
		d.replace(r, trial, d.history.slot, d.history.archive)
	} else {
		d.replace(r, trial, nil, nil)
	}
	r.Copy(d.best, scores.Fittest)
}
