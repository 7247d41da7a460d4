package ec

import "github.com/evorl/evorl/engine"

// diagonal holds the dispatch sizes of kernels that update every coordinate of the searches separately, from sums
// [splits, M, row].
type diagonal struct{ splits, members, row, groups, size uint32 }

func (s Space) diagonal(r *engine.Recorder, sums *engine.Tensor) diagonal {
	splits := sums.Len() / (s.Members * s.Row())
	groups := r.Share(s.Members, s.Row()/4)
	return diagonal{
		splits: uint32(splits), members: uint32(s.Members), row: uint32(s.Row()),
		groups: groups, size: r.WorkgroupFor(s.Row() / 4 * (splits + 1) / int(groups)),
	}
}
