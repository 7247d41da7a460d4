package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
)

// Time limits of a connection to evorl serve.
const (
	serveHeaderTimeout = 5 * time.Second
	serveReadTimeout   = time.Minute
	serveIdleTimeout   = 2 * time.Minute
	serveWriteTimeout  = 10 * time.Minute // from the head of a request on: to read it, to wait for its turn, to act, and until the answer has been taken
	serveShutdown      = 5 * time.Second  // for requests that are being answered when the server is ended
)

// serveFlags are the flags of evorl serve.
type serveFlags struct {
	restoredFlags
	chosen int
	host   string
	port   int
	expose bool
	shared int
	server evorl.PolicyServerConfig
	vector vectorFlags
}

func newServe(known *evorl.Catalog) *cobra.Command {
	f := &serveFlags{restoredFlags: restoredFlags{known: known}}
	cmd := &cobra.Command{
		Use:   "serve [flags] RUN_DIR",
		Short: "Answer observations with a policy's actions, over HTTP",
		Long: paragraphs(
			"Answer observations with the actions of a policy, over HTTP as JSON, so that it plays in another program. The policy is of the newest "+
				"checkpoint of a run, of the member that is best in --episodes episodes unless --member names one; --best takes the state and the member "+
				"that did best in the run's own evaluations. Once it is read no device is used. The first line of output is the address. Ctrl-C ends the "+
				"server when it has answered what it was asked.",
			"It answers this machine alone, and authenticates nobody. --host with an address that other machines reach needs --expose.",
			"GET /spec says what observations and actions are; POST /act takes an array of observations; POST /sessions begins a session for a policy with memory. "+
				"docs/serve.md documents them.",
			"--shared 64 answers the program that began it instead, for 64 environments at most, in memory that both map.",
			"With --env it serves environments of evorl instead, over standard input and output, for Gymnasium's vector environments in Python: docs/python.md. "+
				"With --protocol dm_env_rpc other programs' agents act in them by DeepMind's protocol, on --host and --port: docs/dm-env-rpc.md.",
		),
		Example: "  evorl serve runs/ppo-Hopper-v5-1\n" +
			"  evorl serve --port 8377 --member 3 runs/pbt-CartPole-v1-1\n" +
			"  curl -s -H 'Content-Type: application/json' -d '{\"obs\": [[0, 0, 0.1, 0]]}' http://127.0.0.1:8377/act",
		Args: between(0, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.vector.env != "" {
				return f.runVector(cmd, args)
			}
			for _, name := range vectorOnly {
				if cmd.Flags().Changed(name) {
					return usagef("--%s without --env ENV; want both", name)
				}
			}
			if len(args) == 0 {
				return usagef("want one RUN_DIR, or --env ENV")
			}
			if cmd.Flags().Changed("shared") {
				return f.runShared(cmd, args[0])
			}
			return f.run(cmd, args[0])
		},
	}
	addDevice(cmd, &f.device)
	cmd.Flags().StringVar(&f.host, "host", "127.0.0.1", "answer on `ADDRESS`, a number")
	cmd.Flags().IntVar(&f.port, "port", 0, "answer on port `N` (0: any that is free)")
	cmd.Flags().BoolVar(&f.expose, "expose", false, "let other machines in; nobody is authenticated")
	cmd.Flags().IntVar(&f.shared, "shared", 0, "answer in shared memory for `N` environments, on standard input and output, instead of over HTTP")
	cmd.Flags().BoolVar(&f.server.Draw, "draw", false, "draw actions where a request does not say, instead of the most likely ones")
	cmd.Flags().IntVar(&f.chosen, "member", 0, "the policy of member `N` (default the best)")
	cmd.Flags().BoolVar(&f.best, "best", false, "of the best state of the run, not its newest checkpoint: see evorl eval --help")
	cmd.Flags().StringVar(&f.seed, "seed", "", "seed `S` of the episodes (default the run's, or with --best the next)")
	f.addEpisodes(cmd)
	f.vector.add(cmd)
	return cmd
}

// runVector serves environments.
func (f *serveFlags) runVector(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("--env %s and the run %s; want one of the two", f.vector.env, args[0])
	}
	ofPolicies := []string{"shared", "draw", "member", "best", "seed", "episodes"}
	switch f.vector.protocol {
	case protocolVector:
		ofPolicies = append(ofPolicies, "host", "port", "expose")
	case protocolRPC:
	default:
		return usagef("--protocol %s: want %s or %s", f.vector.protocol, protocolVector, protocolRPC)
	}
	for _, name := range ofPolicies {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is of a policy; with --env want none", name)
		}
	}
	if f.vector.protocol == protocolRPC {
		return f.runRPC(cmd)
	}
	return f.vector.run(cmd, f.known, f.device)
}

// check checks the flags.
func (f *serveFlags) check(cmd *cobra.Command) error {
	if err := f.checkEpisodes(cmd); err != nil {
		return err
	}
	return f.checkAddress()
}

// checkAddress checks where the server answers.
func (f *serveFlags) checkAddress() error {
	if f.port < 0 || f.port > 65535 {
		return usagef("--port %d: want 0 to 65535", f.port)
	}
	address := net.ParseIP(f.host)
	switch {
	case address == nil:
		return usagef("--host %s: want an address such as 127.0.0.1 or ::1", f.host)
	case !address.IsLoopback() && !f.expose:
		return usagef("--host %s: other machines reach it, and nobody is authenticated; want --expose too, or 127.0.0.1", f.host)
	}
	return nil
}

func (f *serveFlags) run(cmd *cobra.Command, path string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	// The port is taken first: reading a policy takes seconds.
	listener, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer listener.Close()
	p, handler, err := f.policy(cmd, path)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if _, err := fmt.Fprintf(out, "http://%s\nmember %d of %s on %s at iteration %d; Ctrl-C ends it\n",
		listener.Addr(), p.Member, p.Workflow, p.Env, p.Iteration); err != nil {
		return err
	}
	return f.serve(cmd.Context(), listener, handler)
}

// policy reads the policy, and makes a server for it.
func (f *serveFlags) policy(cmd *cobra.Command, path string) (p *evorl.Policy, handler *evorl.PolicyServer, err error) {
	err = f.restored(cmd, path, func(ctx context.Context, restored *evorl.Restored) error {
		for _, refused := range restored.Refused() {
			warn(cmd.ErrOrStderr(), "%v", refused)
		}
		member, _, err := f.member(ctx, cmd, restored, f.chosen)
		if err != nil {
			return err
		}
		if p, err = restored.Policy(ctx, member); err != nil {
			return err
		}
		handler, err = evorl.NewPolicyServer(p, f.server)
		if errors.Is(err, evorl.ErrNoDistribution) {
			return usagef("--draw: %v", err)
		}
		return err
	})
	return p, handler, err
}

// serve answers until the context ends, and then what has been asked.
func (f *serveFlags) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	release := holdSignals(ctx)
	defer release()
	if !f.expose {
		handler = onlyLocal(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: serveHeaderTimeout, ReadTimeout: serveReadTimeout, IdleTimeout: serveIdleTimeout,
		WriteTimeout: serveWriteTimeout, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), serveShutdown)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return server.Close() // requests that take longer are given up
	}
	return nil
}

// onlyLocal refuses requests that name another host: of a page of another site, whose name has been pointed to this machine.
func onlyLocal(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host // port 80 is not named
		}
		if address := net.ParseIP(host); host != "localhost" && (address == nil || !address.IsLoopback()) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error": "want 127.0.0.1 or localhost"}`+"\n") // who asked is gone
			return
		}
		handler.ServeHTTP(w, r)
	})
}
