package ec

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
)

// stored is an evaluated population in which a new candidate can replace only the one at its own index.
type stored struct {
	*population
	fitness *engine.Tensor // [M, N]: NaN: not evaluated
	verdict *engine.Tensor // [M, N] u32: see shaders/ec/compare.comp
	gain    *engine.Tensor // [M, N]
}

func newStored(s *engine.State, name string, b *bounds, n int, std float64) *stored {
	dims := []engine.Dim{engine.Members(b.space.Members), candidates(n)}
	return &stored{
		population: newPopulation(s, name, b, n, std), fitness: s.Tensor(name+"_fitness", engine.Float32, dims...),
		verdict: s.Scratch(name+"/verdict", engine.Uint32, dims...), gain: s.Scratch(name+"/gain", engine.Float32, dims...),
	}
}

// init forms the initial candidates; none is evaluated.
func (p *stored) init(ctx context.Context, start []float32) error {
	return errors.Join(p.population.init(ctx, start), p.fitness.Fill(ctx, notEvaluated))
}

// compare records which new candidates replace stored ones, given their fitness [M, N].
func (p *stored) compare(r *engine.Recorder, fitness *engine.Tensor) {
	size, groups := r.Invocations(p.size)
	r.Dispatch(compareKernel{
		CandidateFitness: fitness.Range(), Fitness: p.fitness.Range(), Verdict: p.verdict.Range(), Gain: p.gain.Range(),
		Population: uint32(p.size), LocalSizeX: size,
	}.call(groups, uint32(p.space.Members), 1))
}

// replace records that candidates [M, N, row] replace stored ones. Candidates replaced by better ones go into archive
// [M, N, row] at slot [M, N] u32, unless these are nil.
func (p *stored) replace(r *engine.Recorder, by, slot, archive *engine.Tensor) {
	row := p.space.Row()
	k := replaceKernel{
		Verdict: p.verdict.Range(), Candidates: by.Range(), Stored: p.rows.Range(),
		Row: uint32(row), Population: uint32(p.size),
	}
	if archive != nil {
		k.Slot, k.Archive = slot.Range(), archive.Range()
	}
	count := p.size * row / 4
	groups := r.Share(p.space.Members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(p.space.Members), 1))
}
