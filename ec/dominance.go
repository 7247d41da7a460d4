package ec

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// maxObjectives is the most objectives that kernels support.
const maxObjectives = 16

// merged is the merged population of parents and offspring with several objectives, with the parts that select
// survivors: non-dominated sorting, crowding distance and truncation.
type merged struct {
	space            Space
	kept, population int
	twins            bool           // candidates with equal objectives share a front
	objectives       *engine.Tensor // [M, N, vec4s · 4]: N = kept + N
	dominators       *engine.Tensor // [M, words, N] u32
	number           *engine.Tensor // [M, N] u32
	front            *engine.Tensor // [M, N] u32: 0 for the non-dominated
	divided          *engine.Tensor // [M, 2] u32: the front of the last survivor, and the number of candidates in better fronts
	key              *engine.Tensor // [M, N, 4] u32
	order            *engine.Tensor // [M, kept] u32: the survivors; child c has index kept + c
}

func newMerged(s *engine.State, space Space, kept, population int) (*merged, error) {
	if k := space.Objectives; k < 2 || k > maxObjectives {
		return nil, fmt.Errorf("the problem has %d objectives; want 2 to %d", k, maxObjectives)
	}
	n := kept + population
	limits := s.Engine().Device().Info().Limits
	if most := uint64(limits.MaxLoopIterations) * uint64(limits.MaxInvocations); limits.MaxLoopIterations > 0 && 4*uint64(n)*uint64(n) > most {
		return nil, fmt.Errorf("sorting %d candidates takes more loop iterations than this device's driver allows; want a smaller population", n)
	}
	m, all := engine.Members(space.Members), candidates(n)
	return &merged{
		space: space, kept: kept, population: population,
		objectives: s.Scratch("merged", engine.Float32, m, all, engine.Axis("objective", nn.Align(space.Objectives))),
		dominators: s.Scratch("dominators", engine.Uint32, m, engine.Axis("word", (n+31)/32), all),
		number:     s.Scratch("dominator_number", engine.Uint32, m, all),
		front:      s.Scratch("front", engine.Uint32, m, all),
		divided:    s.Scratch("divided_front", engine.Uint32, m, engine.Axis("number", 2)),
		key:        s.Scratch("key", engine.Uint32, m, all, engine.Axis("word", 4)),
		order:      s.Scratch("order", engine.Uint32, m, candidates(kept)),
	}, nil
}

func (c *merged) size() int     { return c.kept + c.population }
func (c *merged) fours() uint32 { return uint32(nn.Align(c.space.Objectives) / 4) }

// groups returns workgroup count and size of kernels with one invocation per candidate.
func (c *merged) groups(r *engine.Recorder) (groups, size uint32) {
	size, groups = r.Invocations(c.size())
	return groups, size
}

// record records merging the objectives of parents [M, kept, K] and offspring [M, N, K], and sorting them into
// fronts (K. Deb et al., 2002, section III.A).
func (c *merged) record(r *engine.Recorder, parents, offspring *engine.Tensor) {
	members, n := uint32(c.space.Members), c.size()
	groups, size := c.groups(r)
	r.Dispatch(combineKernel{
		Parents: parents.Range(), Offspring: offspring.Range(), Merged: c.objectives.Range(),
		Kept: uint32(c.kept), Population: uint32(c.population), Objectives: uint32(c.space.Objectives), Fours: c.fours(), LocalSizeX: size,
	}.call(groups, members, 1))
	r.Dispatch(dominanceKernel{
		Merged: c.objectives.Range(), Dominators: c.dominators.Range(), Number: c.number.Range(),
		Candidates: uint32(n), Fours: c.fours(), Twins: c.twins, LocalSizeX: size,
	}.call(groups, members, 1))
	r.Dispatch(frontsKernel{
		Dominators: c.dominators.Range(), Number: c.number.Range(), Front: c.front.Range(), Divided: c.divided.Range(),
		Candidates: uint32(n), Survivors: uint32(c.kept), Words: uint32((n + 31) / 32), Workgroup: pairsWorkgroup(r, n, 4),
	}.call(members, 1, 1))
}

// crowd records keys by front and crowding distance (K. Deb et al., 2002, section III.B).
func (c *merged) crowd(r *engine.Recorder) {
	groups, size := c.groups(r)
	r.Dispatch(crowdingKernel{
		Merged: c.objectives.Range(), Front: c.front.Range(), Key: c.key.Range(),
		Candidates: uint32(c.size()), Fours: c.fours(), LocalSizeX: size,
	}.call(groups, uint32(c.space.Members), 1))
}

// survive records selecting the candidates with the smallest keys and copying their objectives into [M, kept, K].
func (c *merged) survive(r *engine.Recorder, objectives *engine.Tensor) {
	groups, size := c.groups(r)
	r.Dispatch(placeKernel{
		Merged: c.objectives.Range(), Key: c.key.Range(), Order: c.order.Range(), Objectives: objectives.Range(),
		Candidates: uint32(c.size()), Survivors: uint32(c.kept), Objective: uint32(c.space.Objectives), Fours: c.fours(), LocalSizeX: size,
	}.call(groups, uint32(c.space.Members), 1))
}

// pairsWorkgroup returns the workgroup size of kernels in which one workgroup compares all pairs of n candidates,
// with the given iterations per pair.
func pairsWorkgroup(r *engine.Recorder, n, iterations int) uint32 {
	return r.WorkgroupFor(n * n / 32 * iterations) // up to 32 · 1024 of them per invocation
}
