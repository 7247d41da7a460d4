package envs

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	comment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	loop    = regexp.MustCompile(`(\[\[\s*unroll\s*\]\]\s*)?\b(?:for|while)\s*\(`)
)

// iterations is how many iterations the loops of an environment step take at most: what the Spec says or, where it says
// nothing, what the dynamics take that tools/mjcf wrote. A loop that neither counts is an error, and so is a count
// below that of the dynamics.
func iterations(spec Spec, glsl string, defines map[string]string) (int, error) {
	dynamics, theirs, err := dynamicsLoops(defines)
	if err != nil {
		return 0, err
	}
	lines := loops(glsl)
	own := len(lines)
	if strings.Contains(glsl, "#define DYNAMICS_LOOPS") {
		own -= theirs
	}
	switch {
	case own > 0 && spec.Iterations <= dynamics:
		return 0, fmt.Errorf("Spec.Iterations is %d, and line %d of the GLSL has a loop; want the most iterations that all loops take in "+
			"an environment step%s, or [[unroll]] before the loop", spec.Iterations, lines[len(lines)-1], besides(dynamics))
	case spec.Iterations != 0 && spec.Iterations < dynamics:
		return 0, fmt.Errorf("Spec.Iterations is %d; the dynamics alone take %d in an environment step: want that, or 0 if there are no "+
			"other loops", spec.Iterations, dynamics)
	case max(spec.Iterations, dynamics) > maxIterations:
		return 0, fmt.Errorf("the dynamics take %d iterations in an environment step of %s time steps; want at most %d: "+
			"a lower FRAME_SKIP", dynamics, defines["FRAME_SKIP"], maxIterations)
	}
	return max(spec.Iterations, dynamics), nil
}

func besides(dynamics int) string {
	if dynamics == 0 {
		return ""
	}
	return fmt.Sprintf(", the dynamics' %d among them", dynamics)
}

// dynamicsLoops reads how many iterations dynamics that tools/mjcf wrote take in an environment step, and how many
// loops they have; 0 and 0 without any.
func dynamicsLoops(defines map[string]string) (iterations, loops int, err error) {
	if _, ok := defines["TIME_STEP_ITERATIONS"]; !ok {
		return 0, 0, nil
	}
	var errs []error
	number := func(name string) int {
		v, err := strconv.Atoi(defines[name])
		if err != nil || v < 0 {
			errs = append(errs, fmt.Errorf("the GLSL has dynamics and %s %q; want a whole number", name, defines[name]))
		}
		return v
	}
	skip := number("FRAME_SKIP")
	if _, ok := defines["FRAME_SKIP"]; !ok {
		errs = []error{errors.New("the GLSL has dynamics, but no FRAME_SKIP; want const uint FRAME_SKIP = 4u; " +
			"or another number of time steps in an environment step")}
	}
	each, loops := number("TIME_STEP_ITERATIONS"), number("DYNAMICS_LOOPS")
	if skip > maxIterations {
		skip = maxIterations + 1 // so that the product is one of ints, and too large
	}
	return skip * each, loops, errors.Join(errs...)
}

// loops lists the lines of the loops that are not to be unrolled. Of do loops it is the line of their while.
func loops(glsl string) []int {
	text := comment.ReplaceAllStringFunc(glsl, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) })
	var lines []int
	for _, m := range loop.FindAllStringSubmatchIndex(text, -1) {
		if m[2] < 0 {
			lines = append(lines, 1+strings.Count(text[:m[1]], "\n"))
		}
	}
	return lines
}
