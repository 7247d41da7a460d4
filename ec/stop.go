package ec

import (
	"math"
	"slices"
)

// StopConfig says when a search has come to its end without having found what it looks for.
type StopConfig struct {
	TolFun     float64 `min:"0" doc:"The fitness of a generation, and the best fitness of the newest 10 + 30 dim / P generations, differ by no more."`
	TolFunHist float64 `min:"0" doc:"The best fitness of the newest 10 + 30 dim / P generations differs by no more."`
	TolX       float64 `min:"0" doc:"The candidates of a generation differ by no more in any number."`
	Stagnation float64 `min:"0" doc:"Times 100 + 100 dim^1.5 / P: the generations that must bring better medians of best and median fitness than those before; 0: no such end."`
}

// DefaultStop are the criteria of pycma 4.5 and N. Hansen, "Benchmarking a BI-Population CMA-ES on the BBOB-2009 Function Testbed", 2009, section 2.
func DefaultStop() StopConfig {
	return StopConfig{TolFun: 1e-11, TolFunHist: 1e-12, TolX: 1e-11, Stagnation: 1}
}

// Where float32 can tell no more: fitness that differs by two units in the last place, candidates by four. Sums of two floats tell the squares of that.
const (
	equalFitness    = 1.0 / (1 << 22)
	equalCandidates = 1.0 / (1 << 21)
)

// generation is what a member's generation has come to.
type generation struct{ best, median, quarter, worst, notFinite, spread, relative float64 }

// stopper sees a member's generations, until it says why they should end.
type stopper struct {
	cfg             StopConfig
	dim, population int
	exact           bool      // fitness and candidates are sums of two floats
	newest          []float64 // best fitness of 10 + 30 dim / P generations
	bests, medians  []float64 // of every fifth generation
	count, flat     int
	best            float64
	bestAt          int // generation
}

func newStopper(cfg StopConfig, dim, population int, exact bool) *stopper {
	return &stopper{cfg: cfg, dim: dim, population: population, exact: exact, best: math.Inf(-1)}
}

// sparsity is every how many generations are kept to see stagnation.
const sparsity = 5

// see takes a generation in and returns why it should be the last; "" if it should not.
func (s *stopper) see(g generation) string {
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
	if s.flat++; g.best > g.quarter {
		s.flat = 0
	}
	equal, same := equalFitness, equalCandidates
	if s.exact {
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

// stagnates is whether neither the best nor the median fitness of late are better than those before, by their medians.
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

// middle is the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
