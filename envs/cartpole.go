package envs

import "math"

// Constants of CartPole-v1 for spaces and drawing; gymnasium 1.4.0, cartpole.py. The others are in
// shaders/envs/cartpole.glsl.
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
		Observation:     Symmetric(2*cartPoleXLimit, inf, 2*cartPoleThetaLimit, inf), // twice the limits, so that a failing state is inside
		Action:          Discrete(2),
		State:           []string{"x", "x_dot", "theta", "theta_dot"},
		MaxSteps:        500,
		RewardThreshold: Solved(475),
		Geometry:        cartPoleGeometry(),
	}
}

// cartPoleGeometry draws as Gymnasium does, with the pole's and cart's own lengths.
func cartPoleGeometry() *Geometry {
	return &Geometry{
		Bodies: []string{"world", "cart", "pole"},
		Shapes: []Shape{
			floor(-0.3),
			rod("rail", 0, [3]float64{-cartPoleXLimit, 0, 0}, [3]float64{cartPoleXLimit, 0, 0}, 0.02, dark),
			box("cart", 1, [3]float64{}, [3]float64{0.4, 0.3, 0.24}, dark),
			rod("pole", 2, [3]float64{}, [3]float64{0, 0, 2 * cartPoleHalfLength}, 0.04, wood),
			axle("axle", 2, [3]float64{}, 0.05, 0.36, blue),
		},
		Poses: func(state []float32) []Pose {
			x, theta := float64(state[0]), float64(state[2])
			return []Pose{{}, {Pos: [3]float64{x, 0, 0}}, {[3]float64{x, 0, 0.06}, tilted(theta)}}
		},
		Camera: Camera{LookAt: [3]float64{0, 0, 0.35}, Distance: 3.6, Azimuth: 90, Elevation: -12},
		Time:   0.02, Actions: []string{"left", "right"},
	}
}
