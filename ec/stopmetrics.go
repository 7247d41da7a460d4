package ec

import "github.com/evorl/evorl/engine"

// The metrics that stopping criteria need besides fitness/best: the fitness of the ranks N/2, 3 N/4 and N − 1, the
// largest range of a coordinate over the candidates evaluated together, and the largest such range relative to the
// coordinate's magnitude.
const (
	stopMedian   = "fitness/median"
	stopQuarter  = "fitness/three_quarters"
	stopWorst    = "fitness/worst"
	stopSpread   = "candidates/spread"
	stopRelative = "candidates/relative_spread"
	stopBestLow  = "fitness/best_low" // double-float fitness only: added to the best; the first three are then relative to the best
)

// addStopMetrics adds these metrics to a search of one objective that has not been recorded.
func (s *Search) addStopMetrics() {
	var rows [5]*engine.Tensor
	for i, name := range []string{stopMedian, stopQuarter, stopWorst, stopSpread, stopRelative} {
		rows[i] = s.Metrics().Row(name)
	}
	ranking, fitness := s.generation.ranking, s.generation.ranking.finite
	var bestLow *engine.Tensor
	if s.fitnessLow != nil {
		bestLow, fitness = s.Metrics().Row(stopBestLow), ranking.gap
	}
	s.rows = append(s.rows, func(r *engine.Recorder) {
		population, window, row := s.generation.Population(), s.evaluation.Window(), s.space.Row()
		k := stopMetricsKernel{
			Fitness: fitness.Range(), Rank: ranking.rank.Range(), Candidates: s.window.Range(), Median: rows[0].Range(), Quarter: rows[1].Range(),
			Worst: rows[2].Range(), Spread: rows[3].Range(), Relative: rows[4].Range(), Population: uint32(population),
			Window: uint32(window), Row: uint32(row),
			Workgroup: r.WorkgroupFor(max(population, window*row/4)),
		}
		if bestLow != nil {
			r.Copy(bestLow, ranking.bestLow)
			k.CandidatesLow = s.windowLow.Range()
		}
		r.Dispatch(k.call(uint32(s.space.Members), 1, 1))
	})
}

// stopMetrics returns the metrics of a member's generation.
func (s *Search) stopMetrics(metrics map[string][]float32, member int) stopMetrics {
	at := func(name string) float64 { return float64(metrics[name][member]) }
	g := stopMetrics{
		best: at("fitness/best"), median: at(stopMedian), quarter: at(stopQuarter), worst: at(stopWorst), notFinite: at("fitness/not_finite"),
		spread: at(stopSpread), relative: at(stopRelative),
	}
	if s.fitnessLow != nil {
		g.best += at(stopBestLow)
		g.median, g.quarter, g.worst = g.best+g.median, g.best+g.quarter, g.best+g.worst
	}
	return g
}
