// Package bridge steps environments outside of evorl: those of Gymnasium, of a Python function, or of any program that speaks its protocol. Environments
// are in server processes, each of which shares memory with evorl: observations, actions and rewards are in it, and a socket of the two tells when
// they are there. docs/bridge.md describes the protocol, for servers in other languages.
//
//	hello, err := bridge.Describe(ctx, "gymnasium:CartPole-v1", cfg)
//	env, err := bridge.New("gymnasium:CartPole-v1", &cfg, hello, nil)
//	ppo, err := rl.NewPPO(ctx, eng, env, rl.DefaultPPO())
package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Describe asks the server of an environment what it steps, in a process that ends at once. It is asked nothing if cfg.Spec has it. cfg's paths
// must be as Config.Located returns them, or relative to the working directory.
//
// Errors: a name that has none of Kinds, a server that does not start, that speaks another version, or that refuses the environment, with what it wrote.
func Describe(ctx context.Context, name string, cfg Config) (*Hello, error) {
	if !IsName(name) {
		var want []string
		for _, k := range Kinds() {
			want = append(want, k.Prefix+k.Rest)
		}
		return nil, fmt.Errorf("bridge: %q names no environment outside of evorl; want one of %s", name, strings.Join(want, ", "))
	}
	if err := checkName(name, cfg); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if cfg.Spec != "" {
		hello, err := parseHello([]byte(cfg.Spec))
		if err != nil {
			return nil, fmt.Errorf("bridge: spec: %w", err)
		}
		return hello, nil
	}
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = Default().StartTimeout
	}
	s, hello, err := start(ctx, name, cfg, 0)
	if err != nil {
		return nil, err
	}
	return hello, s.close()
}

// Text returns the Hello as JSON, for Config.Spec.
func (h *Hello) Text() string { return h.text() }

// New makes the environment of a name, which hello describes. Its processes are started when its first episodes begin, by what cfg has then, and
// end with the run. fails counts failures; it may be nil.
//
// Checkpoints do not contain the environments: a resumed run begins new episodes in them.
//
// Errors: a space that evorl does not take.
func New(name string, cfg *Config, hello *Hello, fails *Failures) (*envs.Environment, error) {
	if err := engine.Require(map[string]any{"configuration": cfg, "hello": hello}); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if cfg.Halves < 0 || cfg.Halves > 2 || cfg.Processes < 0 || cfg.Timeout <= 0 || cfg.StartTimeout <= 0 || cfg.Restarts < 0 {
		return nil, errors.New("bridge: a configuration with missing or negative fields; want bridge.Default() with changes")
	}
	if fails == nil {
		fails = &Failures{}
	}
	spec, err := hello.spec(name, cfg.Stack)
	if err != nil {
		return nil, fmt.Errorf("bridge: %q: %w", name, err)
	}
	spec.Halves = []envs.Halving{envs.HalvesOnGPU, envs.AtOnce, envs.InHalves}[cfg.Halves]
	return envs.NewOutside(spec, func(ctx context.Context, n int, _ uint32) (envs.Stepper, error) {
		st, err := newStepper(ctx, name, *cfg, hello, fails, n, spec.Halves != envs.AtOnce)
		if err != nil {
			return nil, err // no nil pointer in the interface
		}
		return st, nil
	})
}
