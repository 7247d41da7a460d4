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
	watchBestRest = "fitness/best_rest" // of fitness that is the sum of two floats: to be added to the best; the three above are less the best then
)

// exact is whether fitness and candidates are seen as the sums of two floats that they are.
func (s *Search) exact() bool { return s.rawRest != nil }

// watch adds these metrics to a search of one objective that has not been recorded.
func (s *Search) watch() {
	var rows [5]*engine.Tensor
	for i, name := range []string{watchMedian, watchQuarter, watchWorst, watchSpread, watchRelative} {
		rows[i] = s.metrics.Row(name)
	}
	var bestRest *engine.Tensor
	if s.exact() {
		bestRest = s.metrics.Row(watchBestRest)
	}
	s.rows = append(s.rows, func(r *engine.Recorder) {
		fitness := s.judge.fitness
		if s.exact() {
			fitness = s.judge.behind
			r.Copy(bestRest, s.judge.bestRest)
		}
		population, window, row := s.strategy.Population(), s.evaluation.Window(), s.space.Row()
		k := watchKernel{
			Fitness: fitness.Range(), FitnessTexels: fitness.Range(), Rank: s.judge.rank.Range(), Candidates: s.window.Range(),
			CandidatesTexels: s.window.Range(), Rest: s.window.Range(), RestTexels: s.window.Range(), Median: rows[0].Range(), Quarter: rows[1].Range(), Worst: rows[2].Range(),
			Spread: rows[3].Range(), Relative: rows[4].Range(), Population: uint32(population), Window: uint32(window), Row: uint32(row),
			Workgroup: r.WorkgroupFor(max(population, window*row/4)),
		}
		if s.exact() {
			k.Rest, k.RestTexels, k.Fine = s.rest.Range(), s.rest.Range(), 1
		}
		r.Dispatch(k.call(uint32(s.space.Members), 1, 1))
	})
}

// seen is what a member's generation has come to, by the metrics.
func (s *Search) seen(metrics map[string][]float32, member int) generation {
	at := func(name string) float64 { return float64(metrics[name][member]) }
	g := generation{
		best: at("fitness/best"), median: at(watchMedian), quarter: at(watchQuarter), worst: at(watchWorst), notFinite: at("fitness/not_finite"),
		spread: at(watchSpread), relative: at(watchRelative),
	}
	if s.exact() {
		g.best += at(watchBestRest)
		g.median, g.quarter, g.worst = g.best+g.median, g.best+g.quarter, g.best+g.worst
	}
	return g
}
