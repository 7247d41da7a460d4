package envs

// Constants of Pendulum-v1 for spaces and drawing; gymnasium 1.4.0, pendulum.py. The others are in
// shaders/envs/pendulum.glsl.
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
		Geometry:    pendulumGeometry(),
	}
}

func pendulumGeometry() *Geometry {
	return &Geometry{
		Bodies: []string{"world", "pendulum"},
		Shapes: []Shape{
			floor(-1.3),
			axle("pivot", 0, [3]float64{}, 0.05, 0.3, dark),
			rod("rod", 1, [3]float64{}, [3]float64{0, 0, pendulumLength}, 0.08, red),
		},
		Poses: func(state []float32) []Pose {
			return []Pose{{}, {Rot: tilted(-float64(state[0]))}} // theta increases counter-clockwise
		},
		Camera: Camera{Distance: 3, Azimuth: 90, Elevation: -12},
		Time:   0.05, Actions: []string{"torque"},
	}
}
