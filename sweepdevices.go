package evorl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/vk"
)

// sweepJob is a run of a sweep, to the end of a rung.
type sweepJob struct {
	name string // in errors
	run  func(ctx context.Context, dev *vk.Device) error
	done func() // afterwards, of one job at a time
}

// sweepDevices run jobs side by side, one at a time on each device. With a cluster all devices share every run with workers elsewhere.
type sweepDevices struct {
	cluster *ClusterConfig
	shared  []RunOption // of every run

	mu      sync.Mutex
	changed *sync.Cond
	devices []*vk.Device // those that take part
	jobs    []sweepJob   // those that no device has begun
	busy    int          // devices that run one
	err     error        // what ends the sweep
}

// newSweepDevices returns the devices of a sweep: the first one, and those beside it.
func newSweepDevices(dev *vk.Device, options []RunOption) (*sweepDevices, error) {
	o, err := newRunOptions(options)
	if err != nil {
		return nil, err
	}
	d := &sweepDevices{devices: append([]*vk.Device{dev}, o.devices...), cluster: o.cluster}
	d.changed = sync.NewCond(&d.mu)
	if err := replicas.Check(d.devices, o.loose); err != nil {
		return nil, err
	}
	if o.cluster != nil {
		d.devices, d.shared = d.devices[:1], options
	}
	return d, nil
}

// meet makes the place where workers take part in all runs. The returned function ends it: complete tells them that there are no more.
func (d *sweepDevices) meet() (end func(complete bool) error, err error) {
	if d.cluster == nil {
		return func(bool) error { return nil }, nil
	}
	m, err := newMeeting(d.cluster)
	if err != nil {
		return nil, err
	}
	d.shared = append(slices.Clone(d.shared), func(o *runOptions) { o.meeting = m })
	return func(complete bool) (err error) {
		defer m.close()
		if complete {
			err = machines.End(m.conn, m.name)
		}
		return err
	}, nil
}

// run runs jobs in their order, each on a device that is free. A device that is lost leaves its job to the others, which resume it, and takes part no
// more. Any other error ends all: the others' runs are interrupted, to be resumed.
func (d *sweepDevices) run(ctx context.Context, jobs []sweepJob) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.jobs = jobs
	var all sync.WaitGroup
	for _, dev := range slices.Clone(d.devices) {
		all.Go(func() {
			for d.next(ctx, dev, stop) {
			}
		})
	}
	all.Wait()
	return d.err
}

// next runs a job on a device, and reports whether to go on.
func (d *sweepDevices) next(ctx context.Context, dev *vk.Device, stop context.CancelCauseFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.jobs) == 0 && d.busy > 0 && d.err == nil { // another device may be lost
		d.changed.Wait()
	}
	if len(d.jobs) == 0 || d.err != nil {
		return false
	}
	job := d.jobs[0]
	d.jobs = d.jobs[1:]
	d.busy++
	d.mu.Unlock()
	err := job.run(ctx, dev)
	d.mu.Lock()
	d.busy--
	defer d.changed.Broadcast()
	switch {
	case err == nil:
		job.done()
		return true
	case d.err != nil:
	case DeviceLost(err) && len(d.devices) > 1:
		d.devices = slices.DeleteFunc(d.devices, func(of *vk.Device) bool { return of == dev })
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
