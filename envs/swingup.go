package envs

import "math"

// Constants of the cart-pole swing-up that spaces and drawing need; evojax 0.2.17, task/cartpole.py. The others are in
// shaders/envs/swingup.glsl.
const (
	swingUpXLimit = 2.4
	swingUpLength = 0.6
)

func swingUpEasy() Spec {
	return swingUp("CartPoleSwingUp-easy", "swing a pole up and balance it near the middle of the rail, from near rest")
}

func swingUpHard() Spec {
	return swingUp("CartPoleSwingUp-hard", "swing a pole up and balance it near the middle of the rail, from anywhere and at speed")
}

func swingUp(name, summary string) Spec {
	inf := float32(math.Inf(1))
	return Spec{
		Name:        name,
		Summary:     summary,
		Source:      "evojax 0.2.17, task/cartpole.py; Tang, Tian, Ha 2022",
		Observation: Symmetric(inf, inf, 1, 1, inf), // EvoJAX states no bounds
		Action:      Symmetric(1),
		State:       []string{"x", "x_dot", "theta", "theta_dot"},
		MaxSteps:    1000,
		Draw:        drawSwingUp,
	}
}

func drawSwingUp(state []float32) Scene {
	x, theta := state[0], state[2]
	return Scene{
		Left: -3, Right: 3, Bottom: -1.5, Top: 1.5,
		Shapes: []Shape{
			line("rail", black, [2]float32{-swingUpXLimit, -0.15}, [2]float32{swingUpXLimit, -0.15}),
			block("cart", x, 0, 0.4, 0.2, red),
			disc("left wheel", x-0.2, -0.1, 0.05, grey),
			disc("right wheel", x+0.2, -0.1, 0.05, grey),
			rod("pole", x, 0, -theta, swingUpLength, 0.06, blue), // theta turns clockwise
		},
	}
}
