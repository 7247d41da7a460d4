// Package replicas runs a workflow on several devices that share its work: a replica of it on each, which all go through the same iterations.
package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/vk"
)

// Set is the devices of a run. The first one's replica is the run's own workflow, which is evaluated and saved; the set runs the others.
type Set struct {
	devices []*vk.Device
	names   []string
	seed    uint32
	loose   bool

	mu      sync.Mutex
	current *cluster.Coordinator // nil: the run is not learning
	status  []cluster.Status     // of the last learning
	failed  map[string]error     // replicas that failed, by their names
	totals  cluster.Totals
	stop    context.CancelFunc
	all     sync.WaitGroup
}

// New makes the set of the devices of this process, the first of which is the run's own. With the same name, driver and version, devices compute the same bits;
// others are refused with a *DifferentError, unless loose: then every iteration begins with the first one's state.
func New(devices []*vk.Device, seed uint32, loose bool) (*Set, error) {
	if err := Check(devices, loose); err != nil {
		return nil, err
	}
	s := &Set{devices: devices, seed: seed, loose: loose}
	for i, dev := range devices {
		s.names = append(s.names, fmt.Sprintf("%d (%s)", i, dev.Info().Name))
	}
	return s, nil
}

// Check returns an error unless there are devices that compute the same bits or, if loose, any.
func Check(devices []*vk.Device, loose bool) error {
	if len(devices) < 1 {
		return errors.New("replicas: no devices; want at least one")
	}
	for _, dev := range devices {
		if err := engine.Require(map[string]any{"device": dev}); err != nil {
			return err
		}
		if first, info := devices[0].Info(), dev.Info(); class(first) != class(info) && !loose {
			return &DifferentError{First: describe(first), Other: describe(info)}
		}
	}
	return nil
}

// class is what must be equal of devices that compute the same bits.
func class(i vk.Info) [4]any { return [4]any{i.Name, i.Driver, i.API, i.SubgroupSize} }

func describe(i vk.Info) string { return fmt.Sprintf("%s with driver %s", i.Name, i.Driver) }

// DifferentError: devices that do not compute the same bits.
type DifferentError struct{ First, Other string }

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s and %s do not compute the same bits: want equal devices, or a loose run", e.First, e.Other)
}

// Names returns the devices' names among the workers.
func (s *Set) Names() []string { return s.names }

// Engine makes the engine of the run's own workflow.
func (s *Set) Engine() (*engine.Engine, error) { return s.engine(0) }

func (s *Set) engine(i int) (*engine.Engine, error) {
	w, err := cluster.NewWorker(s.names[i], s)
	if err != nil {
		return nil, err
	}
	return engine.New(s.devices[i], engine.Seed(s.seed), engine.Shared(w)), nil
}

// errIdle is the error of steps outside of Begin and End.
var errIdle = errors.New("replicas: the run is not learning")

// coordinator returns the present one.
func (s *Set) coordinator() (*cluster.Coordinator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, errIdle
	}
	return s.current, nil
}

// Exchange implements cluster.Link.
func (s *Set) Exchange(ctx context.Context, r cluster.Report) (cluster.Order, error) {
	c, err := s.coordinator()
	if err != nil {
		return cluster.Order{}, err
	}
	return c.Exchange(ctx, r)
}

// Join implements cluster.Link.
func (s *Set) Join(ctx context.Context, worker string) (step int, state []byte, err error) {
	c, err := s.coordinator()
	if err != nil {
		return 0, nil, err
	}
	return c.Join(ctx, worker)
}

// Sync implements cluster.Link.
func (s *Set) Sync(ctx context.Context, worker string, step int, state func() ([]byte, error)) ([]byte, error) {
	c, err := s.coordinator()
	if err != nil {
		return nil, err
	}
	return c.Sync(ctx, worker, step, state)
}

// Leave implements cluster.Link.
func (s *Set) Leave(worker string, cause error) {
	if c, err := s.coordinator(); err == nil {
		c.Leave(worker, cause)
	}
}

// Begin makes the other replicas go through the iterations up to the given number, beside the first one: each joins it when it is made, by build, and has
// compiled its kernels. A replica that fails leaves the run to the others. End must follow; the end of ctx ends the first replica only.
func (s *Set) Begin(ctx context.Context, iterations int, build func(context.Context, *engine.Engine) (engine.Workflow, error)) error {
	c, err := cluster.NewCoordinator(cluster.Config{Loose: s.loose}, s.names[0])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.current, s.stop, s.failed = c, stop, map[string]error{}
	s.mu.Unlock()
	for i := 1; i < len(s.devices); i++ {
		s.all.Go(func() {
			if err := s.follow(ctx, i, iterations, build); err != nil && !errors.Is(err, cluster.ErrClosed) && ctx.Err() == nil {
				s.fail(c, i, err)
			}
		})
	}
	return nil
}

// fail notes that a replica has failed, also one that had not joined.
func (s *Set) fail(c *cluster.Coordinator, i int, err error) {
	c.Leave(s.names[i], err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[s.names[i]] = err
}

// follow runs a replica of this process.
func (s *Set) follow(ctx context.Context, i, iterations int, build func(context.Context, *engine.Engine) (engine.Workflow, error)) error {
	eng, err := s.engine(i)
	if err != nil {
		return err
	}
	return Follow(ctx, eng, iterations, build)
}

// Follow builds a replica of a run on the engine of a worker, joins the run, and goes with it through the iterations up to the given number.
func Follow(ctx context.Context, eng *engine.Engine, iterations int, build func(context.Context, *engine.Engine) (engine.Workflow, error)) (err error) {
	w, err := build(ctx, eng)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	first, state, err := eng.Worker().Join(ctx)
	if err != nil {
		return err
	}
	var of engine.Snapshot
	if err := of.UnmarshalBinary(state); err != nil {
		return err
	}
	if err := w.State().Restore(ctx, &of); err != nil {
		return err
	}
	for n := first; n < iterations; n++ {
		t, err := w.Step(ctx, n)
		if err == nil {
			err = t.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grace is how long End lets replicas finish what they do.
const grace = 5 * time.Second

// End ends what Begin began: the other replicas finish their slices, and are closed.
func (s *Set) End() {
	c, err := s.coordinator()
	if err != nil {
		return
	}
	s.keep(c)
	c.Close()
	timer := time.AfterFunc(grace, s.stop)
	s.all.Wait()
	timer.Stop()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
}

// keep notes what the workers have done.
func (s *Set) keep(c *cluster.Coordinator) {
	status, totals := c.Status(), c.Totals()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.totals = status, totals
}

// Status describes the workers, by the devices' order and then those of other processes, and what they have done since the last Begin.
func (s *Set) Status() (all []cluster.Status, totals cluster.Totals) {
	if c, err := s.coordinator(); err == nil {
		s.keep(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.names {
		of := cluster.Status{Worker: name, Step: -1, Left: true} // not yet ready to join
		if i := slices.IndexFunc(s.status, func(w cluster.Status) bool { return w.Worker == name }); i >= 0 {
			of = s.status[i]
		}
		of.Cause = cmp.Or(of.Cause, s.failed[name])
		all = append(all, of)
	}
	for _, of := range s.status {
		if !slices.Contains(s.names, of.Worker) {
			all = append(all, of)
		}
	}
	return all, s.totals
}

// Devices returns the devices.
func (s *Set) Devices() []*vk.Device { return s.devices }
