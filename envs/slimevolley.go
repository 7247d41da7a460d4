package envs

import (
	"fmt"
	"math"
	"slices"
)

// SlimeVolleyOptions are the options of SlimeVolleyDuel.
type SlimeVolleyOptions struct {
	Lives  float32 `min:"0" doc:"Points that a player may lose before the game ends; 0: it ends at the time limit only."`
	Freeze float32 `min:"0" doc:"Steps for which a new ball is held in the air; 0 in EvoJAX."`
}

// SlimeVolleyScriptOptions are the options of SlimeVolley.
type SlimeVolleyScriptOptions struct {
	Lives  float32 `min:"0" doc:"Points that a player may lose before the game ends; 0: it ends at the time limit only."`
	Freeze float32 `min:"0" doc:"Steps for which a new ball is held in the air; 0 in EvoJAX."`
	Random float32 `min:"0" max:"1" doc:"Probability that the opponent's action is a random one; otherwise it is that of slimevolleygym's script."`
}

const (
	slimeLives  = 5
	slimeFreeze = 30
)

// slimeMemory names what the script keeps from step to step.
var slimeMemory = []string{"forward", "backward", "jump", "memory_0", "memory_1", "memory_2", "memory_3"}

// slimeVolley is SlimeVolley against the script of slimevolleygym, the world that is called SlimeVolley-v0 there (shaders/envs/slimevolley.glsl has the rules).
func slimeVolley() Spec {
	s := slimeSpec("SlimeVolley-v0", "play volleyball against a slime with a small network")
	s.working = 96 // the script's network: without this, drivers spill registers
	s.State, s.Options = append(s.State, slimeMemory...), SlimeVolleyScriptOptions{Lives: slimeLives, Freeze: slimeFreeze}
	return s
}

// slimeVolleyDuel is SlimeVolley between two seats, each of which sees it from its own side.
func slimeVolleyDuel() Spec {
	s := slimeSpec("SlimeVolleyDuel-v0", "play volleyball against each other")
	for _, side := range []string{"left_", "right_"} {
		for _, name := range slimeMemory {
			s.State = append(s.State, side+"script_"+name)
		}
	}
	s.Agents, s.Options = 2, SlimeVolleyOptions{Lives: slimeLives, Freeze: slimeFreeze}
	return s
}

func slimeSpec(name, summary string) Spec {
	var state []string
	for _, when := range []string{"", "seen_"} {
		for _, body := range []string{"left", "right", "ball"} {
			for _, element := range []string{"x", "y", "vx", "vy"} {
				state = append(state, when+body+"_"+element)
			}
		}
		if when == "" {
			state = append(state, "held_steps", "left_lives", "right_lives")
		}
	}
	return Spec{
		Name: name, Summary: summary, Source: "slimevolleygym 0.1.0; Ha 2020",
		Observation: Symmetric(slices.Repeat([]float32{float32(math.Inf(1))}, 12)...), Action: Discrete(6),
		State: state, MaxSteps: 3000, Geometry: slimeGeometry(),
	}
}

// slimeGeometry shows the world upright: the left player is blue, the right one red. Above are as many discs as a player has lives, up to five. Slimes are
// discs of which the ground hides half.
func slimeGeometry() *Geometry {
	const scale, width, land, sky, shown = 0.2, 48, 1.5, 24, 5
	front := func(x, y, depth float64) [3]float64 { return [3]float64{scale * x, depth, scale * y} }
	size := func(x, y, depth float64) [3]float64 { return [3]float64{scale * x, depth, scale * y} }
	g := &Geometry{
		Bodies: []string{"world", "left", "right", "ball"},
		Shapes: []Shape{
			box("sky", 0, front(0, sky/2, 0.6), size(width, sky, 0.1), ground),
			box("ground", 0, front(0, land/2, -0.2), size(width, land, 0.6), grey),
			box("fence", 0, front(0, 2.5, 0), size(1, 2, 0.2), dark), axle("stub", 0, front(0, 3.5, 0), scale*0.5, 0.2, dark),
			axle("left", 1, [3]float64{}, scale*1.5, 0.2, blue), axle("right", 2, [3]float64{}, scale*1.5, 0.2, red),
			axle("eye", 1, front(0.6, 0.75, -0.12), scale*0.3, 0.02, dark), axle("eye", 2, front(-0.6, 0.75, -0.12), scale*0.3, 0.02, dark),
			axle("ball", 3, [3]float64{}, scale*0.5, 0.2, wood),
		},
		Camera: Camera{LookAt: front(0, sky/2, 0), Distance: 9.5, Azimuth: 90, Elevation: -2},
		Time:   1. / 30, Actions: []string{"none", "forward", "forward and jump", "jump", "backward and jump", "backward"},
	}
	for side, color := range [][4]float64{blue, red} {
		for life := range shown {
			name := fmt.Sprintf("life %d of %s", life, g.Bodies[1+side])
			g.Shapes = append(g.Shapes, axle(name, len(g.Bodies), [3]float64{}, scale*0.4, 0.1, color))
			g.Bodies = append(g.Bodies, name)
		}
	}
	g.Poses = func(s []float32) []Pose {
		at := func(x, y float64) Pose { return Pose{Pos: front(x, y, 0)} }
		poses := []Pose{{}}
		for body := range 3 {
			poses = append(poses, at(float64(s[4*body]), float64(s[4*body+1])))
		}
		for side, direction := range []float64{-1, 1} {
			for life := range shown {
				pose := at(direction*(width/2-1.5-1.5*float64(life)), sky-1.5)
				if float64(s[13+side]) <= float64(life) {
					pose.Pos[1] = 1 // behind the sky
				}
				poses = append(poses, pose)
			}
		}
		return poses
	}
	return g
}
