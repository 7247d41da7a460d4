package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

func errShape(what string, t *engine.Tensor, want string) error {
	return fmt.Errorf("rl: %s is %v; want %s", what, t, want)
}
