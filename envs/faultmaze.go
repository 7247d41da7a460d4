package envs

import "fmt"

// faultMazeSize is the number of cells of a row of the maze with its border; shaders/envs/fault_maze.glsl.
const faultMazeSize = 13

func faultMaze() Spec {
	state := []string{"row", "column", "key", "key_uses", "lever_uses", "door", "bumps", "run", "goal", "faults"}
	for i := range 31 {
		state = append(state, fmt.Sprintf("states_%d", i))
	}
	low, high := make([]float32, 25), make([]float32, 25)
	for i := range high {
		high[i] = 1
	}
	return Spec{
		Name:            "FaultMaze-v0",
		Summary:         "go to the goal of a maze with a key and a door, in which 14 faults are planted that nothing shows",
		Source:          "after Wuji's BlockMaze; Zheng et al. 2019",
		Observation:     Box(low, high),
		Action:          Discrete(5),
		State:           state,
		Sets:            []Set{{Name: "faults", First: "faults", Size: 14}, {Name: "states", First: "states_0", Size: 726, Visited: true}},
		MaxSteps:        200,
		RewardThreshold: Solved(1.2),
		Geometry:        faultMazeGeometry(),
	}
}

// faultMazeGeometry draws the maze from above.
func faultMazeGeometry() *Geometry {
	at := func(row, column float64) [3]float64 { return [3]float64{column, -row, 0.25} }
	wall := func(name string, row, column, rows, columns float64) Shape {
		return box(name, 0, at(row, column), [3]float64{columns, rows, 0.5}, dark)
	}
	const last, middle = faultMazeSize - 1, 6
	g := &Geometry{
		Bodies: []string{"world", "walker", "key", "door"},
		Shapes: []Shape{
			box("floor", 0, [3]float64{middle, -middle, -0.1}, [3]float64{faultMazeSize, faultMazeSize, 0.1}, grey),
			wall("top", 0, middle, 1, faultMazeSize), wall("bottom", last, middle, 1, faultMazeSize),
			wall("left", middle, 0, faultMazeSize, 1), wall("right", middle, last, faultMazeSize, 1),
			wall("row, left", middle, 1, 1, 1), wall("row, right", middle, 7, 1, 9),
			wall("column, top", 1.5, middle, 2, 1), wall("column, above", 4.5, middle, 2, 1),
			wall("column, below", 7.5, middle, 2, 1), wall("column, bottom", 10.5, middle, 2, 1),
			box("lever", 0, at(2, 10), [3]float64{0.3, 0.3, 0.5}, blue),
			box("goal", 0, [3]float64{10, -10, 0}, [3]float64{0.9, 0.9, 0.04}, green),
			box("walker", 1, [3]float64{0, 0, 0.3}, [3]float64{0.5, 0.5, 0.5}, red),
			box("key", 2, [3]float64{0, 0, 0.2}, [3]float64{0.4, 0.2, 0.2}, blue),
			box("door", 3, [3]float64{0, 0, 0.25}, [3]float64{0.3, 1, 0.5}, wood),
		},
		Camera: Camera{LookAt: [3]float64{middle, -middle, 0}, Distance: 18, Azimuth: 90, Elevation: -80},
		Time:   0.1, Actions: []string{"up", "down", "left", "right", "use"},
	}
	g.Poses = func(s []float32) []Pose {
		pose := func(row, column, z float64) Pose { return Pose{Pos: [3]float64{column, -row, z}} }
		key, door := pose(10, 2, 0), pose(9, 6, 0)
		if s[2] > 0 {
			key = pose(float64(s[0]), float64(s[1]), 0.5) // on whoever has it
		}
		if s[5] > 0 {
			door.Pos[2] = -0.6 // open
		}
		return []Pose{{}, pose(float64(s[0]), float64(s[1]), 0), key, door}
	}
	return g
}
