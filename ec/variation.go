package ec

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Crossover is a crossover operator of two parents. The numbers are as in shaders/ec/vary.comp.
type Crossover uint32

const (
	NoCrossover      Crossover = iota // a child is a copy of its first parent
	UniformCrossover                  // every coordinate is exchanged with a probability (G. Syswerda, 1989)
	OnePoint                          // all coordinates from one point on are exchanged (J. H. Holland, 1975)
	TwoPoint                          // all coordinates between two points are exchanged (K. A. De Jong, 1975)
	SBX                               // simulated binary crossover (K. Deb, R. B. Agrawal, 1995); with bounds as in K. Deb, S. Agrawal, 1999
	Line                              // a point on the line through both (V. Vassiliades, J.-B. Mouret, 2018)
	NeuronCrossover                   // both children get the same neurons of either parent (S. Khadka, K. Tumer, 2018, their code)
)

var crossoverNames = []string{"none", "uniform", "one_point", "two_point", "sbx", "line", "neurons"}

// UnmarshalText parses a crossover's name: none, uniform, one_point, two_point, sbx, line or neurons.
func (c *Crossover) UnmarshalText(text []byte) error {
	return config.UnmarshalName(c, "crossover", crossoverNames, text)
}

// MarshalText returns a crossover's name.
func (c Crossover) MarshalText() ([]byte, error) {
	return config.MarshalName(c, "crossover", crossoverNames)
}

// Mutation is a mutation operator. The numbers are as in shaders/ec/vary.comp.
type Mutation uint32

const (
	NoMutation         Mutation = iota
	GaussianMutation            // normal noise is added
	PolynomialMutation          // K. Deb, M. Goyal, 1996; with bounds as in K. Deb, S. Tiwari, 2008
	WeightMutation              // of weight matrices, relative to each weight: S. Khadka, K. Tumer, 2018, algorithm 3
	ShareMutation               // likewise, of a share of each matrix that is uniform up to the rate, as in their code
)

var mutationNames = []string{"none", "gaussian", "polynomial", "weights", "shares"}

// UnmarshalText parses a mutation's name: none, gaussian, polynomial, weights or shares.
func (m *Mutation) UnmarshalText(text []byte) error {
	return config.UnmarshalName(m, "mutation", mutationNames, text)
}

// MarshalText returns a mutation's name.
func (m Mutation) MarshalText() ([]byte, error) {
	return config.MarshalName(m, "mutation", mutationNames)
}

// VariationConfig defines how offspring are formed: two parents are crossed and have two children; each is
// mutated. Coordinates that leave closed bounds are clamped to them.
type VariationConfig struct {
	Crossover      Crossover `doc:"How parents are crossed: none, uniform, one_point, two_point, sbx, line, neurons (whole rows of weight matrices)."`
	CrossoverRate  float64   `min:"0" max:"1" doc:"Probability that a pair of parents is crossed, per member." member:""`
	ExchangeRate   float64   `min:"0" max:"1" doc:"Probability that a coordinate of a crossed pair is crossed, by uniform crossover and sbx."`
	CrossoverIndex float64   `min:"0" max:"1000" doc:"Distribution index of sbx: larger values keep children nearer to their parents."`
	LineStd        float64   `min:"0" doc:"Deviation, in distances of the parents, of a child on their line."`
	Mutation       Mutation  `doc:"How children are mutated: none, gaussian, polynomial, weights (of matrices only, relative to each), shares (up to the rate)."`
	MutationRate   float64   `min:"-1" max:"1" doc:"Probability that a coordinate is mutated, per member; -1: one coordinate per candidate on average." member:""`
	MutantRate     float64   `min:"0" max:"1" doc:"Probability that a child is mutated at all."`
	MutationLimit  float64   `above:"0" doc:"Largest size of a mutated weight, of weights and shares."`
	MutationStd    float64   `min:"0" doc:"Deviation of gaussian mutation, of weights relative to each; largest change by polynomial mutation." member:""`
	MutationIndex  float64   `min:"0" max:"1000" doc:"Distribution index of polynomial mutation: larger values make smaller changes."`
}

// GaussianVariation is the variation of simple genetic algorithms, by mutation only: evosax's (R. T. Lange, 2022) and
// EvoJAX's SimpleGA (Y. Tang et al., 2022), with EvoJAX's deviation. If a crossover is chosen, every pair is crossed and half
// of the coordinates are exchanged.
func GaussianVariation() VariationConfig {
	return VariationConfig{
		CrossoverRate: 1, ExchangeRate: 0.5, CrossoverIndex: 15, LineStd: 0.2, Mutation: GaussianMutation, MutationRate: 1,
		MutationStd: 0.01, MutationIndex: 20, MutantRate: 1, MutationLimit: 1e6,
	}
}

// RealCodedVariation is the variation of real-coded genetic algorithms: SBX, and polynomial mutation of one coordinate on
// average, with the indices of pymoo (J. Blank, K. Deb, 2020) and the rates of K. Deb et al., 2002.
func RealCodedVariation() VariationConfig {
	return VariationConfig{
		Crossover: SBX, CrossoverRate: 0.9, ExchangeRate: 0.5, CrossoverIndex: 15, LineStd: 0.2,
		Mutation: PolynomialMutation, MutationRate: -1, MutationStd: 1, MutationIndex: 20, MutantRate: 1, MutationLimit: 1e6,
	}
}

