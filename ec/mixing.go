package ec

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Mixing is importance mixing: candidates of the previous generation become candidates of the new one, with their
// fitness, so that fewer are evaluated (A. Pourchot, N. Perrin, O. Sigaud, "Importance mixing: Improving sample reuse in
// evolutionary policy search methods", 2018, algorithm 1; Y. Sun et al., "Efficient natural evolution strategies",
// 2009). A previous candidate x is reused with probability min(1, p(x) / p'(x)) and a sample z of the new distribution
// p is used with probability max(0, 1 - p'(z) / p(z)), in turn until the places are taken, so that candidates follow p.
// Places that remain keep the strategy's own candidates. In every iteration a program records, in this order,
//
//	g.Ask(r)
//	g.Candidates(r, Pick{}, rows)
//	mixing.Record(r, rows, open)
//	// evaluate the candidates with 0 in mixing.Reused()
//	mixing.Restore(r, fitness)
//	mixing.Remember(r, rows, fitness, open)
//	g.TellCandidates(r, rows, fitness)
type Mixing struct {
	generation *Generation
	strategy   NormalStrategy
	clock      engine.Clock
	densities  *densities
	stream     uint32

	earlier Normal         // of the previous generation
	rows    *engine.Tensor // [M, N, row]: its candidates
	fitness *engine.Tensor // [M, N]
	old     *engine.Tensor // [M, N] u32: 1: a sample of earlier that may be reused; 0 in the first generation

	samples *engine.Tensor    // [M, N, row]
	ratios  [2]*engine.Tensor // [M, N]: of previous candidates and of samples
	taken   *engine.Tensor    // [M, N] u32
	source  *engine.Tensor    // [M, N] u32: see shaders/ec/mix_choose.comp
	reused  *engine.Tensor    // [M, N] u32
	share   *engine.Tensor    // [M]
}

// NewMixing makes importance mixing for a generation; the clock counts its iterations. The tensors are in s.
//
// Errors: *NormalError; bounds, at which candidates would have another distribution; several objectives.
func (g *Generation) NewMixing(s *engine.State, clock engine.Clock) (*Mixing, error) {
	strategy, ok := g.strategy.(NormalStrategy)
	switch {
	case !ok:
		return nil, &NormalError{Algorithm: g.algorithm.Name()}
	case g.Repairs():
		return nil, fmt.Errorf("ec: importance mixing in a space with bounds, where the density of candidates is not known; want no bounds")
	case g.ranking == nil:
		return nil, fmt.Errorf("ec: importance mixing of %d objectives; want one", g.space.Objectives)
	}
	dims := g.dims()
	rows := append(g.dims(), engine.Axis("parameter", g.space.Row()))
	x := &Mixing{
		generation: g, strategy: strategy, clock: clock, densities: newDensities(s, clock, g.space, g.Population(), strategy.Normal()),
		stream: s.Stream("choice"), earlier: strategy.Normal().copied(s.Sub("earlier")),
		rows: s.Tensor("rows", engine.Float32, rows...), fitness: s.Tensor("fitness", engine.Float32, dims...), old: s.Tensor("old", engine.Uint32, dims...),
		samples: s.Scratch("samples", engine.Float32, rows...), taken: s.Scratch("taken", engine.Uint32, dims...),
		source: s.Scratch("source", engine.Uint32, dims...), reused: s.Scratch("reused", engine.Uint32, dims...),
		share: s.Scratch("share", engine.Float32, engine.Members(g.space.Members)),
	}
	for i, name := range []string{"ratio", "ratio_of_samples"} {
		x.ratios[i] = s.Scratch(name, engine.Float32, dims...)
	}
	return x, s.Err()
}

// Record records that previous candidates and new samples replace the proposed candidates [M · N, row] at the places
// that are open, [M, N] u32 of 1 and 0.
func (x *Mixing) Record(r *engine.Recorder, candidates, open *engine.Tensor) {
	now := x.strategy.Normal()
	x.densities.sample(r, now, x.samples)
	x.densities.logRatio(r, x.rows, now, x.earlier, x.ratios[0])
	x.densities.logRatio(r, x.samples, now, x.earlier, x.ratios[1])
	members, population, row := uint32(x.generation.space.Members), x.generation.Population(), x.generation.space.Row()
	r.Dispatch(mixChooseKernel{
		Old: x.old.Range(), Open: open.Range(), OldRatio: x.ratios[0].Range(), NewRatio: x.ratios[1].Range(), Clock: x.clock.Tensor().Range(),
		Taken: x.taken.Range(), Source: x.source.Range(), Reused: x.reused.Range(), Share: x.share.Range(),
		Population: uint32(population), Seed: r.Engine().Seed(), Stream: x.stream, Workgroup: r.WorkgroupFor(population),
	}.call(members, 1, 1))
	count := population * row / 4
	groups := r.Share(int(members), count)
	r.Dispatch(mixRowsKernel{
		Source: x.source.Range(), Old: x.rows.Range(), Samples: x.samples.Range(), Candidates: candidates.Range(),
		Population: uint32(population), Row: uint32(row), LocalSizeX: r.WorkgroupFor(count / int(groups)),
	}.call(groups, members, 1))
}

// Reused returns which candidates were in the previous generation and need no evaluation, [M, N] u32 of 1 and 0.
func (x *Mixing) Reused() *engine.Tensor { return x.reused }

// Restore records that the reused candidates keep their fitness in [M, N].
func (x *Mixing) Restore(r *engine.Recorder, fitness *engine.Tensor) {
	population := x.generation.Population()
	size, groups := r.Invocations(population)
	r.Dispatch(mixFitnessKernel{
		Source: x.source.Range(), Old: x.fitness.Range(), Fitness: fitness.Range(), Population: uint32(population), LocalSizeX: size,
	}.call(groups, uint32(x.generation.space.Members), 1))
}

// Remember records keeping candidates [M · N, row] and their fitness [M, N] for the next generation, before the strategy
// is told. Those that were samples of its distribution and are unchanged are 1 in open, [M, N] u32, others 0.
func (x *Mixing) Remember(r *engine.Recorder, candidates, fitness, open *engine.Tensor) {
	x.earlier.copy(r, x.strategy.Normal())
	r.Copy(x.rows, candidates)
	r.Copy(x.fitness, fitness)
	r.Copy(x.old, open)
}

// Rows implements Measured: `reused` is the share of the candidates that were not evaluated.
func (x *Mixing) Rows(m *engine.Metrics) func(*engine.Recorder) {
	row := m.Row("reused")
	return func(r *engine.Recorder) { r.Copy(row, x.share) }
}
