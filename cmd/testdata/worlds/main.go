// Command worlds is evorl with environments that are not vectors of one agent: two agents, an image, one that takes memory, one that is stepped in Go.
package main

import (
	_ "embed"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd"
	"github.com/evorl/evorl/envs"
)

//go:embed duel.glsl
var duel []byte

//go:embed spot.glsl
var spot []byte

//go:embed recall.glsl
var recall []byte

// lamp is an image of 3 × 3 pixels, one of them lit: action 1 when it is in the last column is worth 1, and -1 elsewhere. It moves to the right, row by row.
type lamp struct{ at int }

func (l *lamp) Reset(seed uint32, obs []float32) error {
	l.at = int(seed % 9)
	return l.draw(obs)
}

func (l *lamp) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	if action[0] == 1 {
		reward = -1
		if l.at%3 == 2 {
			reward = 1
		}
	}
	l.at = (l.at + 1) % 9
	return reward, false, false, l.draw(obs)
}

func (l *lamp) draw(obs []float32) error {
	clear(obs)
	obs[l.at] = 1
	return nil
}

func main() {
	env, err := envs.NewOutside(envs.Spec{
		Name: "Lamp-v0", Summary: "act while the light is in the last column", MaxSteps: 9,
		Observation: envs.Image(3, 3, 1), Action: envs.Discrete(2),
	}, envs.Worlds(func() (envs.World, error) { return new(lamp), nil }))
	cmd.Main(
		evorl.OwnEnvironment(envs.FromGLSL("duel.glsl", duel)),
		evorl.OwnEnvironment(envs.FromGLSL("spot.glsl", spot)),
		evorl.OwnEnvironment(envs.FromGLSL("recall.glsl", recall)),
		evorl.OwnEnvironment(env, err),
	)
}
