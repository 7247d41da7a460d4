package envs

import "math"

// Constants of CartPole-v1 that spaces and drawing need; gymnasium 1.4.0, cartpole.py. The others are in shaders/envs/cartpole.glsl.
const (
	cartPoleXLimit     = 2.4
	cartPoleThetaLimit = 12 * 2 * math.Pi / 360
	cartPoleHalfLength = 0.5
)

func cartPole() Spec {
	inf := float32(math.Inf(1))
	return Spec{
		Name:            "CartPole-v1",
		Summary:         "balance a pole by pushing its cart left or right",
		Source:          "gymnasium 1.4.0, classic_control/cartpole.py; Barto, Sutton, Anderson 1983; Florian 2007",
		Observation:     Symmetric(2*cartPoleXLimit, inf, 2*cartPoleThetaLimit, inf), // twice the limits: a failing state lies within
		Action:          Discrete(2),
		State:           []string{"x", "x_dot", "theta", "theta_dot"},
		MaxSteps:        500,
		RewardThreshold: Solved(475),
		Draw:            drawCartPole,
	}
}

func drawCartPole(state []float32) Scene {
	x, theta := state[0], state[2]
	return Scene{
		Left: -cartPoleXLimit, Right: cartPoleXLimit, Bottom: -0.8, Top: 2.4,
		Shapes: []Shape{
			line("rail", black, [2]float32{-cartPoleXLimit, 0}, [2]float32{cartPoleXLimit, 0}),
			block("cart", x, 0, 0.4, 0.24, black),
			rod("pole", x, 0.06, -theta, 2*cartPoleHalfLength, 0.08, wood), // theta turns clockwise
			disc("axle", x, 0.06, 0.04, blue),
		},
	}
}
