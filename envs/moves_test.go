package envs

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestMovesRefuses: actions that are not there, and worlds of several seats, are refused.
func TestMovesRefuses(t *testing.T) {
	for _, c := range []struct {
		env   string
		still int
		want  string
	}{
		{"Pong-v0", 3, "want discrete actions and one of them"}, {"Pong-v0", -1, "one of them"}, {"Pendulum-v1", 0, "want discrete"}, {"PongDuel-v0", 1, "2 seats"},
	} {
		env, err := Lookup(c.env)
		if err != nil {
			t.Fatal(err)
		}
		ev := &Evaluator{env: env}
		if _, err := ev.Moves(t.Context(), nil, engine.Clock{}, 1, c.still); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("moves in %s with the action %d to stay: %v; want an error with %q", c.env, c.still, err, c.want)
		}
	}
}
