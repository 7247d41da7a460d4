package envs

import "slices"

// Of shaders/envs/repeat_previous.glsl.
const (
	repeatDeck   = 52
	repeatMemory = 4 // cards, the present one and those before; the oldest is the one to name
)

func repeatPrevious() Spec {
	return Spec{
		Name:            "RepeatPrevious-v0",
		Summary:         "name the suit of the card that was shown three steps before",
		Source:          "POPGym, Morad et al. 2023, RepeatPreviousEasy",
		Observation:     Box(make([]float32, 9), slices.Repeat([]float32{1}, 9)),
		Action:          Discrete(4),
		State:           []string{"suit", "suit_before_1", "suit_before_2", "suit_before_3", "left_1", "left_2", "left_3", "left_4", "seen", "action"},
		MaxSteps:        repeatDeck - 1,
		RewardThreshold: Solved(0.95),
		Geometry:        repeatGeometry(),
	}
}

// repeatGeometry draws a tile for each suit: the present card lies on that of its suit, and a green mark, which the agent does not see, on the one to name.
func repeatGeometry() *Geometry {
	g := &Geometry{
		Bodies: []string{"world", "card", "answer"},
		Poses: func(state []float32) []Pose {
			at := func(suit float32) Pose { return Pose{Pos: [3]float64{1.5 * float64(suit), 0, 0}} }
			return []Pose{{}, at(state[0]), at(state[repeatMemory-1])}
		},
		Camera: Camera{LookAt: [3]float64{2.25, 0, 0}, Distance: 7, Azimuth: 90, Elevation: -60},
		Time:   0.5, Actions: []string{"clubs", "diamonds", "hearts", "spades"},
	}
	for suit := range 4 {
		g.Shapes = append(g.Shapes, box("suit", 0, [3]float64{1.5 * float64(suit), 0, -0.1}, [3]float64{1.2, 1.6, 0.1}, grey))
	}
	card, answer := [3]float64{0.6, 0.8, 0.05}, [3]float64{0.8, 0.3, 0.05}
	g.Shapes = append(g.Shapes, box("card", 1, [3]float64{0, 0.3, 0.1}, card, red), box("answer", 2, [3]float64{0, -0.5, 0}, answer, green))
	return g
}
