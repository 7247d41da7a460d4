package vk

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The free list never allocates a byte twice, and merges freed spans.
func TestFreeList(t *testing.T) {
	const size = 1 << 16
	f := freeList{{0, size}}
	var taken []span
	for range 5000 {
		if rand.IntN(2) == 0 || len(taken) == 0 {
			n, align := 256*(1+rand.Uint64N(16)), uint64(256)<<rand.IntN(4)
			offset, ok := f.take(n, align)
			if !ok {
				continue
			}
			if offset%align != 0 || offset+n > size {
				t.Fatalf("took %d bytes at %d, alignment %d", n, offset, align)
			}
			for _, s := range taken {
				if offset < s.offset+s.size && s.offset < offset+n {
					t.Fatalf("%d bytes at %d overlap %+v", n, offset, s)
				}
			}
			taken = append(taken, span{offset, n})
		} else {
			i := rand.IntN(len(taken))
			f.give(taken[i])
			taken[i] = taken[len(taken)-1]
			taken = taken[:len(taken)-1]
		}
	}
	for _, s := range taken {
		f.give(s)
	}
	if len(f) != 1 || f[0] != (span{0, size}) {
		t.Errorf("after all was given back: %v", f)
	}
}

// How common devices present their memory, and the memory type that each use must get.
func TestMemoryTypes(t *testing.T) {
	const gib = 1 << 30
	all := memLocal | memVisible | memCoherent | memCached
	for _, c := range []struct {
		name                    string
		typ                     DeviceType
		heaps                   []memoryHeap
		types                   []memoryType
		unified, resizable      bool
		local, readback, upload uint32
		next                    []uint32 // types of local buffers where the first one's heap is full
	}{
		{"discrete with a window of 256 MiB", DiscreteGPU,
			[]memoryHeap{{size: 8 * gib, local: true}, {size: 16 * gib}, {size: gib / 4, local: true}},
			[]memoryType{{0, memLocal, 0}, {1, memLocal | memVisible | memCoherent, 2}, {2, memVisible | memCoherent, 1}, {3, memVisible | memCoherent | memCached, 1}},
			false, false, 0, 3, 2, nil},
		{"discrete with resizable BAR", DiscreteGPU,
			[]memoryHeap{{size: 8 * gib, local: true}, {size: 16 * gib}},
			[]memoryType{{0, memLocal, 0}, {1, memLocal | memVisible | memCoherent, 0}, {2, memVisible | memCoherent | memCached, 1}},
			false, true, 1, 2, 2, nil},
		{"integrated", IntegratedGPU,
			[]memoryHeap{{size: 12 * gib, local: true}},
			[]memoryType{{0, memLocal, 0}, {1, memLocal | memVisible | memCoherent, 0}, {2, all, 0}},
			true, false, 2, 2, 1, nil},
		{"integrated with a window of 256 MiB", IntegratedGPU,
			[]memoryHeap{{size: 15 * gib / 4, local: true}, {size: 16 * gib}, {size: gib / 4, local: true}},
			[]memoryType{{0, memLocal, 0}, {1, memVisible | memCoherent, 1}, {2, memLocal | memVisible | memCoherent, 2}, {3, memVisible | memCoherent | memCached, 1}},
			true, false, 0, 3, 1, []uint32{1}},
		{"software", CPU, []memoryHeap{{size: 2 * gib, local: true}}, []memoryType{{0, all, 0}}, true, false, 0, 0, 0, nil},
		{"readback is not coherent", DiscreteGPU,
			[]memoryHeap{{size: 8 * gib, local: true}, {size: 16 * gib}},
			[]memoryType{{0, memLocal, 0}, {1, memVisible | memCoherent, 1}, {2, memVisible | memCached, 1}},
			false, false, 0, 2, 1, nil},
	} {
		p := &physical{info: Info{Type: c.typ}, heaps: c.heaps, types: c.types}
		p.info.MemoryBytes, p.info.Unified, p.info.ResizableBAR = p.memoryKind()
		if p.info.MemoryBytes != c.heaps[0].size || p.info.Unified != c.unified || p.info.ResizableBAR != c.resizable {
			t.Errorf("%s: %d bytes, unified %v, resizable %v", c.name, p.info.MemoryBytes, p.info.Unified, p.info.ResizableBAR)
		}
		for use, want := range map[memoryUse]uint32{useLocal: c.local, useReadback: c.readback, useUpload: c.upload} {
			got, err := p.chooseTypes(use, ^uint32(0))
			if err != nil || got[0].index != want {
				t.Errorf("%s: use %d gets memory types %v (%v), want %d first", c.name, use, got, err, want)
			}
			if use != useLocal {
				continue
			}
			var next []uint32
			for _, typ := range got[1:] {
				next = append(next, typ.index)
			}
			if !slices.Equal(next, c.next) {
				t.Errorf("%s: local buffers get memory types %v; want %d, then %d", c.name, got, want, c.next)
			}
		}
	}
	null := &physical{info: Info{Type: DiscreteGPU}, heaps: []memoryHeap{{size: gib, local: true}}, types: []memoryType{{0, memLocal, 0}}}
	if _, err := null.chooseTypes(useReadback, 1); !errors.Is(err, ErrNotMapped) {
		t.Errorf("readback memory on a null device: %v, want ErrNotMapped", err)
	}
}

