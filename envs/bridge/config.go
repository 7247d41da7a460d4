package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/evorl/evorl/engine/config"
)

// Config is [bridge]: how environments outside of evorl are stepped. Default has the defaults.
type Config struct {
	Python    string `doc:"Python that steps environments of gymnasium: and python:, a program of the PATH or a file relative to the configuration."`
	Folder    string `doc:"Folder in which servers run and Python looks for modules first, relative to the configuration; empty: the configuration's."`
	Arguments string `doc:"Arguments of the environment's constructor, a JSON object such as '{\"gravity\": -5}'; empty: none."`

	Atari Atari `doc:"Protocol by which games of the Arcade Learning Environment are played: 2013, 2015, 2018 or baselines (docs/atari.md); none: as they are."`
	Stack int   `min:"0" max:"16" doc:"Newest observations of bytes that an agent observes, stacked along the last axis; 0: 4 with atari, else 1."`

	Processes    int           `min:"0" max:"1024" doc:"Processes that step the environments; 0: one for each processor."`
	Halves       int           `min:"0" max:"2" doc:"2: the device acts in one half of the environments while the other is stepped; 1: in all; 0: 2 on a GPU."`
	Timeout      time.Duration `above:"0" doc:"Time in which a process answers a step at the latest; then it is restarted."`
	StartTimeout time.Duration `above:"0" doc:"Time in which a process has made its environments at the latest."`
	Seed         uint32        `doc:"Mixed into the seeds of environments: other episodes for the same agents; 0: they follow from the run's seed alone."`
	Restarts     int           `min:"0" doc:"Failures after which environments are restarted, their episodes cut off; the next one ends the run."`

	Spec string `doc:"What the environment told of itself when the run began, as JSON, so that a run resumes in the same; empty: it is asked."`

	elsewhere bool // see Elsewhere
}

// Default returns the defaults: python3, a process for each processor, a minute for a step and two for a start, and 10 restarts.
func Default() Config {
	return Config{Python: "python3", Timeout: time.Minute, StartTimeout: 2 * time.Minute, Restarts: 10}
}

// Validate checks that Arguments is a JSON object.
func (c Config) Validate() error {
	if c.Arguments == "" {
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || object == nil {
		return config.Invalid("arguments", "%q is no JSON object; want one such as {\"gravity\": -5}", c.Arguments)
	}
	return nil
}

// Located returns the configuration with Folder, and Python if it is a file, as paths that do not depend on the working directory. locate makes such a
// path of one that a configuration file has.
func (c Config) Located(locate func(name string) string) Config {
	if c.Folder == "" {
		c.Folder = "."
	}
	c.Folder = locate(c.Folder)
	if isPath(c.Python) {
		c.Python = locate(c.Python)
	}
	return c
}

// Elsewhere returns the configuration as that of a run of another machine, whose paths mean nothing here: servers run in this process's working directory, and
// by the python3 of its PATH if Python is a path. The settings stay as they are, since a digest of all of them identifies the run.
func (c Config) Elsewhere() Config {
	c.elsewhere = true
	return c
}

// here returns the configuration with the paths by which servers are started.
func (c Config) here() (Config, error) {
	if c.elsewhere {
		folder, err := os.Getwd()
		if err != nil {
			return c, err
		}
		if c.Folder = folder; isPath(c.Python) {
			c.Python = Default().Python
		}
	}
	if c.Folder == "" { // the working directory
		return c, nil
	}
	info, err := os.Stat(c.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return c, fmt.Errorf("[bridge] folder is %s, and there is no such folder; want one, relative to the configuration", c.Folder)
	case err != nil:
		return c, fmt.Errorf("[bridge] folder: %w", err)
	}
	return c, nil
}

// isPath reports whether a program is not looked for in the PATH.
func isPath(program string) bool { return strings.ContainsRune(filepath.ToSlash(program), '/') }

// Kinds are the prefixes of names of environments that a server steps, and what follows them.
func Kinds() []Kind {
	return []Kind{
		{"gymnasium:", "ID", "an environment registered with Gymnasium, such as gymnasium:LunarLander-v3, stepped by Python with the package gymnasium"},
		{"pettingzoo:", "MODULE", "a world of several agents, PettingZoo's parallel_env of a module, such as pettingzoo:mpe2.simple_spread_v3"},
		{"python:", "MODULE:FUNCTION", "an environment of Gymnasium's interface that a Python function returns, such as python:my_module:make"},
		{"exec:", "PROGRAM", "environments of a program of one's own that speaks the bridge's protocol, such as exec:./my-server"},
	}
}

// Kind is a way to name environments that a server steps.
type Kind struct{ Prefix, Rest, Summary string }

// IsName reports whether a name has the prefix of one of Kinds.
func IsName(name string) bool {
	for _, k := range Kinds() {
		if strings.HasPrefix(name, k.Prefix) {
			return true
		}
	}
	return false
}

// checkName checks what follows the prefix, and what cfg has that not all kinds know.
func checkName(name string, cfg Config) error {
	kind, rest, _ := strings.Cut(name, ":")
	module, function, ok := strings.Cut(rest, ":")
	switch {
	case cfg.Atari != NoAtari && kind != "gymnasium":
		return fmt.Errorf("[bridge] atari is %q in %q; want a game such as gymnasium:ALE/Pong-v5, or atari = \"none\"", cfg.Atari, name)
	case rest == "":
		return fmt.Errorf("%q names no environment; want for example gymnasium:CartPole-v1, python:my_module:make or exec:./my-server", name)
	case kind == "python" && (!ok || module == "" || function == ""):
		return fmt.Errorf("%q names no function; want python:MODULE:FUNCTION, such as python:my_module:make", name)
	}
	return nil
}
