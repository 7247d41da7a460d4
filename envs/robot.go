package envs

import (
	"fmt"
	"math"
)

// robot returns the Spec of an environment with MuJoCo's dynamics. Its state is the joints' positions, velocities and
// accelerations, then the values remembered from the last forward pass. Positions of a free joint are x, y, z and a
// quaternion; its velocities are six.
func robot(name, summary, source string, joints []string, remembers []string, observations int, control float32, actuators int) Spec {
	var q, v, a []string
	for _, j := range joints {
		if j != "free" {
			q, v, a = append(q, j), append(v, j+"_dot"), append(a, j+"_acc")
			continue
		}
		q = append(q, "x", "y", "z", "quat_w", "quat_x", "quat_y", "quat_z")
		for _, k := range []string{"x", "y", "z", "turn_x", "turn_y", "turn_z"} {
			v, a = append(v, k+"_dot"), append(a, k+"_acc")
		}
	}
	return Spec{
		Name: name, Summary: summary, Source: "gymnasium 1.4.0, mujoco/" + source + "; dynamics of MuJoCo 3.12.0",
		Observation: Symmetric(repeated(observations, float32(math.Inf(1)))...), Action: Symmetric(repeated(actuators, control)...),
		State: append(append(append(q, v...), a...), remembers...), MaxSteps: 1000,
	}
}

func repeated(n int, v float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// numbered returns n names: name followed by an index.
func numbered(name string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s_%d", name, i))
	}
	return out
}

// solved adds the mean return at which the source calls the environment solved.
func (s Spec) solved(mean float64) Spec {
	s.RewardThreshold = Solved(mean)
	return s
}

// choosing adds options to a Spec.
func (s Spec) choosing(options any) Spec {
	s.Options = options
	return s
}
