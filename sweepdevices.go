package evorl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/vk"
)

// sweepJob is a run of a sweep, to the end of a rung.
type sweepJob struct {
	name  string // in errors
	run   func(ctx context.Context, on sweepPlace) error
	moves bool   // workers elsewhere can do it
	done  func() // afterwards, of one job at a time
}

// sweepPlace is where runs are done, one at a time: a device, or a worker elsewhere.
type sweepPlace interface {
	run(ctx context.Context, of *sweepRun, learn func(context.Context, *Run) error) error
	takes(job sweepJob) bool
	left(err error) bool // the place takes part no more, and another one is to go on with the run
}

// devicePlace is a device of this process.
type devicePlace struct{ *vk.Device }

func (p devicePlace) run(ctx context.Context, of *sweepRun, learn func(context.Context, *Run) error) error {
	return of.run(ctx, p.Device, learn)
}
func (devicePlace) takes(sweepJob) bool { return true }
func (devicePlace) left(err error) bool { return DeviceLost(err) }

// sweepDevices run jobs side by side, one at a time on each device. With a cluster all devices share every run with workers elsewhere, or these do jobs as
// well.
type sweepDevices struct {
	cluster *ClusterConfig
	whole   bool        // workers elsewhere do whole runs
	options runOptions  // as given
	shared  []RunOption // of every run
	hands   *sweepHands // nil: no worker elsewhere does whole runs

	mu      sync.Mutex
	changed *sync.Cond
	devices []*vk.Device // those that take part
	jobs    []sweepJob   // those that nobody has begun
	busy    int          // places that run one
	err     error        // what ends the sweep
}

// newSweepDevices returns the devices of a sweep: the first one, and those beside it. divided says that its runs have slices.
func newSweepDevices(dev *vk.Device, divided bool, options []RunOption) (*sweepDevices, error) {
	o, err := newRunOptions(options)
	if err != nil {
		return nil, err
	}
	d := &sweepDevices{devices: append([]*vk.Device{dev}, o.devices...), cluster: o.cluster, options: o}
	d.changed = sync.NewCond(&d.mu)
	if err := replicas.Check(d.devices, o.loose); err != nil {
		return nil, err
	}
	if d.whole = o.cluster != nil && !divided; o.cluster != nil && divided {
		d.devices, d.shared = d.devices[:1], options
	}
	return d, nil
}

// meet makes the place where workers take part in all runs, of a configuration like base. The returned function ends it: complete tells them that there are
// no more.
func (d *sweepDevices) meet(base *Config) (end func(complete bool) error, err error) {
	if d.cluster == nil {
		return func(bool) error { return nil }, nil
	}
	key, err := d.cluster.key()
	if err != nil {
		return nil, err
	}
	m, err := newMeeting(d.cluster)
	if err != nil {
		return nil, err
	}
	if d.options.listening != nil {
		d.options.listening(m.url, key.Public())
	}
	if d.whole {
		if d.hands, err = newSweepHands(m, key, base, d.devices[0], d.options); err != nil {
			m.close()
			return nil, err
		}
	} else {
		d.shared = append(slices.Clone(d.shared), func(o *runOptions) { o.meeting = m })
	}
	return func(complete bool) (err error) {
		defer m.close()
		if d.hands != nil {
			d.hands.close(complete)
		}
		if complete {
			err = machines.End(m.conn, m.name)
		}
		return err
	}, nil
}

// run runs jobs in their order, each at a place that is free. A device that is lost, or a worker that leaves, leaves its job to the others, which resume
// it, and takes part no more. Any other error ends all: the others' runs are interrupted, to be resumed.
func (d *sweepDevices) run(ctx context.Context, jobs []sweepJob) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.jobs = jobs
	at := func(place sweepPlace) {
		for d.next(ctx, place, stop) {
		}
	}
	var here, joining, there sync.WaitGroup
	for _, dev := range slices.Clone(d.devices) {
		here.Go(func() { at(devicePlace{dev}) })
	}
	over := make(chan struct{})
	if d.hands != nil {
		joining.Go(func() {
			d.hands.each(over, func(place sweepPlace) { there.Go(func() { at(place) }) })
		})
	}
	here.Wait() // a device waits for the others' jobs, as it may have to go on with them
	close(over)
	joining.Wait()
	there.Wait()
	return d.err
}

// next runs a job at a place, and reports whether to go on.
func (d *sweepDevices) next(ctx context.Context, place sweepPlace, stop context.CancelCauseFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := func() int { return slices.IndexFunc(d.jobs, place.takes) }
	for first() < 0 && len(d.jobs)+d.busy > 0 && d.err == nil { // another place may be lost
		d.changed.Wait()
	}
	at := first()
	if at < 0 || d.err != nil {
		return false
	}
	job := d.jobs[at]
	d.jobs = slices.Delete(slices.Clone(d.jobs), at, at+1)
	d.busy++
	d.mu.Unlock()
	err := job.run(ctx, place)
	d.mu.Lock()
	d.busy--
	defer d.changed.Broadcast()
	dev, here := place.(devicePlace)
	switch {
	case err == nil:
		job.done()
		return true
	case d.err != nil:
	case place.left(err) && (!here || len(d.devices) > 1):
		if here {
			d.devices = slices.DeleteFunc(d.devices, func(of *vk.Device) bool { return of == dev.Device })
		}
		d.jobs = slices.Insert(slices.Clone(d.jobs), 0, job)
	default:
		d.err = fmt.Errorf("%s: %w", job.name, err)
		stop(d.err)
	}
	return false
}

// DeviceLost reports whether an error is that of a device that is lost or closed. In a sweep on several devices the run goes on on another one.
func DeviceLost(err error) bool {
	return errors.Is(err, vk.ErrDeviceLost) || errors.Is(err, vk.ErrClosed)
}

// handPlace is a worker elsewhere that does whole runs.
type handPlace struct {
	of   *sweepHands
	hand *cluster.Hand
}

func (p handPlace) run(ctx context.Context, of *sweepRun, _ func(context.Context, *Run) error) error {
	return p.of.do(ctx, p.hand, of)
}
func (handPlace) takes(job sweepJob) bool { return job.moves }
func (handPlace) left(err error) bool {
	var left *cluster.LeftError
	return errors.As(err, &left)
}
