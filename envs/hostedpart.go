package envs

import "github.com/evorl/evorl/engine"

// A part of the environments acts now here and now there, on devices and machines that have a rollout of it each (rl.Act). Where the host steps environments,
// the state of these cannot move: the part begins new episodes where it goes on. These methods tell and settle where episodes begin. They do nothing, and
// report false, in rollouts whose environments the device steps.

// Fresh reports whether the last recorded steps are the first in new episodes, although these are not the first ones of the rollout's, or not here: what goes
// on from one recording to the next must not be continued.
func (ro *Rollout) Fresh() bool { return ro.hosted != nil && ro.hosted.fresh }

// Renew makes the next recording begin new episodes, in the environments that are there.
func (ro *Rollout) Renew() {
	if ro.hosted != nil {
		ro.hosted.begun = false
	}
}

// Leave ends the environments, whose part others act. The next recording makes others, and begins new episodes in them.
func (ro *Rollout) Leave() error {
	if ro.hosted == nil {
		return nil
	}
	return ro.hosted.close()
}

// seed returns what MakeStepper is given.
func (h *hosted) seed() uint32 {
	seed := h.arrived.Engine().Seed()
	if h.ro.cfg.part > 0 {
		seed = engine.Philox([2]uint32{seed, uint32(h.ro.cfg.part)}, [4]uint32{3})[0]
	}
	return seed
}
