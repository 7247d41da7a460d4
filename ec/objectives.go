package ec

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// objectives prepares several objectives for the strategy: if one objective of a candidate is not finite, the
// candidate is worse in all objectives than any other. After every generation it summarises the front of the
// strategy's population.
type objectives struct {
	space     Space
	strategy  MultiObjective
	finite    *engine.Tensor // [M, N, K]
	notFinite *engine.Tensor // [M]: number of such candidates in the generation
	summary   *engine.Tensor // [1 + K, M]: number of non-dominated solutions, best value of every objective
}

func newObjectives(s *engine.State, space Space, population int, strategy MultiObjective) *objectives {
	m := engine.Members(space.Members)
	return &objectives{
		space: space, strategy: strategy,
		finite:    s.Scratch("objectives", engine.Float32, m, candidates(population), engine.Axis("objective", space.Objectives)),
		notFinite: s.Scratch("not_finite", engine.Float32, m),
		summary:   s.Scratch("front_summary", engine.Float32, engine.Axis("summary", 1+space.Objectives), m),
	}
}

// record records preparing the objectives [M, N, K] of a generation.
func (o *objectives) record(r *engine.Recorder, evaluated *engine.Tensor) Scores {
	population := o.finite.Len() / o.space.Members / o.space.Objectives
	r.Dispatch(objectivesKernel{
		Objectives: evaluated.Range(), Finite: o.finite.Range(), NotFinite: o.notFinite.Range(),
		Population: uint32(population), Objective: uint32(o.space.Objectives), Workgroup: r.WorkgroupFor(2 * population * o.space.Objectives),
	}.call(uint32(o.space.Members), 1, 1))
	return Scores{Objectives: o.finite}
}

func (o *objectives) Rows(m *engine.Metrics) func(*engine.Recorder) {
	names := []string{"front/size"}
	for k := range o.space.Objectives {
		names = append(names, fmt.Sprintf("front/ideal_%d", k+1))
	}
	var rows []*engine.Tensor
	for _, name := range names {
		rows = append(rows, m.Row(name))
	}
	notFinite := m.Row("front/not_finite")
	return func(r *engine.Recorder) {
		all := o.strategy.Objectives()
		members, objectives := o.space.Members, o.space.Objectives
		population := all.Len() / members / objectives
		r.Dispatch(frontKernel{
			Objectives: all.Range(), Summary: o.summary.Range(), Population: uint32(population), Objective: uint32(objectives),
			Workgroup: pairsWorkgroup(r, population, objectives+1),
		}.call(uint32(members), 1, 1))
		for i, row := range rows {
			engine.Mean(r, row, o.summary.Index(i), nil, 1)
		}
		r.Copy(notFinite, o.notFinite)
	}
}
