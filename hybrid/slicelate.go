package hybrid

import (
	"context"
	"errors"
	"sync"
	"time"
)

// late gives up workers that take much longer than the first group of a try that is done.
type late struct {
	began time.Time
	once  sync.Once
	timer *time.Timer
	alarm chan struct{}
}

const (
	lateFactor   = 4
	latePatience = time.Minute
)

var errLate = errors.New("it has not finished its slices long after others had")

func newLate() *late { return &late{began: time.Now(), alarm: make(chan struct{})} }

// one notes that a group is done.
func (l *late) one() {
	l.once.Do(func() {
		l.timer = time.AfterFunc(latePatience+lateFactor*time.Since(l.began), func() { close(l.alarm) })
	})
}

// end follows the last group.
func (l *late) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// watch returns a context that ends when the worker is late.
func (l *late) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.alarm:
			stop(errLate)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(nil) }
}
