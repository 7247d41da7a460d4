package ec

import (
	"math"
	"slices"
)

// StopConfig holds the criteria that end a run before it reaches its target.
type StopConfig struct {
	TolFun     float64 `min:"0" doc:"Range of the fitness, in a generation and of the best of the newest 10 + 30 dim / N generations, at which a run ends."`
	TolFunHist float64 `min:"0" doc:"Range of the best fitness over the newest 10 + 30 dim / N generations at which a run ends."`
	TolX       float64 `min:"0" doc:"Range of the candidates of a generation, in every coordinate, at which a run ends."`
	Stagnation float64 `min:"0" doc:"Factor of the 100 + 100 dim^1.5 / N generations without better medians of best and median fitness that end a run; 0: none."`
}

// DefaultStop has the criteria of pycma 4.5 and N. Hansen, "Benchmarking a BI-Population CMA-ES on the BBOB-2009
// Function Testbed", 2009, section 2.
func DefaultStop() StopConfig {
	return StopConfig{TolFun: 1e-11, TolFunHist: 1e-12, TolX: 1e-11, Stagnation: 1}
}

// The precision of float32: fitness values are equal if they differ by less than two units in the last place,
// candidates if by less than four. For double floats these are squared.
const (
	equalFitness    = 1.0 / (1 << 22)
	equalCandidates = 1.0 / (1 << 21)
)

// stopMetrics are the metrics of a member's generation that the criteria need.
type stopMetrics struct{ best, median, quarter, worst, notFinite, spread, relative float64 }

// stopper applies the criteria to successive generations of a member.
type stopper struct {
	cfg             StopConfig
	dim, population int
	doubleFloat     bool      // fitness and candidates are double floats
	newest          []float64 // best fitness of the newest 10 + 30 dim / N generations
	bests, medians  []float64 // of every fifth generation
	count, flat     int
	best            float64
	bestAt          int // in generations
}

func newStopper(cfg StopConfig, dim, population int, doubleFloat bool) *stopper {
	return &stopper{cfg: cfg, dim: dim, population: population, doubleFloat: doubleFloat, best: math.Inf(-1)}
}

// sparsity: every fifth generation is recorded for the stagnation criterion.
const sparsity = 5

// add adds the metrics of a generation and returns the criterion that ends the run; "": the run continues.
func (s *stopper) add(g stopMetrics) string {
	s.count++
	if g.best > s.best {
		s.best, s.bestAt = g.best, s.count
	}
	s.newest = append(s.newest, g.best)
	if keep := 10 + int(math.Ceil(30*float64(s.dim)/float64(s.population))); len(s.newest) > keep {
		s.newest = s.newest[1:]
	}
	if s.count%sparsity == 0 {
		s.bests, s.medians = append(s.bests, g.best), append(s.medians, g.median)
	}
	if s.flat++; g.best > g.quarter || g.notFinite > 0 { // values that are not finite have the worst finite one, but a lower rank
		s.flat = 0
	}
	equal, same := equalFitness, equalCandidates
	if s.doubleFloat {
		equal, same = equal*equal, same*same
	}
	equal *= math.Abs(g.best)
	history := slices.Max(s.newest) - slices.Min(s.newest)
	enough := len(s.newest) > 9
	switch {
	case int(g.notFinite) == s.population:
		return "not finite"
	case enough && g.best-g.worst <= max(s.cfg.TolFun, equal) && history <= max(s.cfg.TolFun, equal):
		return "tolfun"
	case enough && history <= max(s.cfg.TolFunHist, equal):
		return "tolfunhist"
	case s.population > 1 && g.spread <= s.cfg.TolX:
		return "tolx"
	case s.population > 1 && g.relative <= same:
		return "no effect"
	case s.population > 1 && s.flat > 1:
		return "flat fitness"
	case s.stagnates():
		return "stagnation"
	}
	return ""
}

// stagnates reports whether neither the best nor the median fitness has improved: whether the medians of both over
// recent generations are no better than over earlier ones.
func (s *stopper) stagnates() bool {
	n, p := float64(s.dim), float64(s.population)
	period := s.cfg.Stagnation * (100 + 100*math.Pow(n, 1.5)/p)
	half := int(max(period/sparsity/2, float64(len(s.bests))/10))
	if period == 0 || float64(s.count) <= n*(5+100/p) || float64(s.count-s.bestAt) <= period/2 || len(s.bests) <= 100 || 2*half >= len(s.bests) {
		return false
	}
	worse := func(of []float64) bool {
		late, before := of[len(of)-half:], of[len(of)-2*half:len(of)-half]
		return middle(late) <= middle(before)
	}
	return worse(s.medians) && worse(s.bests)
}

// middle returns the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
