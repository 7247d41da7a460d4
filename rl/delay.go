package rl

import (
	"math"

	"github.com/evorl/evorl/engine"
)

// delay is the number of critic updates for each update of the actor and of the targets (S. Fujimoto et al., 2018,
// section 5.2). If it is an integer, the same for all members, and divides the updates of an iteration, it is a fixed
// pattern: the other updates omit the actor. Otherwise every update includes the actor, and a mask skips the members
// that are not due.
type delay struct {
	common float64        // of all members, unless it is varied
	each   *engine.Tensor // [P]
	credit *engine.Tensor // [P]: critic updates since the actor's last update
	due    *engine.Tensor // [P · actors] u32
	tau    *engine.Tensor // [P]: of the critics' targets; 0 for members that are not due
	actor  *engine.Tensor // [P · actors]: the same of the actors' targets

	length int // updates per block
	masked bool
}

func newDelay(s *engine.State, h *engine.Hyper, a *actorCritic, common float64) *delay {
	p, all, update := engine.Members(a.members), engine.Members(a.members*a.actors), s.Sub("update")
	return &delay{
		common: common, each: h.Add("policy_delay", common), credit: s.Sub("agent").Tensor("policy_delay_credit", engine.Float32, p),
		due: update.Scratch("due", engine.Uint32, all), tau: update.Scratch("due_tau", engine.Float32, p),
		actor: update.Scratch("actor_tau", engine.Float32, all),
	}
}

// block chooses the form for the number of updates of an iteration, and returns the length of the pattern.
func (d *delay) block(updates int, varied bool) int {
	d.length = int(d.common)
	d.masked = varied || d.common != math.Trunc(d.common) || updates%d.length != 0
	if d.masked {
		d.length = 1
	}
	return d.length
}

// mask returns [P · actors] u32, the actors that an update changes; nil: all.
func (d *delay) mask() *engine.Tensor {
	if d.masked {
		return d.due
	}
	return nil
}

// record records which members are due in an update. now reports whether any can be; critics and actors are the tau of
// their targets, tau [P] and actorTau [P · actors] if all are due.
func (d *delay) record(r *engine.Recorder, tau, actorTau *engine.Tensor, u update) (now bool, critics, actors *engine.Tensor) {
	if !d.masked {
		return u.at == d.length-1, tau, actorTau
	}
	members := d.tau.Len()
	size, groups := r.Invocations(members)
	r.Dispatch(dueKernel{
		Delay: d.each.Range(), Tau: tau.Range(), Credit: d.credit.Range(), Due: d.due.Range(), DueTau: d.tau.Range(), ActorTau: d.actor.Range(),
		Members: uint32(members), Actors: uint32(d.due.Len() / members), LocalSizeX: size,
	}.call(groups, 1, 1))
	return true, d.tau, d.actor
}
