package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
)

// delay is how many updates of its critics a member makes for one of its actor and of the targets (S. Fujimoto et al., 2018, section 5.2). Where
// it is a whole number, the same for all members, and divides the updates of an iteration, it is a pattern: other updates have no actor's
// half. Else every update has one, and a mask leaves the members alone that are not due.
type delay struct {
	common float64        // of all, unless it is varied
	each   *engine.Tensor // [P]
	credit *engine.Tensor // [P]: updates of the critics since the last of the actor
	due    *engine.Tensor // [P] u32
	tau    *engine.Tensor // [P]: of targets; 0 where they are not due

	turns  int // updates of a block
	masked bool
}

func newDelay(s *engine.State, h *engine.Hyper, a *actorCritic, common float64) *delay {
	p := engine.Members(a.members)
	return &delay{
		common: common, each: h.Add("policy_delay", common), credit: s.Sub("agent").Tensor("policy_delay_credit", engine.Float32, p),
		due: s.Sub("update").Scratch("due", engine.Uint32, p), tau: s.Sub("update").Scratch("due_tau", engine.Float32, p),
	}
}

// block chooses the form for an iteration's updates, and returns how many differ.
func (d *delay) block(updates int, varied bool) int {
	d.turns = int(d.common)
	d.masked = varied || d.common != math.Trunc(d.common) || updates%d.turns != 0
	if d.masked {
		d.turns = 1
	}
	return d.turns
}

// mask is [P] u32: whose actors an update changes; nil: all.
func (d *delay) mask() *engine.Tensor {
	if d.masked {
		return d.due
	}
	return nil
}

// record records the choice of members in an update, and returns whether any may be due and the tau of their targets.
func (d *delay) record(r *engine.Recorder, tau *engine.Tensor, u update) (now bool, of *engine.Tensor) {
	if !d.masked {
		return u.turn == d.turns-1, tau
	}
	size, groups := r.Invocations(d.due.Len())
	r.Dispatch(dueKernel{
		Delay: d.each.Range(), Tau: tau.Range(), Credit: d.credit.Range(), Due: d.due.Range(), DueTau: d.tau.Range(), Members: uint32(d.due.Len()), LocalSizeX: size,
	}.call(groups, 1, 1))
	return true, d.tau
}
