package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// ArchiveConfig are the settings shared by both kinds of MAP-Elites.
type ArchiveConfig struct {
	Population int     `min:"1" max:"32768" doc:"Candidates per generation, N."`
	InitialStd float64 `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`

	IndependentStart bool `doc:"The first generation is of independent starts, such as random networks; otherwise of candidates around one start."`

	Worst float64 `doc:"Baseline of the quality-diversity score, which is the sum of the elites' fitness above it."`
	VariationConfig
}

// defaultArchive has the variation operator of V. Vassiliades, J.-B. Mouret, 2018.
func defaultArchive() ArchiveConfig {
	return ArchiveConfig{Population: 128, InitialStd: 1, VariationConfig: LineVariation()}
}

func (c ArchiveConfig) validate() error {
	return c.VariationConfig.validate()
}

// MAPElitesConfig are the settings of MAP-Elites.
type MAPElitesConfig struct {
	ArchiveConfig
	Cells []int `min:"1" max:"65536" doc:"Cells of the grid along each descriptor; one number: the same along all."`
}

// maxCells is the maximum number of cells of an archive.
const maxCells = 1 << 20

// DefaultMAPElites has QDax's grid of 50 cells along each descriptor (F. Chalumeau et al., 2023).
func DefaultMAPElites() MAPElitesConfig {
	return MAPElitesConfig{ArchiveConfig: defaultArchive(), Cells: []int{50}}
}

// Validate checks constraints across fields.
func (c MAPElitesConfig) Validate() error {
	if len(c.Cells) == 0 {
		return config.Invalid("cells", "no cells; want their number along each descriptor")
	}
	return c.validate()
}

// Name implements Algorithm.
func (c MAPElitesConfig) Name() string { return "map-elites" }

// New implements Algorithm.
func (c MAPElitesConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	b := len(space.DescriptorLow)
	if err := described(b); err != nil {
		return nil, err
	}
	if len(c.Cells) != 1 && len(c.Cells) != b {
		return nil, fmt.Errorf("ec: a grid of %d axes for %d descriptors; want one number of cells, or one per descriptor", len(c.Cells), b)
	}
	grid, total := make([]float32, 3*b), 1
	copy(grid, space.DescriptorLow)
	copy(grid[b:], space.DescriptorHigh)
	for i := range b {
		n := c.Cells[min(i, len(c.Cells)-1)]
		if total > maxCells/n {
			return nil,
				fmt.Errorf("ec: a grid of %v cells along each of %d descriptors; want at most %d cells in all, or cvt-map-elites",
					c.Cells, b, maxCells)
		}
		total *= n
		grid[2*b+i] = float32(n)
	}
	a := newArchive(c.ArchiveConfig, s, clock, hyper, space, total)
	a.grid = engine.Constant(s, "grid", func() []float32 { return grid }, engine.Axis("number", len(grid)))
	return a, s.Err()
}

func described(b int) error {
	if b == 0 {
		return errors.New("ec: the problem does not describe the behaviour of candidates, which MAP-Elites needs")
	}
	return nil
}

// archive is MAP-Elites: J.-B. Mouret, J. Clune, "Illuminating Search Spaces by Mapping Elites", 2015. The archive is
// the state. A generation's candidates are offspring of elites; each elite is equally likely to be a parent.
type archive struct {
	cfg        ArchiveConfig
	clock      engine.Clock
	bounds     *bounds
	cells      int            // K
	grid       *engine.Tensor // [3, B], a constant: low, high, cells; or the saved centroids [K, B], between 0 and 1
	centroids  bool
	rows       *engine.Tensor // [M, K, row]
	fitness    *engine.Tensor // [M, K]: NaN: the cell is empty
	behaviour  *engine.Tensor // [M, K, B]
	occupied   *engine.Tensor // [M, K] u32: indices of the cells that are not empty
	held       *engine.Tensor // [M] u32: their number
	start      *engine.Tensor // [M, row], of independent starts [M, N, row]
	mating     Tournament
	variation  *Variation
	parents    *engine.Tensor // [M, N or N + 1] u32
	offspring  *engine.Tensor // [M, N, row]
	cell       *engine.Tensor // [M, N] u32
	entered    *engine.Tensor // [M, N] u32: the cell that a candidate enters; K: none
	best       *engine.Tensor // [M, row]
	parts      [3]*engine.Tensor
	summary    *engine.Tensor // [3, M]
	descriptor int            // B
}

