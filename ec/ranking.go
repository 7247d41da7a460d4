package ec

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
)

// ranking prepares a generation's fitness for the strategy: candidates are ranked, those whose fitness is not finite
// last; their fitness is replaced by the worst finite one; and the best of all generations is kept.
type ranking struct {
	space   Space
	finite  *engine.Tensor // [M, N]: fitness, with non-finite values replaced by the worst finite one
	ranked  *engine.Tensor // [M, N]: what candidates are ranked by; NaN where the fitness is not finite
	rank    *engine.Tensor // [M, N] u32
	best    *engine.Tensor // [M]: the best fitness of all generations; NaN before the first
	fittest *engine.Tensor // [M, row]: its candidate; before the first the start

	candidate *engine.Tensor // [M] u32: the generation's best
	improved  *engine.Tensor // [M] u32
	formed    *engine.Tensor // [M, row]: the generation's best
	summary   *engine.Tensor // [4, M]: best, mean and deviation of the finite values, number of the others

	// Double-float fitness only, the sum of a high and a low float; else nil.
	low     *engine.Tensor // [M, N]: the low parts
	gap     *engine.Tensor // [M, N]: the fitness minus the generation's best
	bestLow *engine.Tensor // [M]: the low part of the generation's best
}

func newRanking(s *engine.State, space Space, population int) *ranking {
	m := engine.Members(space.Members)
	k := &ranking{
		space: space, best: s.Tensor("best_fitness", engine.Float32, m), fittest: space.Tensor(s, "best"),
		finite: s.Scratch("finite_fitness", engine.Float32, m, candidates(population)), rank: s.Scratch("rank", engine.Uint32, m, candidates(population)),
		ranked:    s.Scratch("ranked_fitness", engine.Float32, m, candidates(population)),
		candidate: s.Scratch("best_candidate", engine.Uint32, m, candidates(1)), improved: s.Scratch("improved", engine.Uint32, m),
		formed:  s.Scratch("generation_best", engine.Float32, m, engine.Axis("parameter", space.Row())),
		summary: s.Scratch("fitness_summary", engine.Float32, engine.Axis("summary", 4), m),
	}
	return k
}

// useDoubleFloat makes the ranking use double-float fitness and returns the tensor [M, N] for the low parts.
func (k *ranking) useDoubleFloat(s *engine.State) *engine.Tensor {
	k.low = s.Scratch("fitness_low", engine.Float32, k.finite.Dims()...)
	k.gap = s.Scratch("fitness_gap", engine.Float32, k.finite.Dims()...)
	k.bestLow = s.Scratch("best_low", engine.Float32, engine.Members(k.space.Members))
	return k.low
}

// init begins searches at start [M, dim].
func (k *ranking) init(ctx context.Context, start []float32) error {
	return errors.Join(k.best.Fill(ctx, float32(math.NaN())), k.fittest.WriteFloat32(ctx, k.space.Pad(start)))
}

// record records ranking the fitness [M, N] of candidates formed by form.
func (k *ranking) record(r *engine.Recorder, fitness *engine.Tensor, form func(*engine.Recorder, Pick, *engine.Tensor)) Scores {
	members, population := k.space.Members, fitness.Len()/k.space.Members
	summarize := summarizeKernel{
		Fitness: fitness.Range(), Finite: k.finite.Range(), Best: k.best.Range(), Candidate: k.candidate.Range(),
		Improved: k.improved.Range(), Summary: k.summary.Range(), Population: uint32(population), Workgroup: r.WorkgroupFor(3 * population),
	}
	if k.low == nil {
		summarize.Ranked = k.ranked.Range()
	}
	r.Dispatch(summarize.call(uint32(members), 1, 1))
	k.keep(r, form)
	if k.low != nil {
		r.Dispatch(gapKernel{
			High: fitness.Range(), Low: k.low.Range(), Gap: k.gap.Range(), Ranked: k.ranked.Range(), BestLow: k.bestLow.Range(),
			Population: uint32(population), Workgroup: r.WorkgroupFor(3 * population),
		}.call(uint32(members), 1, 1))
	}
	engine.Rank(r, k.ranked, k.rank)
	return Scores{Fitness: fitness, Finite: k.finite, Rank: k.rank, Fittest: k.fittest}
}

// keep records storing the generation's best candidate if it is the best of all generations.
func (k *ranking) keep(r *engine.Recorder, form func(*engine.Recorder, Pick, *engine.Tensor)) {
	form(r, Pick{Index: k.candidate}, k.formed)
	members, row := k.space.Members, k.space.Row()
	groups := r.Share(members, row/4)
	r.Dispatch(keepKernel{
		Improved: k.improved.Range(), From: k.formed.Range(), To: k.fittest.Range(), Row: uint32(row),
		LocalSizeX: r.WorkgroupFor(row / 4 / int(groups)),
	}.call(groups, uint32(members), 1))
}

func (k *ranking) Rows(m *engine.Metrics) func(*engine.Recorder) {
	var rows []*engine.Tensor
	for _, name := range []string{"fitness/best", "fitness/mean", "fitness/deviation", "fitness/not_finite"} {
		rows = append(rows, m.Row(name))
	}
	ever := m.Row("fitness/best_ever")
	return func(r *engine.Recorder) {
		for i, row := range rows {
			r.Copy(row, k.summary.Index(i))
		}
		r.Copy(ever, k.best)
	}
}

// read reads the best fitness [M] and its candidates [M][dim]; nil without a ranking.
func (k *ranking) read(ctx context.Context) (fitness []float32, x [][]float32, err error) {
	if k == nil {
		return nil, nil, nil
	}
	if fitness, err = k.best.ReadFloat32(ctx); err != nil {
		return nil, nil, err
	}
	rows, err := k.space.read(ctx, k.fittest)
	for _, row := range rows {
		x = append(x, row[0])
	}
	return fitness, x, err
}
