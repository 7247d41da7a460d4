package vk

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Kind is the kind of memory of a buffer.
type Kind int

const (
	// Local memory is the device's own memory, which kernels read and write.
	Local Kind = iota
	// Readback memory is visible to the host through [Buffer.Mapped]. Kernels and copies may write it, and read what the host wrote there.
	Readback

	staging // for Write and Read
)

// String returns local or readback.
func (k Kind) String() string {
	switch k {
	case Local:
		return "local"
	case Readback:
		return "readback"
	case staging:
		return "staging"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Buffer is memory that kernels can use. Its initial contents are undefined. Its methods are safe for concurrent use.
type Buffer struct {
	d       *Device
	handle  vkBuffer
	kind    Kind
	size    int64 // bytes, as requested
	arena   *arena
	span    span
	lastUse uint64 // the last submission that uses the buffer; guarded by d.queue
	freed   atomic.Bool
}

// Range is a part of a buffer, in bytes.
type Range struct {
	Buffer       *Buffer
	Offset, Size int64
	Err          error // why there is no buffer, for the error of programs that are recorded with the range
}

// NewBuffer allocates a buffer of bytes > 0. It fails with *OutOfMemoryError; with ErrNotMapped if the kind is Readback and
// the device has no host-visible memory; or with ErrClosed.
func (d *Device) NewBuffer(bytes int64, kind Kind) (*Buffer, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.exit()
	var b *Buffer
	var err error
	switch kind {
	case Local:
		b, err = d.newBuffer(bytes, kind, useLocal)
	case Readback:
		b, err = d.newBuffer(bytes, kind, useReadback)
	default:
		err = fmt.Errorf("vk: NewBuffer: %v is not a buffer kind: want vk.Local or vk.Readback", kind)
	}
	if err == nil && d.cfg.poison {
		err = d.poison(b)
	}
	return b, err
}

// poison fills a new buffer with a NaN that no kernel computes. Read as an integer, it is an index outside any buffer.
func (d *Device) poison(b *Buffer) error {
	words := b.size &^ 3
	if words == 0 {
		return nil
	}
	p := d.NewProgram("poison")
	defer p.Free()
	p.Fill(b.Range(0, words), 0x7fdecade)
	err := p.Build()
	if err == nil {
		err = p.Run(context.Background())
	}
	if err != nil {
		b.Free()
	}
	return err
}

const bufferUsage = 0x1 | 0x2 | 0x8 | 0x20 // transfer source, transfer destination, storage texel buffer, storage buffer

func (d *Device) newBuffer(bytes int64, kind Kind, use memoryUse) (*Buffer, error) {
	what := kind.String() + " buffer"
	if bytes <= 0 {
		return nil, fmt.Errorf("vk: NewBuffer: a %s of %d bytes: the size must be at least 1", what, bytes)
	}
	if most := d.phys.info.Limits.MaxBufferBytes; uint64(bytes) > most {
		return nil, &OutOfMemoryError{What: what, Need: uint64(bytes), Have: most, Why: "the largest buffer of this device"}
	}
	if err := d.lost(); err != nil {
		return nil, err
	}
	d.mem.Lock()
	defer d.mem.Unlock()
	b := &Buffer{d: d, kind: kind, size: bytes}
	// Round up to texels of four words, so that views and kernels that work by words reach the last byte.
	end := alignUp(uint64(bytes), 16)
	switch most := d.phys.info.Limits.MaxBufferBytes; {
	case d.phys.exact:
		end = max(uint64(bytes), 16) // a view is at least one texel
	case d.phys.info.Type == CPU && bits.OnesCount64(end) == 1 && end+32 <= most:
		end = max(end+16, 48) // Mesa's software driver translates a kernel again for texel buffers whose sizes are powers of two
	}
	info := vkBufferCreateInfo{SType: structureTypeBufferCreateInfo, Size: vkDeviceSize(end), Usage: bufferUsage}
	r := create(&b.handle, func(h *vkBuffer) vkResult { return vkCreateBuffer(d.handle, &info, nil, h) })
	info.Free()
	if isNoMemory(r) {
		return nil, &OutOfMemoryError{What: what, Need: uint64(bytes), Why: "vkCreateBuffer: " + r.String()}
	}
	if r != resultSuccess {
		return nil, d.fail("vkCreateBuffer", r)
	}
	var req vkMemoryRequirements
	vkGetBufferMemoryRequirements(d.handle, b.handle, &req)
	req.Deref()
	size, align := alignUp(uint64(req.Size), arenaAlignment), alignUp(uint64(req.Alignment), arenaAlignment)
	mask := req.MemoryTypeBits
	req.Free()
	types, err := d.phys.chooseTypes(use, mask)
	if err == nil {
		b.span.size = size
		b.arena, b.span.offset, err = d.placeFirst(what, size, align, types)
	}
	if err != nil {
		vkDestroyBuffer(d.handle, b.handle, nil)
		return nil, err
	}
	if r := Result(vkBindBufferMemory(d.handle, b.handle, b.arena.handle, vkDeviceSize(b.span.offset))); r != resultSuccess {
		vkDestroyBuffer(d.handle, b.handle, nil)
		d.release(b.arena, b.span)
		return nil, d.fail("vkBindBufferMemory", r)
	}
	d.mem.stats.Used += size
	d.mem.stats.Peak = max(d.mem.stats.Peak, d.mem.stats.Used)
	d.mem.stats.Buffers++
	if kind == staging {
		d.mem.stats.Staging += size
	}
	d.buffers[b] = struct{}{}
	return b, nil
}

// Size returns the size in bytes, as requested.
func (b *Buffer) Size() int64 { return b.size }

// Range returns n bytes from off. Bounds are checked when the range is used.
func (b *Buffer) Range(off, n int64) Range { return Range{Buffer: b, Offset: off, Size: n} }

// All returns the whole buffer. Programs refuse the range of a nil buffer.
func (b *Buffer) All() Range {
	if b == nil {
		return Range{}
	}
	return b.Range(0, b.size)
}

// String describes the range in errors.
func (r Range) String() string {
	if r.Buffer == nil {
		return "no buffer"
	}
	return fmt.Sprintf("bytes %d to %d of a %v buffer of %d bytes", r.Offset, r.Offset+r.Size, r.Buffer.kind, r.Buffer.size)
}

// check validates a range for device d.
func (r Range) check(d *Device) error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.Buffer == nil:
		return fmt.Errorf("no buffer given")
	case r.Buffer.d != d:
		return fmt.Errorf("a buffer of another device")
	case r.Buffer.freed.Load():
		return fmt.Errorf("%v: %w", r, ErrClosed)
	case r.Size <= 0:
		return fmt.Errorf("%v: a range must hold at least one byte", r)
	case r.Offset < 0 || r.Offset > r.Buffer.size-r.Size:
		return fmt.Errorf("%v: out of bounds", r)
	}
	return nil
}

