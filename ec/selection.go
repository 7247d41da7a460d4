package ec

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Tournament chooses parents among ranked candidates: each parent is the best of Size drawn with replacement (D. E.
// Goldberg, K. Deb, "A Comparative Analysis of Selection Schemes Used in Genetic Algorithms", 1991). With size 1 all
// candidates are equally likely, which after truncation is truncation selection. See shaders/ec/tournament.glsl.
type Tournament struct {
	Size     int
	Stream   uint32 // of the random numbers
	Shuffled bool   // without replacement: all candidates are drawn in random order before one is drawn again, as in K. Deb's code
}

// Select records choosing parents u32 [M, parents] among the given number of candidates. order [M, candidates] lists
// their indices by rank; nil: they are sorted already. count [M] u32, unless nil, is the actual number of candidates;
// if it is 0, parents are index 0.
func (t Tournament) Select(r *engine.Recorder, clock engine.Clock, order *engine.Tensor, among int, count, parents *engine.Tensor) {
	members := parents.Dims()[0].Size
	if t.Size < 1 || among < 1 || order != nil && order.Len() != members*among {
		r.Fail(fmt.Errorf("ec: tournaments of %d among %d candidates in the order of %v; want at least 1 of both, the order of all", t.Size, among, order))
		return
	}
	n := parents.Len() / members
	size, groups := r.Invocations(n)
	k := selectKernel{
		Clock: clock.Tensor().Range(), Parent: parents.Range(), Seed: r.Engine().Seed(), Stream: t.Stream,
		Candidates: uint32(among), Parents: uint32(n), Size: uint32(t.Size), LocalSizeX: size,
	}
	if t.Shuffled {
		k.Shuffled = true
	}
	if order != nil {
		k.Order = order.Range()
	}
	if count != nil {
		k.Among = count.Range()
	}
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// survivors is truncation selection: it keeps the best of the offspring and, with plus, of the kept parents.
type survivors struct {
	members, kept, population int
	plus                      bool           // parents compete
	fitness                   *engine.Tensor // [M, kept]: best first; NaN: not evaluated
	merged                    *engine.Tensor // [M, kept + N]
	rank, order               *engine.Tensor // [M, kept + N] u32
}

func newSurvivors(s *engine.State, members, kept, population int, plus bool) *survivors {
	m, all := engine.Members(members), candidates(kept+population)
	return &survivors{
		members: members, kept: kept, population: population, plus: plus,
		fitness: s.Tensor("fitness", engine.Float32, m, candidates(kept)), merged: s.Scratch("merged", engine.Float32, m, all),
		rank: s.Scratch("rank", engine.Uint32, m, all), order: s.Scratch("order", engine.Uint32, m, all),
	}
}

// record records the selection by the fitness of the offspring [M, N], as evaluated. The first kept elements of order
// are the survivors: parents below kept; child c has index kept + c.
func (s *survivors) record(r *engine.Recorder, offspring *engine.Tensor) {
	n := s.kept + s.population
	size, groups := r.Invocations(n)
	k := mergeKernel{
		Parents: s.fitness.Range(), Offspring: offspring.Range(), Merged: s.merged.Range(), Kept: uint32(s.kept),
		Population: uint32(s.population), LocalSizeX: size,
	}
	if s.plus {
		k.Plus = true
	}
	r.Dispatch(k.call(groups, uint32(s.members), 1))
	engine.Rank(r, s.merged, s.rank)
	engine.Order(r, s.rank, s.order)
	size, groups = r.Invocations(s.kept)
	r.Dispatch(survivorsKernel{
		Merged: s.merged.Range(), Order: s.order.Range(), Fitness: s.fitness.Range(), N: uint32(n), Kept: uint32(s.kept), LocalSizeX: size,
	}.call(groups, uint32(s.members), 1))
}