func TestOutOfMemory(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		var oom *OutOfMemoryError
		// More than the largest allocation.
		most := d.Info().Limits.MaxBufferBytes
		_, err := d.NewBuffer(int64(most)+1, Local)
		if !errors.As(err, &oom) || oom.Need != most+1 || oom.Have > most {
			t.Fatalf("one byte too many: %v", err)
		}
		if !strings.Contains(err.Error(), "available") {
			t.Errorf("%q does not say what is available", err)
		}
		// More than the heap has. On a software driver, memory that is never touched costs nothing.
		step := most/2 - 1<<20
		var all []*Buffer
		for len(all) < 4096 {
			b, err := d.NewBuffer(int64(step), Local)
			if err != nil {
				if !errors.As(err, &oom) || oom.Need < step || oom.Have >= oom.Need {
					t.Fatalf("buffer %d: %v", len(all), err)
				}
				break
			}
			all = append(all, b)
		}
		if oom.Need < step || oom.Need > step+1<<20 {
			t.Fatalf("%d buffers of %d bytes without an error", len(all), step)
		}
		for _, b := range all {
			b.Free()
		}
		// Freed memory can be allocated again.
		b, err := d.NewBuffer(int64(step), Local)
		if err != nil {
			t.Fatalf("after Free: %v", err)
		}
		b.Free()
		if m := d.Memory(); m.Used != 0 || m.Allocated != 0 || m.Buffers != 0 || m.Peak < step {
			t.Errorf("after Free: %+v", m)
		}
		for _, size := range []int64{0, -1} {
			if _, err := d.NewBuffer(size, Local); err == nil || errors.As(err, &oom) && oom.Need == 0 {
				t.Errorf("a buffer of %d bytes: %v", size, err)
			}
		}
		if _, err := d.NewBuffer(16, Kind(7)); err == nil {
			t.Error("a buffer of no kind was made")
		}
	})
}

// Where device and host share the memory, local buffers use another heap when the first one is full, and Room counts both.
func TestMemoryFallback(t *testing.T) {
	const mib = 1 << 20
	d := openTest(t, reshape(func(p *physical) {
		of := p.types[0]
		p.info.Type, p.info.Unified, p.info.MemoryBytes = IntegratedGPU, true, 8*mib
		p.info.Features &^= MemoryBudget // the driver has one heap
		p.heaps = []memoryHeap{{size: 8 * mib, local: true}, {size: 16 * mib}}
		p.types = []memoryType{{of.index, of.flags, 0}, {of.index, of.flags &^ memLocal, 1}}
	}))
	used := func() [2]uint64 {
		m := d.Memory()
		return [2]uint64{m.Heaps[0].Allocated, m.Heaps[1].Allocated}
	}
	if err := d.Room("all", 24*mib); err != nil {
		t.Errorf("room for 24 MiB: %v", err)
	}
	var full *OutOfMemoryError
	err := d.Room("all", 24*mib+1)
	if !errors.As(err, &full) || full.Have != 24*mib || !strings.Contains(full.Why, "heap 0") || !strings.Contains(full.Why, "heap 1") {
		t.Errorf("room for a byte more: %v; want an error with both heaps", err)
	}
	for i, want := range [][2]uint64{{6 * mib, 0}, {6 * mib, 6 * mib}, {6 * mib, 12 * mib}} {
		b, err := d.NewBuffer(6*mib, Local)
		if err != nil {
			t.Fatalf("buffer %d: %v", i, err)
		}
		defer b.Free()
		if got := used(); got != want {
			t.Errorf("buffer %d: %d bytes of the heaps are allocated; want %d", i, got, want)
		}
		data := []byte{byte(i), 1, 2, 3}
		if err := b.Write(t.Context(), 0, data); err != nil {
			t.Fatal(err)
		}
		if got := make([]byte, 4); b.Read(t.Context(), 0, got) != nil || !slices.Equal(got, data) {
			t.Errorf("buffer %d reads %v; want %v", i, got, data)
		}
	}
	if _, err := d.NewBuffer(6*mib, Local); !errors.As(err, &full) || full.Have != 4*mib {
		t.Errorf("a buffer that no heap has room for: %v; want an error with what the second heap has left", err)
	}
}

// Small buffers share an arena, and Memory reports it.
func TestMemoryStats(t *testing.T) {
	d := openTest(t)
	var all []*Buffer
	for i := range 100 {
		all = append(all, newTestBuffer(t, d, 100+i, Local))
	}
	m := d.Memory()
	if m.Buffers != 100 || m.Allocations != 1 || m.Used < 100*400 || m.Allocated < m.Used || m.Peak != m.Used {
		t.Errorf("%+v", m)
	}
	if len(m.Heaps) == 0 || m.Heaps[0].Allocated != m.Allocated || m.Heaps[0].Available == 0 {
		t.Errorf("%+v", m.Heaps)
	}
	for _, b := range all {
		b.Free()
		b.Free()
	}
	if m := d.Memory(); m.Used != 0 || m.Buffers != 0 {
		t.Errorf("after Free: %+v", m)
	}
}

func TestPoisonMemory(t *testing.T) {
	d := openTest(t, PoisonMemory(true))
	for _, kind := range []Kind{Local, Readback} {
		for _, w := range readWords(t, newTestBuffer(t, d, 33, kind)) {
			if w != 0x7fdecade {
				t.Fatalf("a new buffer holds %#x", w)
			}
		}
	}
	b, err := d.NewBuffer(3, Local) // less than a word
	if err != nil {
		t.Fatal(err)
	}
	b.Free()
}