// LineVariation is the variation of V. Vassiliades, J.-B. Mouret, 2018 (section 4): a step along the line to another elite,
// plus noise in all directions. The deviation of the noise is for bounds 0 and 1.
func LineVariation() VariationConfig {
	c := GaussianVariation()
	c.Crossover = Line
	return c
}

// validate checks constraints across fields.
func (c VariationConfig) validate() error {
	if c.MutationRate < 0 && c.MutationRate != -1 {
		return config.Invalid("mutation_rate", "a probability of %g; want 0 to 1, or -1 for one number of a candidate on average", c.MutationRate)
	}
	return nil
}

// Variation applies a VariationConfig on the device.
type Variation struct {
	cfg                                      VariationConfig
	bounds                                   *bounds
	clock                                    engine.Clock
	crossoverStream, mutationStream          uint32
	crossoverRate, mutationRate, mutationStd *engine.Tensor // [M]
	beginAsIs                                bool           // in generation 0 the children are the unchanged population
	matrix                                   *engine.Tensor // [row] u32: Space.Matrices; nil: unused
	neuron                                   *engine.Tensor // [row] u32: Space.Neurons; nil: unused
	elites                                   int            // the first candidates of a generation are the population's, unchanged
	oneChild                                 bool           // parents 2 q and 2 q + 1 have one child, index q
}

func newVariation(s *engine.State, c VariationConfig, clock engine.Clock, hyper *engine.Hyper, b *bounds) *Variation {
	v := &Variation{
		cfg: c, bounds: b, clock: clock, crossoverStream: s.Stream("crossover"), mutationStream: s.Stream("mutation"),
		crossoverRate: hyper.Add("crossover_rate", c.CrossoverRate), mutationRate: hyper.Add("mutation_rate", c.MutationRate),
		mutationStd: hyper.Add("mutation_std", c.MutationStd),
	}
	padded := func(name string, of []uint32) *engine.Tensor {
		if of == nil {
			return nil
		}
		values := func() []uint32 { return append(slices.Clone(of), make([]uint32, b.space.Row()-len(of))...) }
		return engine.Constant(s, name, values, engine.Axis("parameter", b.space.Row()))
	}
	if c.Mutation == WeightMutation || c.Mutation == ShareMutation {
		v.matrix = padded("matrix", b.space.Matrices)
	}
	if c.Crossover == NeuronCrossover {
		v.neuron = padded("neuron", b.space.Neurons)
	}
	return v
}

// Offspring records forming offspring of a population [M, N, row] into [M, count, row]. parents u32 [M, ...] holds an
// even number of indices into the population; parents 2 q and 2 q + 1 have children 2 q and 2 q + 1. An index of pick
// below kept is a candidate of the population, unchanged; the generation's candidate c has index kept + c. The first
// elites of these are the population's, child c is candidate elites + c.
func (v *Variation) Offspring(r *engine.Recorder, population, parents *engine.Tensor, pick Pick, kept int, into *engine.Tensor) {
	space := v.bounds.space
	members, row := space.Members, space.Row()
	k := varyKernel{
		Population: population.Range(), Parent: parents.Range(), Clock: v.clock.Tensor().Range(),
		CrossoverRate: v.crossoverRate.Range(), MutationRate: v.mutationRate.Range(), MutationStd: v.mutationStd.Range(), Candidates: into.Range(),
		Low: v.bounds.low.Range(), High: v.bounds.high.Range(),
		Seed: r.Engine().Seed(), CrossoverStream: v.crossoverStream, MutationStream: v.mutationStream, Dim: uint32(space.Dim),
		Size: uint32(population.Len() / row / members), Parents: uint32(parents.Len() / members), Count: uint32(into.Len() / row / members),
		First: uint32(pick.First), Kept: uint32(kept), Elites: uint32(v.elites), ExchangeRate: float32(v.cfg.ExchangeRate),
		CrossoverIndex: float32(v.cfg.CrossoverIndex), LineStd: float32(v.cfg.LineStd),
		MutationIndex: float32(v.cfg.MutationIndex),
		MutantRate:    float32(v.cfg.MutantRate), MutationLimit: float32(v.cfg.MutationLimit),
		Crossover: uint32(v.cfg.Crossover), Mutation: uint32(v.cfg.Mutation), Bounded: space.Bounded(), Open: space.Open,
		BeginAsIs: v.beginAsIs, OneChild: v.oneChild,
	}
	if v.matrix != nil {
		k.Matrix = v.matrix.Range()
	}
	if v.neuron != nil {
		k.Neuron = v.neuron.Range()
	}
	if k.Parents%2 != 0 {
		r.Fail(fmt.Errorf("ec: %d parents; want an even number", k.Parents))
		return
	}
	if pick.Index != nil {
		k.Pick, k.Picks = pick.Index.Range(), uint32(pick.Index.Len()/members)
	}
	count := int(k.Count) * row / 4
	groups := r.Share(members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}
