package envs

import "math"

// Constants of Acrobot-v1 that spaces and drawing need; gymnasium 1.4.0, acrobot.py. The others are in shaders/envs/acrobot.glsl.
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
		Draw:            drawAcrobot,
	}
}

func drawAcrobot(state []float32) Scene {
	const view = acrobotLength1 + acrobotLength2 + 0.2
	sin, cos := math.Sincos(float64(state[0]))
	x, y := float32(acrobotLength1*sin), float32(-acrobotLength1*cos)
	return Scene{
		Left: -view, Right: view, Bottom: -view, Top: view,
		Shapes: []Shape{
			line("goal", black, [2]float32{-view, acrobotLength1}, [2]float32{view, acrobotLength1}),
			rod("link 1", 0, 0, state[0]+math.Pi, acrobotLength1, 0.2, blue), // 0 hangs down
			rod("link 2", x, y, state[0]+state[1]+math.Pi, acrobotLength2, 0.2, blue),
			disc("pivot", 0, 0, 0.1, wood),
			disc("joint", x, y, 0.1, wood),
		},
	}
}
