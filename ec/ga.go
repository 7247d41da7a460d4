package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// GAConfig are the settings of the genetic algorithm.
type GAConfig struct {
	Population int     `min:"1" max:"524288" doc:"Children per generation, N."`
	EliteRatio float64 `above:"0" max:"1" doc:"Fraction of the population that becomes parents, at least one."`
	Plus       bool    `doc:"Parents compete with their children to survive; otherwise they die."`
	Tournament int     `min:"1" max:"64" doc:"Size of the tournaments in which parents are chosen; 1: all parents are equally likely."`
	Elites     int     `min:"0" max:"524287" doc:"Best candidates that enter the next generation unchanged and are evaluated again; not with plus."`
	InitialStd float64 `min:"0" doc:"Deviation of the initial parents from the start, without bounds."`

	IndependentStart bool `doc:"The first generation is of independent starts, such as random networks; otherwise parents are around one start."`
	VariationConfig
}

// DefaultGA is EvoJAX's SimpleGA (Y. Tang et al., 2022), which is evosax's (R. T. Lange, 2022) without crossover: the
// better half become parents, and children are parents plus noise.
func DefaultGA() GAConfig {
	return GAConfig{Population: 128, EliteRatio: 0.5, Tournament: 1, VariationConfig: GaussianVariation()}
}

// RealCodedGA is the genetic algorithm of K. Deb: binary tournaments, SBX and polynomial mutation; the best of
// parents and children survive. Its settings are pymoo's (J. Blank, K. Deb, 2020).
func RealCodedGA() GAConfig {
	return GAConfig{Population: 100, EliteRatio: 1, Plus: true, Tournament: 2, InitialStd: 1, VariationConfig: RealCodedVariation()}
}

// Validate checks constraints across fields.
func (c GAConfig) Validate() error {
	switch parents := c.parents(); {
	case c.Elites > 0 && c.Plus:
		return config.Invalid("elites", "parents that compete with their children are not evaluated again; want 0, or plus = false")
	case c.Elites > parents || c.Elites >= c.Population:
		return config.Invalid("elites", "%d of %d parents and %d candidates; want at most the parents, and fewer than candidates", c.Elites, parents, c.Population)
	case c.IndependentStart && parents < c.Population:
		return config.Invalid("independent_start", "a first generation of %d parents for %d candidates; want elite_ratio = 1, or false", parents, c.Population)
	}
	return c.VariationConfig.validate()
}

// parents returns the number of parents.
func (c GAConfig) parents() int { return max(1, int(c.EliteRatio*float64(c.Population))) }

// Name implements Algorithm.
func (c GAConfig) Name() string { return "ga" }

// ga is a genetic algorithm with truncation selection. Children are not stored: they are formed again from parents
// and counters wherever they are needed.
type ga struct {
	cfg       GAConfig
	clock     engine.Clock
	elites    *population    // [M, E, row]: the parents, the best first
	next      *engine.Tensor // [M, E, row]
	survivors *survivors
	variation *Variation
	mating    Tournament
	parents   *engine.Tensor // [M, N or N + 1] u32
	best      *engine.Tensor // [M, row]: the first parent
}

// New implements Algorithm.
func (c GAConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	elites := c.parents()
	b := newBounds(s, space)
	g := &ga{
		cfg: c, clock: clock, elites: newPopulation(s, "elites", b, elites, c.InitialStd), survivors: newSurvivors(s, space.Members, elites,
			c.Population, c.Plus),
		variation: newVariation(s, c.VariationConfig, clock, hyper, b), mating: Tournament{Size: c.Tournament, Stream: s.Stream("mating")},
		parents: s.Scratch("parents", engine.Uint32, engine.Members(space.Members), candidates((c.Population+1)/2*2)), best: space.Tensor(s, "best"),
	}
	g.variation.elites, g.variation.beginAsIs = c.Elites, c.IndependentStart
	g.next = s.Scratch("next", engine.Float32, g.elites.rows.Dims()...)
	return g, s.Err()
}

func (g *ga) Population() int          { return g.cfg.Population }
func (g *ga) Solution() *engine.Tensor { return g.best }

func (g *ga) Founders() int {
	if g.cfg.IndependentStart {
		return g.elites.size
	}
	return 1
}

// Init implements Strategy: the first parents have no fitness, so that every child ranks before them.
func (g *ga) Init(ctx context.Context, start []float32) error {
	space := g.elites.space
	if rows := space.Pad(start); g.cfg.IndependentStart {
		if err := g.elites.rows.WriteFloat32(ctx, rows); err != nil {
			return err
		}
		start = space.first(start, g.Founders())
	} else if err := g.elites.init(ctx, start); err != nil {
		return err
	}
	if err := g.best.WriteFloat32(ctx, space.Pad(start)); err != nil {
		return err
	}
	return g.survivors.fitness.Fill(ctx, notEvaluated)
}

// Ask implements Strategy: parents are chosen.
func (g *ga) Ask(r *engine.Recorder) {
	g.mating.Select(r, g.clock, nil, g.elites.size, nil, g.parents)
}

func (g *ga) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	g.variation.Offspring(r, g.elites.rows, g.parents, pick, 0, into)
}

// Tell implements Strategy: the best become parents.
func (g *ga) Tell(r *engine.Recorder, scores Scores) {
	g.survivors.record(r, scores.Fitness)
	g.variation.Offspring(r, g.elites.rows, g.parents, Pick{Index: g.survivors.order}, g.elites.size, g.next)
	g.succeed(r)
}

// TellCandidates implements CandidateStrategy: the children are the given candidates.
func (g *ga) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	g.survivors.record(r, scores.Fitness)
	g.elites.space.pickEither(r, g.elites.rows, injected.Candidates, Pick{Index: g.survivors.order}, g.next)
	g.succeed(r)
}

// succeed records that the next parents replace the present ones.
func (g *ga) succeed(r *engine.Recorder) {
	r.Copy(g.elites.rows, g.next)
	g.elites.space.PickRows(r, g.elites.rows, Pick{}, g.best)
}
