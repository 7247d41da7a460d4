package vk

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

const (
	defaultArena   = 64 << 20 // bytes; larger buffers get an arena of their own
	arenaAlignment = 256      // bytes; no device asks for more of storage buffers
)

// memory is the allocator. Each memory type has arenas, which are cut into spans.
type memory struct {
	sync.Mutex
	arenas []*arena
	stats  MemoryStats
}

// arena is one allocation from the driver. Host-visible memory stays mapped until it is freed.
type arena struct {
	handle vkDeviceMemory
	typ    memoryType
	size   uint64
	used   uint64
	mapped unsafe.Pointer // nil: not host-visible
	free   freeList
}

// span is a piece of an arena.
type span struct{ offset, size uint64 }

// freeList holds the free spans of an arena, sorted by offset and never adjacent.
type freeList []span

// take allocates size bytes from the first span that can hold them. size is a multiple of arenaAlignment, align a power of two.
func (f *freeList) take(size, align uint64) (uint64, bool) {
	for i, s := range *f {
		offset := alignUp(s.offset, align)
		if offset+size > s.offset+s.size {
			continue
		}
		var rest []span
		if offset > s.offset {
			rest = append(rest, span{s.offset, offset - s.offset})
		}
		if end := s.offset + s.size; offset+size < end {
			rest = append(rest, span{offset + size, end - offset - size})
		}
		*f = slices.Replace(*f, i, i+1, rest...)
		return offset, true
	}
	return 0, false
}

// give returns a span and merges it with its neighbours.
func (f *freeList) give(s span) {
	i, _ := slices.BinarySearchFunc(*f, s.offset, func(a span, offset uint64) int {
		if a.offset < offset {
			return -1
		}
		return 1
	})
	from := i
	if i > 0 && (*f)[i-1].offset+(*f)[i-1].size == s.offset {
		from = i - 1
		s = span{(*f)[from].offset, (*f)[from].size + s.size}
	}
	if i < len(*f) && s.offset+s.size == (*f)[i].offset {
		s.size += (*f)[i].size
		i++
	}
	*f = slices.Replace(*f, from, i, s)
}

func alignUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// placeFirst allocates size bytes of the first of the memory types whose heap has them. The caller holds d.mem.
func (d *Device) placeFirst(what string, size, align uint64, types []memoryType) (a *arena, offset uint64, err error) {
	var most *OutOfMemoryError // of the heap that has most left
	for _, typ := range types {
		var full *OutOfMemoryError
		if a, offset, err = d.place(what, size, align, typ); !errors.As(err, &full) {
			return a, offset, err
		}
		if most == nil || full.Have > most.Have {
			most = full
		}
	}
	return nil, 0, most
}

// place allocates size bytes of a memory type, from an existing arena or a new one. The caller holds d.mem.
func (d *Device) place(what string, size, align uint64, typ memoryType) (*arena, uint64, error) {
	for _, a := range d.mem.arenas {
		if a.typ == typ {
			if offset, ok := a.free.take(size, align); ok {
				a.used += size
				return a, offset, nil
			}
		}
	}
	available, why := d.available(typ.heap)
	if size > available {
		return nil, 0, &OutOfMemoryError{What: what, Need: size, Have: available, Why: why}
	}
	want := d.cfg.arenaSize
	if want == 0 {
		want = min(defaultArena, alignUp(d.phys.heaps[typ.heap].size/16, arenaAlignment))
	}
	// A large buffer in a shared arena would leave the rest unusable; a small heap has no spare memory.
	if size > want/2 || want > available {
		want = size
	}
	a, op, r := d.newArena(want, typ)
	if isNoMemory(r) && want > size {
		a, op, r = d.newArena(size, typ)
	}
	if isNoMemory(r) {
		return nil, 0, &OutOfMemoryError{What: what, Need: size, Have: min(available, size-1), Why: op + ": " + r.String()}
	}
	if r != resultSuccess {
		return nil, 0, d.fail(fmt.Sprintf("%s for a %s", op, what), r)
	}
	offset, _ := a.free.take(size, align)
	a.used += size
	return a, offset, nil
}

func isNoMemory(r Result) bool { return r == resultNoMemory || r == resultNoHostMemory }

// newArena allocates memory from the driver. op is the function that failed.
func (d *Device) newArena(size uint64, typ memoryType) (a *arena, op string, r Result) {
	a = &arena{typ: typ, size: size, free: freeList{{0, size}}}
	info := vkMemoryAllocateInfo{SType: structureTypeMemoryAllocateInfo, AllocationSize: vkDeviceSize(size), MemoryTypeIndex: typ.index}
	r = create(&a.handle, func(h *vkDeviceMemory) vkResult { return vkAllocateMemory(d.handle, &info, nil, h) })
	info.Free()
	if r != resultSuccess {
		return nil, "vkAllocateMemory", r
	}
	if typ.flags.has(memVisible) {
		var p unsafe.Pointer
		switch r := Result(vkMapMemory(d.handle, a.handle, 0, vkDeviceSize(size), 0, &p)); {
		case r == resultSuccess:
			a.mapped = p
		case typ.flags.has(memLocal) && !d.phys.info.Unified:
			// The host may be unable to map the whole device. Data then go through staging memory.
		default:
			vkFreeMemory(d.handle, a.handle, nil)
			return nil, "vkMapMemory", r
		}
	}
	d.mem.arenas = append(d.mem.arenas, a)
	d.phys.heaps[typ.heap].allocated += size
	d.mem.stats.Allocated += size
	d.mem.stats.Allocations++
	return a, "", resultSuccess
}

// release frees a span, and its arena once that is empty. The caller holds d.mem.
func (d *Device) release(a *arena, s span) {
	a.free.give(s)
	a.used -= s.size
	if a.used == 0 {
		d.dropArena(a)
		d.mem.arenas = slices.DeleteFunc(d.mem.arenas, func(b *arena) bool { return a == b })
	}
}

func (d *Device) dropArena(a *arena) {
	vkFreeMemory(d.handle, a.handle, nil) // unmaps
	a.mapped = nil
	d.phys.heaps[a.typ.heap].allocated -= a.size
	d.mem.stats.Allocated -= a.size
	d.mem.stats.Allocations--
}

// flush makes host writes to a span visible to the device; invalidate does the reverse. Coherent memory needs neither.
func (d *Device) flush(a *arena, s span) Result {
	if a.typ.flags.has(memCoherent) {
		return resultSuccess
	}
	offset, size := d.atoms(a, s)
	return Result(C.evk_flush(d.c, handleOf(a.handle), offset, size))
}

func (d *Device) invalidate(a *arena, s span) Result {
	if a.typ.flags.has(memCoherent) {
		return resultSuccess
	}
	offset, size := d.atoms(a, s)
	return Result(C.evk_invalidate(d.c, handleOf(a.handle), offset, size))
}

// atoms widens a span to whole units of nonCoherentAtomSize, at most to the end of the arena.
func (d *Device) atoms(a *arena, s span) (offset, size C.uint64_t) {
	atom := max(d.phys.atomSize, 1)
	from := s.offset / atom * atom
	to := min(alignUp(s.offset+s.size, atom), a.size)
	return C.uint64_t(from), C.uint64_t(to - from)
}
