package envs

import "math"

// Constants of both mountain cars for spaces and drawing; gymnasium 1.4.0, mountain_car.py and
// continuous_mountain_car.py. The others are in shaders/envs/mountaincar.glsl and mountaincar_continuous.glsl.
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
		Geometry:        mountainCarGeometry(mountainCarGoal, "left", "none", "right"),
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
		Geometry:        mountainCarGeometry(mountainCarContinuousGoal, "force"),
	}
}

// mountainCarHeight returns the height of the track, as Gymnasium draws it.
func mountainCarHeight(x float64) float64 { return 0.45*math.Sin(3*x) + 0.55 }

func mountainCarGeometry(goal float64, actions ...string) *Geometry {
	const pieces = 36
	track := func(i int) [3]float64 {
		x := mountainCarMin + (mountainCarMax-mountainCarMin)*float64(i)/pieces
		return [3]float64{x, 0, mountainCarHeight(x)}
	}
	foot := [3]float64{goal, 0.08, mountainCarHeight(goal)}
	top := [3]float64{goal, 0.08, foot[2] + 0.2}
	shapes := []Shape{
		floor(-0.05),
		rod("pole", 0, foot, top, 0.008, dark),
		box("flag", 0, [3]float64{goal + 0.05, 0.08, top[2] - 0.03}, [3]float64{0.1, 0.005, 0.06}, green),
		box("car", 1, [3]float64{0, 0, 0.06}, [3]float64{0.12, 0.07, 0.04}, red),
		box("cabin", 1, [3]float64{-0.01, 0, 0.09}, [3]float64{0.06, 0.06, 0.03}, red),
		axle("front wheels", 1, [3]float64{0.035, 0, 0.035}, 0.02, 0.09, dark),
		axle("rear wheels", 1, [3]float64{-0.035, 0, 0.035}, 0.02, 0.09, dark),
	}
	for i := range pieces {
		shapes = append(shapes, rod("track", 0, track(i), track(i+1), 0.012, grey))
	}
	return &Geometry{
		Bodies: []string{"world", "car"},
		Shapes: shapes,
		Poses: func(state []float32) []Pose {
			x := float64(state[0])
			return []Pose{{}, {[3]float64{x, 0, mountainCarHeight(x)}, tilted(-math.Atan(3 * 0.45 * math.Cos(3*x)))}}
		},
		Camera:  Camera{LookAt: [3]float64{-0.3, 0, 0.55}, Distance: 2, Azimuth: 90, Elevation: -12},
		Time:    1. / 30, // as Gymnasium shows it
		Actions: actions,
	}
}
