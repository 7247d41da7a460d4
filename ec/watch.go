package ec

import "github.com/evorl/evorl/engine"

// The metrics by which a search is seen to have come to its end, beside fitness/best, of every generation: the fitness of the ranks P/2, 3 P/4 and
// P − 1, the largest range that a number has among the candidates evaluated together, and the largest relative to the number's size.
const (
	watchMedian   = "fitness/median"
	watchQuarter  = "fitness/three_quarters"
	watchWorst    = "fitness/worst"
	watchSpread   = "candidates/spread"
	watchRelative = "candidates/relative_spread"
)

// watch adds these metrics to a search of one objective that has not been recorded.
func (s *Search) watch() {
	var rows [5]*engine.Tensor
	for i, name := range []string{watchMedian, watchQuarter, watchWorst, watchSpread, watchRelative} {
		rows[i] = s.metrics.Row(name)
	}
	s.rows = append(s.rows, func(r *engine.Recorder) {
		population, window, row := s.strategy.Population(), s.evaluation.Window(), s.space.Row()
		r.Dispatch(watchKernel{
			Fitness: s.judge.fitness.Range(), FitnessTexels: s.judge.fitness.Range(), Rank: s.judge.rank.Range(),
			Candidates: s.window.Range(), CandidatesTexels: s.window.Range(), Median: rows[0].Range(), Quarter: rows[1].Range(), Worst: rows[2].Range(),
			Spread: rows[3].Range(), Relative: rows[4].Range(), Population: uint32(population), Window: uint32(window), Row: uint32(row),
			Workgroup: r.WorkgroupFor(max(population, window*row/4)),
		}.call(uint32(s.space.Members), 1, 1))
	})
}
