package ec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Decomposition is the scalarizing function of MOEA/D, which turns several objectives into one value. The numbers are as
// in shaders/ec/moead_update.comp.
type Decomposition uint32

const (
	Tchebycheff Decomposition = iota // the largest weighted loss relative to the ideal point
	PBI                              // penalty-based boundary intersection: the loss along the weights' direction plus a penalty times the distance from it
)

var decompositionNames = []string{"tchebycheff", "pbi"}

// UnmarshalText parses a decomposition's name: tchebycheff or pbi.
func (d *Decomposition) UnmarshalText(text []byte) error {
	return config.UnmarshalName(d, "decomposition", decompositionNames, text)
}

// MarshalText returns a decomposition's name.
func (d Decomposition) MarshalText() ([]byte, error) {
	return config.MarshalName(d, "decomposition", decompositionNames)
}

// MOEADConfig are the settings of MOEA/D.
type MOEADConfig struct {
	ReferenceConfig
	Neighbors     int           `min:"2" max:"16384" doc:"Neighbours of a subproblem, which exchange solutions: those with the nearest weights, itself included."`
	Decomposition Decomposition `doc:"Scalarizing function that a subproblem minimises: tchebycheff, pbi."`
	Penalty       float64       `min:"0" doc:"Penalty weight of the distance from the direction, of pbi."`
	InitialStd    float64       `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`
	VariationConfig
}

// DefaultMOEAD has the settings of Q. Zhang, H. Li, 2007, section V.B: Tchebycheff, 100 subproblems with 20
// neighbours, SBX of every pair and polynomial mutation with distribution indices of 20. With three objectives there
// are 91 subproblems.
func DefaultMOEAD() MOEADConfig {
	c := MOEADConfig{ReferenceConfig: ReferenceConfig{Population: 100}, Neighbors: 20, Penalty: 5, InitialStd: 1, VariationConfig: RealCodedVariation()}
	c.CrossoverRate, c.CrossoverIndex = 1, 20
	return c
}

// Validate checks constraints across fields.
func (c MOEADConfig) Validate() error {
	return errors.Join(c.ReferenceConfig.validate(), c.VariationConfig.validate())
}

// Name implements Algorithm.
func (c MOEADConfig) Name() string { return "moead" }

// New implements Algorithm.
func (c MOEADConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	if k := space.Objectives; k < 2 || k > maxObjectives {
		return nil, fmt.Errorf("the problem has %d objectives; want 2 to %d", k, maxObjectives)
	}
	weights, err := c.points(space.Objectives)
	if err != nil {
		return nil, err
	}
	size := len(weights)
	near := neighbors(weights, min(c.Neighbors, size))
	m, b := engine.Members(space.Members), newBounds(s, space)
	objective := engine.Axis("objective", space.Objectives)
	d := &moead{
		cfg: c, clock: clock, weights: weights, near: near, readers: readers(near),
		stored: newPopulation(s, "population", b, size, c.InitialStd), variation: newVariation(s, c.VariationConfig, clock, hyper, b),
		objectives: s.Tensor("objectives", engine.Float32, m, candidates(size), objective),
		ideal:      s.Tensor("ideal", engine.Float32, m, objective),
		parents:    s.Scratch("parents", engine.Uint32, m, candidates(2*size)),
		order:      s.Scratch("order", engine.Uint32, m, candidates(size)),
		weight: engine.Constant(s, "weights", func() []float32 { return pad4(weights) }, candidates(size), engine.Axis("objective",
			(space.Objectives+3)/4*4)),
		neighbor: engine.Constant(s, "neighbors", func() []uint32 { return concatenate(near) }, candidates(size), engine.Axis("neighbor", len(near[0]))),
	}
	d.variation.beginAsIs, d.variation.oneChild = true, true
	d.next = s.Scratch("next", engine.Float32, d.stored.rows.Dims()...)
	d.reader = engine.Constant(s, "readers", func() []uint32 { return d.readers }, engine.Axis("entry", len(d.readers)))
	return d, s.Err()
}

// moead is MOEA/D: Q. Zhang, H. Li, "MOEA/D: A Multiobjective Evolutionary Algorithm Based on Decomposition", 2007.
// In the paper each child may become a parent of the next one. Here all children of a generation are formed from the
// same parents, and then replace solutions in the paper's order.
type moead struct {
	cfg        MOEADConfig
	clock      engine.Clock
	weights    [][]float64 // [N][K]
	near       [][]int     // [N][T]: the subproblems with the nearest weights, nearest first
	readers    []uint32    // for every subproblem, those that have it as a neighbour: N + 1 offsets, then the lists
	stored     *population
	objectives *engine.Tensor // [M, N, K]
	ideal      *engine.Tensor // [M, K]
	next       *engine.Tensor // [M, N, row]
	variation  *Variation
	parents    *engine.Tensor // [M, 2 N] u32
	order      *engine.Tensor // [M, N] u32: index of the solution that each subproblem takes; N + c for child c
	weight     *engine.Tensor // [N, vec4s · 4]
	neighbor   *engine.Tensor // [N, T] u32
	reader     *engine.Tensor // u32: readers
}

