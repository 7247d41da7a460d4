package ec

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// panel is the judge of several objectives: a candidate one of whose objectives is not finite is worse in all of them than any other,
// and after every generation it says what the strategy's population has come to.
type panel struct {
	space      Space
	strategy   MultiObjective
	objectives *engine.Tensor // [M, P, K]: finite
	notFinite  *engine.Tensor // [M]: candidates of the generation
	summary    *engine.Tensor // [1 + K, M]: solutions that no other one dominates, the best value of every objective
}

func newPanel(s *engine.State, space Space, population int, strategy MultiObjective) *panel {
	m := engine.Members(space.Members)
	return &panel{
		space: space, strategy: strategy,
		objectives: s.Scratch("objectives", engine.Float32, m, candidates(population), engine.Axis("objective", space.Objectives)),
		notFinite:  s.Scratch("not_finite", engine.Float32, m),
		summary:    s.Scratch("front_summary", engine.Float32, engine.Axis("summary", 1+space.Objectives), m),
	}
}

// record records judging raw objectives [M, P, K].
func (p *panel) record(r *engine.Recorder, raw *engine.Tensor) Told {
	population := p.objectives.Len() / p.space.Members / p.space.Objectives
	r.Dispatch(objectivesKernel{
		Raw: raw.Range(), RawTexels: raw.Range(), Objectives: p.objectives.Range(), NotFinite: p.notFinite.Range(),
		Population: uint32(population), Objective: uint32(p.space.Objectives), Workgroup: r.WorkgroupFor(2 * population * p.space.Objectives),
	}.call(uint32(p.space.Members), 1, 1))
	return Told{Objectives: p.objectives}
}

// Rows implements Measured.
func (p *panel) Rows(m *engine.Metrics) func(*engine.Recorder) {
	names := []string{"front/size"}
	for k := range p.space.Objectives {
		names = append(names, fmt.Sprintf("front/ideal_%d", k+1))
	}
	var rows []*engine.Tensor
	for _, name := range names {
		rows = append(rows, m.Row(name))
	}
	notFinite := m.Row("front/not_finite")
	return func(r *engine.Recorder) {
		all := p.strategy.Objectives()
		members, objectives := p.space.Members, p.space.Objectives
		population := all.Len() / members / objectives
		r.Dispatch(frontKernel{
			Objectives: all.Range(), ObjectivesTexels: all.Range(), Summary: p.summary.Range(), Population: uint32(population), Objective: uint32(objectives),
			Workgroup: pairsWorkgroup(r, population, objectives+1),
		}.call(uint32(members), 1, 1))
		for i, row := range rows {
			engine.Mean(r, row, p.summary.Index(i), nil, 1)
		}
		r.Copy(notFinite, p.notFinite)
	}
}
