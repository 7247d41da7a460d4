package envs

import "github.com/evorl/evorl/engine"

// hostedLogits draws the actions of a rollout whose environments the host steps, from logits or values that are read from memory.
type hostedLogits struct{ actLogitsKernel }

// inMemory reports whether the actions of a policy, or random ones, are drawn from outputs in memory: those of many logits or values.
func (h *hosted) inMemory(policy *Policy) bool {
	if policy == nil {
		return h.ro.env.Action.Head().InMemory()
	}
	_, head := h.ro.stepped.chosenBy(policy)
	return head.InMemory()
}

// actingLogits is acting for them. The policy is checked.
func (h *hosted) actingLogits(r *engine.Recorder, clock *engine.Clock, policy *Policy, firstCandidate int) hostedLogits {
	ro := h.ro
	k := ro.actLogits(r, policy, firstCandidate)
	k.ActionScale, k.Chosen = ro.scale.Range(), h.chosen.Range()
	if clock != nil {
		k.Clock = clock.Tensor().Range()
	}
	if ro.cfg.Trajectory {
		k.Action, k.LogProb = ro.Action.Range(), ro.LogProb.Range()
	}
	return hostedLogits{k}
}

// record records the actions of a part of the environments.
func (k hostedLogits) record(r *engine.Recorder, i engine.Counter, of section) {
	k.Step = i.Tensor().Range()
	k.actLogitsKernel.record(r, of)
}
