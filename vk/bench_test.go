package vk

import (
	"context"
	"testing"
)

func openBench(b *testing.B) *Device {
	d, err := Open(CacheDir(""))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// An empty program, submitted and waited for.
func BenchmarkEmptyRun(b *testing.B) {
	d := openBench(b)
	p := d.NewProgram("empty")
	build(b, p)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

const benchOps = 10_000

func benchProgram(d *Device, x *Buffer) *Program {
	p := d.NewProgram("recorded")
	for i := range benchOps {
		p.Dispatch(spinCall(x.Range(int64(i%7)*256, 256), i))
	}
	return p
}

// Validating and recording a dispatch in Go.
func BenchmarkDispatch(b *testing.B) {
	d := openBench(b)
	x := newTestBuffer(b, d, 1024, Local)
	for b.Loop() {
		if p := benchProgram(d, x); p.err != nil {
			b.Fatal(p.err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchOps), "ns/dispatch")
}

// Deriving barriers and the rest of Build, without compilation.
func BenchmarkBuild(b *testing.B) {
	d := openBench(b)
	x := newTestBuffer(b, d, 1024, Local)
	for b.Loop() {
		p := benchProgram(d, x)
		build(b, p)
		p.Free()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchOps), "ns/dispatch")
}

// Replaying the tape into a command buffer. Each dispatch has push constants and a descriptor set; half of them have a barrier.
func BenchmarkReplay(b *testing.B) {
	d := openBench(b)
	x := newTestBuffer(b, d, 1024, Local)
	p := benchProgram(d, x)
	build(b, p)
	p.measure.on = false
	var t tape
	p.encode(&t, 0, 0, len(p.ops), false)
	for b.Loop() {
		fresh, err := p.commands.allocate(d, 1)
		if err != nil {
			b.Fatal(err)
		}
		if err := t.replay(d, fresh[0], p.name); err != nil {
			b.Fatal(err)
		}
		p.commands.release(d, fresh)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchOps), "ns/dispatch")
}
