package bench

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/envs"
)

// acting are cases of one [64, 64] network that acts in many environments at once: in the environment's kernel, and evaluated by kernels of its own before
// every step. tools/peers/acting_jax.py is the same in JAX.
func acting() []Case {
	var all []Case
	for _, name := range []string{"CartPole-v1", "HalfCheetah-v5"} {
		short, _, _ := strings.Cut(strings.ToLower(name), "-")
		for _, environments := range []int{64, 1024, 16384} {
			horizon, rank := min(512, 1<<19/environments), 0
			if short != "cartpole" {
				horizon, rank = min(64, 1<<16/environments), 2 // MuJoCo's dynamics take that much longer
			}
			of := func(form, summary string, wanted func(envs.Placement) bool, placement envs.Placement) {
				all = append(all, Case{
					Name: fmt.Sprintf("act/%s/e%d/%s", short, environments, form), Unit: "env steps/s", Rank: rank,
					Summary: fmt.Sprintf("%s with a [64, 64] network in %d environments, %s", name, environments, summary),
					run:     rolloutPlaced(name, 1, environments, horizon, true, envs.ByDevice, wanted, placement),
				})
			}
			of("fused", "in one kernel", func(p envs.Placement) bool { return p != envs.PlacementStepped }, envs.Automatic)
			of("stepped", "step by step", func(p envs.Placement) bool { return p == envs.PlacementStepped }, envs.PlacementStepped)
		}
	}
	return all
}
