package cmd

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/envs/dmenvrpc"
	"github.com/evorl/evorl/vk"
)

// mostWorlds bounds the worlds that a server of dm_env_rpc has at once.
const mostWorlds = 4096

// runRPC serves environments by dm_env_rpc until Ctrl-C.
func (f *serveFlags) runRPC(cmd *cobra.Command) error {
	if err := f.checkAddress(); err != nil {
		return err
	}
	if cmd.Flags().Changed("autoreset") {
		return usagef("--autoreset with --protocol %s; want none: it has its own", protocolRPC)
	}
	worlds := 0
	if cmd.Flags().Changed("num-envs") {
		if worlds = f.vector.count; worlds < 1 || worlds > mostWorlds {
			return usagef("--num-envs %d: want 1 to %d", worlds, mostWorlds)
		}
	}
	cfg, err := f.vector.configuration(cmd.ErrOrStderr(), f.known)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer listener.Close()
	return withDevice(cmd.Context(), cmd.ErrOrStderr(), f.device, func(ctx context.Context, dev *vk.Device) error {
		server, err := dmenvrpc.NewServer(dev, cfg.Env(), dmenvrpc.ServerConfig{Options: cfg.Environment, Worlds: worlds})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s\n%s; Ctrl-C ends it\n", dmenvrpc.Prefix, listener.Addr(), cfg.Env().Name); err != nil {
			return err
		}
		release := holdSignals(ctx)
		defer release()
		return server.Serve(ctx, listener)
	})
}
