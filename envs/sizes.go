package envs

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/evorl/evorl/shaders"
)

var (
	includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+"([^"]*)"`)
	defineLine  = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+` +
		`(STATE_SIZE|OBS_SIZE|OBS_WORDS|ENV_WORD|ACTION_SIZE|DISCRETE|AGENTS|STATE_IN_BUFFER|ENV_SCRIPT|ENV_SHAPED|GLOBAL_SIZE|TIME_STEP_ITERATIONS|DYNAMICS_LOOPS)` +
		`\b[ \t]*([^/\r\n]*)`)
	constLine = regexp.MustCompile(`(?m)^[ \t]*const[ \t]+uint[ \t]+(FRAME_SKIP)[ \t]*=[ \t]*([^;\r\n]*?)u?[ \t]*;`)
)

// definesOf collects the defines of the GLSL and its includes, as text.
func definesOf(glsl string) (map[string]string, error) {
	found := map[string]string{}
	return found, collectDefines(glsl, found, map[string]bool{})
}

// checkFirstLine checks that the GLSL begins with the environment's name.
func checkFirstLine(spec Spec, glsl string) error {
	first, _, _ := strings.Cut(strings.TrimLeft(glsl, "\r\n"), "\n") // a raw string usually begins with a line break
	if name, ok := strings.CutPrefix(strings.TrimRight(first, " \r"), "// environment: "); !ok || name != spec.Name {
		return fmt.Errorf("the first line of the GLSL is %q; want %q", first, "// environment: "+spec.Name)
	}
	return nil
}

// checkSizes compares the sizes that the GLSL defines with the Spec's.
func checkSizes(spec Spec, found map[string]string) error {
	discrete := 0
	if spec.Action.IsDiscrete() {
		discrete = 1
	}
	var errs []error
	for _, want := range []struct {
		name  string
		value int
		where string
	}{
		{"AGENTS", spec.Seats(), "the Spec has %d Agents"},
		{"GLOBAL_SIZE", spec.Global, "the Spec has a Global state of %d"},
		{"STATE_SIZE", spec.StateSize(), "the Spec names %d state elements"},
		{"OBS_WORDS", spec.Observation.Words(), "the Spec's observations have %d words"},
		{"OBS_SIZE", spec.ObsSize(), "the Spec's observation space has %d dimensions"},
		{"ACTION_SIZE", spec.Action.Size(), "the size of the Spec's action space is %d"},
		{"DISCRETE", discrete, "the Spec's action space, " + spec.Action.String() + ", asks for %d"},
	} {
		text, ok := found[want.name]
		if !ok && (want.name == "AGENTS" && want.value == 1 || want.name == "GLOBAL_SIZE" && want.value == 0 || want.name == "OBS_WORDS") {
			continue
		}
		if !ok {
			errs = append(errs, fmt.Errorf("the GLSL has no #define %s; want #define %s %d", want.name, want.name, want.value))
			continue
		}
		value, err := strconv.Atoi(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("the GLSL has #define %s %s; want a whole number", want.name, text))
		} else if value != want.value {
			errs = append(errs, fmt.Errorf("the GLSL has #define %s %d, but "+want.where, want.name, value, want.value))
		}
	}
	return errors.Join(errs...)
}

// declarations returns the lines of a source that begin with # or const, to which slow regular expressions are then
// applied.
func declarations(glsl string) string {
	var b strings.Builder
	for line := range strings.Lines(glsl) {
		begin := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(begin, "#") || strings.HasPrefix(begin, "const") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// collectDefines collects the defines of a source and of its includes, which it may define anew after them.
func collectDefines(glsl string, found map[string]string, seen map[string]bool) error {
	glsl = declarations(glsl)
	for _, m := range includeLine.FindAllStringSubmatch(glsl, -1) {
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		text, err := fs.ReadFile(shaders.Files(), m[1])
		if err != nil {
			return fmt.Errorf("the GLSL includes %q, which the embedded shaders do not have (paths count from shaders/)", m[1])
		}
		if err := collectDefines(string(text), found, seen); err != nil {
			return err
		}
	}
	for _, m := range defineLine.FindAllStringSubmatch(glsl, -1) {
		found[m[1]] = strings.TrimSpace(m[2])
	}
	for _, m := range constLine.FindAllStringSubmatch(glsl, -1) {
		found[m[1]] = m[2]
	}
	return nil
}
