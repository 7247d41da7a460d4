package vk

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// memoryFlags are VkMemoryPropertyFlags.
type memoryFlags uint32

const (
	memLocal    memoryFlags = 1 << iota // DEVICE_LOCAL
	memVisible                          // HOST_VISIBLE
	memCoherent                         // HOST_COHERENT
	memCached                           // HOST_CACHED
)

func (f memoryFlags) has(want memoryFlags) bool { return f&want == want }

type memoryType struct {
	index uint32
	flags memoryFlags
	heap  int
}

type memoryHeap struct {
	size      uint64
	local     bool
	allocated uint64 // bytes taken from the driver
}

// memoryKind derives the size of device-local memory and how the host accesses it.
func (p *physical) memoryKind() (bytes uint64, unified, resizable bool) {
	unified = p.info.Type == IntegratedGPU || p.info.Type == CPU
	for _, h := range p.heaps {
		if h.local {
			bytes = max(bytes, h.size)
		}
	}
	for _, t := range p.types {
		// Without resizable BAR the host-visible local memory is a window of 256 MiB with a heap of its own.
		if t.flags.has(memLocal|memVisible) && p.heaps[t.heap].size >= bytes {
			resizable = !unified
		}
	}
	return bytes, unified, resizable
}

// memoryUse is the purpose of an allocation. It decides the order of the memory types.
type memoryUse int

const (
	useLocal    memoryUse = iota
	useReadback           // the device writes, the host reads
	useUpload             // the host writes, the device reads
)

// preferences lists the memory flags for a use, best first.
func (p *physical) preferences(use memoryUse) []memoryFlags {
	switch use {
	case useReadback:
		return []memoryFlags{memVisible | memCached | memCoherent, memVisible | memCached, memVisible | memCoherent, memVisible}
	case useUpload:
		return []memoryFlags{memVisible | memCoherent, memVisible}
	}
	switch {
	case p.info.Unified:
		return []memoryFlags{memLocal | memVisible | memCoherent | memCached, memLocal | memVisible | memCoherent, memLocal, 0}
	case p.info.ResizableBAR:
		return []memoryFlags{memLocal | memVisible | memCoherent, memLocal, 0}
	}
	return []memoryFlags{memLocal, 0}
}

// chooseTypes returns the memory types for a use among those allowed by mask, best first, each in a heap of its own. There are several only where
// device and host share the memory: elsewhere another heap than the best one is too slow.
func (p *physical) chooseTypes(use memoryUse, mask uint32) (list []memoryType, err error) {
	for _, want := range p.preferences(use) {
		var suit []memoryType
		for _, t := range p.types {
			// The small window, which AMD's integrated GPUs have as well, is left to the driver: a local buffer uses the large heap.
			window := p.heaps[t.heap].local && p.heaps[t.heap].size < p.info.MemoryBytes
			if mask&(1<<t.index) != 0 && t.flags.has(want) && !(use == useLocal && window) {
				suit = append(suit, t)
			}
		}
		if use != useLocal { // staging memory should not use device-local memory
			slices.SortStableFunc(suit, func(a, b memoryType) int { return cmp.Compare(a.flags&memLocal, b.flags&memLocal) })
		}
		for _, t := range suit {
			if !slices.ContainsFunc(list, func(u memoryType) bool { return u.heap == t.heap }) {
				list = append(list, t)
			}
		}
	}
	switch {
	case len(list) > 0 && !p.info.Unified:
		return list[:1], nil
	case len(list) > 0:
		return list, nil
	case use == useLocal:
		return nil, fmt.Errorf("vk: device %q has no memory for buffers", p.info.Name)
	}
	return nil, fmt.Errorf("device %q: %w", p.info.Name, ErrNotMapped)
}

// MemoryStats are allocation statistics, in bytes.
type MemoryStats struct {
	Allocated   uint64      // allocated from the driver
	Used        uint64      // in live buffers, including alignment
	Peak        uint64      // maximum of Used
	Staging     uint64      // the part of Used that serves Write and Read
	Buffers     int         // live buffers
	Allocations int         // live allocations from the driver
	Heaps       []HeapStats // in the driver's order
}

// HeapStats describes one memory heap, in bytes.
type HeapStats struct {
	Size      uint64
	Local     bool
	Allocated uint64 // by this device object
	Available uint64 // available to the next allocations, as far as the driver and the system report it
}

// Memory returns memory statistics. They are zero after Close.
func (d *Device) Memory() MemoryStats {
	if d.enter() != nil {
		return MemoryStats{}
	}
	defer d.exit()
	d.mem.Lock()
	defer d.mem.Unlock()
	m := d.mem.stats
	m.Heaps = make([]HeapStats, len(d.phys.heaps))
	for i, h := range d.phys.heaps {
		available, _ := d.available(i)
		m.Heaps[i] = HeapStats{Size: h.size, Local: h.local, Allocated: h.allocated, Available: available}
	}
	return m
}

// available returns how many bytes a heap can still allocate, and the limit that decides.
func (d *Device) available(heap int) (uint64, string) {
	h := &d.phys.heaps[heap]
	bytes, why := h.size-min(h.size, h.allocated), fmt.Sprintf("memory heap %d has %s, of which %s are in use", heap, ByteSize(h.size), ByteSize(h.allocated))
	if d.phys.info.Features.Has(MemoryBudget) {
		budget, usage := d.memoryBudget()
		if left := budget[heap] - min(budget[heap], usage[heap]); left < bytes {
			bytes, why = left, fmt.Sprintf("memory heap %d has a budget of %s, of which %s are in use", heap, ByteSize(budget[heap]), ByteSize(usage[heap]))
		}
	}
	// A software driver uses host memory, and the kernel overcommits.
	if d.phys.info.Type == CPU {
		if left, ok := hostAvailable(); ok && left < bytes {
			bytes, why = left, "this is what the system has left"
		}
	}
	return bytes, why
}

// Room checks whether local buffers of bytes bytes in total could be allocated now. It returns nil or an *OutOfMemoryError with the given What.
// A single buffer may still be refused if free memory is fragmented.
func (d *Device) Room(what string, bytes uint64) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.exit()
	types, err := d.phys.chooseTypes(useLocal, math.MaxUint32)
	if err != nil {
		return err
	}
	d.mem.Lock()
	defer d.mem.Unlock()
	var available uint64
	var why []string
	for _, typ := range types {
		left, limit := d.available(typ.heap)
		available, why = available+left, append(why, limit)
	}
	for _, a := range d.mem.arenas {
		if slices.Contains(types, a.typ) {
			available += a.size - a.used
		}
	}
	if bytes > available {
		return &OutOfMemoryError{What: what, Need: bytes, Have: available, Why: strings.Join(why, "; ")}
	}
	return nil
}

// hostAvailable reads the system's estimate of the memory available without swapping.
func hostAvailable() (uint64, bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
