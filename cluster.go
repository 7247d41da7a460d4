package evorl

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/catalog"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/internal/traces"
	"github.com/evorl/evorl/vk"
)

// ClusterConfig is where the processes that share a run meet: a NATS server, and by what they may use it.
type ClusterConfig struct {
	// Address is nats://HOST:PORT or tls://HOST:PORT of a server, with /NAME of the run where the server has several (default "run"). For the run itself it can
	// be "embed", a server in its own process at 127.0.0.1:4222, or embed://HOST:PORT; port 0 is a free one.
	Address string
	// Files with USER:PASSWORD in one line; with the credentials of a server that has accounts; with the certificates that servers are trusted by ("": the
	// system's). "": none.
	Login, Credentials, CA string
	// PEM files of the certificate of an embedded server.
	Cert, Key string

	// SigningKey is the file of the key by which a run signs for its workers what they execute and their program does not contain: the GLSL that env names, and
	// worlds outside of evorl. A file that does not exist gets a new key. "": the run has no such parts.
	SigningKey string
	// Trusted are the public keys (Run.WorkersKey) of runs for which a worker executes such parts, and Outside the worlds outside of evorl that it starts for
	// them, as env names these. None: only what its own program contains.
	Trusted, Outside []string
}

func (c ClusterConfig) access() machines.Access {
	return machines.Access{Login: c.Login, Credentials: c.Credentials, CA: c.CA, Cert: c.Cert, Key: c.Key}
}

// CheckWorker returns an error if a worker (Work) cannot use the configuration: its address, or a key in Trusted.
func (c ClusterConfig) CheckWorker() error {
	if _, err := workerAddress(c.Address); err != nil {
		return err
	}
	for _, key := range c.Trusted {
		if err := machines.CheckPublic(key); err != nil {
			return fmt.Errorf("evorl: %w", err)
		}
	}
	if len(c.Outside) > 0 && len(c.Trusted) == 0 {
		return fmt.Errorf("evorl: world %q outside of evorl: a worker starts it only for a run whose key it trusts: want that key too", c.Outside[0])
	}
	return nil
}

// SigningKey returns the public key of the key in a file (ClusterConfig.SigningKey), by which workers trust runs (Trusted). A file that does not exist gets
// a new key.
func SigningKey(file string) (public string, err error) {
	if file == "" {
		return "", errors.New("evorl: the key that signs runs: want the path of its file")
	}
	key, err := ClusterConfig{SigningKey: file}.key()
	return key.Public(), err
}

// key opens SigningKey; nil: there is none.
func (c ClusterConfig) key() (*machines.Key, error) {
	if c.SigningKey == "" {
		return nil, nil
	}
	key, err := machines.OpenKey(c.SigningKey)
	if err != nil {
		return nil, fmt.Errorf("evorl: the key that signs runs: %w", err)
	}
	return key, nil
}

// trust is what the configuration of a run may name besides what the program contains, if signer has signed it.
func (c ClusterConfig) trust(signer string) catalog.Trust {
	return catalog.Trust{Signer: signer, Signed: slices.Contains(c.Trusted, signer), Outside: c.Outside}
}

// Clustered makes processes on other machines (Work) share a run, as other devices do (Beside): a population, the members of agents, or acting. The run goes on
// with those that are there, and ends with the same bits for every number of them. They need the same program, device and driver, unless the run is Loose, and
// an environment or problem that the program contains, or whose GLSL is sent to workers that trust the run's SigningKey.
func Clustered(at ClusterConfig) RunOption { return func(o *runOptions) { o.cluster = &at } }

// CheckClustered returns an error if processes on other machines cannot share runs of the configuration: where CheckShared has one, if it needs files of
// data, and without a SigningKey if it has GLSL of its own or worlds outside of evorl. Gradients have parts for the devices of one machine.
func (c *Config) CheckClustered(at ClusterConfig) error {
	return c.checkClustered(at.ofRun(c))
}

// ofRun is the trust of workers that are to take part in runs of a configuration.
func (c ClusterConfig) ofRun(of *Config) catalog.Trust {
	return catalog.Trust{Signed: c.SigningKey != "", Outside: []string{of.Run.Env}}
}

func (c *Config) checkClustered(trust catalog.Trust) error {
	if err := c.checkShared(true); err != nil {
		return err
	}
	if c.setup.DividesGradients() {
		return config.Invalid(c.ShareKey(), "workers elsewhere compute no parts of gradients, which is for several devices of one machine: want --device without "+
			"--cluster, members in slices (members.slice), or 1")
	}
	return c.setup.CheckWithin(trust)
}

// within is the option of a configuration from elsewhere, which has come with the GLSL that env names, if it is a file: it names nothing outside of the program
// that is not trusted.
func within(trust catalog.Trust, glsl []byte) Option {
	return func(o *options) { o.Within, o.Text = &trust, glsl }
}

