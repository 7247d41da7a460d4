package envs

import (
	"fmt"
	"math"
	"slices"
)

// WaterWorldOptions are the options of WaterWorld.
type WaterWorldOptions struct {
	// Corrected leaves out what are mistakes in EvoJAX's rules (shaders/envs/waterworld.glsl).
	Corrected bool `doc:"Rays are spread evenly and show where things are, nothing that is gone, and other agents as agents; EvoJAX's rules otherwise."`
}

// waterWorldSize is the width of the pool.
const waterWorldSize = 600

// waterWorldPool is a form of WaterWorld. Rays show the distances of a wall, of food, of poison and, with several agents, of one of these, and a velocity.
type waterWorldPool struct {
	agents, items int
	radius        float64
	channels      int
}

const waterWorldRays = 30

func waterWorld() Spec {
	p := waterWorldPool{agents: 1, items: 50, radius: 10, channels: 5}
	return p.spec("WaterWorld-v0", "eat food and avoid poison that drift in a pool, seen by thirty rays")
}

func waterWorldMulti() Spec {
	p := waterWorldPool{agents: 16, items: 100, radius: 5, channels: 6}
	return p.spec("WaterWorldMulti-v0", "sixteen agents eat food and avoid poison in one pool")
}

func (p waterWorldPool) spec(name, summary string) Spec {
	var state []string
	for i := range p.agents {
		agent := "agent_"
		if p.agents > 1 {
			agent = fmt.Sprintf("agent_%d_", i)
		}
		for _, element := range []string{"x", "y", "vx", "vy"} {
			state = append(state, agent+element)
		}
	}
	for i := range p.items {
		for _, element := range []string{"kind", "x", "y", "vx", "vy"} {
			state = append(state, fmt.Sprintf("item_%d_%s", i, element))
		}
	}
	s := Spec{
		Name: name, Summary: summary, Source: "EvoJAX 0.2.17; Tang et al. 2022; Karpathy, REINFORCEjs",
		Observation: Symmetric(slices.Repeat([]float32{float32(math.Inf(1))}, p.channels*waterWorldRays+2)...), Action: Discrete(4),
		State: state, MaxSteps: 500, Options: WaterWorldOptions{}, Geometry: p.geometry(),
		// In a step items drift, or begin, and each agent looks at everything and then at its rays.
		Iterations: p.agents + p.items + p.agents*(p.items+p.agents+waterWorldRays),
	}
	if p.agents > 1 {
		s.Agents = p.agents
	}
	return s
}

// geometry shows the pool from above, agents blue with a mark that tells each from the others, food green, poison red. Items that are gone are below the
// pool.
func (p waterWorldPool) geometry() *Geometry {
	const scale = 0.01
	middle := waterWorldSize / 2 * scale
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{box("pool", 0, [3]float64{middle, 0.2, -middle}, [3]float64{2 * middle, 0.1, 2 * middle}, ground)},
		Camera: Camera{LookAt: [3]float64{middle, 0, -middle}, Distance: 9, Azimuth: 90, Elevation: -2},
		Time:   0.02, Actions: []string{"up", "down", "left", "right"},
	}
	radius := p.radius * scale
	disc := func(name string, color [4]float64) int {
		body := len(g.Bodies)
		g.Bodies = append(g.Bodies, name)
		g.Shapes = append(g.Shapes, axle(name, body, [3]float64{}, radius, 0.05, color))
		return body
	}
	for i := range p.agents {
		body := disc(fmt.Sprintf("agent %d", i), blue)
		if p.agents > 1 { // a hand on a dial
			angle := 2 * math.Pi * float64(i) / float64(p.agents)
			tip := [3]float64{radius * math.Sin(angle), -0.04, radius * math.Cos(angle)}
			g.Shapes = append(g.Shapes, rod("hand", body, [3]float64{0, -0.04, 0}, tip, radius/5, wood))
		}
	}
	for range p.items {
		disc("food", green)
		disc("poison", red)
	}
	g.Poses = func(s []float32) []Pose {
		at := func(x, y float32, shown bool) Pose {
			pose := Pose{Pos: [3]float64{scale * float64(x), 0, -scale * float64(y)}}
			if !shown {
				pose.Pos[1] = 1
			}
			return pose
		}
		poses := make([]Pose, 1, len(g.Bodies))
		for range p.agents {
			poses, s = append(poses, at(s[0], s[1], true)), s[4:]
		}
		for range p.items {
			poses = append(poses, at(s[1], s[2], s[0] == 1), at(s[1], s[2], s[0] == -1))
			s = s[5:]
		}
		return poses
	}
	return g
}
