// Package vk makes Vulkan compute safe and small: devices, buffers, and programs of kernels that are recorded once and run
// many times. It knows nothing of learning.
//
// A [Program] is recorded from [Call]s, copies and fills. [Program.Build] compiles its kernels, derives the memory barriers
// from the accesses that the kernels declare, and records the command buffers. [Program.Run] submits them and waits. Work
// executes in submission order: programs and the transfers of [Buffer.Write] and [Buffer.Read] see the writes of earlier ones.
//
// A [Device] is safe for concurrent use, as are distinct objects made by it.
package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Device is an open device. Close it after use.
type Device struct {
	cfg    *config
	in     *instance
	pd     vkPhysicalDevice
	phys   *physical
	handle vkDevice
	c      *C.evk_device

	life     life
	mem      memory
	buffers  map[*Buffer]struct{} // guarded by mem
	queue    queue
	pipes    pipelines
	transfer transfer
	counters counters
	log      messages

	programs struct {
		sync.Mutex
		all map[*Program]struct{}
	}
}

// Devices lists all physical devices in the loader's order. It fails with ErrNoLoader or ErrNoDevice.
func Devices(opts ...Option) ([]Info, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	in, err := openInstance(cfg)
	if err != nil {
		return nil, err
	}
	defer in.close()
	infos := make([]Info, len(in.devices))
	for i := range in.devices {
		p, err := in.describe(i)
		if err != nil {
			return nil, err
		}
		infos[i] = p.info
	}
	return infos, nil
}

// Open opens a device: the one selected by [Index], [Name] or EVORL_DEVICE, else the first GPU, else the first software driver ([Suits]). It fails
// with ErrNoLoader, ErrNoDevice, *DeviceIndexError, *DeviceNameError or *DeviceError.
func Open(opts ...Option) (*Device, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	in, err := openInstance(cfg)
	if err != nil {
		return nil, err
	}
	phys, err := choose(cfg, in)
	if err != nil {
		in.close()
		return nil, err
	}
	phys.exact = cfg.exact
	if cfg.reshape != nil {
		cfg.reshape(phys)
	}
	phys.enabled = phys.info.Features
	if cfg.imitated != nil {
		phys.imitate(cfg.imitated.info)
	}
	if cfg.budget <= 0 {
		cfg.budget = 50 * time.Millisecond
		if phys.info.Type == CPU {
			cfg.budget = time.Second
		}
	}
	if cfg.timeout <= 0 {
		cfg.timeout = 2 * time.Minute
		if phys.info.Type == CPU {
			cfg.timeout = 30 * time.Minute
		}
	}
	if phys.info.Type == CPU {
		setScheduling(phys.info.Name)
	}
	d, err := openLogical(cfg, in, phys)
	if err != nil {
		in.close()
	}
	return d, err
}

// openLogical makes a logical device of a physical one. destroy destroys it.
func openLogical(cfg *config, in *instance, phys *physical) (*Device, error) {
	d := &Device{cfg: cfg, in: in, pd: in.devices[phys.info.Index], phys: phys, buffers: map[*Buffer]struct{}{}}
	d.life.idle.L = &d.life.mu
	d.programs.all = map[*Program]struct{}{}
	var c *C.evk_device
	var where *C.char
	var flush C.int // denormal numbers to zero
	if phys.info.Type == CPU {
		flush = 1
	}
	r := Result(C.evk_create_device(in.c, pointer(d.pd), C.uint32_t(phys.api), C.uint32_t(phys.enabled), C.uint32_t(phys.family), flush, &c, &where))
	if r != resultSuccess {
		return nil, &DeviceError{Op: fmt.Sprintf("%s of device %d (%s)", C.GoString(where), phys.info.Index, phys.info.Name), Result: r}
	}
	d.c, d.handle = c, fromPointer[vkDevice](C.evk_device_handle(c))
	var queue vkQueue
	vkGetDeviceQueue(d.handle, uint32(phys.family), 0, &queue)
	d.queue.handle = queue
	d.pipes.open(d)
	return d, nil
}

// choose selects a device by Index, Name or the default.
func choose(cfg *config, in *instance) (*physical, error) {
	all := make([]*physical, len(in.devices))
	for i := range all {
		var err error
		if all[i], err = in.describe(i); err != nil {
			return nil, err
		}
	}
	return pick(cfg, all)
}

