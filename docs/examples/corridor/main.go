// Command corridor is evorl with an environment in Go: see docs/own.md.
package main

import (
	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd"
	"github.com/evorl/evorl/envs"
)

// corridor is walked to its right end, place 8: action 1 is a step to the right, 0 one to the left.
type corridor struct{ at int }

func (c *corridor) Reset(seed uint32, obs []float32) error {
	c.at = int(seed % 4)
	obs[0] = float32(c.at) / 8
	return nil
}

func (c *corridor) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	c.at = max(0, c.at+2*int(action[0])-1)
	obs[0] = float32(c.at) / 8
	return -1, c.at == 8, false, nil
}

// State is what evorl view shows.
func (c *corridor) State(state []float32) error {
	state[0] = float32(c.at)
	return nil
}

// Save and Load are for checkpoints.
func (c *corridor) Save(state []byte) error {
	state[0] = byte(c.at)
	return nil
}

func (c *corridor) Load(state []byte) error {
	c.at = int(state[0])
	return nil
}

func main() {
	env, err := envs.NewOutside(envs.Spec{
		Name: "Corridor-v0", Summary: "walk to the end", MaxSteps: 50,
		Observation: envs.Box([]float32{0}, []float32{1}), Action: envs.Discrete(2),
		State: []string{"place"}, Saved: 1, Geometry: &envs.Geometry{
			Bodies: []string{"world", "walker"},
			Shapes: []envs.Shape{{Body: 1, Form: envs.SphereShape, Size: [3]float64{0.5}, Color: [4]float64{0.8, 0.3, 0.3, 1}}},
			Poses: func(state []float32) []envs.Pose {
				return []envs.Pose{{}, {Pos: [3]float64{float64(state[0]), 0, 0}}}
			},
			Camera: envs.Camera{LookAt: [3]float64{4, 0, 0}, Distance: 12, Azimuth: 90}, Time: 0.1,
		},
	}, envs.Worlds(func() (envs.World, error) { return new(corridor), nil }))
	cmd.Main(evorl.OwnEnvironment(env, err))
}
