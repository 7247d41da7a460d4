package shaders

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// seatsInclude is included by the kernels for environments of several agents, or whose state stays in the buffer, and bitsInclude by those for
// environments whose observations are words. No others do. paintInclude is included by the kernel for those of them that paint their words, and rankInclude
// by the kernel in whose lanes networks of low rank act beside environments.
const (
	seatsInclude = "envs/seats.glsl"
	bitsInclude  = "envs/bits.glsl"
	paintInclude = "envs/paint.glsl"
	rankInclude  = "engine/nn/low_rank_network.glsl"

	modelIncludes = "envs/models/" // dynamics of robots
)

var (
	agentsLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+AGENTS[ \t]+([0-9]+)`)
	storedLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+STATE_IN_BUFFER\b`)
	wordsLine  = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+OBS_WORDS\b`)
	paintLine  = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+ENV_WORD\b`)
)

// Agents returns the number of agents in the environment, which its source defines as AGENTS; 1 if it does not.
func (e *Environment) Agents() int {
	m := agentsLine.FindStringSubmatch(e.Text)
	if m == nil {
		return 1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 1
	}
	return n
}

// Bits reports whether the environment's observations are words: its source defines OBS_WORDS.
func (e *Environment) Bits() bool { return wordsLine.MatchString(e.Text) }

// Paints reports whether the environment paints its words one by one: its source defines ENV_WORD.
func (e *Environment) Paints() bool { return paintLine.MatchString(e.Text) }

// dynamics returns the bytes of the sources of robots' dynamics that the environment's source includes.
func (e *Environment) dynamics(fsys fs.FS) (bytes int64, err error) {
	for _, line := range lines(e.Text) {
		if directive, rest := splitDirective(line); directive == "include" {
			if name, err := strconv.Unquote(rest); err == nil && strings.HasPrefix(name, modelIncludes) {
				info, err := fs.Stat(fsys, name)
				if err != nil {
					return 0, fmt.Errorf("shaders: environment %s: %w", e.Name, err)
				}
				bytes += info.Size()
			}
		}
	}
	return bytes, nil
}

// mostDynamics is the most bytes of a robot's dynamics in kernels with networks of low rank: with 17 KB, Swimmer's, such a module is optimized in
// seconds. Those of other robots, with 57 KB to 776 KB, would take minutes and megabytes.
const mostDynamics = 32 << 10

// Stored reports whether the environment's state stays in the buffer: its source defines STATE_IN_BUFFER.
func (e *Environment) Stored() bool { return storedLine.MatchString(e.Text) }

// seated reports whether the environment is one for kernels of several agents, which also step those whose state stays in the buffer.
func (e *Environment) seated() bool { return e.Agents() > 1 || e.Stored() }

// Takes reports whether a kernel is made for an environment: one that includes "ENVIRONMENT" takes environments of one agent whose observations
// are floats; or, if it includes envs/bits.glsl, words; or, if it includes envs/paint.glsl, painted words; or, if it includes envs/seats.glsl, of several
// agents or whose state stays in the buffer. With networks of low rank it takes those with little dynamics of a robot or none (mostDynamics).
func Takes(fsys fs.FS, kernel string, environment *Environment) (bool, error) {
	c, err := scan(fsys, kernel)
	if err != nil {
		return false, err
	}
	if c.done[shown(rankInclude)] {
		if bytes, err := environment.dynamics(fsys); err != nil || bytes > mostDynamics {
			return false, err
		}
	}
	if c.done[shown(paintInclude)] {
		return c.usesEnvironment && environment.Paints(), nil
	}
	return c.usesEnvironment && c.seated() == environment.seated() && c.done[shown(bitsInclude)] == environment.Bits(), nil
}

// seated reports whether the kernel is for several agents.
func (c *composer) seated() bool { return c.done[shown(seatsInclude)] }
