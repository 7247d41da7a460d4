package problem

import (
	"fmt"

	"github.com/evorl/evorl/envs"
)

// checkCoevolution checks whether different candidates can play the seats of the environment's worlds.
func (p *policy) checkCoevolution() error {
	if !p.cfg.Coevolution {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return &SettingError{"policy", "coevolution", fmt.Sprintf(format, args...)}
	}
	switch place := p.cfg.Placement; {
	case p.env.Seats() == 1:
		return wrong("%q has one agent: want false", p.env.Name)
	case p.actor != nil:
		return wrong("actors of reinforcement learning play all seats: want false")
	case len(p.described.low) > 0:
		return wrong("descriptors are of one agent: want false")
	case p.network.VirtualBatchNorm > 0:
		return wrong("network.virtual_batch_norm normalizes the layers of candidates that play all seats: want 0, or false")
	case p.cfg.Cap || p.cfg.Group > 0:
		return wrong("policy.cap and policy.group are for candidates that play all seats: want false, or neither")
	case place != envs.Automatic && place != envs.PlacementStepped:
		return wrong("policy.placement %v is for candidates that play all seats: want %v or %v", place, envs.Automatic, envs.PlacementStepped)
	}
	if p.model().Memory() > 0 {
		return wrong("networks with memory play all seats: want false")
	}
	return nil
}

// together returns how many consecutive candidates play in the same worlds.
func (p *policy) together() int {
	if p.cfg.Coevolution {
		return p.env.Seats()
	}
	return 1
}

// fits checks the number of candidates against those that play together.
func (p *policy) fits(population int) error {
	n := p.together()
	if population%n == 0 && p.slice%n == 0 {
		return nil
	}
	return &SettingError{"policy", "coevolution", fmt.Sprintf("%d candidates in slices of %d (0: none), of which %d play in the same worlds; want multiples of %d",
		population, p.slice, n, n)}
}
