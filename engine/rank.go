package engine

import "fmt"

// Sizes for the two ways to rank: comparing all pairs of members, and ranking blocks that are then searched.
const (
	rankDirect = 4096    // members; more are ranked by blocks
	rankBlock  = 1024    // members per block
	maxRanked  = 1 << 20 // members; the search of all blocks stays within the driver's loop bound
)

// Rank records the rank u32 of every member by fitness, in the same shape: 0 for the largest; ties by member index; NaN last.
// The last axis is the members. Each index of the earlier axes, if any, is a separate population.
func Rank(r *Recorder, fitness, rank *Tensor) {
	populations, n := rows(fitness)
	if n > maxRanked || rank.Len() != fitness.Len() {
		r.Fail(fmt.Errorf("engine: ranking %v into %v; want the same length, populations of at most %d", fitness, rank, maxRanked))
		return
	}
	// Every invocation ranks one member, so its loops stay short.
	size, groups := r.Invocations(n)
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

// Order records the members u32 in order of their ranks u32, starting with rank 0. Populations are as in Rank.
func Order(r *Recorder, rank, order *Tensor) {
	populations, n := rows(rank)
	if order.Len() != rank.Len() {
		r.Fail(fmt.Errorf("engine: the order of %v into %v; want the same length", rank, order))
		return
	}
	size, groups := r.Invocations(n)
	r.Dispatch(orderKernel{Rank: rank.Range(), Order: order.Range(), Count: uint32(n), LocalSizeX: size}.call(groups, populations, 1))
}

// rows returns the number of rows along a tensor's last axis, and their length.
func rows(t *Tensor) (count uint32, length int) {
	dims := t.orAbsent().dims
	length = dims[len(dims)-1].Size
	return uint32(t.Len() / max(length, 1)), length
}
