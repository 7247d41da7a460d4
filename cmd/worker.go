package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/vk"
)

// clusterFlags say where the processes of a run meet.
type clusterFlags struct {
	address string
	login   string
	creds   string
	ca      string
	cert    string
	key     string
	sign    string
}

// add adds the flags by which a process may use a server.
func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.login, "login", "", "`FILE` with USER:PASSWORD of the server, in one line")
	cmd.Flags().StringVar(&f.creds, "creds", "", "`FILE` of credentials of a server with accounts")
	cmd.Flags().StringVar(&f.ca, "tls-ca", "", "PEM `FILE` of the certificates that the server is trusted by (default: the system's)")
}

// addRun adds the flags of a command whose run is shared.
func (f *clusterFlags) addRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.address, "cluster", "", "let evorl worker on other machines take part, over the NATS server at `URL`; "+
		"embed or embed://HOST:PORT: a server in this process")
	f.add(cmd)
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "PEM `FILE` of the certificate of --cluster embed://HOST:PORT")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "PEM `FILE` of its key")
	cmd.Flags().StringVar(&f.sign, "sign", "", "`FILE` with the key by which workers trust GLSL, and worlds outside of evorl, that the configuration names; "+
		"made if it does not exist")
}

// check refuses flags without what they belong to.
func (f *clusterFlags) check() error {
	if f.address != "" {
		return nil
	}
	for _, of := range [][2]string{{"--login", f.login}, {"--creds", f.creds}, {"--tls-ca", f.ca}, {"--tls-cert", f.cert}, {"--tls-key", f.key},
		{"--sign", f.sign}} {
		if of[1] != "" {
			return usagef("%s %s: want --cluster too", of[0], of[1])
		}
	}
	return nil
}

func (f *clusterFlags) config() evorl.ClusterConfig {
	return evorl.ClusterConfig{Address: f.address, Login: f.login, Credentials: f.creds, CA: f.ca, Cert: f.cert, Key: f.key, SigningKey: f.sign}
}

// leave is the time that a worker has to end its run after the first signal, to tell the coordinator, and to remove the run's folder.
const leave = 10 * time.Second

// holdLeaving is holdSignals for that time: a worker may also be compiling kernels then, which cannot be stopped, and has nothing to save.
func holdLeaving(ctx context.Context) (release func()) {
	release = holdSignals(ctx)
	context.AfterFunc(ctx, func() { time.AfterFunc(leave, release) })
	return release
}

func newWorker(known *evorl.Catalog) *cobra.Command {
	var f clusterFlags
	var device string
	var trusted, outside []string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "worker [flags] URL",
		Short: "Compute for a run on another machine",
		Long: paragraphs(
			"Take part in the run that evorl run --cluster coordinates at a URL, or in all runs of evorl sweep --cluster, until it is complete: evaluate "+
				"slices of its populations, compute slices of its members, or do whole runs of a sweep. The run ends with the same bits for every "+
				"number of workers; they may come and go.",
			"A worker waits for a run that has not begun, or that was interrupted. It needs the run's version of evorl, device and driver, and executes only "+
				"what evorl itself contains.",
			"If the run's environment or problem is GLSL of its own, or a robot's, the run has --sign, and shows the key that --trust allows: with it the "+
				"worker executes the GLSL that this key has signed. It starts a world outside of evorl only if --outside names it, too, in its own working directory.",
		),
		Example: "  evorl worker nats://coordinator:4222\n  evorl worker --device 0,1 --login login.txt --tls-ca ca.pem tls://coordinator:4222/swing-up\n" +
			"  evorl worker --trust UDXXW3PJKY… nats://coordinator:4222",
		Args: between(1, 1, "want the URL that the run shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.address = args[0]
			at := f.config()
			at.Trusted, at.Outside = trusted, outside
			if err := at.CheckWorker(); err != nil {
				return usagef("%v", err)
			}
			defer holdLeaving(cmd.Context())()
			screen := cmd.ErrOrStderr()
			var mu sync.Mutex
			return withDevices(cmd.Context(), screen, device, func(ctx context.Context, devices []*vk.Device) error {
				errs := make([]error, len(devices))
				var all sync.WaitGroup
				for i, dev := range devices {
					all.Go(func() {
						errs[i] = cause(ctx, evorl.Work(ctx, dev, at, known, func(text string) {
							mu.Lock()
							defer mu.Unlock()
							if !quiet {
								fmt.Fprintf(screen, "device %d (%s): %s\n", i, dev.Info().Name, text)
							}
						}))
					})
				}
				all.Wait()
				return errors.Join(errs...)
			})
		},
	}
	addRunDevices(cmd, &device)
	f.add(cmd)
	cmd.Flags().StringArrayVar(&trusted, "trust", nil, "public `KEY` of a run, as it shows it, whose GLSL the worker executes; may be given several times")
	cmd.Flags().StringArrayVar(&outside, "outside", nil,
		"world outside of evorl, by its name in `ENV`, that the worker starts for a run of a key of --trust; may be given several times")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show nothing but errors")
	return cmd
}
