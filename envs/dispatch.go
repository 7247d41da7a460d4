package envs

import "github.com/evorl/evorl/vk"

// dispatchSteps returns the maximum number of steps per dispatch. A step takes an invocation the given iterations of environment and network.
func (ro *Rollout) dispatchSteps(info vk.Info, policy *Policy, iterations int) int {
	most := stepsWithin(iterations)
	if info.Type.GPU() {
		weights := 0
		if policy != nil {
			weights = max(1, ro.env.Seats()) * policy.Network.Size()
		}
		most = min(most, stepsOfWork(ro.cfg.Members*ro.cfg.Environments, weights, ro.options.ActionRepeat*(1+ro.env.Iterations)))
	}
	return most
}

// stepsWithin returns how many steps keep a dispatch short, and below the 65535 iterations after which Mesa's software driver leaves an invocation's
// loops. A step takes the given iterations of environment and network, and one for each round of its random numbers.
func stepsWithin(iterations int) int {
	const (
		most    = 1024
		perStep = 50 // in addition
	)
	return max(1, min(most, maxIterations/(perStep+iterations)))
}

// stepsOfWork returns how many steps of so many environments a GPU's dispatch takes at most, with a network of so many weights and so many loop iterations
// of the environment in a step: nothing can interrupt a dispatch, and operating systems reset a GPU that works on one for seconds. The work of an
// iteration is a guess. The bound is a second at 100 GFLOP/s, and 10 ms, many times what a dispatch costs, at 10 TFLOP/s.
func stepsOfWork(environments, weights, iterations int) int {
	const (
		most      = 1e11 // floating-point operations
		iteration = 200
	)
	return int(max(1, most/(float64(environments)*(2*float64(weights)+iteration*float64(iterations)))))
}
