package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
)

// judge looks at every generation's fitness before the strategy does: what is not finite counts as the worst that is, candidates are ranked,
// and the best of all generations is kept.
type judge struct {
	space   Space
	fitness *engine.Tensor // [M, P]: finite
	rank    *engine.Tensor // [M, P] u32
	best    *engine.Tensor // [M]: the best fitness of all generations; NaN before the first
	fittest *engine.Tensor // [M, row]: the candidate that had it; the start before the first

	candidate *engine.Tensor // [M] u32: the generation's best
	improved  *engine.Tensor // [M] u32
	formed    *engine.Tensor // [M, row]: the generation's best
	summary   *engine.Tensor // [4, M]: best, mean and deviation of the finite, number of the others

	// Of fitness that is the sum of two floats, else nil.
	rest     *engine.Tensor // [M, P]: to be added to the raw fitness
	behind   *engine.Tensor // [M, P]: the fitness less the generation's best
	bestRest *engine.Tensor // [M]: to be added to the generation's best
}

func newJudge(s *engine.State, space Space, population int) *judge {
	m := engine.Members(space.Members)
	j := &judge{
		space: space, best: s.Tensor("best_fitness", engine.Float32, m), fittest: space.Tensor(s, "best"),
		fitness: s.Scratch("fitness", engine.Float32, m, candidates(population)), rank: s.Scratch("rank", engine.Uint32, m, candidates(population)),
		candidate: s.Scratch("best_candidate", engine.Uint32, m, candidates(1)), improved: s.Scratch("improved", engine.Uint32, m),
		formed:  s.Scratch("generation_best", engine.Float32, m, engine.Axis("parameter", space.Row())),
		summary: s.Scratch("fitness_summary", engine.Float32, engine.Axis("summary", 4), m),
	}
	return j
}

// finer makes the judge rank by fitness that is the sum of two floats, and returns where the second of them goes, [M, P].
func (j *judge) finer(s *engine.State) *engine.Tensor {
	j.rest = s.Scratch("evaluated_rest", engine.Float32, j.fitness.Dims()...)
	j.behind = s.Scratch("behind", engine.Float32, j.fitness.Dims()...)
	j.bestRest = s.Scratch("best_rest", engine.Float32, engine.Members(j.space.Members))
	return j.rest
}

// init begins searches at start [M, dim].
func (j *judge) init(ctx context.Context, start []float32) error {
	return errors.Join(j.best.Fill(ctx, float32(math.NaN())), j.fittest.WriteFloat32(ctx, j.space.Pad(start)))
}

// record records judging raw fitness [M, P] of a strategy's candidates.
func (j *judge) record(r *engine.Recorder, raw *engine.Tensor, strategy Strategy) Told {
	members, row := j.space.Members, j.space.Row()
	population := raw.Len() / members
	r.Dispatch(judgeKernel{
		Raw: raw.Range(), RawTexels: raw.Range(), Fitness: j.fitness.Range(), Best: j.best.Range(), Candidate: j.candidate.Range(),
		Improved: j.improved.Range(), Summary: j.summary.Range(), Population: uint32(population), Workgroup: r.WorkgroupFor(3 * population),
	}.call(uint32(members), 1, 1))
	strategy.Candidates(r, Pick{Index: j.candidate}, j.formed)
	groups := r.Share(members, row/4)
	r.Dispatch(keepKernel{
		Improved: j.improved.Range(), From: j.formed.Range(), FromTexels: j.formed.Range(), To: j.fittest.Range(), Row: uint32(row),
		LocalSizeX: r.WorkgroupFor(row / 4 / int(groups)),
	}.call(groups, uint32(members), 1))
	if j.rest == nil {
		engine.Rank(r, j.fitness, j.rank)
	} else {
		r.Dispatch(behindKernel{
			Raw: raw.Range(), RawTexels: raw.Range(), Rest: j.rest.Range(), RestTexels: j.rest.Range(), Behind: j.behind.Range(), BestRest: j.bestRest.Range(),
			Population: uint32(population), Workgroup: r.WorkgroupFor(3 * population),
		}.call(uint32(members), 1, 1))
		engine.Rank(r, j.behind, j.rank)
	}
	return Told{Fitness: j.fitness, Rank: j.rank, Fittest: j.fittest, Raw: raw}
}

// Rows implements Measured.
func (j *judge) Rows(m *engine.Metrics) func(*engine.Recorder) {
	var rows []*engine.Tensor
	for _, name := range []string{"fitness/best", "fitness/mean", "fitness/deviation", "fitness/not_finite"} {
		rows = append(rows, m.Row(name))
	}
	ever := m.Row("fitness/best_ever")
	return func(r *engine.Recorder) {
		for i, row := range rows {
			r.Copy(row, j.summary.Index(i))
		}
		r.Copy(ever, j.best)
	}
}

// read is the best fitness [M] and what had it [M][dim]; nil where nothing judges.
func (j *judge) read(ctx context.Context) (fitness []float32, x [][]float32, err error) {
	if j == nil {
		return nil, nil, nil
	}
	if fitness, err = j.best.ReadFloat32(ctx); err != nil {
		return nil, nil, err
	}
	rows, err := j.space.read(ctx, j.fittest)
	for _, row := range rows {
		x = append(x, row[0])
	}
	return fitness, x, err
}
