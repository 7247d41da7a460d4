package envs

import (
	"fmt"
	"math"
	"slices"
)

// mpeActions are the actions of agents that move.
var mpeActions = []string{"none", "left", "right", "down", "up"}

// mpe returns the Spec of a multi-agent particle environment (shaders/envs/mpe.glsl) with the rules of the package mpe2 in its default settings:
// discrete actions, everything seen, 25 steps.
func mpe(name, summary string, state []string, agents, observation int, geometry *Geometry) Spec {
	inf := float32(math.Inf(1))
	return Spec{
		Name: name, Summary: summary, Source: "mpe2 1.1.1; Lowe et al. 2017",
		Observation: Symmetric(slices.Repeat([]float32{inf}, observation)...), Action: Discrete(len(mpeActions)),
		State: state, Agents: agents, Global: len(state), MaxSteps: 25, Geometry: geometry,
	}
}

// simpleSpread's reward is half the negative sum over landmarks of the distance of the nearest agent, and half the negative number of others that an agent
// touches.
func simpleSpread() Spec {
	discs := []mpeDisc{{"agent", 3, 0.15, blue}, {"landmark", 3, 0.05, green}}
	return mpe("SimpleSpread-v3", "cover three landmarks by three agents that do not touch each other",
		slices.Concat(mpeMoving("agent", 3), mpePlaces("landmark", 3)), 3, 18, mpeGeometry(discs, func(s []float32) [][2]float32 {
			return append(mpeEvery(s[:12], 4), mpeEvery(s[12:], 2)...)
		}))
}

// simpleTag pays each of three adversaries 10 for each that touches the prey, which pays as much, and more the farther it flees out of the picture. The
// prey's observation has two elements less than the adversaries': they are zeros.
func simpleTag() Spec {
	discs := []mpeDisc{{"adversary", 3, 0.075, red}, {"prey", 1, 0.05, green}, {"obstacle", 2, 0.2, dark}}
	return mpe("SimpleTag-v3", "three adversaries catch a faster prey, which flees",
		slices.Concat(mpeMoving("adversary", 3), mpeMoving("prey", 1), mpePlaces("obstacle", 2)), 4, 16, mpeGeometry(discs, func(s []float32) [][2]float32 {
			return append(mpeEvery(s[:16], 4), mpeEvery(s[16:], 2)...)
		}))
}

// simpleSpeakerListener has seats of unequal sizes, which are the larger ones': of the speaker's five actions the last two say nothing, and the last eight
// elements of its observation are zeros. Both are paid the negative square of the listener's distance from the goal. Where the speaker is has no
// effect; it is drawn outside.
func simpleSpeakerListener() Spec {
	discs := []mpeDisc{
		{"speaker", 1, 0.075, grey}, {"listener", 1, 0.075, blue},
		{"landmark 0", 1, 0.04, red}, {"landmark 1", 1, 0.04, green}, {"landmark 2", 1, 0.04, wood}, {"goal", 1, 0.02, dark}, {"message", 1, 0.03, dark},
	}
	return mpe("SimpleSpeakerListener-v4", "a speaker tells a listener which of three landmarks to go to",
		slices.Concat(mpeMoving("listener", 1), mpePlaces("landmark", 3), []string{"goal", "message"}), 2, 11,
		mpeGeometry(discs, func(s []float32) [][2]float32 {
			landmarks := mpeEvery(s[4:10], 2)
			goal := landmarks[min(max(int(s[10]), 0), 2)]
			// The message is below the speaker, at the left for the first word and in the middle of nothing for none.
			message := [2]float32{-1.6 + 0.15*s[11], -0.2}
			return slices.Concat([][2]float32{{-1.45, 0}, {s[0], s[1]}}, landmarks, [][2]float32{goal, message})
		}))
}

// mpeMoving and mpePlaces name elements of the state.
func mpeMoving(what string, n int) (names []string) {
	for i := range n {
		for _, element := range []string{"x", "y", "vx", "vy"} {
			names = append(names, fmt.Sprintf("%s_%d_%s", what, i, element))
		}
	}
	return names
}

func mpePlaces(what string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s_%d_x", what, i), fmt.Sprintf("%s_%d_y", what, i))
	}
	return names
}

// mpeEvery returns the places that begin groups of the given size.
func mpeEvery(s []float32, size int) (places [][2]float32) {
	for ; len(s) >= size; s = s[size:] {
		places = append(places, [2]float32{s[0], s[1]})
	}
	return places
}

// mpeDisc is a kind of discs of a picture.
type mpeDisc struct {
	name   string
	n      int
	radius float64
	color  [4]float64
}

// mpeGeometry shows discs upright, those that are listed first in front. Discs of a kind that are several and move are told apart by pips, as many as their
// number and one more.
func mpeGeometry(discs []mpeDisc, places func(state []float32) [][2]float32) *Geometry {
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{box("board", 0, [3]float64{0, 0.3, 0}, [3]float64{2.6, 0.1, 2.6}, ground)},
		Camera: Camera{Distance: 4, Azimuth: 90, Elevation: -4},
		Time:   0.1, Actions: mpeActions,
	}
	for kind, d := range discs {
		depth := 0.05 * float64(kind)
		for i := range d.n {
			body := len(g.Bodies)
			g.Bodies = append(g.Bodies, fmt.Sprintf("%s %d", d.name, i))
			g.Shapes = append(g.Shapes, axle(d.name, body, [3]float64{0, depth, 0}, d.radius, 0.04, d.color))
			for pip := range i + 1 {
				if d.n == 1 || kind > 0 {
					break
				}
				at := [3]float64{d.radius * 0.5 * float64(2*pip-i) / 2, depth - 0.03, 0}
				g.Shapes = append(g.Shapes, axle("pip", body, at, d.radius/8, 0.02, dark))
			}
		}
	}
	g.Poses = func(state []float32) []Pose {
		poses := make([]Pose, 1, len(g.Bodies))
		for _, p := range places(state) {
			poses = append(poses, Pose{Pos: [3]float64{float64(p[0]), 0, float64(p[1])}})
		}
		return poses
	}
	return g
}
