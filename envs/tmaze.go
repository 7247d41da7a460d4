package envs

// tMazeLength is the number of cells of the corridor before the junction; shaders/envs/tmaze.glsl.
const tMazeLength = 10

func tMaze() Spec {
	return Spec{
		Name:            "TMaze-v0",
		Summary:         "go along a corridor and turn to the side that was shown at its beginning",
		Source:          "Bakker 2002; in the form of Ni et al. 2023, passive T-maze",
		Observation:     Symmetric(1, 1),
		Action:          Discrete(4),
		State:           []string{"x", "y", "goal", "time"},
		MaxSteps:        tMazeLength + 1,
		RewardThreshold: Solved(1),
		Geometry:        tMazeGeometry(),
	}
}

// tMazeGeometry draws the maze from above, the goal's side as a green tile that the walker does not see.
func tMazeGeometry() *Geometry {
	return &Geometry{
		Bodies: []string{"world", "walker", "goal"},
		Shapes: []Shape{
			box("corridor", 0, [3]float64{tMazeLength / 2., 0, -0.1}, [3]float64{tMazeLength + 1, 1, 0.1}, grey),
			box("junction", 0, [3]float64{tMazeLength, 0, -0.1}, [3]float64{1, 3, 0.1}, grey),
			box("walker", 1, [3]float64{0, 0, 0.3}, [3]float64{0.5, 0.5, 0.5}, red),
			box("goal", 2, [3]float64{0, 0, -0.04}, [3]float64{0.8, 0.8, 0.04}, green),
		},
		Poses: func(state []float32) []Pose {
			x, y, goal := float64(state[0]), float64(state[1]), float64(state[2])
			return []Pose{{}, {Pos: [3]float64{x, y, 0}}, {Pos: [3]float64{tMazeLength, goal, 0}}}
		},
		Camera: Camera{LookAt: [3]float64{tMazeLength / 2., 0, 0}, Distance: 12, Azimuth: 90, Elevation: -70},
		Time:   0.2, Actions: []string{"right", "up", "left", "down"},
	}
}
