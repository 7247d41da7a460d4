package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// NSGA2Config are the settings of NSGA-II.
type NSGA2Config struct {
	Population int     `min:"1" max:"16384" doc:"Candidates per generation, N, and the number of survivors."`
	Tournament int     `min:"1" max:"64" doc:"Size of the tournaments in which parents are chosen."`
	Twins      bool    `doc:"Candidates with equal objectives share a front, as in the paper; otherwise the later ones rank behind."`
	InitialStd float64 `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`
	VariationConfig
}

// DefaultNSGA2 has the settings of K. Deb et al., 2002, section IV: 100 candidates, SBX and polynomial mutation with
// distribution indices of 20. Ranking duplicates last replaces pymoo's elimination of duplicates (J. Blank, K. Deb,
// 2020).
func DefaultNSGA2() NSGA2Config {
	c := NSGA2Config{Population: 100, Tournament: 2, InitialStd: 1, VariationConfig: RealCodedVariation()}
	c.CrossoverIndex = 20
	return c
}

// Validate checks constraints across fields.
func (c NSGA2Config) Validate() error { return c.VariationConfig.validate() }

// Name implements Algorithm.
func (c NSGA2Config) Name() string { return "nsga-ii" }

// New implements Algorithm.
func (c NSGA2Config) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	base, err := newElitist(s, clock, hyper, space, c.Population, Tournament{Size: c.Tournament, Stream: s.Stream("mating"),
		Shuffled: true}, c.InitialStd, c.VariationConfig, c.Twins)
	if err != nil {
		return nil, err
	}
	return &nsga2{base}, s.Err()
}

// nsga2 is NSGA-II: K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, "A Fast and Elitist Multiobjective Genetic
// Algorithm: NSGA-II", 2002.
type nsga2 struct{ *elitist }

// Tell implements Strategy: it selects the best of parents and offspring by front, then by crowding distance (section
// III.C).
func (n *nsga2) Tell(r *engine.Recorder, scores Scores) {
	n.merged.record(r, n.objectives, scores.Objectives)
	n.merged.crowd(r)
	n.survive(r)
}

// elitist is the common part of multi-objective algorithms that keep the best of parents and offspring.
// Children are not stored: they are formed again from parents and counters wherever they are needed.
type elitist struct {
	clock      engine.Clock
	stored     *population    // [M, N, row]: in the order of survival
	objectives *engine.Tensor // [M, N, K]: their objectives
	next       *engine.Tensor // [M, N, row]
	merged     *merged
	variation  *Variation
	mating     Tournament
	parents    *engine.Tensor // [M, N or N + 1] u32
}

func newElitist(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space, size int, mating Tournament, std float64,
	variation VariationConfig, twins bool) (*elitist, error) {
	both, err := newMerged(s, space, size, size)
	if err != nil {
		return nil, err
	}
	both.twins = twins
	m, b := engine.Members(space.Members), newBounds(s, space)
	e := &elitist{
		clock: clock, stored: newPopulation(s, "population", b, size, std), merged: both, variation: newVariation(s, variation, clock,
			hyper, b), mating: mating,
		objectives: s.Tensor("objectives", engine.Float32, m, candidates(size), engine.Axis("objective", space.Objectives)),
		parents:    s.Scratch("parents", engine.Uint32, m, candidates((size+1)/2*2)),
	}
	e.variation.beginAsIs = true
	e.next = s.Scratch("next", engine.Float32, e.stored.rows.Dims()...)
	return e, nil
}

func (e *elitist) Population() int            { return e.stored.size }
func (e *elitist) Solution() *engine.Tensor   { return e.stored.rows }
func (e *elitist) Objectives() *engine.Tensor { return e.objectives }

// Init implements Strategy. The first generation evaluates the initial population, which ranks last until then.
func (e *elitist) Init(ctx context.Context, start []float32) error {
	return errors.Join(e.stored.init(ctx, start), e.objectives.Fill(ctx, -math.MaxFloat32))
}

// Ask implements Strategy: it records choosing the parents.
func (e *elitist) Ask(r *engine.Recorder) {
	e.mating.Select(r, e.clock, nil, e.stored.size, nil, e.parents)
}

func (e *elitist) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	e.variation.Offspring(r, e.stored.rows, e.parents, pick, 0, into)
}

// survive records that the candidates with the smallest keys become the population.
func (e *elitist) survive(r *engine.Recorder) {
	e.merged.survive(r, e.objectives)
	e.variation.Offspring(r, e.stored.rows, e.parents, Pick{Index: e.merged.order}, e.stored.size, e.next)
	r.Copy(e.stored.rows, e.next)
}
