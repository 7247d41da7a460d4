package hybrid

import (
	"context"
	"errors"
	"sync"
	"time"
)

// late gives up workers that take much longer than the first group of a try that is done.
type late struct {
	began    time.Time
	patience time.Duration // see latePatience
	once     sync.Once
	timer    *time.Timer
	alarm    chan struct{}
}

// A worker that takes latePatience more than lateFactor times as long as the first group that is done is given up.
const (
	lateFactor   = 4
	latePatience = time.Minute
)

var errLate = errors.New("it has not finished its slices long after others had")

func newLate(patience time.Duration) *late {
	return &late{began: time.Now(), patience: patience, alarm: make(chan struct{})}
}

// one notes that a group is done, without an error.
func (l *late) one() {
	l.once.Do(func() {
		l.timer = time.AfterFunc(l.patience+lateFactor*time.Since(l.began), func() { close(l.alarm) })
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
