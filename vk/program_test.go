package vk

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

func TestVectorAdd(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		for _, n := range []int{1, 3, 64, 65, 1000, 12345} {
			a, b, c := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n+1, Local)
			out := newTestBuffer(t, d, n, Readback)
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i] = rand.Float32(), rand.Float32()
			}
			writeFloats(t, a, x)
			writeFloats(t, b, y)
			p := d.NewProgram("vector add")
			p.Fill(c.All(), math.Float32bits(-7)) // poison
			p.Dispatch(addCall(a.All(), b.All(), c.Range(0, int64(4*n)), n))
			p.Copy(out.All(), c.Range(0, int64(4*n)))
			build(t, p)
			for range 3 {
				run(t, p)
			}
			z, mapped := readFloats(t, c), floats(out.Mapped())
			for i := range x {
				if z[i] != x[i]+y[i] || mapped[i] != z[i] {
					t.Fatalf("n = %d: c[%d] = %v, mapped %v, want %v", n, i, z[i], mapped[i], x[i]+y[i])
				}
			}
			if z[n] != -7 {
				t.Fatalf("n = %d: the word behind the range became %v", n, z[n])
			}
			p.Free()
			for _, b := range []*Buffer{a, b, c, out} {
				b.Free()
			}
		}
		if used := d.Memory().Used - d.Memory().Staging; used != 0 {
			t.Errorf("%d bytes still in use after Free", used)
		}
	})
}

// Threads of the software driver take denormal numbers for zero, as inputs and as results, and the thread that opened the device does not. GPUs, and
// variants that pose as one, may do either.
func TestDenormals(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("only on Linux, where CI runs this, threads are known to inherit the floating-point mode")
	}
	eachVariant(t, func(t *testing.T, d *Device) {
		smallest := math.Float32frombits(1 << 23) // of the normal numbers
		x, y := []float32{smallest / 2, -smallest / 4, 1.5 * smallest, smallest}, []float32{smallest / 2, 1, -smallest, -smallest / 2}
		want := []float32{0, 1, 0, smallest}
		a, b, c := newTestBuffer(t, d, len(x), Local), newTestBuffer(t, d, len(x), Local), newTestBuffer(t, d, len(x), Local)
		writeFloats(t, a, x)
		writeFloats(t, b, y)
		p := d.NewProgram("denormals")
		p.Dispatch(addCall(a.All(), b.All(), c.All(), len(x)))
		build(t, p)
		run(t, p)
		for i, z := range readFloats(t, c) {
			if z != want[i] && (d.Info().Type == CPU || z != x[i]+y[i]) {
				t.Errorf("%g + %g = %g, want %g", x[i], y[i], z, want[i])
			}
		}
	})
	if x := math.Float32frombits(1); x+x != math.Float32frombits(2) {
		t.Error("Go's own denormal numbers are zero")
	}
}

// A chain of dependent commands of all kinds, submitted without waiting in between.
func TestOrder(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		const n = 100
		a, b := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local)
		start := d.NewProgram("start")
		start.Fill(a.All(), 5)
		p := d.NewProgram("chain")
		p.Dispatch(spinCall(a.All(), 3))
		p.Copy(b.All(), a.All())
		p.Dispatch(spinCall(b.All(), 2))
		p.Copy(a.All(), b.All())
		build(t, start)
		build(t, p)
		want := uint32(5)
		ctx := context.Background()
		if _, err := start.Submit(ctx); err != nil {
			t.Fatal(err)
		}
		var last *Ticket
		for range 10 {
			var err error
			if last, err = p.Submit(ctx); err != nil {
				t.Fatal(err)
			}
			want = spin(want, 1664525, 5)
		}
		for i, x := range readWords(t, a) {
			if x != want {
				t.Fatalf("a[%d] = %d, want %d", i, x, want)
			}
		}
		if err := last.Wait(ctx); err != nil || !last.Done() {
			t.Errorf("Wait: %v, Done: %v", err, last.Done())
		}
		if s := p.Stats(); s.Barriers != 3 || s.Dispatches != 2 || s.Commands != 4 {
			t.Errorf("Stats = %+v, want 3 barriers, 2 dispatches, 4 commands", s)
		}
	})
}