// pick selects one of all devices. Of several that do, a GPU's own driver comes before one that translates, and GPUs before software drivers.
func pick(cfg *config, all []*physical) (*physical, error) {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.info.Name
	}
	var chosen *physical
	switch {
	case cfg.indexed && (cfg.index < 0 || cfg.index >= len(all)):
		return nil, &DeviceIndexError{Index: cfg.index, Count: len(all)}
	case cfg.indexed:
		chosen = all[cfg.index]
	case cfg.name != "":
		for _, p := range all {
			if strings.Contains(strings.ToLower(p.info.Name), strings.ToLower(cfg.name)) && (chosen == nil || chosen.info.Translated && !p.info.Translated) {
				chosen = p
			}
		}
		if chosen == nil {
			return nil, &DeviceNameError{Name: cfg.name, Names: names}
		}
	default:
		for _, p := range all {
			if p.usable(cfg) == "" && (chosen == nil || p.rank() > chosen.rank()) {
				chosen = p
			}
		}
		if chosen == nil {
			return nil, fmt.Errorf("%w: none of %s can be used; the first one: %s", ErrNoDevice, strings.Join(names, ", "), all[0].usable(cfg))
		}
	}
	if why := chosen.usable(cfg); why != "" {
		return nil, fmt.Errorf("%w: device %d (%s) cannot be used: %s", ErrNoDevice, chosen.info.Index, chosen.info.Name, why)
	}
	return chosen, nil
}

// rank orders devices for the default: the larger, the better.
func (p *physical) rank() int {
	switch {
	case p.info.Type.GPU() && !p.info.Translated:
		return 2
	case p.info.Type.GPU():
		return 1
	}
	return 0
}

// Info describes the device. It stays valid after Close.
func (d *Device) Info() Info { return d.phys.info }

// life counts the calls in progress, so that Close can wait for them and refuse later ones.
type life struct {
	mu     sync.Mutex
	idle   sync.Cond
	users  int
	closed bool
}

// enter must be paired with exit. It fails once Close has begun. Calls may be nested.
func (d *Device) enter() error {
	d.life.mu.Lock()
	defer d.life.mu.Unlock()
	if d.life.closed {
		return d.errClosed()
	}
	d.life.users++
	return nil
}

// open returns an error once Close has begun.
func (d *Device) open() error {
	d.life.mu.Lock()
	defer d.life.mu.Unlock()
	if d.life.closed {
		return d.errClosed()
	}
	return nil
}

func (d *Device) errClosed() error { return fmt.Errorf("device %q: %w", d.phys.info.Name, ErrClosed) }

func (d *Device) exit() {
	d.life.mu.Lock()
	if d.life.users--; d.life.users == 0 {
		d.life.idle.Broadcast()
	}
	d.life.mu.Unlock()
}

// Close waits for submitted work and for calls in other goroutines, saves the pipeline cache, and frees everything that the
// device made. Later calls fail with ErrClosed. Calling Close twice is allowed.
func (d *Device) Close() error {
	d.life.mu.Lock()
	if d.life.closed {
		d.life.mu.Unlock()
		return nil
	}
	d.life.closed = true
	for d.life.users > 0 {
		d.life.idle.Wait()
	}
	d.life.mu.Unlock()
	err := d.destroy()
	d.drainMessages()
	if d.c == nil {
		d.in.close()
	}
	return err
}

// destroy destroys the logical device and all that was made by it.
func (d *Device) destroy() error {
	known := d.lost() != nil
	err := d.wait(context.Background(), d.queue.submitted)
	if errors.Is(err, ErrTimeout) {
		return err // memory in use by a hanging device must not be freed; it is released when the process ends
	}
	if err != nil {
		// A lost device ends what it runs in finite time: a software driver, for one, computes on. After another error it may compute as well.
		if r := Result(C.evk_wait_idle(d.c)); r != resultSuccess && r != resultDeviceLost {
			return errors.Join(err, d.fail("vkDeviceWaitIdle", r))
		}
	}
	if known {
		err = nil // already reported
	}
	for p := range d.programs.all {
		p.destroy()
	}
	d.transfer.destroy(d)
	for b := range d.buffers {
		b.freed.Store(true)
		vkDestroyBuffer(d.handle, b.handle, nil)
	}
	d.buffers = nil
	for _, a := range d.mem.arenas {
		d.dropArena(a)
	}
	d.mem.arenas = nil
	d.pipes.destroy(d)
	d.queue.destroy(d)
	vkDestroyDevice(d.handle, nil)
	C.evk_free_device(d.c)
	d.c = nil
	return err
}

// Counters count the device's work since it was opened.
type Counters struct {
	Submissions uint64 // submissions of programs; transfers are not counted
	Dispatches  uint64 // kernels run
	Barriers    uint64 // memory barriers inside programs
	BytesUp     uint64 // bytes moved to the device by Write
	BytesDown   uint64 // bytes moved from the device by Read
	Pipelines   uint64 // pipelines compiled
}

type counters struct {
	submissions, dispatches, barriers, bytesUp, bytesDown, pipelines atomic.Uint64
}

// Counters returns the current counts. Subtract two results to measure the work in between.
func (d *Device) Counters() Counters {
	c := &d.counters
	return Counters{Submissions: c.submissions.Load(), Dispatches: c.dispatches.Load(), Barriers: c.barriers.Load(),
		BytesUp: c.bytesUp.Load(), BytesDown: c.bytesDown.Load(), Pipelines: c.pipelines.Load()}
}
