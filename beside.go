package evorl

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// RunOption is an option of Start and Resume.
type RunOption func(*runOptions)

type runOptions struct {
	devices []*vk.Device // beside the first
	loose   bool
	cluster *ClusterConfig // nil: no other processes
	meeting *meeting       // where they are, if others follow the run; nil: it has one of its own

	listening func(address, key string) // see Listening; nil: nobody is told
	told      func(text string)         // see Told
}

func newRunOptions(options []RunOption) (o runOptions, err error) {
	for i, set := range options {
		if set == nil {
			return o, fmt.Errorf("run option %d of %d: %w", i+1, len(options), &engine.NilError{What: "option"})
		}
		set(&o)
	}
	return o, nil
}

// Beside makes other devices share a run: each evaluates the slices of the population that it is given ([search] slice), computes slices of the members
// ([members] slice), acts in parts of the environments (actors and lag of an agent), or computes parts of gradients (gradient_parts of an agent). The run ends
// with the same bits for every number of devices, unless the configuration Varies. They must be equal to the first; one device opened twice counts as two. A
// device that fails leaves its slices, its acting, and its gradients to the others, and a warning; without the first one the run ends, and is resumed from its
// last checkpoint. The caller closes them after the run.
func Beside(devices ...*vk.Device) RunOption {
	return func(o *runOptions) { o.devices = append(o.devices, devices...) }
}

// Loose lets different devices share a run (Beside). They compute different bits, so the run is not reproducible: its results depend on which device evaluated
// what. Every iteration begins with the first device's state on all of them.
func Loose() RunOption { return func(o *runOptions) { o.loose = true } }

// CheckShared returns an error if several devices cannot share runs of the configuration: of a workflow other than a search, an agent and PBT of one, or
// without slices.
func (c *Config) CheckShared() error { return c.checkShared(false) }

// checkShared is CheckShared of devices in one machine, or of some elsewhere.
func (c *Config) checkShared(elsewhere bool) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.setup.CheckShared(elsewhere)
}

// ShareKey returns the dotted key of the setting by which several devices can share runs of the configuration: search.slice, members.slice, or
// actors or gradient_parts of an agent; "": they cannot.
func (c *Config) ShareKey() string { return c.setup.ShareKey() }

// Divides returns what several devices that share runs divide among them: rundir.Members, rundir.Environments if others act,
// rundir.Gradients if they compute parts of these, or of searches rundir.Candidates.
func (c *Config) Divides() string {
	switch {
	case c.setup.Acts():
		return rundir.Environments
	case c.setup.DividesGradients():
		return rundir.Gradients
	case c.setup.Slices() != nil:
		return rundir.Members
	}
	return rundir.Candidates
}

// Varies returns why runs of the configuration do not repeat each other; "": they do, on equal devices. It does not know whether several devices or workers
// act in environments that the host steps, which makes a run vary, too.
func (c *Config) Varies() string {
	if key := c.setup.AsynchronousKey(); key != "" {
		return key + ": the learner takes the trajectories that come first, so that no run repeats another"
	}
	return ""
}

// divided reports whether the members are in slices.
func (c *Config) divided() bool {
	of := c.setup.Slices()
	return of != nil && of.Slice > 0
}

// slice returns the setting of ShareKey.
func (c *Config) slice() string {
	text, _ := c.Value(c.ShareKey())
	return text
}

