package dmenvrpc

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/evorl/evorl/engine/config"
)

// Prefix begins the names of environments that a server of dm_env_rpc has: "dm_env_rpc://127.0.0.1:9911".
const Prefix = "dm_env_rpc://"

// Section is the section of a configuration that has a Config.
const Section = "dm_env_rpc"

// Config is [dm_env_rpc]: which worlds of a server are acted in, and how. Default has the defaults.
type Config struct {
	World  string `doc:"Name of a world that the server has, which all environments join; empty: every environment creates one of its own."`
	Create string `doc:"Settings of worlds that are created, a JSON object such as '{\"level\": 3}'; empty: none."`
	Join   string `doc:"Settings with which worlds are joined, a JSON object; empty: none."`
	Seed   string `doc:"Setting of a reset that takes the seed of an environment's episodes; empty: they do not follow from the run's seed."`

	Observations []string `doc:"Names of the observations that policies see; empty: all but those of reward and discount."`
	Actions      []string `doc:"Names of the actions that policies take; others are not sent; empty: all."`
	Reward       string   `doc:"Name of the observation that is the reward."`

	Timeout      time.Duration `above:"0" doc:"Time in which the server answers all environments' steps at the latest; those without an answer have failed."`
	StartTimeout time.Duration `above:"0" doc:"Time in which the server has created and joined an environment's world at the latest."`
	Restarts     int           `min:"0" doc:"Failures after which environments are joined anew, their episodes cut off; the next one ends the run."`

	Spec string `doc:"Specs of actions and observations when the run began, as JSON, so that a run resumes in the same; empty: the server is asked."`
}

// Default returns the defaults: the observation reward, a minute for a step, two for a start, and 10 restarts.
func Default() Config {
	return Config{Reward: "reward", Timeout: time.Minute, StartTimeout: 2 * time.Minute, Restarts: 10}
}

// Validate checks that Create and Join are settings, and that nothing is created if World is given.
func (c Config) Validate() error {
	if _, err := parseSettings(c.Create); err != nil {
		return config.Invalid("create", "%v", err)
	}
	if _, err := parseSettings(c.Join); err != nil {
		return config.Invalid("join", "%v", err)
	}
	if c.World != "" && c.Create != "" {
		return config.Invalid("create", "settings of a world to create, and world = %q is there already: want one of the two", c.World)
	}
	return nil
}

// IsName reports whether a name of an environment has the Prefix.
func IsName(name string) bool { return strings.HasPrefix(name, Prefix) }

// address returns the HOST:PORT of a name.
func address(name string) (string, error) {
	of, ok := strings.CutPrefix(name, Prefix)
	host, port, err := net.SplitHostPort(of)
	n, e := strconv.Atoi(port)
	if !ok || err != nil || host == "" || e != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q is no server; want %sHOST:PORT, such as %s127.0.0.1:9911", name, Prefix, Prefix)
	}
	return of, nil
}
