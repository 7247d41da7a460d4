package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Follow records Polyak averaging of each member's target parameters: target = (1 - tau) target + tau source, both
// [M, ...] and tau [M] (T. P. Lillicrap et al., "Continuous control with deep reinforcement learning", 2016,
// algorithm 1). For targets that follow at every optimizer update, optim.Optimizer.Follow is faster, since it needs
// no dispatch of its own; its results are bit-identical.
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

// CheckFollow checks the shapes of targets, sources and tau. It returns the number of members and the floats per
// member.
func CheckFollow(target, source, tau *engine.Tensor) (members, size int, err error) {
	outer, members, size, ok := source.Split(engine.MemberAxis)
	targetOuter, targetMembers, targetSize, targetOk := target.Split(engine.MemberAxis)
	switch {
	case !ok || outer != 1 || size%4 != 0:
		err = fmt.Errorf("nn: source parameters %v; want [member, n] with n a multiple of 4", source)
	case !targetOk || targetOuter != 1 || targetMembers != members || targetSize != size:
		err = fmt.Errorf("nn: target %v of source %v; want the same members and sizes", target, source)
	case tau.Len() != members:
		err = fmt.Errorf("nn: target %v with tau %v; want one for each of %d members", target, tau, members)
	case target == source:
		err = fmt.Errorf("nn: %v is its own target", target)
	}
	return members, size, err
}
