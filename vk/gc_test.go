package vk

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Both bindings free the C copy of a slice of structures when the garbage collector runs during the call. This package makes such
// calls without them. The test collects garbage continuously while other goroutines create, update and submit. When pipelines are
// created through a binding, it crashes within seconds.
func TestGarbageCollectorHammer(t *testing.T) {
	d := openTest(t)
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	var group sync.WaitGroup
	hammer := func(work func(i uint32) error) {
		group.Go(func() {
			for i := uint32(0); ctx.Err() == nil; i++ {
				if err := work(i); err != nil {
					t.Error(err)
					stop()
				}
			}
		})
	}
	hammer(func(uint32) error { runtime.GC(); return nil })
	hammer(func(i uint32) error { // instances, devices
		_, err := Devices()
		return err
	})
	hammer(func(i uint32) error { // modules, pipelines with specialization
		_, err := d.Compile(spinShader, []uint32{32, i}, 0)
		return err
	})
	hammer(func(i uint32) error { return exercise(d, i) }) // buffers, descriptor sets, recording, submission
	group.Wait()
	t.Logf("%+v", d.Counters())
}
