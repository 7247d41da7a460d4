package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// NSGA3Config are the settings of NSGA-III.
type NSGA3Config struct {
	ReferenceConfig
	Twins      bool    `doc:"Candidates with equal objectives share a front, as in the paper; otherwise the later ones rank behind."`
	InitialStd float64 `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`
	VariationConfig
}

// DefaultNSGA3 has the settings of K. Deb, H. Jain, 2014, section V, for three objectives: 92 candidates and 91
// reference points, SBX of every pair with a distribution index of 30, and polynomial mutation with one of 20.
// Ranking duplicates last replaces pymoo's elimination of duplicates (J. Blank, K. Deb, 2020).
func DefaultNSGA3() NSGA3Config {
	c := NSGA3Config{ReferenceConfig: ReferenceConfig{Population: 92}, InitialStd: 1, VariationConfig: RealCodedVariation()}
	c.CrossoverRate, c.CrossoverIndex = 1, 30
	return c
}

// Validate checks constraints across fields.
func (c NSGA3Config) Validate() error {
	return errors.Join(c.ReferenceConfig.validate(), c.VariationConfig.validate())
}

// Name implements Algorithm.
func (c NSGA3Config) Name() string { return "nsga-iii" }

// New implements Algorithm.
func (c NSGA3Config) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	// Parents are chosen at random (section IV.F).
	base, err := newElitist(s, clock, hyper, space, c.Population, Tournament{Size: 1, Stream: s.Stream("mating"), Shuffled: true},
		c.InitialStd, c.VariationConfig, c.Twins)
	if err != nil {
		return nil, err
	}
	points, err := c.points(space.Objectives)
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		norm := 0.0
		for _, v := range point {
			norm += v * v
		}
		for k := range point {
			point[k] /= math.Sqrt(norm)
		}
	}
	m, k, fours := engine.Members(space.Members), space.Objectives, int(base.merged.fours())
	objective := engine.Axis("objective", k)
	return &nsga3{
		elitist: base, points: points,
		ideal:   s.Tensor("ideal", engine.Float32, m, objective),
		worst:   s.Tensor("worst", engine.Float32, m, objective),
		extreme: s.Tensor("extreme", engine.Float32, m, engine.Axis("axis", k), objective),
		lines:   engine.Constant(s, "lines", func() []float32 { return pad4(points) }, engine.Axis("line", len(points)), engine.Axis("objective", 4*fours)),
		origin:  s.Scratch("origin", engine.Float32, m, engine.Axis("objective", 4*fours)),
		inverse: s.Scratch("inverse_range", engine.Float32, m, engine.Axis("objective", 4*fours)),
		niche:   s.Scratch("niche", engine.Uint32, base.merged.key.Dims()...),
	}, s.Err()
}

// nsga3 is NSGA-III: K. Deb, H. Jain, "An Evolutionary Many-Objective Optimization Algorithm Using
// Reference-Point-Based Nondominated Sorting Approach, Part I", 2014.
type nsga3 struct {
	*elitist
	points          [][]float64    // [H][K], of length 1: the directions of the reference lines
	lines           *engine.Tensor // [H, vec4s · 4]: points as kernels read them
	ideal, worst    *engine.Tensor // [M, K]: over all generations
	extreme         *engine.Tensor // [M, K, K]: extreme points; NaN before the first
	origin, inverse *engine.Tensor // [M, vec4s · 4]: the ideal point, 1 / range
	niche           *engine.Tensor // [M, N, 4] u32
}

func (n *nsga3) Init(ctx context.Context, start []float32) error {
	return errors.Join(
		n.elitist.Init(ctx, start), n.ideal.Fill(ctx, -math.MaxFloat32), n.worst.Fill(ctx, math.MaxFloat32), n.extreme.Fill(ctx, float32(math.NaN())),
	)
}

// Tell implements Strategy: it selects the best fronts of parents and offspring; from the front that does not fit as
// a whole, the candidates on the least crowded reference lines (algorithms 1 to 4).
func (n *nsga3) Tell(r *engine.Recorder, scores Scores) {
	c, members := n.merged, uint32(n.merged.space.Members)
	groups, size := c.groups(r)
	c.record(r, n.objectives, scores.Objectives)
	r.Dispatch(nsga3NormalizeKernel{
		Merged: c.objectives.Range(), Front: c.front.Range(), Ideal: n.ideal.Range(), Worst: n.worst.Range(),
		Extreme: n.extreme.Range(), Inverse: n.inverse.Range(), Origin: n.origin.Range(), Candidates: uint32(c.size()), Fours: c.fours(),
		K: uint32(c.space.Objectives), Workgroup: r.WorkgroupFor(c.size() * c.space.Objectives * (c.space.Objectives + 1) / 16),
	}.call(members, 1, 1))
	r.Dispatch(nsga3AssociateKernel{
		Merged: c.objectives.Range(), Front: c.front.Range(), Divided: c.divided.Range(), Inverse: n.inverse.Range(),
		Origin: n.origin.Range(), Lines: n.lines.Range(), Clock: n.clock.Tensor().Range(), Niche: n.niche.Range(),
		Seed: r.Engine().Seed(), Stream: n.stored.scope.Stream("niche"), Candidates: uint32(c.size()), References: uint32(len(n.points)),
		Fours: c.fours(), LocalSizeX: size,
	}.call(groups, members, 1))
	r.Dispatch(nsga3NicheKernel{
		Front: c.front.Range(), Niche: n.niche.Range(), Clock: n.clock.Tensor().Range(), Key: c.key.Range(),
		Seed: r.Engine().Seed(), Stream: n.stored.scope.Stream("niche_turn"), Candidates: uint32(c.size()), LocalSizeX: size,
	}.call(groups, members, 1))
	n.survive(r)
}
