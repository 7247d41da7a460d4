package vk

import (
	"runtime"
	"sync"
)

// tasks run in the background in the order in which they were added, as many at once as there are processors.
type tasks struct {
	mu      sync.Mutex
	waiting []func()
	workers int
}

func (t *tasks) add(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, f)
	if t.workers < runtime.GOMAXPROCS(0) {
		t.workers++
		go t.work()
	}
}

// idle reports whether no task is waiting or running.
func (t *tasks) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.workers == 0
}

func (t *tasks) work() {
	for {
		t.mu.Lock()
		if len(t.waiting) == 0 {
			t.workers--
			t.mu.Unlock()
			return
		}
		f := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.mu.Unlock()
		f()
	}
}

// background lets f run as one of the tasks, with an error if the device is closed by then, and closes done after it.
func (d *Device) background(done chan struct{}, f func(closed error)) {
	if err := d.enter(); err != nil {
		f(err)
		close(done)
		return
	}
	d.pipes.tasks.add(func() {
		defer d.exit()
		defer close(done)
		f(d.open())
	})
}
