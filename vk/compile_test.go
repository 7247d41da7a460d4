package vk

import (
	"errors"
	"testing"
)

// variantsOf is a program of n variants of a kernel, each a pipeline of its own.
func variantsOf(d *Device, b *Buffer, n int) *Program {
	p := d.NewProgram("variants")
	for i := range n {
		c := spinCall(b.All(), 1)
		c.Spec = []uint32{32, uint32(3 + 2*i)}
		p.Dispatch(c)
	}
	return p
}

// TestCompileInBackground: Build after Compile waits for what is being compiled, which is compiled once.
func TestCompileInBackground(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		const n = 12
		b := newTestBuffer(t, d, 64, Local)
		p := variantsOf(d, b, n)
		for range 2 {
			if err := p.Compile(); err != nil {
				t.Fatal(err)
			}
		}
		build(t, p)
		if made := d.Counters().Pipelines; made != n {
			t.Errorf("%d pipelines, want %d", made, n)
		}
		start := make([]uint32, 64)
		start[0] = 5
		writeWords(t, b, start)
		run(t, p)
		want := uint32(5)
		for i := range n {
			want = spin(want, uint32(3+2*i), 1)
		}
		if got := readWords(t, b)[0]; got != want {
			t.Errorf("%d, want %d", got, want)
		}
	})
}

// A module is read when its shader is first used, but not for every dispatch: unpacking takes milliseconds.
func TestModuleIsReadOnce(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		b, reads := newTestBuffer(t, d, 64, Local), 0
		call := spinCall(b.All(), 1)
		a := *call.Shader
		a.SPIRV = func() []byte { reads++; return call.Shader.SPIRV() }
		other := a
		p := d.NewProgram("many dispatches")
		for range 500 { // by turns, as steps of environments and the networks that act in them
			for _, of := range []*Shader{&a, &other} {
				c := call
				c.Shader = of
				p.Dispatch(c)
			}
		}
		if err := p.err; err != nil || reads != 2 {
			t.Errorf("%d reads of modules while 1000 dispatches of two shaders are recorded, %v; want 2", reads, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		p = d.NewProgram("after the end")
		third := a
		call.Shader = &third
		p.Dispatch(call)
		if err := p.Build(); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v of a program that was recorded after the device was closed; want %v", err, ErrClosed)
		}
	})
}

// TestCloseWhileCompiling: Close waits for the pipelines that are being compiled, and leaves those that wait for a processor.
func TestCloseWhileCompiling(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		b := newTestBuffer(t, d, 64, Local)
		p := variantsOf(d, b, 64)
		if err := p.Compile(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Compile": p.Compile(), "Build": p.Build()} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s after Close: %v, want ErrClosed", what, err)
			}
		}
	})
}