// meeting is the server at which a run, or the runs of a sweep one after the other, meet their workers.
type meeting struct {
	server *machines.Server // in this process; nil: it is elsewhere
	conn   *nats.Conn
	name   string // of the run, or of all of them
	url    string // for workers
}

func newMeeting(c *ClusterConfig) (*meeting, error) {
	at, err := machines.ParseAddress(c.Address)
	if err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	m := &meeting{name: at.Run}
	if at.Embed {
		if m.server, err = machines.Listen(at, c.access()); err != nil {
			return nil, fmt.Errorf("evorl: %w", err)
		}
		at.Server = m.server.URL()
		m.conn, err = m.server.Connect(c.access())
	} else {
		m.conn, err = machines.Connect(context.Background(), at.Server, c.access(), nil)
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("evorl: %w", err)
	}
	m.url = at.Server + "/" + at.Run
	return m, nil
}

func (m *meeting) close() {
	if m.conn != nil {
		m.conn.Close()
	}
	if m.server != nil {
		m.server.Close()
	}
}

// machinery is what lets processes elsewhere share a run.
type machinery struct {
	*meeting
	outlasts bool // the meeting: other runs follow this one
	run      machines.Run
	timing   machines.Timing
	host     *machines.Host // of the newest Learn; nil: none
}

