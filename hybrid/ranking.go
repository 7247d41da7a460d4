package hybrid

import (
	"context"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// ranking evaluates members and ranks them by mean return, or by fronts of two objectives (A. Dushatskiy et al.,
// "Multi-Objective Population Based Training", 2023, with the crowding distance of NSGA-II within a front).
type ranking struct {
	evaluate   engine.Fitness
	returns    *engine.Tensor // [M, episodes]; nil: only means are needed
	variance   *engine.Tensor // [M]: variance of the mean return
	objectives *engine.Tensor // [1, M, 2]: return and steadiness or coverage, or styles
	fronts     *ec.Fronts     // nil: one objective
	steadiness *engine.Tensor // metric [M]; nil: no objective

	covered  *engine.Tensor // [M, episodes]: coverage, or share of moves; nil: neither is an objective
	coverage *engine.Tensor // metric [M]: its mean
	// evaluateCoverage records an evaluation's returns and coverages, or shares of moves.
	evaluateCoverage func(r *engine.Recorder, returns, coverage *engine.Tensor)
}

// evaluatedAgents is a workflow of agents whose episodes an envs.Evaluator runs.
type evaluatedAgents interface{ Evaluator() *envs.Evaluator }

func newRanking(ctx context.Context, p *PBT, s *engine.State, evaluate engine.Fitness) (_ *ranking, err error) {
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
	switch p.cfg.Objective {
	case Coverage, Styles:
		if err := k.cover(ctx, p, s); err != nil {
			return nil, err
		}
	default:
		k.steadiness = s.Tensor("steadiness", engine.Float32, engine.Members(n)).Own()
		p.rows = append(p.rows, row{p.inner.Metrics().Row(steadinessRow), k.steadiness})
	}
	k.fronts, err = ec.NewFronts(s.Sub("fronts"), n, 2)
	return k, err
}

// moving is a workflow of agents one of whose actions is to stay.
type moving interface {
	evaluatedAgents
	Still() int // -1: none is
}

// cover makes coverage the second objective, or styles both.
func (k *ranking) cover(ctx context.Context, p *PBT, s *engine.State) (err error) {
	of, ok := p.inner.(evaluatedAgents)
	if !ok {
		return config.Invalid("pbt.objective", "the %v of %s is not measured; want an agent, such as over = \"ppo\"", p.cfg.Objective, p.inner.Describe().Workflow)
	}
	n := engine.Members(p.fitness.Len())
	k.covered = s.Scratch("covered", engine.Float32, n, engine.Axis("episode", p.cfg.Episodes))
	if p.cfg.Objective == Styles {
		over, ok := p.inner.(moving)
		if !ok || over.Still() < 0 {
			return config.Invalid("pbt.objective", "%s knows no action that is to stay; want an on-policy agent with a still_action, such as over = \"ppo\"",
				p.inner.Describe().Workflow)
		}
		k.coverage = s.Tensor("moves", engine.Float32, n).Own()
		p.rows = append(p.rows, row{p.inner.Metrics().Row(MovesMetric), k.coverage})
		k.evaluateCoverage, err = of.Evaluator().Moves(ctx, s.Sub("moving"), p.Clock(), p.cfg.Episodes, over.Still())
		return err
	}
	k.coverage = s.Tensor("coverage", engine.Float32, n).Own()
	p.rows = append(p.rows, row{p.inner.Metrics().Row(coverageRow), k.coverage})
	k.evaluateCoverage, err = of.Evaluator().Coverage(ctx, s.Sub("covering"), p.Clock(), p.cfg.Episodes)
	return err
}

// second returns the metric [M] of the second objective, by which it is computed; nil: no objective.
func (k *ranking) second() *engine.Tensor {
	if k.coverage != nil {
		return k.coverage
	}
	return k.steadiness
}

// recordFitness records the members' evaluation.
func (k *ranking) recordFitness(r *engine.Recorder, p *PBT) {
	if k.returns == nil {
		k.evaluate(r, p.fitness)
		return
	}
	if k.coverage != nil {
		k.evaluateCoverage(r, k.returns, k.covered)
		engine.Mean(r, k.coverage, k.covered, nil, 1)
	} else {
		k.evaluate(r, k.returns)
	}
	spread := spreadKernel{
		Returns: k.returns.Range(), Fitness: p.fitness.Range(), Variance: k.variance.Range(), Objectives: k.objectives.Range(),
		Episodes: uint32(p.cfg.Episodes), Workgroup: r.WorkgroupFor(p.cfg.Episodes),
	}
	if k.coverage != nil {
		spread.Second = k.coverage.Range()
	}
	if k.steadiness != nil {
		spread.Steadiness = k.steadiness.Range()
	}
	n := uint32(p.fitness.Len())
	r.Dispatch(spread.call(n, 1, 1))
	if p.cfg.Objective == Styles {
		r.Dispatch(stylesKernel{
			Returns: p.fitness.Range(), Moves: k.coverage.Range(), Objectives: k.objectives.Range(), Members: n,
			Low: float32(p.cfg.ReturnLow), High: float32(p.cfg.ReturnHigh),
			ActiveWeight: float32(p.cfg.ActiveWeight), LazyWeight: float32(p.cfg.LazyWeight),
		}.call((n+7)/8, 1, 1))
	}
}

// recordRank records the members' ranks.
func (k *ranking) recordRank(r *engine.Recorder, p *PBT) {
	if k.fronts == nil {
		engine.Rank(r, p.fitness, p.rank)
		return
	}
	k.fronts.Rank(r, k.objectives, p.rank)
}
