package vk

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Waits poll at this interval to notice a cancelled context. The interval is longer if the context cannot be cancelled, and at
// most this part of the time-out.
const (
	waitSlice     = 20 * time.Millisecond
	longWaitSlice = 500 * time.Millisecond
	timeoutSlices = 16
)

// queue numbers submissions 1, 2, …; they finish in that order. A timeline semaphore counts them, or each has a fence.
type queue struct {
	sync.Mutex
	handle    vkQueue
	timeline  vkSemaphore // created by the first submission
	ready     bool
	submitted uint64
	completed atomic.Uint64
	running   []running // not known to have finished, oldest first
	fences    []vkFence // unsignalled, for reuse
	lost      atomic.Pointer[DeviceError]
}

// running is a submission in flight.
type running struct {
	value   uint64
	name    string
	fence   vkFence // without timeline semaphores
	waiters *int    // goroutines that wait for the fence
}

// submit queues one submission per list of command buffers, with no other submission between them, and returns the number of the
// last one, also if it fails after earlier ones. uses are the buffers that they access.
func (d *Device) submit(name string, lists [][]vkCommandBuffer, uses []*Buffer) (uint64, error) {
	q := &d.queue
	q.Lock()
	defer q.Unlock()
	if err := d.lost(); err != nil {
		return q.submitted, err
	}
	for _, b := range uses {
		if b.freed.Load() {
			return q.submitted, fmt.Errorf("vk: %s uses %v: %w", name, b.All(), ErrClosed)
		}
	}
	if !q.ready {
		if d.phys.info.Features.Has(TimelineSemaphore) {
			var s C.VkHandle
			if r := Result(C.evk_create_timeline(d.c, &s)); r != resultSuccess {
				return q.submitted, &DeviceError{Op: "vkCreateSemaphore", Result: r}
			}
			q.timeline = fromHandle[vkSemaphore](s)
		}
		q.ready = true
	}
	var err error
	for _, commands := range lists {
		if err = d.submitOne(name, commands); err != nil {
			break
		}
	}
	for _, b := range uses {
		b.lastUse = q.submitted
	}
	return q.submitted, err
}

// submitOne queues a submission. The caller holds d.queue.
func (d *Device) submitOne(name string, commands []vkCommandBuffer) error {
	q := &d.queue
	entry := running{value: q.submitted + 1, name: name}
	if !d.phys.info.Features.Has(TimelineSemaphore) {
		if r := d.takeFence(&entry); r != resultSuccess {
			return &DeviceError{Op: "vkCreateFence", Result: r}
		}
	}
	handles := (*unsafe.Pointer)(unsafe.Pointer(&commands[0])) // pointers of the driver, not of Go
	r := Result(C.evk_submit(d.c, pointer(q.handle), C.uint32_t(len(commands)), handles, handleOf(q.timeline), C.uint64_t(entry.value), handleOf(entry.fence)))
	if r != resultSuccess {
		if entry.waiters != nil {
			q.fences = append(q.fences, entry.fence)
		}
		return d.failLocked(fmt.Sprintf("vkQueueSubmit of %q", name), r)
	}
	q.submitted++
	q.running = append(q.running, entry)
	return nil
}

func (d *Device) takeFence(entry *running) Result {
	q := &d.queue
	entry.waiters = new(int)
	if n := len(q.fences); n > 0 {
		entry.fence, q.fences = q.fences[n-1], q.fences[:n-1]
		return resultSuccess
	}
	info := vkFenceCreateInfo{SType: structureTypeFenceCreateInfo}
	r := create(&entry.fence, func(h *vkFence) vkResult { return vkCreateFence(d.handle, &info, nil, h) })
	info.Free()
	return r
}

// lost returns the error of a lost device.
func (d *Device) lost() error {
	if e := d.queue.lost.Load(); e != nil {
		return e
	}
	return nil
}

// fail returns a *DeviceError that names the running program. It records a lost device.
func (d *Device) fail(op string, r Result) error {
	d.queue.Lock()
	defer d.queue.Unlock()
	return d.failLocked(op, r)
}

func (d *Device) failLocked(op string, r Result) error {
	e := &DeviceError{Op: op, Result: r}
	if len(d.queue.running) > 0 {
		e.Running = d.queue.running[0].name
	}
	if r == resultDeviceLost && !d.queue.lost.CompareAndSwap(nil, e) {
		return d.queue.lost.Load() // the first report names the program that ran
	}
	return e
}

