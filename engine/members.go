package engine

import "fmt"

// Operations on members, whatever they are.

// Mean records the mean over all elements of each member of value [..., M, ...], times scale. If weight is not nil, it has the
// same shape and weights the elements; the mean is NaN if the weights sum to zero.
func Mean(r *Recorder, mean, value, weight *Tensor, scale float32) {
	outer, p, inner, ok := value.Split(MemberAxis)
	switch {
	case !ok:
		r.Fail(fmt.Errorf("engine: the mean of %v for every member: it has no axis %q", value, MemberAxis))
		return
	case mean.Len() != p || weight != nil && weight.Len() != value.Len():
		r.Fail(fmt.Errorf("engine: the mean of %v, weighted by %v, into %v; want %d means, and as many weights as values", value, weight, mean, p))
		return
	}
	if outer*inner == 1 && weight == nil && scale == 1 { // of one element: cheaper than a dispatch
		r.Copy(mean, value)
		return
	}
	k := meanKernel{
		Value: value.block.span(0, value.block.bytes), Mean: mean.Range(),
		Outer: uint32(outer), Inner: uint32(inner), ValueAt: uint32(value.at / 4), Scale: scale, Workgroup: r.WorkgroupFor(outer * inner),
	}
	if weight != nil {
		k.Weight, k.WeightAt = weight.block.span(0, weight.block.bytes), uint32(weight.at/4)
	}
	r.Dispatch(k.call(uint32(p), 1, 1))
}

// Gather records copies between members in every given tensor: member p becomes a copy of member source[p], source being [M]
// u32. Every source must be its own source. If a tensor has k times as many members, each k adjacent ones are copied together. A tensor without a
// member axis, or with one of another length, is a recording error.
func Gather(r *Recorder, source *Tensor, values ...*Tensor) {
	for _, t := range values {
		outer, p, inner, ok := t.Split(MemberAxis)
		if !ok || p%source.Len() != 0 {
			r.Fail(fmt.Errorf("engine: copying members of %v by their sources %v; want an axis %q of the same length, or of a multiple", t, source, MemberAxis))
			return
		}
		p, inner = source.Len(), p/source.Len()*inner
		groups := r.Share(p, outer*inner)
		r.Dispatch(gatherKernel{
			Source: source.Range(), Values: t.Range(), Outer: uint32(outer), Inner: uint32(inner), LocalSizeX: r.WorkgroupFor(outer * inner / int(groups)),
		}.call(groups, uint32(p), 1))
	}
}

// Take records copies between two tensors of one shape, [..., M, ...]: member p of values becomes member source[p] of from, source being [M] u32. Where
// source[p] is M or more, the member stays. If the tensors have k times as many members, each k adjacent ones are copied together. Tensors without such a
// member axis, and of two shapes, are recording errors.
func Take(r *Recorder, source, values, from *Tensor) {
	outer, p, inner, ok := values.Split(MemberAxis)
	if !ok || p%source.Len() != 0 || from.Len() != values.Len() {
		r.Fail(fmt.Errorf("engine: taking members of %v from %v by their sources %v; want an axis %q of the same length, or of a multiple, and one shape",
			values, from, source, MemberAxis))
		return
	}
	p, inner = source.Len(), p/source.Len()*inner
	groups := r.Share(p, outer*inner)
	r.Dispatch(takeKernel{
		Source: source.Range(), From: from.Range(), Values: values.Range(),
		Outer: uint32(outer), Inner: uint32(inner), LocalSizeX: r.WorkgroupFor(outer * inner / int(groups)),
	}.call(groups, uint32(p), 1))
}

// Renew records giving the members that Gather copied over (source [M] u32 is another member) the elements of from in
// values, a tensor of the same shape; zeros if from is nil. Other members keep theirs. Tensors without a
// member axis of that length, or of two shapes, are recording errors.
func Renew(r *Recorder, source, values, from *Tensor) {
	outer, p, inner, ok := values.Split(MemberAxis)
	if !ok || p != source.Len() || from != nil && from.Len() != values.Len() {
		r.Fail(fmt.Errorf("engine: renewing members of %v by their sources %v from %v; want an axis %q of the same length, and one shape", values, source, from,
			MemberAxis))
		return
	}
	groups := r.Share(p, outer*inner)
	k := renewKernel{
		Source: source.Range(), Values: values.Range(), Outer: uint32(outer), Inner: uint32(inner), LocalSizeX: r.WorkgroupFor(outer * inner / int(groups)),
	}
	if from != nil {
		k.From = from.Range()
	}
	r.Dispatch(k.call(groups, uint32(p), 1))
}