// neighbors returns the nearest points of each point by Euclidean distance, ties in the order of the points.
func neighbors(points [][]float64, count int) [][]int {
	out := make([][]int, len(points))
	for i, p := range points {
		distance := make([]float64, len(points))
		order := make([]int, len(points))
		for j, q := range points {
			order[j] = j
			for k := range p {
				distance[j] += (p[k] - q[k]) * (p[k] - q[k])
			}
			distance[j] = math.Round(distance[j] * 1e9) // so that rounding decides no ties
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
		out[i] = order[:count]
	}
	return out
}

// readers inverts lists of neighbours: out[out[i]] to out[out[i + 1] - 1] are those that have i as a neighbour, in
// their order.
func readers(near [][]int) []uint32 {
	lists := make([][]uint32, len(near))
	for j, list := range near {
		for _, i := range list {
			lists[i] = append(lists[i], uint32(j))
		}
	}
	out := make([]uint32, len(near)+1)
	for i, list := range lists {
		out[i] = uint32(len(out))
		out = append(out, list...)
	}
	out[len(near)] = uint32(len(out))
	return out
}

// concatenate joins lists.
func concatenate(lists [][]int) (all []uint32) {
	for _, list := range lists {
		for _, i := range list {
			all = append(all, uint32(i))
		}
	}
	return all
}

func (d *moead) Population() int            { return d.stored.size }
func (d *moead) Solution() *engine.Tensor   { return d.stored.rows }
func (d *moead) Objectives() *engine.Tensor { return d.objectives }

// Init implements Strategy (step 1). The first generation evaluates the initial population.
func (d *moead) Init(ctx context.Context, start []float32) error {
	return errors.Join(d.stored.init(ctx, start), d.objectives.Fill(ctx, -math.MaxFloat32), d.ideal.Fill(ctx, -math.MaxFloat32))
}

// Ask implements Strategy: it records choosing two parents of every child among its subproblem's neighbours (step
// 2.1).
func (d *moead) Ask(r *engine.Recorder) {
	size, groups := r.Invocations(d.stored.size)
	r.Dispatch(moeadMateKernel{
		Neighbor: d.neighbor.Range(), Clock: d.clock.Tensor().Range(), Parent: d.parents.Range(), Seed: r.Engine().Seed(),
		Stream:     d.stored.scope.Stream("mating"),
		Population: uint32(d.stored.size), Neighbors: uint32(len(d.near[0])), LocalSizeX: size,
	}.call(groups, uint32(d.stored.space.Members), 1))
}

func (d *moead) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	d.variation.Offspring(r, d.stored.rows, d.parents, pick, 0, into)
}

// Tell implements Strategy: it records the ideal point, then which child each subproblem takes (steps 2.3 and 2.4).
func (d *moead) Tell(r *engine.Recorder, scores Scores) {
	n, members, objectives := uint32(d.stored.size), d.stored.space.Members, d.stored.space.Objectives
	r.Dispatch(moeadIdealKernel{
		Children: scores.Objectives.Range(), Ideal: d.ideal.Range(), Population: n, Objective: uint32(objectives),
		Workgroup: r.WorkgroupFor(int(n)),
	}.call(uint32(objectives), uint32(members), 1))
	size, groups := r.Invocations(d.stored.size)
	r.Dispatch(moeadUpdateKernel{
		Children: scores.Objectives.Range(), Own: d.objectives.Range(), Ideal: d.ideal.Range(), Weight: d.weight.Range(),
		Reader: d.reader.Range(), Clock: d.clock.Tensor().Range(), Order: d.order.Range(), Population: n, Objective: uint32(objectives),
		Penalty: float32(d.cfg.Penalty), Decomposition: uint32(d.cfg.Decomposition), Fours: uint32((objectives + 3) / 4), LocalSizeX: size,
	}.call(groups, uint32(members), 1))
	d.variation.Offspring(r, d.stored.rows, d.parents, Pick{Index: d.order}, d.stored.size, d.next)
	r.Copy(d.stored.rows, d.next)
}
