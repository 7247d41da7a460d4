package engine

import "fmt"

// Reduction is a kind of reduction. Its values are as in shaders/engine/reduce.comp.
type Reduction uint32

const (
	MeanOf Reduction = iota
	SumOf
	LargestOf
	SmallestOf
)

// Reduce records a reduction of value [M, ...] over the members, element by element, to result [...]. NaN values are ignored.
// The result is NaN if no value is left.
func Reduce(r *Recorder, how Reduction, value, result *Tensor) {
	outer, members, inner, ok := value.Split(MemberAxis)
	if !ok || outer != 1 || result.Len() != inner {
		r.Fail(fmt.Errorf("engine: reducing %v to %v; want [member, ...] and the same without the member axis", value, result))
		return
	}
	r.Dispatch(reduceKernel{
		Value: value.Range(), Result: result.Range(), Members: uint32(members), Inner: uint32(inner),
		Workgroup: r.WorkgroupFor(members), Kind: uint32(how),
	}.call(uint32(inner), 1, 1))
}
