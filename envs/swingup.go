package envs

import "math"

// Constants of the cart-pole swing-up for spaces and drawing; evojax 0.2.17, task/cartpole.py. The others are in
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
		Geometry:    swingUpGeometry(),
	}
}

func swingUpGeometry() *Geometry {
	return &Geometry{
		Bodies: []string{"world", "cart", "pole"},
		Shapes: []Shape{
			floor(-0.9),
			rod("rail", 0, [3]float64{-swingUpXLimit, 0, -0.15}, [3]float64{swingUpXLimit, 0, -0.15}, 0.02, dark),
			box("cart", 1, [3]float64{}, [3]float64{0.4, 0.24, 0.2}, red),
			axle("left wheels", 1, [3]float64{-0.13, 0, -0.1}, 0.05, 0.26, dark),
			axle("right wheels", 1, [3]float64{0.13, 0, -0.1}, 0.05, 0.26, dark),
			rod("pole", 2, [3]float64{0, -0.16, 0}, [3]float64{0, -0.16, swingUpLength}, 0.03, blue),
		},
		Poses: func(state []float32) []Pose {
			x, theta := float64(state[0]), float64(state[2])
			return []Pose{{}, {Pos: [3]float64{x, 0, 0}}, {[3]float64{x, 0, 0}, tilted(theta)}}
		},
		Camera: Camera{LookAt: [3]float64{0, 0, -0.1}, Distance: 3.8, Azimuth: 90, Elevation: -12},
		Time:   0.01, Actions: []string{"force"},
	}
}
