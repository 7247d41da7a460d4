package hybrid

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// ranking evaluates members and ranks them by mean return, or by fronts of two objectives (A. Dushatskiy et al.,
// "Multi-Objective Population Based Training", 2023, with the crowding distance of NSGA-II within a front).
type ranking struct {
	evaluate   engine.Fitness
	returns    *engine.Tensor // [M, episodes]; nil: only means are needed
	variance   *engine.Tensor // [M]: variance of the mean return
	objectives *engine.Tensor // [1, M, 2]: return and steadiness
	fronts     *ec.Fronts     // nil: one objective
	steadiness *engine.Tensor // metric [M]
}

func newRanking(p *PBT, s *engine.State, evaluate engine.Fitness) (_ *ranking, err error) {
	k, n := &ranking{evaluate: evaluate}, p.fitness.Len()
	if !p.cfg.samples() {
		return k, nil
	}
	k.returns = s.Scratch("returns", engine.Float32, engine.Members(n), engine.Axis("episode", p.cfg.Episodes))
	k.variance = s.Scratch("variance", engine.Float32, engine.Members(n))
	k.objectives = s.Scratch("objectives", engine.Float32, engine.Axis("population", 1), engine.Axis("candidate", n), engine.Axis("objective", 2))
	if p.cfg.Objective == NoObjective {
		return k, nil
	}
	k.steadiness = s.Tensor("steadiness", engine.Float32, engine.Members(n)).Own()
	p.rows = append(p.rows, row{p.inner.Metrics().Row(steadinessRow), k.steadiness})
	k.fronts, err = ec.NewFronts(s.Sub("fronts"), n, 2)
	return k, err
}

// recordFitness records the members' evaluation.
func (k *ranking) recordFitness(r *engine.Recorder, p *PBT) {
	if k.returns == nil {
		k.evaluate(r, p.fitness)
		return
	}
	k.evaluate(r, k.returns)
	spread := spreadKernel{
		Returns: k.returns.Range(), Fitness: p.fitness.Range(), Variance: k.variance.Range(), Objectives: k.objectives.Range(),
		Episodes: uint32(p.cfg.Episodes), Workgroup: r.WorkgroupFor(p.cfg.Episodes),
	}
	if k.steadiness != nil {
		spread.Steadiness = k.steadiness.Range()
	}
	r.Dispatch(spread.call(uint32(p.fitness.Len()), 1, 1))
}

// recordRank records the members' ranks.
func (k *ranking) recordRank(r *engine.Recorder, p *PBT) {
	if k.fronts == nil {
		engine.Rank(r, p.fitness, p.rank)
		return
	}
	k.fronts.Rank(r, k.objectives, p.rank)
}
