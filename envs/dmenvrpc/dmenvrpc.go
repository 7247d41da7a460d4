// Package dmenvrpc speaks dm_env_rpc, version 1, DeepMind's protocol between agents and environments (https://github.com/google-deepmind/dm_env_rpc): New
// makes an environment of a server's worlds, and Server serves evorl's environments to other programs' agents.
//
//	specs, err := dmenvrpc.Describe(ctx, "dm_env_rpc://127.0.0.1:9911", cfg)
//	env, err := dmenvrpc.New("dm_env_rpc://127.0.0.1:9911", &cfg, specs, nil)
//	ppo, err := rl.NewPPO(ctx, eng, env, rl.DefaultPPO())
package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
)

// Describe asks the server of a name what an agent's actions and observations are: it creates a world, unless cfg.World is one, joins it, leaves and
// destroys it. The server is asked nothing if cfg.Spec has them.
//
// Errors: a name that is not Prefix, host and port; a server that does not answer within cfg.StartTimeout, or refuses the world.
func Describe(ctx context.Context, name string, cfg Config) (*Specs, error) {
	at, err := address(name)
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	if cfg.Spec != "" {
		specs, err := parseSpecs(cfg.Spec)
		if err != nil {
			return nil, fmt.Errorf("dm_env_rpc: spec: %w", err)
		}
		return specs, nil
	}
	c, err := newClient(at, &cfg, 1)
	if err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	l, err := c.join(ctx, 0, false)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dm_env_rpc: %q: %w", name, err), c.close())
	}
	specs := l.specs
	l.leave()
	return specs, c.close()
}

// New makes the environment of a name, whose actions and observations specs has. Its worlds are created and joined when its first episodes begin, each over a
// stream of its own, by what cfg has then. fails counts failures; it may be nil.
//
// Checkpoints do not contain the worlds: a resumed run begins new episodes in them.
//
// Errors: specs that evorl does not take, or without what cfg names.
func New(name string, cfg *Config, specs *Specs, fails *bridge.Failures) (*envs.Environment, error) {
	if err := engine.Require(map[string]any{"configuration": cfg, "specs": specs}); err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	at, err := address(name)
	if err == nil {
		err = cfg.Validate()
	}
	if err == nil && (cfg.Timeout <= 0 || cfg.StartTimeout <= 0 || cfg.Restarts < 0) {
		err = errors.New("a configuration with missing or negative fields; want dmenvrpc.Default() with changes")
	}
	if err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	if fails == nil {
		fails = &bridge.Failures{}
	}
	l, err := newLayout(specs, cfg)
	if err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %q: %w", name, err)
	}
	spec := envs.Spec{
		Name: name, Summary: "a world of a server of dm_env_rpc", Source: "dm_env_rpc 1", Observation: l.observation, Action: l.action,
	}
	var there atomic.Bool // once: a run ends at once if it begins without a server, and not if an evaluation begins while it is gone
	return envs.NewOutside(spec, func(ctx context.Context, n int, _ uint32) (envs.Stepper, error) {
		st, err := newStepper(ctx, at, *cfg, specs, l, fails, n, there.Load())
		if err != nil {
			return nil, err // no nil pointer in the interface
		}
		there.Store(true)
		return st, nil
	})
}
