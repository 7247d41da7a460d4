package envs

// Constants of Pendulum-v1 that spaces and drawing need; gymnasium 1.4.0, pendulum.py. The others are in shaders/envs/pendulum.glsl.
const (
	pendulumMaxSpeed  = 8
	pendulumMaxTorque = 2
	pendulumLength    = 1
)

func pendulum() Spec {
	return Spec{
		Name:        "Pendulum-v1",
		Summary:     "swing a pendulum up and hold it, by a torque too weak to lift it at once",
		Source:      "gymnasium 1.4.0, classic_control/pendulum.py",
		Observation: Symmetric(1, 1, pendulumMaxSpeed),
		Action:      Symmetric(pendulumMaxTorque),
		State:       []string{"theta", "theta_dot"},
		MaxSteps:    200,
		Draw:        drawPendulum,
	}
}

func drawPendulum(state []float32) Scene {
	const view = 2.2 * pendulumLength / 2
	return Scene{
		Left: -view, Right: view, Bottom: -view, Top: view,
		Shapes: []Shape{
			rod("rod", 0, 0, state[0], pendulumLength, 0.2, red),
			disc("pivot", 0, 0, 0.05, black),
		},
	}
}
