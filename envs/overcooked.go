package envs

import "fmt"

// OvercookedOptions are the options of Overcooked.
type OvercookedOptions struct {
	// Shaped multiplies what learners are paid besides the reward: 3 for an onion in the pot, 3 for a plate if soup is under way and none is out, 5 for a
	// soup taken.
	Shaped float32 `min:"0" doc:"Factor of what learners are paid for onions in the pot, plates and soup taken; returns have served soups only."`
	// ShapedSteps is the number of steps of each world in which that falls to zero.
	ShapedSteps float32 `min:"0" doc:"Steps of each environment in which that falls to zero, linearly; 0: it does not fall."`
}

// Row and column of the pot, and of the counters that can be reached.
var (
	overcookedPot      = [2]float64{0, 2}
	overcookedCounters = [][2]float64{{0, 1}, {0, 3}, {2, 0}, {2, 4}, {3, 2}}
)

// overcooked is JaxMARL's kitchen cramped_room (shaders/envs/overcooked.glsl has the rules).
func overcooked() Spec {
	var state []string
	for cook := range 2 {
		for _, element := range []string{"row", "column", "facing", "held"} {
			state = append(state, fmt.Sprintf("cook_%d_%s", cook, element))
		}
	}
	state = append(state, "onions", "cooking")
	for i := range overcookedCounters {
		state = append(state, fmt.Sprintf("counter_%d", i))
	}
	state = append(state, "worth_0", "worth_1", "steps")
	low, high := make([]float32, 47), make([]float32, 47)
	for i := range high {
		high[i] = 1
	}
	return Spec{
		Name: "OvercookedCrampedRoom-v0", Summary: "two cooks make onion soup in a narrow kitchen and serve it",
		Source: "JaxMARL 0.2.0, Rutherford et al. 2024; Carroll et al. 2019", Observation: Box(low, high), Action: Discrete(6),
		State: state, Agents: 2, Global: len(low), MaxSteps: 400, Options: OvercookedOptions{Shaped: 1}, Geometry: overcookedGeometry(),
	}
}

// overcookedGeometry shows the kitchen from above: the first cook blue, the second red, with a nose where it looks. What is held or lies on a counter is on
// it: onions gold, plates grey, soup green; onions in the pot are on its rim. Things that are nowhere are below the floor.
func overcookedGeometry() *Geometry {
	at := func(row, column, z float64) [3]float64 { return [3]float64{column, -row, z} }
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{box("floor", 0, at(1.5, 2, -0.1), [3]float64{5, 4, 0.2}, ground)},
		Camera: Camera{LookAt: at(1.5, 2, 0), Distance: 6.5, Azimuth: 90, Elevation: -65},
		Time:   0.1, Actions: []string{"up", "down", "right", "left", "stay", "interact"},
	}
	block := func(name string, row, column float64, color [4]float64) {
		g.Shapes = append(g.Shapes, box(name, 0, at(row, column, 0.2), [3]float64{0.96, 0.96, 0.4}, color))
	}
	for _, c := range append([][2]float64{{0, 0}, {0, 4}, {3, 0}, {3, 4}}, overcookedCounters...) {
		block("counter", c[0], c[1], wood)
	}
	block("pot", overcookedPot[0], overcookedPot[1], dark)
	block("onions", 1, 0, gold)
	block("onions", 1, 4, gold)
	block("plates", 3, 1, grey)
	block("serving", 3, 3, green)
	body := func(name string, shapes ...Shape) {
		for i := range shapes {
			shapes[i].Body = len(g.Bodies)
		}
		g.Bodies, g.Shapes = append(g.Bodies, name), append(g.Shapes, shapes...)
	}
	for cook, color := range [][4]float64{blue, red} {
		body(fmt.Sprintf("cook %d", cook), box("cook", 0, [3]float64{0, 0, 0.3}, [3]float64{0.6, 0.6, 0.6}, color))
		body(fmt.Sprintf("nose %d", cook), box("nose", 0, [3]float64{0, 0, 0.45}, [3]float64{0.2, 0.2, 0.2}, dark))
	}
	for range 2 + len(overcookedCounters) {
		body("onion", box("onion", 0, [3]float64{}, [3]float64{0.25, 0.25, 0.25}, gold))
		body("plate", box("plate", 0, [3]float64{}, [3]float64{0.4, 0.4, 0.08}, grey))
		body("soup", box("soup", 0, [3]float64{}, [3]float64{0.4, 0.4, 0.16}, green))
	}
	for range 3 {
		body("onion in the pot", box("onion", 0, [3]float64{}, [3]float64{0.2, 0.2, 0.2}, gold))
	}
	g.Poses = func(s []float32) []Pose {
		hidden := Pose{Pos: [3]float64{2, -1.5, -1}}
		poses := make([]Pose, 1, len(g.Bodies))
		var things []Pose
		thing := func(row, column, z, kind float64) { // an onion, a plate and a soup of which one is shown, or none
			for k := range 3 {
				pose := hidden
				if kind == float64(k+1) {
					pose.Pos = at(row, column, z)
				}
				things = append(things, pose)
			}
		}
		for cook := range 2 {
			row, column, facing := float64(s[4*cook]), float64(s[4*cook+1]), int(s[4*cook+2])
			to := [][2]float64{{-1, 0}, {1, 0}, {0, 1}, {0, -1}}[min(max(facing, 0), 3)]
			poses = append(poses, Pose{Pos: at(row, column, 0)}, Pose{Pos: at(row+0.35*to[0], column+0.35*to[1], 0)})
			thing(row, column, 0.7, float64(s[4*cook+3]))
		}
		for i, c := range overcookedCounters {
			thing(c[0], c[1], 0.5, float64(s[10+i]))
		}
		for i := range 3 {
			pose := hidden
			if float32(i) < s[8] {
				pose.Pos = at(overcookedPot[0], overcookedPot[1]+0.3*float64(i-1), 0.5)
			}
			things = append(things, pose)
		}
		return append(poses, things...)
	}
	return g
}