func TestSpecialization(t *testing.T) {
	d := openTest(t)
	x := newTestBuffer(t, d, 40, Local)
	for _, spec := range [][]uint32{nil, {32, 7}, {8, 1664525}, {16, 7}} {
		writeWords(t, x, make([]uint32, 40))
		p := d.NewProgram("specialised")
		c := spinCall(x.All(), 4)
		c.Spec, c.Groups[0] = spec, 5
		p.Dispatch(c)
		build(t, p)
		run(t, p)
		factor := uint32(1664525)
		if spec != nil {
			factor = spec[1]
		}
		for i, got := range readWords(t, x) {
			if want := spin(0, factor, 4); got != want {
				t.Fatalf("spec %v: x[%d] = %d, want %d", spec, i, got, want)
			}
		}
		p.Free()
	}
	if n := d.Counters().Pipelines; n != 4 {
		t.Errorf("%d pipelines, want 4", n)
	}
}

func TestSubgroupSize(t *testing.T) {
	lanes := &Shader{
		Name: "lanes", SPIRV: SPIRV(lanesSPIRV), Bindings: []Binding{{Name: "lanes", Index: 0, Access: Write}},
		LocalSize: [3]uint32{64, 1, 1}, LocalSizeSpec: [3]int32{-1, -1, -1},
	}
	eachVariant(t, func(t *testing.T, d *Device) {
		info := d.Info()
		for size := info.MinSubgroupSize; size <= info.MaxSubgroupSize; size *= 2 {
			x := newTestBuffer(t, d, 1, Local)
			p := d.NewProgram("lanes")
			p.Dispatch(Call{Shader: lanes, Ranges: []Range{x.All()}, Groups: [3]uint32{1, 1, 1}, Subgroup: size})
			build(t, p)
			run(t, p)
			if got := readWords(t, x)[0]; got != size {
				t.Errorf("subgroup size %d, want %d", got, size)
			}
		}
		p := d.NewProgram("too wide")
		x := newTestBuffer(t, d, 1, Local)
		p.Dispatch(Call{Shader: lanes, Ranges: []Range{x.All()}, Groups: [3]uint32{1, 1, 1}, Subgroup: 2 * info.MaxSubgroupSize})
		if err := p.Build(); err == nil || !strings.Contains(err.Error(), "subgroup size") {
			t.Errorf("a subgroup too wide: %v", err)
		}
	})
}

// Loops run for as many iterations as Limits promise.
func TestLoopIterations(t *testing.T) {
	d := openTest(t)
	steps := int(d.Info().Limits.MaxLoopIterations)
	if steps == 0 {
		steps = 1_000_000
	}
	x := newTestBuffer(t, d, 100, Local)
	p := d.NewProgram("loop")
	p.Fill(x.All(), 1)
	p.Dispatch(spinCall(x.All(), steps))
	build(t, p)
	run(t, p)
	for i, got := range readWords(t, x) {
		if want := spin(1, 1664525, steps); got != want {
			t.Fatalf("x[%d] = %d after %d steps, want %d", i, got, steps, want)
		}
	}
}

