package hybrid

import (
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evorl/evorl/engine"
)

// duel selects in pairs: every member is paired with a random other one, and becomes its copy if that is better (M.
// Jaderberg et al., 2017, section 4.1.1, binary tournament), or better by Welch's t-test of the episodes' returns
// (t-test selection). If that one is itself replaced, the member copies its model instead, and so on, so that all
// copies are of survivors.
type duel struct {
	critical *engine.Tensor // [n]: critical values of t for n - 1 to 2 (n - 1) degrees of freedom; nil: no test
	episodes int
}

func newDuel(s *engine.State, cfg PBTConfig) *duel {
	d := &duel{episodes: cfg.Episodes}
	if cfg.Exploit == TTest {
		values := func() []float32 { return criticalValues(cfg.Episodes, cfg.Significance) }
		d.critical = engine.Constant(s, "critical_t", values, engine.Axis("freedom", cfg.Episodes))
	}
	return d
}

// criticalValues returns the critical values of a two-sided t-test of two samples of n values each, for n - 1 to 2 (n
// - 1) degrees of freedom.
func criticalValues(n int, significance float64) []float32 {
	values := make([]float32, n)
	for i := range values {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1 + i)}
		values[i] = float32(t.Quantile(1 - significance/2))
	}
	return values
}

func (d *duel) choose(r *engine.Recorder, p *PBT) {
	n := uint32(p.fitness.Len())
	k := duelKernel{
		Fitness: p.fitness.Range(), Clock: p.Clock().Tensor().Range(), Source: p.parent.Range(),
		Members: n, Episodes: uint32(d.episodes), Seed: r.Engine().Seed(), Stream: p.stream("select", ""),
	}
	if d.critical != nil {
		k.Variance, k.Critical = p.ranking.variance.Range(), d.critical.Range()
	}
	r.Dispatch(k.call((n+7)/8, 1, 1))
}
