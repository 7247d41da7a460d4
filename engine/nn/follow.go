package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Follow records the members' target parameters following their sources by Polyak averaging: target = (1 - tau) target + tau source, both
// [P, ...] and tau [P] (T. P. Lillicrap et al., "Continuous control with deep reinforcement learning", 2016, algorithm 1). Targets that follow
// at every update of an optimizer do so faster in its own pass (optim.Optimizer.Follow), to the same bits.
func Follow(r *engine.Recorder, target, source, tau *engine.Tensor) {
	members, size, err := CheckFollow(target, source, tau)
	if err != nil {
		r.Fail(err)
		return
	}
	groups := r.Share(members, size/4)
	r.Dispatch(followKernel{
		Target: target.Range(), Source: source.Range(), Tau: tau.Range(),
		Size: uint32(size), LocalSizeX: r.WorkgroupFor(size / 4 / int(groups)),
	}.call(groups, uint32(members), 1))
}

// CheckFollow checks the shapes of targets, sources and tau, and returns the members and the floats of each.
func CheckFollow(target, source, tau *engine.Tensor) (members, size int, err error) {
	outer, members, size, ok := source.Split(engine.MemberAxis)
	targetOuter, targetMembers, targetSize, targetOk := target.Split(engine.MemberAxis)
	switch {
	case !ok || outer != 1 || size%4 != 0:
		err = fmt.Errorf("nn: a target that follows %v; want [member, n] with n a multiple of 4", source)
	case !targetOk || targetOuter != 1 || targetMembers != members || targetSize != size:
		err = fmt.Errorf("nn: a target %v that follows %v; want the same members and sizes", target, source)
	case tau.Len() != members:
		err = fmt.Errorf("nn: a target %v that follows by the shares %v; want one for each of %d members", target, tau, members)
	case target == source:
		err = fmt.Errorf("nn: %v is its own target", target)
	}
	return members, size, err
}