// share makes the engine of a run, and what shares it with other devices, if there are any.
func (r *Run) share(dev *vk.Device, options []RunOption) (err error) {
	o, err := newRunOptions(options)
	if err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if len(o.devices) == 0 && o.cluster == nil {
		r.eng = engine.New(dev, engine.Seed(r.cfg.Run.Seed))
		return nil
	}
	r.loose = o.loose
	if o.cluster != nil {
		err = r.cfg.CheckClustered(*o.cluster)
	} else {
		err = r.cfg.CheckShared()
	}
	if err != nil {
		return r.cfg.document.Locate(err)
	}
	others, err := replicas.New(append([]*vk.Device{dev}, o.devices...), r.cfg.Run.Seed, o.loose)
	if err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if r.cfg.divided() || r.cfg.setup.Acts() || r.cfg.setup.DividesGradients() {
		if o.cluster != nil {
			r.crew = cluster.NewCrew(others.Names()...)
		}
		r.eng = engine.New(dev, engine.Seed(r.cfg.Run.Seed), engine.Beside(o.devices...), engine.Assisted(r.crew))
		if r.crew != nil {
			r.machines, err = newMachines(r.cfg, dev, o)
		}
		return err
	}
	r.others = others
	if r.eng, err = r.others.Engine(); err != nil || o.cluster == nil {
		return err
	}
	r.machines, err = newMachines(r.cfg, dev, o)
	return err
}

// accompany makes the other devices take part in what follows. The returned function ends it.
func (r *Run) accompany(ctx context.Context) (end func(), err error) {
	if r.crew != nil {
		return r.assisted(ctx)
	}
	if r.others == nil {
		return func() {}, nil
	}
	if err := r.others.Begin(ctx, r.cfg.Run.Iterations, r.cfg.prepared); err != nil {
		return nil, err
	}
	if r.machines == nil {
		return r.others.End, nil
	}
	host, err := r.machines.serve(ctx, r.others)
	if err != nil {
		r.others.End()
		return nil, err
	}
	return func() {
		if r.outcome == nil {
			r.machines.finish(host)
		}
		r.others.End()
		host.Close()
	}, nil
}

// assisted lets workers elsewhere compute members. The returned function ends it.
func (r *Run) assisted(ctx context.Context) (end func(), err error) {
	r.crew.Open()
	host, err := r.machines.serve(ctx, r.crew)
	if err != nil {
		r.crew.Close()
		return nil, err
	}
	return func() {
		if r.outcome == nil {
			r.machines.finish(host)
		}
		r.crew.Close()
		host.Close()
	}, nil
}

// workersMetric is the number of devices that take part in an iteration of a shared run.
const workersMetric = "workers"

// Workers returns the devices that share a run (Beside), the first one first, with what they have done since Learn began; nil if it has one device.
func (r *Run) Workers() (all []rundir.Worker) {
	if counts := r.counts(); counts != nil && (r.crew != nil || len(r.eng.Devices()) > 1) {
		for i, dev := range r.eng.Devices() {
			info := dev.Info()
			all = append(all, rundir.Worker{Device: info.Name, Driver: info.Driver, Slices: counts[i]})
		}
		for _, of := range r.lostDevices() {
			all[of.Device].Outcome = of.Err.Error()
		}
		return r.crewed(all)
	}
	if r.others == nil {
		return nil
	}
	status, _ := r.others.Status()
	devices := r.others.Devices()
	for i, of := range status {
		w := rundir.Worker{Slices: of.Slices, Seconds: of.Mean.Seconds()}
		if i < len(devices) {
			info := devices[i].Info()
			w.Device, w.Driver = info.Name, info.Driver
		} else {
			w.Name = of.Worker
			w.Device, w.Driver = r.machines.identity(of.Worker)
		}
		if of.Cause != nil {
			w.Outcome = of.Cause.Error()
		}
		all = append(all, w)
	}
	return all
}

// counts returns how many slices of the members, or parts of the environments or gradients, each device of this process has; nil: the run is not shared by
// them.
func (r *Run) counts() (counts []int) {
	if of, ok := hybrid.Innermost(r.workflow).(*hybrid.Slices); ok {
		_, counts = of.Count()
		return counts
	}
	_, counts, _ = rl.Shared(r.workflow)
	return counts
}

// lostDevices returns the devices of this process that take part no more.
func (r *Run) lostDevices() (all []*engine.LostError) {
	_, _, lost := rl.Shared(r.workflow)
	if of, ok := hybrid.Innermost(r.workflow).(*hybrid.Slices); ok {
		lost = of.Lost()
	}
	for _, err := range lost {
		if of := (*engine.LostError)(nil); errors.As(err, &of) && of.Device >= 0 {
			all = append(all, of)
		}
	}
	return all
}

