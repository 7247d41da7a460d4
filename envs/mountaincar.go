package envs

import "math"

// Constants of both mountain cars that spaces and drawing need; gymnasium 1.4.0, mountain_car.py and continuous_mountain_car.py.
// The others are in shaders/envs/mountaincar.glsl and mountaincar_continuous.glsl.
const (
	mountainCarMin            = -1.2
	mountainCarMax            = 0.6
	mountainCarMaxSpeed       = 0.07
	mountainCarGoal           = 0.5
	mountainCarContinuousGoal = 0.45
)

func mountainCar() Spec {
	return Spec{
		Name:            "MountainCar-v0",
		Summary:         "drive a weak car out of a valley by rocking it",
		Source:          "gymnasium 1.4.0, classic_control/mountain_car.py; Moore 1990",
		Observation:     Box([]float32{mountainCarMin, -mountainCarMaxSpeed}, []float32{mountainCarMax, mountainCarMaxSpeed}),
		Action:          Discrete(3),
		State:           []string{"position", "velocity"},
		MaxSteps:        200,
		RewardThreshold: Solved(-110),
		Draw:            func(state []float32) Scene { return drawMountainCar(state, mountainCarGoal) },
	}
}

func mountainCarContinuous() Spec {
	return Spec{
		Name:            "MountainCarContinuous-v0",
		Summary:         "drive a weak car out of a valley by rocking it, with little force",
		Source:          "gymnasium 1.4.0, classic_control/continuous_mountain_car.py; Moore 1990",
		Observation:     Box([]float32{mountainCarMin, -mountainCarMaxSpeed}, []float32{mountainCarMax, mountainCarMaxSpeed}),
		Action:          Symmetric(1),
		State:           []string{"position", "velocity"},
		MaxSteps:        999,
		RewardThreshold: Solved(90),
		Draw:            func(state []float32) Scene { return drawMountainCar(state, mountainCarContinuousGoal) },
	}
}

// mountainCarHeight is the track, as Gymnasium draws it.
func mountainCarHeight(x float64) float32 { return float32(0.45*math.Sin(3*x) + 0.55) }

func drawMountainCar(state []float32, goal float64) Scene {
	const pieces = 100
	track := make([][2]float32, pieces+1)
	for i := range track {
		x := mountainCarMin + (mountainCarMax-mountainCarMin)*float64(i)/pieces
		track[i] = [2]float32{float32(x), mountainCarHeight(x)}
	}
	x := float64(state[0])
	slope := float32(math.Atan(3 * 0.45 * math.Cos(3*x)))
	car := block("car", float32(x), mountainCarHeight(x)+0.05, 0.12, 0.06, red)
	car.Angle = slope
	foot := mountainCarHeight(goal)
	return Scene{
		Left: mountainCarMin, Right: mountainCarMax, Bottom: 0, Top: 1.2,
		Shapes: []Shape{
			line("track", black, track...),
			line("goal", green, [2]float32{float32(goal), foot}, [2]float32{float32(goal), foot + 0.15}),
			car,
		},
	}
}
