package envs

import "math"

// Constants of Acrobot-v1 for spaces and drawing; gymnasium 1.4.0, acrobot.py. The others are in
// shaders/envs/acrobot.glsl.
const (
	acrobotMaxSpeed1 = 4 * math.Pi
	acrobotMaxSpeed2 = 9 * math.Pi
	acrobotLength1   = 1
	acrobotLength2   = 1
)

func acrobot() Spec {
	return Spec{
		Name:            "Acrobot-v1",
		Summary:         "swing two links above a line by a torque at the joint between them",
		Source:          "gymnasium 1.4.0, classic_control/acrobot.py (book dynamics); Sutton 1996",
		Observation:     Symmetric(1, 1, 1, 1, acrobotMaxSpeed1, acrobotMaxSpeed2),
		Action:          Discrete(3),
		State:           []string{"theta_1", "theta_2", "theta_1_dot", "theta_2_dot"},
		MaxSteps:        500,
		RewardThreshold: Solved(-100),
		Geometry:        acrobotGeometry(),
	}
}

func acrobotGeometry() *Geometry {
	const reach = acrobotLength1 + acrobotLength2
	return &Geometry{
		Bodies: []string{"world", "link 1", "link 2"},
		Shapes: []Shape{
			floor(-reach - 0.3),
			rod("goal", 0, [3]float64{-reach, 0.3, acrobotLength1}, [3]float64{reach, 0.3, acrobotLength1}, 0.015, green),
			rod("link 1", 1, [3]float64{}, [3]float64{0, 0, -acrobotLength1}, 0.09, blue),
			axle("pivot", 1, [3]float64{}, 0.11, 0.24, wood),
			rod("link 2", 2, [3]float64{}, [3]float64{0, 0, -acrobotLength2}, 0.08, blue),
			axle("joint", 2, [3]float64{}, 0.11, 0.24, wood),
		},
		Poses: func(state []float32) []Pose {
			first, both := tilted(-float64(state[0])), tilted(-float64(state[0])-float64(state[1])) // at angle 0 it hangs down; angles increase counter-clockwise
			return []Pose{{}, {Rot: first}, {turned(first, [3]float64{0, 0, -acrobotLength1}), both}}
		},
		Camera: Camera{LookAt: [3]float64{0, 0, -0.2}, Distance: 5.4, Azimuth: 90, Elevation: -12},
		Time:   0.2, Actions: []string{"torque -1", "none", "torque +1"},
	}
}
