package engine

import "fmt"

// Sizes of the ways to rank: by comparing every member with every other one, and by blocks that are ranked so and then searched.
const (
	rankDirect = 4096    // members; more are ranked by blocks
	rankBlock  = 1024    // members of a block
	maxRanked  = 1 << 20 // members; the search of all blocks stays within what loops may take
)

// Rank records the rank u32 of every member by fitness, of the same shape: 0 for the largest, ties in the order of the members, NaN last.
// Members are along the last axis; each index of those before it, if there are any, is a population of its own.
func Rank(r *Recorder, fitness, rank *Tensor) {
	populations, n := rows(fitness)
	if n > maxRanked || rank.Len() != fitness.Len() {
		r.Fail(fmt.Errorf("engine: ranking %v into %v; want the same length, populations of at most %d", fitness, rank, maxRanked))
		return
	}
	// Every invocation ranks one member, so that its loops stay short.
	size := r.Workgroup()
	groups := (uint32(n) + size - 1) / size
	if n <= rankDirect {
		r.Dispatch(rankKernel{
			Fitness: fitness.Range(), Rank: rank.Range(), Count: uint32(n), LocalSizeX: size,
		}.call(groups, populations, 1))
		return
	}
	sorted := rank.block.state.Scratch(rank.name+"/sorted", Float32, fitness.dims...)
	r.Dispatch(rankBlocksKernel{
		Fitness: fitness.Range(), Rank: rank.Range(), Sorted: sorted.Range(),
		Count: uint32(n), Block: rankBlock, LocalSizeX: size,
	}.call(groups, populations, 1))
	r.Dispatch(rankMergeKernel{
		Fitness: fitness.Range(), Sorted: sorted.Range(), Rank: rank.Range(),
		Count: uint32(n), Block: rankBlock, LocalSizeX: size,
	}.call(groups, populations, 1))
}

// Order records the members u32 in the order of their ranks u32, the first being the one of rank 0; populations as in Rank.
func Order(r *Recorder, rank, order *Tensor) {
	populations, n := rows(rank)
	if order.Len() != rank.Len() {
		r.Fail(fmt.Errorf("engine: the order of %v into %v; want the same length", rank, order))
		return
	}
	size := r.Workgroup()
	r.Dispatch(orderKernel{Rank: rank.Range(), Order: order.Range(), Count: uint32(n), LocalSizeX: size}.call((uint32(n)+size-1)/size, populations, 1))
}

// rows is how many rows a tensor has along its last axis, and their length.
func rows(t *Tensor) (count uint32, length int) {
	length = t.dims[len(t.dims)-1].Size
	return uint32(t.Len() / length), length
}