func newArchive(c ArchiveConfig, s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space, cells int) *archive {
	m, p, row, k := engine.Members(space.Members), candidates(c.Population), engine.Axis("parameter", space.Row()), engine.Axis("cell", cells)
	b := newBounds(s, space)
	starts := []engine.Dim{m, engine.Axis("parameter", space.Row())}
	if c.IndependentStart {
		starts = []engine.Dim{m, p, engine.Axis("parameter", space.Row())}
	}
	return &archive{
		cfg: c, clock: clock, bounds: b, cells: cells, descriptor: len(space.DescriptorLow),
		rows: s.Tensor("elites", engine.Float32, m, k, row), fitness: s.Tensor("fitness", engine.Float32, m, k),
		behaviour: s.Tensor("descriptor", engine.Float32, m, k, engine.Axis("descriptor", len(space.DescriptorLow))),
		occupied:  s.Tensor("occupied", engine.Uint32, m, k), held: s.Tensor("held", engine.Uint32, m), start: s.Tensor("start", engine.Float32, starts...),
		mating: Tournament{Size: 1, Stream: s.Stream("mating")}, variation: newVariation(s, c.VariationConfig, clock, hyper, b),
		parents:   s.Scratch("parents", engine.Uint32, m, candidates((c.Population+1)/2*2)),
		offspring: s.Scratch("offspring", engine.Float32, m, p, row), cell: s.Scratch("cell", engine.Uint32, m, p),
		entered: s.Scratch("entered", engine.Uint32, m, p),
		best:    space.Tensor(s, "best"), summary: s.Scratch("summary", engine.Float32, engine.Axis("summary", 3), m),
	}
}

func (a *archive) Population() int          { return a.cfg.Population }
func (a *archive) Solution() *engine.Tensor { return a.best }

func (a *archive) Founders() int {
	if a.cfg.IndependentStart {
		return a.cfg.Population
	}
	return 1
}

// Init implements Strategy: all cells are empty.
func (a *archive) Init(ctx context.Context, start []float32) error {
	space := a.bounds.space
	best := space.Pad(space.first(start, a.Founders()))
	return errors.Join(a.start.WriteFloat32(ctx, space.Pad(start)), a.best.WriteFloat32(ctx, best), a.fitness.Fill(ctx, notEvaluated))
}

// Ask implements Strategy: it records forming offspring of elites or, while the archive is empty, initial candidates.
func (a *archive) Ask(r *engine.Recorder) {
	a.mating.Select(r, a.clock, a.occupied, a.cells, a.held, a.parents)
	a.variation.Offspring(r, a.rows, a.parents, Pick{}, 0, a.offspring)
	recordInitial(r, a.bounds, a.start, a.cfg.InitialStd, a.clock, a.held, a.offspring)
}

func (a *archive) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	a.bounds.space.PickRows(r, a.offspring, pick, into)
}

// Tell implements Strategy: each candidate enters the cell of its descriptor if the cell is empty or the candidate is
// fitter than its elite.
func (a *archive) Tell(r *engine.Recorder, scores Scores) { a.enter(r, a.offspring, scores) }

// TellCandidates implements CandidateStrategy: the given candidates enter the archive.
func (a *archive) TellCandidates(r *engine.Recorder, injected Injection, scores Scores) {
	a.enter(r, injected.Candidates, scores)
}

