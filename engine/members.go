package engine

import "fmt"

// Operations on members, whatever they are.

// Mean records a mean for every member over all its elements of value [..., P, ...], weighted by a tensor of the same shape where
// weight is not nil; NaN where the weights sum to zero. The result is multiplied by scale.
func Mean(r *Recorder, mean, value, weight *Tensor, scale float32) {
	outer, p, inner, ok := value.Split(MemberAxis)
	if !ok {
		r.Fail(fmt.Errorf("engine: the mean of %v over its members: it has no axis %q", value, MemberAxis))
		return
	}
	k := meanKernel{
		Value: value.block.buffer().All(), Mean: mean.Range(),
		Outer: uint32(outer), Inner: uint32(inner), ValueAt: uint32(value.at / 4), Scale: scale, Workgroup: r.WorkgroupFor(outer * inner),
	}
	if weight != nil {
		k.Weight, k.WeightAt = weight.block.buffer().All(), uint32(weight.at/4)
	}
	r.Dispatch(k.call(uint32(p), 1, 1))
}

// Gather records the copying of members over members in every tensor given: member p becomes a copy of member source[p]. The
// sources must be their own sources. Tensors without a member axis are left alone.
func Gather(r *Recorder, source *Tensor, values ...*Tensor) {
	for _, t := range values {
		outer, p, inner, ok := t.Split(MemberAxis)
		if !ok {
			continue
		}
		groups := r.Share(p, outer*inner)
		r.Dispatch(gatherKernel{
			Source: source.Range(), Values: t.Range(), Outer: uint32(outer), Inner: uint32(inner), LocalSizeX: r.WorkgroupFor(outer * inner / int(groups)),
		}.call(groups, uint32(p), 1))
	}
}
