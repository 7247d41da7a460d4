package engine

import "fmt"

// Sum records the sums of value [outer, axis, inner] over an axis, added in its order, into sum [outer, inner], another tensor of float32. It is a recording
// error if value has no such axis, sum has another length, or the axis is longer than an invocation has loop iterations for (MaxIterations).
func Sum(r *Recorder, sum, value *Tensor, axis string) {
	outer, count, inner, ok := value.Split(axis)
	if !ok || sum.Len() != outer*inner || count > MaxIterations {
		r.Fail(fmt.Errorf("engine: the sum of %v over its axis %q, into %v; want such an axis of at most %d, and as many sums as the other axes have elements",
			value, axis, sum, MaxIterations))
		return
	}
	k := sumKernel{Values: value.Range(), Sum: sum.Range(), Count: uint32(count), Inner: uint32(inner), Aligned: inner%4 == 0}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations((inner + 3) / 4)
	r.Dispatch(k.call(groups, uint32(outer), 1))
}
