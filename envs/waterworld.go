package envs

import (
	"fmt"
	"math"
	"slices"
)

// WaterWorldOptions are the options of WaterWorld.
type WaterWorldOptions struct {
	// Corrected leaves out what are mistakes in EvoJAX's rules (shaders/envs/waterworld.glsl).
	Corrected bool `doc:"Rays are spread evenly and show where things are, and nothing that is gone; EvoJAX's rules otherwise."`
}

// Sizes of WaterWorld (shaders/envs/waterworld.glsl).
const (
	waterWorldSize   = 600 // of the pool
	waterWorldItems  = 50
	waterWorldRadius = 10 // of discs
	waterWorldRays   = 30
	waterWorldSeen   = 5 // numbers that a ray shows
)

func waterWorld() Spec {
	state := []string{"agent_x", "agent_y", "agent_vx", "agent_vy"}
	for i := range waterWorldItems {
		for _, element := range []string{"kind", "x", "y", "vx", "vy"} {
			state = append(state, fmt.Sprintf("item_%d_%s", i, element))
		}
	}
	const observed = waterWorldSeen*waterWorldRays + 2
	// Items drift and are touched; a step and a reset observe, with eight items at once; state and observations are transferred element by element.
	const observing = waterWorldRays * (1 + (waterWorldItems+7)/8)
	return Spec{
		Name: "WaterWorld-v0", Summary: "eat food and avoid poison that drift in a pool, seen by thirty rays",
		Source:      "EvoJAX 0.2.17; Tang et al. 2022; Karpathy, REINFORCEjs",
		Observation: Symmetric(slices.Repeat([]float32{float32(math.Inf(1))}, observed)...), Action: Discrete(4),
		State: state, MaxSteps: 500, Iterations: 2*waterWorldItems + 2*observing + 2*(len(state)+observed),
		Options: WaterWorldOptions{}, Geometry: waterWorldGeometry(),
	}
}

// waterWorldGeometry shows the pool from above, the agent blue, food green, poison red. Items that are gone are below the pool.
func waterWorldGeometry() *Geometry {
	const scale = 0.01
	middle := waterWorldSize / 2 * scale
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{box("pool", 0, [3]float64{middle, 0.2, -middle}, [3]float64{2 * middle, 0.1, 2 * middle}, ground)},
		Camera: Camera{LookAt: [3]float64{middle, 0, -middle}, Distance: 9, Azimuth: 90, Elevation: -2},
		Time:   0.02, Actions: []string{"up", "down", "left", "right"},
	}
	radius := waterWorldRadius * scale
	disc := func(name string, color [4]float64) {
		g.Shapes = append(g.Shapes, axle(name, len(g.Bodies), [3]float64{}, radius, 0.05, color))
		g.Bodies = append(g.Bodies, name)
	}
	disc("agent", blue)
	for range waterWorldItems {
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
		poses := append(make([]Pose, 1, len(g.Bodies)), at(s[0], s[1], true))
		s = s[4:]
		for range waterWorldItems {
			poses = append(poses, at(s[1], s[2], s[0] == 1), at(s[1], s[2], s[0] == -1))
			s = s[5:]
		}
		return poses
	}
	return g
}
