package rl

import "github.com/evorl/evorl/engine"

// delay is the number of critic updates for each update of the actor and of the targets (S. Fujimoto et al., 2018,
// section 5.2). If it is an integer, the same for all members, and divides the updates of an iteration, updates are
// recorded in blocks of that length, and only the last one of a block includes the actor. Otherwise blocks are single
// updates that all include the actor, and a mask skips the members that are not due.
type delay struct {
	hyper  *engine.Hyper
	common float64        // of all members, unless it is varied
	each   *engine.Tensor // [P]
	credit *engine.Tensor // [P]: critic updates since the actor's last update
	due    *engine.Tensor // [P · actors] u32
	tau    *engine.Tensor // [P]: of the critics' targets; 0 for members that are not due
	actor  *engine.Tensor // [P · actors]: the same of the actors' targets
}

const delayName = "policy_delay"

func newDelay(s *engine.State, h *engine.Hyper, a *actorCritic, common float64) *delay {
	p, all, update := engine.Members(a.members), engine.Members(a.members*a.actors), s.Sub("update")
	return &delay{
		hyper: h, common: common, each: h.Add(delayName, common), credit: s.Sub("agent").Tensor("policy_delay_credit", engine.Float32, p),
		due: update.Scratch("due", engine.Uint32, all), tau: update.Scratch("due_tau", engine.Float32, p),
		actor: update.Scratch("actor_tau", engine.Float32, all),
	}
}

// block returns the length of the blocks in which an iteration's updates are recorded.
func (d *delay) block(updates int) int {
	length := int(d.common)
	if d.hyper.Varied(delayName) || float64(length) != d.common || updates%length != 0 {
		return 1
	}
	return length
}

// masked reports whether updates in blocks of a length need the mask.
func (d *delay) masked(block int) bool {
	return d.hyper.Varied(delayName) || float64(block) != d.common
}

// mask returns [P · actors] u32, the actors that an update in blocks of a length changes; nil: all.
func (d *delay) mask(block int) *engine.Tensor {
	if d.masked(block) {
		return d.due
	}
	return nil
}

// record records which members are due in an update. now reports whether any can be; critics and actors are the tau of
// their targets, tau [P] and actorTau [P · actors] if all are due.
func (d *delay) record(r *engine.Recorder, tau, actorTau *engine.Tensor, u update) (now bool, critics, actors *engine.Tensor) {
	if !d.masked(u.block) {
		return u.at == u.block-1, tau, actorTau
	}
	members := d.tau.Len()
	size, groups := r.Invocations(members)
	r.Dispatch(dueKernel{
		Delay: d.each.Range(), Tau: tau.Range(), Credit: d.credit.Range(), Due: d.due.Range(), DueTau: d.tau.Range(), ActorTau: d.actor.Range(),
		Members: uint32(members), Actors: uint32(d.due.Len() / members), LocalSizeX: size,
	}.call(groups, 1, 1))
	return true, d.tau, d.actor
}