// Mapped returns the memory of a Readback buffer, or nil for other kinds and after Free. It holds what a program wrote once the
// program's Run or Wait has returned. Callers may write it while no program uses the buffer, and then call Flush. They must not use it after
// Free or Close.
func (b *Buffer) Mapped() []byte {
	if b.kind != Readback || b.freed.Load() || b.arena.mapped == nil {
		return nil
	}
	return b.bytes()
}

// Flush lets programs that are submitted from now on read what the host wrote to Mapped.
func (b *Buffer) Flush() error {
	if err := b.d.enter(); err != nil {
		return err
	}
	defer b.d.exit()
	if b.freed.Load() {
		return fmt.Errorf("vk: Flush of %v: %w", b.All(), ErrClosed)
	}
	if r := b.d.flush(b.arena, b.span); r != resultSuccess {
		return b.d.fail("vkFlushMappedMemoryRanges", r)
	}
	return nil
}

func (b *Buffer) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(b.arena.mapped, b.span.offset)), b.size)
}

// part returns the span of n bytes at offset off of the buffer, as offsets in the arena.
func (b *Buffer) part(off, n int64) span { return span{b.span.offset + uint64(off), uint64(n)} }

// Free releases the memory once the submissions that use it have finished. Programs that use it can no longer run. Calling Free twice is allowed.
func (b *Buffer) Free() {
	d := b.d
	if d.enter() != nil {
		return // Close freed it
	}
	defer d.exit()
	d.queue.Lock()
	last := b.lastUse
	freed := b.freed.Swap(true)
	d.queue.Unlock()
	if freed {
		return
	}
	if d.wait(context.Background(), last) != nil {
		return // still in use by a device that hangs or is lost: Close releases it
	}
	d.mem.Lock()
	defer d.mem.Unlock()
	d.destroyBuffer(b)
}

// destroyBuffer frees a buffer. The caller holds d.mem.
func (d *Device) destroyBuffer(b *Buffer) {
	delete(d.buffers, b)
	vkDestroyBuffer(d.handle, b.handle, nil)
	d.mem.stats.Used -= b.span.size
	d.mem.stats.Buffers--
	d.release(b.arena, b.span)
}

func (d *Device) memoryBudget() (budget, usage [16]uint64) {
	var b, u [16]C.uint64_t
	C.evk_memory_budget(d.in.c, pointer(d.pd), &b[0], &u[0])
	for i := range b {
		budget[i], usage[i] = uint64(b[i]), uint64(u[i])
	}
	runtime.KeepAlive(d)
	return budget, usage
}