// wait waits until submission value has finished, ctx is done, the device is lost, or no submission has finished within the time-out.
// A slice counts as long as it was asked to last. It lasts longer if the process is stopped meanwhile (SIGSTOP, a frozen container), but
// a software driver, which is part of the process, has no more time then.
func (d *Device) wait(ctx context.Context, value uint64) error {
	q := &d.queue
	if q.completed.Load() >= value {
		return nil
	}
	slice := longWaitSlice
	if ctx.Done() != nil {
		slice = waitSlice
	}
	slice = min(slice, max(d.cfg.timeout/timeoutSlices, 1))
	seen, waited := q.completed.Load(), time.Duration(0)
	for {
		if err := d.lost(); err != nil {
			return err
		}
		switch r := d.waitOnce(value, slice); r {
		case resultSuccess:
			d.finish(value)
			return nil
		case resultTimeout:
			waited += slice
		default:
			return d.fail(d.waitsBy(), r)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if now := d.poll(); now > seen {
			seen, waited = now, 0
		}
		if waited >= d.cfg.timeout {
			return d.fail(fmt.Sprintf("waiting for %v", d.cfg.timeout), resultTimeout)
		}
	}
}

// waitsBy returns the name of the function that waits for submissions.
func (d *Device) waitsBy() string {
	if d.phys.info.Features.Has(TimelineSemaphore) {
		return "vkWaitSemaphores"
	}
	return "vkWaitForFences"
}

func (d *Device) waitOnce(value uint64, slice time.Duration) Result {
	q := &d.queue
	if d.phys.info.Features.Has(TimelineSemaphore) {
		return Result(C.evk_wait(d.c, handleOf(q.timeline), C.uint64_t(value), C.uint64_t(slice)))
	}
	q.Lock()
	var fence vkFence
	var waiters *int
	for _, e := range q.running {
		if e.value == value {
			fence, waiters = e.fence, e.waiters
			*waiters++
			break
		}
	}
	q.Unlock()
	if waiters == nil {
		return resultSuccess // it finished meanwhile
	}
	r := Result(vkWaitForFences(d.handle, 1, []vkFence{fence}, 1, uint64(slice)))
	q.Lock()
	*waiters--
	q.Unlock()
	return r
}

// poll returns the number of the last finished submission, without waiting. It records a lost device.
func (d *Device) poll() uint64 {
	q := &d.queue
	if d.phys.info.Features.Has(TimelineSemaphore) {
		var v C.uint64_t
		q.Lock()
		ready := q.ready
		q.Unlock()
		if !ready {
			return q.completed.Load()
		}
		switch r := Result(C.evk_completed(d.c, handleOf(q.timeline), &v)); r {
		case resultSuccess:
			d.finish(uint64(v))
		case resultDeviceLost: // other errors pass, or the next wait reports them
			_ = d.fail("vkGetSemaphoreCounterValue", r)
		}
		return q.completed.Load()
	}
	q.Lock()
	var done uint64
	for _, e := range q.running {
		r := Result(vkWaitForFences(d.handle, 1, []vkFence{e.fence}, 1, 0))
		if r == resultDeviceLost {
			_ = d.failLocked("vkWaitForFences", r)
		}
		if r != resultSuccess {
			break
		}
		done = e.value
	}
	q.Unlock()
	d.finish(done)
	return q.completed.Load()
}

// finish records that the submissions up to value are done.
func (d *Device) finish(value uint64) {
	q := &d.queue
	q.Lock()
	defer q.Unlock()
	if value > q.submitted {
		return // a lost device may report any number
	}
	n := 0
	for n < len(q.running) && q.running[n].value <= value {
		e := q.running[n]
		if e.waiters != nil && *e.waiters > 0 {
			break // another goroutine waits for its fence and will finish it
		}
		if e.waiters != nil {
			if Result(vkResetFences(d.handle, 1, []vkFence{e.fence})) == resultSuccess {
				q.fences = append(q.fences, e.fence)
			} else { // it may still be signalled
				vkDestroyFence(d.handle, e.fence, nil)
			}
		}
		n++
	}
	q.running = append(q.running[:0], q.running[n:]...)
	if value > q.completed.Load() {
		q.completed.Store(value)
	}
}

func (q *queue) destroy(d *Device) {
	for _, e := range q.running {
		if e.waiters != nil {
			vkDestroyFence(d.handle, e.fence, nil)
		}
	}
	for _, f := range q.fences {
		vkDestroyFence(d.handle, f, nil)
	}
	if d.phys.info.Features.Has(TimelineSemaphore) && q.ready {
		vkDestroySemaphore(d.handle, q.timeline, nil)
	}
	q.running, q.fences = nil, nil
}
