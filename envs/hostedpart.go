package envs

import "github.com/evorl/evorl/engine"

// Several devices and machines act in a part of an agent's environments in turn, each in a rollout of its own (rl.Act). If the host steps the environments,
// their state cannot move, and the part begins new episodes where it goes on. These methods say where that is. In rollouts whose environments the device
// steps they do nothing, and report false.

// Fresh reports whether the last recorded steps began in new episodes, instead of going on in those of the recording before, which may have been elsewhere.
// Whoever continues something from one recording to the next must not continue it then.
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
