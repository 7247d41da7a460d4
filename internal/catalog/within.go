package catalog

import (
	"path/filepath"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc"
)

// beyond returns what env names that a program does not contain: a file, or something outside; "": nothing.
func beyond(env string) string {
	switch {
	case strings.HasSuffix(env, SourceSuffix), isRobot(env):
		return "a file"
	case bridge.IsName(env), dmenvrpc.IsName(env):
		return "stepped by other processes"
	}
	return ""
}

// CheckWithin returns an error if the setup has parts that a program does not contain: an environment or a problem of a file, one outside, or a problem's data.
// Other machines do not have them, and do not execute what they are sent.
func (s *Setup) CheckWithin() error {
	const want = "want one that evorl contains, for workers on other machines, or a run without --cluster"
	if what := beyond(s.named); what != "" {
		return config.Invalid("env", "%q is %s: %s", s.named, what, want)
	}
	search, ok := s.search()
	if !ok {
		return nil
	}
	file := ""
	if of, ok := search.settings.(located); ok {
		of.locate(func(name string) string {
			file = name
			return name
		})
	}
	if file != "" {
		return config.Invalid(TaskSection, "%s of %q is read from a file: %s", filepath.Base(file), s.Place, strings.Replace(want, "one", "data", 1))
	}
	return nil
}