func newMachines(cfg *Config, dev *vk.Device, o runOptions) (*machinery, error) {
	text, err := cfg.TOML()
	if err != nil {
		return nil, err
	}
	m := &machinery{meeting: o.meeting, outlasts: o.meeting != nil}
	if m.meeting == nil {
		if m.meeting, err = newMeeting(o.cluster); err != nil {
			return nil, err
		}
	}
	m.run = machines.Run{Name: m.name, Config: text, Digest: digestOfText(text), Seed: cfg.Run.Seed, Iterations: cfg.Run.Iterations, Loose: o.loose,
		Divides: cfg.Divides(), Identity: machines.IdentityOf(dev.Info())}
	if of := cfg.setup.Source; of != nil {
		m.run.Source = of.Text
	}
	if m.run.Key, err = o.cluster.key(); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func digestOfText(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// serve begins to take workers.
func (m *machinery) serve(ctx context.Context, link cluster.Link) (_ *machines.Host, err error) {
	m.run.Trace = traces.Parent(ctx)
	if of, ok := link.(interface {
		Status() ([]cluster.Status, cluster.Totals)
	}); ok {
		m.run.Status = of.Status
	}
	if m.host, err = machines.Serve(m.conn, m.run, link, m.timing); err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	return m.host, nil
}

// identity returns the device and the driver of a worker.
func (m *machinery) identity(worker string) (device, driver string) {
	if m == nil || m.host == nil {
		return "", ""
	}
	for _, g := range m.host.Guests() {
		if g.Name == worker {
			device, driver = g.Identity.Device, g.Identity.Driver
		}
	}
	return device, driver
}

// refused describes the workers that could not take part.
func (m *machinery) refused() (texts []string) {
	if m == nil || m.host == nil {
		return nil
	}
	for _, g := range m.host.Guests() {
		if g.Refused != nil {
			texts = append(texts, fmt.Sprintf("worker %s was refused: %v", g.Name, g.Refused))
		}
	}
	return texts
}

// finish tells the workers of a host that the run is complete, unless others follow.
func (m *machinery) finish(host *machines.Host) {
	if !m.outlasts {
		host.Finish()
	}
}

func (m *machinery) close() {
	if m != nil && !m.outlasts {
		m.meeting.close()
	}
}

// WorkersAddress returns the address by which workers join the run (Clustered), "" if it takes none.
func (r *Run) WorkersAddress() string {
	if r.machines == nil {
		return ""
	}
	return r.machines.url
}

// WorkersKey returns the public key that workers are to trust (ClusterConfig.Trusted) to execute what the run signs, "" if it signs nothing.
func (r *Run) WorkersKey() string {
	if r.machines == nil {
		return ""
	}
	return r.machines.run.Key.Public()
}

func workerAddress(address string) (machines.Address, error) {
	of, err := machines.ParseAddress(address)
	switch {
	case err != nil:
		return of, fmt.Errorf("evorl: %w", err)
	case of.Server == "" || of.Embed:
		return of, fmt.Errorf("evorl: address %q of a worker: want the server's, such as nats://host:4222", address)
	}
	return of, nil
}

// Work takes part in a run of another process, or in the runs of a sweep (Clustered), until that is complete: it builds the workflow of the configuration
// that it is sent, and evaluates the slices of a population that it is given, computes slices of the members, acts, or does whole runs. It waits for the run
// to begin, and for one that was interrupted to be resumed. It executes only what this program contains, whose names known has (nil: the built-in ones),
// and what a key in at.Trusted has signed: GLSL, and worlds in at.Outside. tell is called with what happens, each time in one line; nil: it is not told.
//
// Errors: of the device; of an address, files or a configuration; why the run refuses this worker; of a run that has failed. The end of ctx is its cause.
func Work(ctx context.Context, dev *vk.Device, at ClusterConfig, known *Catalog, tell func(text string)) error {
	if err := engine.Require(map[string]any{"device": dev}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	return work(ctx, dev, at, known, tell, machines.Timing{})
}

func work(ctx context.Context, dev *vk.Device, at ClusterConfig, known *Catalog, tell func(text string), timing machines.Timing) error {
	if tell == nil {
		tell = func(string) {}
	}
	if err := at.CheckWorker(); err != nil {
		return err
	}
	of, err := workerAddress(at.Address)
	if err != nil {
		return err
	}
	conn, err := machines.Connect(ctx, of.Server, at.access(), func(err error) { tell(fmt.Sprintf("waiting for the coordinator of run %q: %v", of.Run, err)) })
	if err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	defer conn.Close()
	w := &remote{dev: dev, known: known, at: at, tell: tell, name: workerName()}
	if w.link, err = machines.NewLink(conn, of.Run, w.name, machines.IdentityOf(dev.Info()), timing, tell); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	defer w.link.Close()
	for {
		switch err := w.session(ctx); {
		case err == nil, errors.Is(err, machines.ErrEnded):
			return nil
		case errors.Is(err, machines.ErrEpoch):
			tell("joining the run again: " + err.Error())
		default:
			return err
		}
	}
}

// workerName names a worker as no other.
func workerName() string {
	host, err := os.Hostname()
	if err != nil || len(host) > 100 {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%s", strings.ToValidUTF8(host, ""), os.Getpid(), rand.Text()[:6])
}

// remote is a worker of a run of another process.
type remote struct {
	dev   *vk.Device
	known *Catalog
	at    ClusterConfig
	link  *machines.Link
	name  string
	tell  func(text string)
}

// session takes part in one session of the run.
func (w *remote) session(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-w.link.Ended():
			stop(machines.ErrEnded)
		case <-ctx.Done():
		}
	}()
	hello, err := w.link.Hello(ctx)
	if err != nil {
		return err
	}
	err = w.trace(ctx, hello)
	if ctx.Err() != nil { // it was stopped, and has not failed
		err = context.Cause(ctx)
		w.link.Leave(w.name, nil)
	} else {
		w.link.Leave(w.name, err)
	}
	return err
}

// trace is follow in a span of the run's.
func (w *remote) trace(ctx context.Context, hello *machines.Hello) error {
	ctx, span := tracer.Start(traces.Under(ctx, hello.Trace), "worker",
		trace.WithAttributes(attribute.String("worker", w.name), attribute.String("device", w.dev.Info().Name)))
	defer span.End()
	return w.follow(ctx, hello)
}

// follow builds the replica and goes with it through the run.
func (w *remote) follow(ctx context.Context, hello *machines.Hello) error {
	if hello.Whole {
		return w.wholeRuns(ctx, hello)
	}
	trust := w.at.trust(hello.Signer)
	cfg, err := Parse("the run's configuration", hello.Config, Use(w.known), Context(ctx), within(trust, hello.Source))
	if err != nil {
		return err
	}
	if err := cfg.checkClustered(trust); err != nil {
		return cfg.document.Locate(err)
	}
	own, err := cfg.TOML()
	if err != nil {
		return err
	}
	if digest := digestOfText(own); digest != hello.Digest {
		return fmt.Errorf("evorl: the run's configuration, read by this program, has the digest %s and not %s: want the same version of evorl", digest, hello.Digest)
	}
	w.tell(fmt.Sprintf("%s on %s, %d iterations: compiling kernels", cfg.Run.Workflow, cfg.Run.Env, hello.Iterations))
	if cfg.setup.Acts() {
		return cfg.setup.Act(ctx, engine.New(w.dev, engine.Seed(hello.Seed)), w.link, w.name, cfg.options())
	}
	if members, build := cfg.setup.Slice(cfg.options()); build != nil {
		eng := engine.New(w.dev, engine.Seed(hello.Seed))
		return hybrid.Assist(ctx, eng, w.link, w.name, members, cfg.Evaluation.Episodes, build)
	}
	worker, err := cluster.NewWorker(w.name, w.link)
	if err != nil {
		return err
	}
	eng := engine.New(w.dev, engine.Seed(hello.Seed), engine.Shared(worker))
	if err := replicas.Follow(ctx, eng, hello.Iterations, cfg.prepared); err != nil {
		return err
	}
	return w.link.Await(ctx) // a resumed run may have to repeat the last iterations
}
