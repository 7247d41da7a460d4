package hybrid

import "github.com/evorl/evorl/engine"

// learnedRow is the metric that says from which side the best candidate of a generation came: 1 if it is an agent's
// actor or learned by gradient descent (in archives: an elite that climbed), 0 if it is the search's. It has no value (NaN) in iterations in which no candidate
// learned, or none has a fitness.
const learnedRow = "best/learned"

// newLearned adds the metric, one value per group of agents.
func newLearned(p *population) *engine.Tensor {
	return p.agents.Metrics().Sub("", p.each).Row(learnedRow)
}

// recordLearned records into learned [M] whether the best of the fitness [M, N] is one at index [M, L] u32: 1 or 0; NaN
// if all of the fitness is NaN or -infinity.
func recordLearned(r *engine.Recorder, fitness, index, learned *engine.Tensor) {
	members := learned.Len()
	population, count := fitness.Len()/members, index.Len()/members
	r.Dispatch(learnedKernel{
		Fitness: fitness.Range(), Index: index.Range(), Learned: learned.Range(), Population: uint32(population), Count: uint32(count),
		Workgroup: r.WorkgroupFor(population),
	}.call(uint32(members), 1, 1))
}
