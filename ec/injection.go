package ec

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine"
)

// CandidateStrategy is a Strategy that can be told candidates that it did not propose.
type CandidateStrategy interface {
	Strategy
	// TellCandidates records learning from a generation with some changed candidates. If none was changed, it does
	// what Tell does.
	TellCandidates(r *engine.Recorder, injected Injection, scores Scores)
}

// Injection is a generation with some candidates that were changed, or come from elsewhere.
type Injection struct {
	Candidates *engine.Tensor // [M · N, row]: the candidates that the fitness belongs to
	Changed    *engine.Tensor // [M, N] u32: 1 for changed candidates, else 0
	Proposed   *engine.Tensor // [M, N, row]: the strategy's own candidates; may be overwritten
}

// CandidatesError is the error of an algorithm that can be told only its own candidates.
type CandidatesError struct{ Algorithm string }

// CandidateAlgorithms returns the names of the single-objective algorithms with a CandidateStrategy. ArchiveAlgorithms
// has those that need descriptors.
func CandidateAlgorithms() []string {
	return []string{
		"openes", "vanilla-es", "pgpe", "snes", "cem", "cma-es", "sep-cma-es", "lm-ma-es", "cr-fm-nes", "ga", "de", "shade", "pso", "cso", "random-search",
	}
}

// ArchiveAlgorithms returns the names of the quality-diversity algorithms: their strategies are Archivers and
// CandidateStrategies.
func ArchiveAlgorithms() []string { return []string{"map-elites", "cvt-map-elites"} }

// Error implements error.
func (e *CandidatesError) Error() string {
	return fmt.Sprintf("ec: %s learns only from candidates that it proposed itself; those that can be told others are %s", e.Algorithm,
		strings.Join(CandidateAlgorithms(), ", "))
}

// compare records detecting which given candidates [M · N, row] are the strategy's own, and replacing those that are
// not finite.
func (g *Generation) compare(r *engine.Recorder, injected, fitness *engine.Tensor) Injection {
	dims := g.dims()
	of := Injection{
		Candidates: injected, Changed: g.state.Scratch("changed", engine.Uint32, dims...),
		Proposed: g.state.Scratch("proposed", engine.Float32, append(dims, engine.Axis("parameter", g.space.Row()))...),
	}
	g.Candidates(r, Pick{}, of.Proposed)
	row, count := g.space.Row(), g.space.Members*g.Population()
	r.Dispatch(changedKernel{
		Given: injected.Range(), Proposed: of.Proposed.Range(), Changed: of.Changed.Range(), Fitness: fitness.Range(),
		Count: uint32(count), Row: uint32(row), Workgroup: r.WorkgroupFor(row / 4),
	}.call(rowGroups(r, 1, count), 1, 1))
	return of
}

// Elites records finding the n best candidates of a generation by their fitness [M, N] and returns their indices [M,
// n] u32, best first. Fitness that is not finite is the worst.
func (g *Generation) Elites(r *engine.Recorder, fitness *engine.Tensor, n int) *engine.Tensor {
	return g.extremes(r, fitness, n, false)
}

// Worst records finding the n worst candidates and returns their indices [M, n] u32, worst first.
func (g *Generation) Worst(r *engine.Recorder, fitness *engine.Tensor, n int) *engine.Tensor {
	return g.extremes(r, fitness, n, true)
}

func (g *Generation) extremes(r *engine.Recorder, fitness *engine.Tensor, n int, worst bool) *engine.Tensor {
	members, population := g.space.Members, g.Population()
	index := g.state.Scratch("extremes", engine.Uint32, engine.Members(members), candidates(max(1, n)))
	if n < 1 || n > population || g.space.Objectives > 1 || fitness.Len() != members*population {
		r.Fail(fmt.Errorf("ec: %d of %d candidates by %v; want 1 to %d of them, and one value for each of %d members' candidates",
			n, population, fitness, population, members))
		return index
	}
	value, rank := g.state.Scratch("extremes/fitness", engine.Float32, g.dims()...), g.state.Scratch("extremes/rank", engine.Uint32, g.dims()...)
	size, groups := r.Invocations(fitness.Len())
	r.Dispatch(worthKernel{Fitness: fitness.Range(), Value: value.Range(), Count: uint32(fitness.Len()),
		LocalSizeX: size}.call(groups, 1, 1))
	engine.Rank(r, value, rank)
	size, groups = r.Invocations(population)
	r.Dispatch(extremesKernel{
		Rank: rank.Range(), Index: index.Range(), Population: uint32(population), Count: uint32(n), Worst: worst, LocalSizeX: size,
	}.call(groups, uint32(members), 1))
	return index
}

// Replace records replacing the rows of into [M, N, …], candidates or their fitness, at index [M, n] u32 by rows [M,
// n, …]. Indices must differ; an index of N or more replaces nothing. rows and into may also have the shapes [M · n,
// row] and [M · N, row].
func (g *Generation) Replace(r *engine.Recorder, into, index, rows *engine.Tensor) {
	members, population := g.space.Members, g.Population()
	n := index.Len() / members
	each := into.Len() / (members * population)
	if index.Len() != members*n || into.Len() != members*population*each || rows.Len() != members*n*each {
		r.Fail(fmt.Errorf("ec: replacing rows of %v at %v by %v; want rows of one length: [%d, %d] to be replaced, and one for each index",
			into, index, rows, members, population))
		return
	}
	count := n * each
	groups := r.Share(members, count)
	r.Dispatch(injectKernel{
		Index: index.Range(), Rows: rows.Range(), Into: into.Range(), Population: uint32(population), Count: uint32(n), Row: uint32(each),
		LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, uint32(members), 1))
}
