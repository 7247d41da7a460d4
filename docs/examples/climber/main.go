// Command climber is evorl with an environment and a strategy of its own: see docs/own.md.
package main

import (
	_ "embed"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd"
	"github.com/evorl/evorl/envs"
)

//go:embed valley.glsl
var valley []byte

func main() {
	cmd.Main(
		evorl.OwnEnvironment(envs.FromGLSL("valley.glsl", valley)),
		evorl.OwnStrategy("climbs from the best candidate so far, by steps that adapt", defaults),
	)
}