// enter records entering candidates [M, N, row] into the archive.
func (a *archive) enter(r *engine.Recorder, candidates *engine.Tensor, scores Scores) {
	if scores.Descriptor == nil || scores.Fitness == nil {
		r.Fail(errors.New("ec: MAP-Elites was told no fitness or no descriptors; want both"))
		return
	}
	members, row, p := uint32(a.bounds.space.Members), a.bounds.space.Row(), uint32(a.cfg.Population)
	size, each := r.Invocations(a.cfg.Population)
	k := elitesCellKernel{
		Fitness: scores.Fitness.Range(), Descriptor: scores.Descriptor.Range(), Grid: a.grid.Range(), Cell: a.cell.Range(), Population: p,
		Cells: uint32(a.cells), Descriptors: uint32(a.descriptor), LocalSizeX: size,
	}
	if a.centroids {
		k.Centroids = true
	}
	r.Dispatch(k.call(each, members, 1))
	r.Dispatch(elitesEnterKernel{
		CandidateFitness: scores.Fitness.Range(), Rank: scores.Rank.Range(), Descriptor: scores.Descriptor.Range(), Cell: a.cell.Range(),
		Entered: a.entered.Range(), Fitness: a.fitness.Range(), Behaviour: a.behaviour.Range(), Population: p, Cells: uint32(a.cells),
		Descriptors: uint32(a.descriptor), LocalSizeX: size,
	}.call(each, members, 1))
	count := int(p) * row / 4
	groups := r.Share(int(members), count)
	r.Dispatch(elitesPlaceKernel{
		Cell: a.entered.Range(), Candidates: candidates.Range(), Archive: a.rows.Range(), Row: uint32(row), Population: p,
		Cells: uint32(a.cells), LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, members, 1))
	r.Dispatch(elitesListKernel{
		Fitness: a.fitness.Range(), Occupied: a.occupied.Range(), Held: a.held.Range(), Summary: a.summary.Range(),
		Cells: uint32(a.cells), Worst: float32(a.cfg.Worst), Workgroup: r.WorkgroupFor(2 * a.cells),
	}.call(members, 1, 1))
	r.Copy(a.best, scores.Fittest)
}

func (a *archive) Rows(m *engine.Metrics) func(*engine.Recorder) {
	for i, name := range []string{"archive/coverage", "archive/qd_score", "archive/fitness"} {
		a.parts[i] = m.Row(name)
	}
	return func(r *engine.Recorder) {
		for i, row := range a.parts {
			engine.Mean(r, row, a.summary.Index(i), nil, 1)
		}
	}
}

// Archive is a MAP-Elites archive on the device.
type Archive struct {
	Fitness    *engine.Tensor // [M, K]: NaN: the cell is empty
	Descriptor *engine.Tensor // [M, K, B]
	Elites     *engine.Tensor // [M, K, row]
	Occupied   *engine.Tensor // [M, K] u32: indices of the non-empty cells in ascending order; the rest is undefined
	Held       *engine.Tensor // [M] u32: their number
}

// Draw records drawing n elites per member, uniformly with replacement, into rows [M · n, row], and their cells into
// cells [M, n] u32. The archives must not be empty. stream is the stream of the random numbers.
func (a Archive) Draw(r *engine.Recorder, space Space, clock engine.Clock, stream uint32, cells, rows *engine.Tensor) {
	Tournament{Size: 1, Stream: stream}.Select(r, clock, a.Occupied, a.Occupied.Len()/space.Members, a.Held, cells)
	space.PickRows(r, a.Elites, Pick{Index: cells}, rows)
}

// Archiver is a Strategy that fills an archive: the strategy of MAP-Elites and CVT-MAP-Elites.
type Archiver interface {
	Archive() Archive
}

func (a *archive) Archive() Archive {
	return Archive{Fitness: a.fitness, Descriptor: a.behaviour, Elites: a.rows, Occupied: a.occupied, Held: a.held}
}
