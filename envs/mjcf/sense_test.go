package mjcf

import (
	"slices"
	"strings"
	"testing"
)

// Senses may have any order: forces of contacts in slots go to the forces' places, and those that are known at a reset to their own.
func TestSenseOrder(t *testing.T) {
	for _, c := range []struct {
		model         string
		senses        []string
		touch, atZero string // in the program of a step, and at a reset
	}{
		{"humanoid", []string{"forces", "position mass x"}, " + touch_force[0];", "    sensed[78] = "},
		{"humanoid", []string{"position mass x", "forces"}, " + touch_force[0];", "    sensed[0] = "},
		{"hopper", []string{"constraint 0", "position foot z"}, "", "    sensed[1] = "},
	} {
		m := *modelOf(t, c.model)
		m.Senses, m.SensedAtReset = c.senses, true
		program, err := Program(&m)
		if err != nil {
			t.Fatalf("%s %q: %v", c.model, c.senses, err)
		}
		step, reset, _ := strings.Cut(program, "void physics_sense(")
		first := slices.Index(c.senses, "forces") // of one value, or none, before
		for line := range strings.Lines(step) {
			if at, touch, ok := strings.Cut(line, " + touch_force[0];"); c.touch != "" && ok && !strings.HasPrefix(at, "    sensed["+string(rune('0'+first))+"] = ") {
				t.Errorf("%s %q: the first force is added in %s%s", c.model, c.senses, at, touch)
			}
		}
		if !strings.Contains(step, c.touch) || !strings.Contains(reset, c.atZero) {
			t.Errorf("%s %q: no %q, or at a reset no %q:\n%.400s", c.model, c.senses, c.touch, c.atZero, reset)
		}
	}
	m := *modelOf(t, "humanoid")
	m.Senses = []string{"forces", "forces"}
	if _, err := Program(&m); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("forces twice: %v", err)
	}
}