// crewed adds to the devices of this process the workers elsewhere that compute members. All have the slices of the last iteration.
func (r *Run) crewed(all []rundir.Worker) []rundir.Worker {
	if r.crew == nil {
		return all
	}
	status, _ := r.crew.Status()
	for i, of := range status {
		if i < len(all) {
			all[i].Slices, all[i].Seconds = of.Has, of.Mean.Seconds()
			continue
		}
		w := rundir.Worker{Name: of.Worker, Slices: of.Has, Seconds: of.Mean.Seconds()}
		w.Device, w.Driver = r.machines.identity(of.Worker)
		if of.Cause != nil {
			w.Outcome = of.Cause.Error()
		}
		all = append(all, w)
	}
	return all
}

// shares describes what went wrong among the devices of a shared run.
func (r *Run) shares() (texts []string) {
	if parts, done, lost := rl.Shared(r.workflow); done != nil {
		if r.cfg.setup.DividesGradients() && parts < len(done) {
			texts = append(texts, fmt.Sprintf("gradients have %s = %d parts, and %d devices share them: the others have nothing to do", r.cfg.ShareKey(), parts,
				len(done)))
		}
		return append(texts, r.lost(lost)...)
	}
	if of, ok := hybrid.Innermost(r.workflow).(*hybrid.Slices); ok {
		left := errorTexts(of.Lost())
		devices, idle := len(r.eng.Devices()), true
		if r.crew != nil {
			devices, idle = 0, false
			for _, w := range r.Workers() {
				if w.Outcome == "" {
					devices, idle = devices+1, idle || w.Slices == 0
					continue
				}
				if w.Name == "" { // a device of this machine
					continue
				}
				left = append(left, fmt.Sprintf("worker %s left the run, and its slices were computed again from their last state here: %s", w.Name, w.Outcome))
			}
		}
		if all, _ := of.Count(); idle && all < devices {
			texts = append(texts, fmt.Sprintf("%d members are in slices of %s = %s, and of %d devices some have none: they have nothing to do", r.cfg.Members(),
				r.cfg.ShareKey(), r.cfg.slice(), devices))
		}
		texts = append(texts, left...)
		texts = append(texts, r.machines.refused()...)
	}
	if r.others == nil {
		return texts
	}
	status, totals := r.others.Status()
	if n := len(status); totals.Step > 0 && totals.Step < n {
		texts = append(texts, fmt.Sprintf("a population has %d slices of %s = %s, and %d devices share them: the others have nothing to do", totals.Step,
			r.cfg.ShareKey(), r.cfg.slice(), n))
	}
	for _, w := range status {
		if w.Cause != nil {
			texts = append(texts, fmt.Sprintf("device %s left the run in iteration %d, and the others did its slices: %v", w.Worker, w.Step+1, w.Cause))
		}
	}
	return append(texts, r.machines.refused()...)
}

// lost is shares of a run whose devices share acting.
func (r *Run) lost(lost []error) []string {
	texts := errorTexts(lost)
	for _, w := range r.Workers() {
		if w.Name != "" && w.Outcome != "" {
			texts = append(texts, fmt.Sprintf("worker %s left the run, and others acted for it: %s", w.Name, w.Outcome))
		}
	}
	return append(texts, r.machines.refused()...)
}

func errorTexts(errs []error) (texts []string) {
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

// Taking returns the number of devices that take part in a run: of those that share it (Beside), the ones that have compiled their kernels and have not failed.
func (r *Run) Taking() (n int) {
	if r.crew != nil {
		n = len(r.crew.Hands())
	}
	if r.others == nil {
		return max(1, len(r.eng.Devices())-len(r.lostDevices())) + n
	}
	status, _ := r.others.Status()
	for _, w := range status {
		if !w.Left {
			n++
		}
	}
	return n
}
