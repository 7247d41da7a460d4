package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs/vector"
	"github.com/evorl/evorl/vk"
)

// vectorFlags are the flags of evorl serve --env.
type vectorFlags struct {
	env       string
	protocol  string
	count     int
	autoreset string
	settings  []string
}

// maxServed bounds the environments that are stepped together.
const maxServed = 1 << 20

func (f *vectorFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.env, "env", "", "serve environment `ENV` instead of a policy, on standard input and output, for evorlgpu.gymnasium")
	cmd.Flags().StringVar(&f.protocol, "protocol", protocolVector,
		"how --env is served: `NAME` "+protocolVector+", or "+protocolRPC+" for other programs' agents, on --port")
	cmd.Flags().IntVar(&f.count, "num-envs", 1,
		"with --protocol "+protocolRPC+" the most worlds at once, 64 if not given; else `N` copies of --env, stepped together")
	cmd.Flags().StringVar(&f.autoreset, "autoreset", vector.NextStep.String(), "when an episode of --env follows one that ended: `MODE` next_step or same_step")
	cmd.Flags().StringArrayVar(&f.settings, "set", nil, "set a `KEY=VALUE` of [environment], or of the environment's own section (repeatable)")
}

// names of the flags that are for --env alone.
var vectorOnly = []string{"num-envs", "autoreset", "set", "protocol"}

// The protocols by which environments are served.
const (
	protocolVector = "vector"
	protocolRPC    = "dm_env_rpc"
)

// check returns the mode of autoreset.
func (f *vectorFlags) check() (mode vector.Autoreset, err error) {
	if f.count < 1 || f.count > maxServed {
		return 0, usagef("--num-envs %d: want 1 to %d", f.count, maxServed)
	}
	if err := mode.UnmarshalText([]byte(f.autoreset)); err != nil {
		return 0, usagef("--autoreset: %v", err)
	}
	return mode, nil
}

// configuration reads the environment's settings, and shows warnings of it on a screen.
func (f *vectorFlags) configuration(screen io.Writer, known *evorl.Catalog) (*evorl.Config, error) {
	opts := []evorl.Option{evorl.Use(known)}
	for _, s := range f.settings {
		opts = append(opts, evorl.Set(s))
	}
	cfg, err := evorl.New("ppo", f.env, opts...) // a workflow has every section that an environment may have
	if err != nil {
		return nil, err
	}
	if cfg.Env() == nil {
		return nil, usagef("--env %s: it is no environment but a problem; want one of the environments that evorl list shows", f.env)
	}
	for _, text := range cfg.Warnings() {
		warn(screen, "%s", text)
	}
	return cfg, nil
}

// run serves the environments until the program that steps them is done.
func (f *vectorFlags) run(cmd *cobra.Command, known *evorl.Catalog, device string) error {
	mode, err := f.check()
	if err != nil {
		return err
	}
	cfg, err := f.configuration(cmd.ErrOrStderr(), known)
	if err != nil {
		return err
	}
	return withDevice(cmd.Context(), cmd.ErrOrStderr(), device, func(ctx context.Context, dev *vk.Device) error {
		e, err := vector.New(ctx, dev, cfg.Env(), f.count, cfg.Environment, mode)
		if err != nil {
			return cause(ctx, err)
		}
		defer e.Close()
		in := cmd.InOrStdin()
		if onTerminal(cmd.OutOrStdout()) {
			return fmt.Errorf("serve --env: standard output is a terminal; want a program that steps the environments, such as Python with evorlgpu.gymnasium")
		}
		return cause(ctx, e.Serve(ctx, in, cmd.OutOrStdout()))
	})
}