// Every invalid command makes Build return an error that names the command and the cause.
func TestRecordingErrors(t *testing.T) {
	d, other := openTest(t), openTest(t)
	a, b, freed := newTestBuffer(t, d, 64, Local), newTestBuffer(t, d, 64, Local), newTestBuffer(t, d, 64, Local)
	foreign := newTestBuffer(t, other, 64, Local)
	freed.Free()
	add := func(change func(*Call)) func(*Program) {
		c := addCall(a.Range(0, 16), a.Range(0, 16), b.Range(0, 16), 4)
		change(&c)
		return func(p *Program) { p.Dispatch(c) }
	}
	broken := *addShader
	broken.SPIRV = SPIRV([]byte("not SPIR-V, but long enough."))
	for _, c := range []struct {
		want   string
		record func(*Program)
	}{
		{"no shader", add(func(c *Call) { c.Shader = nil })},
		{"not a SPIR-V module", add(func(c *Call) { c.Shader = &broken })},
		{"2 ranges given, and shader add has 3", add(func(c *Call) { c.Ranges = c.Ranges[:2] })},
		{`binding "b": no buffer`, add(func(c *Call) { c.Ranges[1] = Range{} })},
		{"another device", add(func(c *Call) { c.Ranges[1] = foreign.All() })},
		{"used after close", add(func(c *Call) { c.Ranges[1] = freed.All() })},
		{"out of bounds", add(func(c *Call) { c.Ranges[1] = a.Range(0, 257) })},
		{"out of bounds", add(func(c *Call) { c.Ranges[1] = a.Range(-16, 16) })},
		{"out of bounds", add(func(c *Call) { c.Ranges[1] = a.Range(math.MaxInt64-15, 16) })},
		{"at least one byte", add(func(c *Call) { c.Ranges[1] = a.Range(0, 0) })},
		{"multiple of", add(func(c *Call) { c.Ranges[1] = a.Range(1, 16) })},
		{"8 bytes of push constants given", add(func(c *Call) { c.Push = make([]byte, 8) })},
		{"workgroups", add(func(c *Call) { c.Groups[1] = 0 })},
		{"workgroups", add(func(c *Call) { c.Groups[2] = math.MaxUint32 })},
		{"2 specialization constants given", add(func(c *Call) { c.Spec = []uint32{1, 2} })},
		{"invocations", add(func(c *Call) { c.Spec = []uint32{1 << 20} })},
		{"the sizes differ", func(p *Program) { p.Copy(a.Range(0, 8), b.Range(0, 12)) }},
		{"overlap", func(p *Program) { p.Copy(a.Range(0, 8), a.Range(4, 8)) }},
		{"multiples of 4", func(p *Program) { p.Fill(a.Range(0, 7), 0) }},
	} {
		p := d.NewProgram("faulty")
		p.Fill(b.All(), 1)
		c.record(p)
		p.Fill(b.Range(0, 3), 1) // a later error does not hide the first
		err := p.Build()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `program "faulty": command 1`) {
			t.Errorf("error %v, want %q of command 1", err, c.want)
		}
		if run := p.Run(context.Background()); run == nil {
			t.Errorf("a program with the fault %q ran", c.want)
		}
		p.Free()
	}
	p := d.NewProgram("unbuilt")
	if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "Build") {
		t.Errorf("running an unbuilt program: %v", err)
	}
	build(t, p)
	run(t, p) // an empty program runs
	p.Fill(a.All(), 1)
	if err := p.Build(); err == nil {
		t.Error("recording after Build was accepted")
	}
	p = d.NewProgram("freed early")
	p.Fill(a.All(), 1)
	p.Fill(b.All(), 1)
	build(t, p)
	ticket, err := p.Submit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p.Free()
	p.Free()
	if err := ticket.Wait(context.Background()); err != nil {
		t.Errorf("waiting for a run of a freed program: %v", err)
	}
	if err := p.Run(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("running a freed program: %v, want ErrClosed", err)
	}
	p = d.NewProgram("buffer gone")
	p.Fill(a.All(), 1)
	build(t, p)
	a.Free()
	if err := p.Run(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("running over a freed buffer: %v, want ErrClosed", err)
	}
}

func TestReadWriteParts(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		const size = 2*stagingBytes + 12345 // several pieces
		b, err := d.NewBuffer(size, Local)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rand.Uint32())
		}
		ctx := context.Background()
		if err := b.Write(ctx, 0, want); err != nil {
			t.Fatal(err)
		}
		part := []byte("odd offset, odd length.")
		copy(want[777:], part)
		if err := b.Write(ctx, 777, part); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size-3)
		if err := b.Read(ctx, 3, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[3:]) {
			t.Error("what was read is not what was written")
		}
		if c := d.Counters(); c.BytesUp != uint64(size+len(part)) || c.BytesDown != size-3 {
			t.Errorf("counters: %d bytes up, %d down; want %d, %d", c.BytesUp, c.BytesDown, size+len(part), size-3)
		}
		if err := b.Read(ctx, size, got[:1]); err == nil {
			t.Error("reading behind the end was accepted")
		}
		if b.Mapped() != nil {
			t.Error("a local buffer is mapped")
		}
	})
}
