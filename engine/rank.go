package engine

import "fmt"

// maxRanked is the largest population that Rank takes: its kernel compares every member with every other one.
const maxRanked = 1 << 15

// Rank records the rank [P] u32 of every member by fitness [P]: 0 for the largest, ties in the order of the members, NaN last.
func Rank(r *Recorder, fitness, rank *Tensor) {
	n := fitness.Len()
	if n > maxRanked || rank.Len() != n {
		r.Fail(fmt.Errorf("engine: ranking %v into %v; want the same length, at most %d", fitness, rank, maxRanked))
		return
	}
	// Every invocation ranks one member, so that its loops stay short.
	size := r.Workgroup()
	r.Dispatch(rankKernel{Fitness: fitness.Range(), Rank: rank.Range(), Population: uint32(n), LocalSizeX: size}.call((uint32(n)+size-1)/size, 1, 1))
}
