package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Config configures a Coordinator. The zero value has the defaults.
type Config struct {
	// Ahead is how many steps the other workers may be ahead of the first, which evaluates and saves between its steps; 0: 8.
	Ahead int
	// Late is how long a slice takes at least before another worker is given it too; 0: half a second. It is longer where slices take longer.
	Late time.Duration
	// Patience is how long workers that are many steps ahead of another one wait for it before it is given up; 0: half a minute.
	Patience time.Duration
	// Loose is for workers that do not compute the same bits: every step begins with the first one's replica on all of them, and nothing is compared. The
	// results then depend on who does what.
	Loose bool
}

const (
	defaultAhead    = 8
	defaultLate     = 500 * time.Millisecond
	defaultPatience = 30 * time.Second
	lateFactor      = 4   // of the mean time of a slice
	behindLimit     = 128 // steps
)

// Coordinator hands out the slices of a run's steps and keeps their results. It is safe for concurrent use.
type Coordinator struct {
	cfg Config

	mu      sync.Mutex
	changed chan struct{} // closed at every change, and replaced
	err     error         // that ended the run; nil: it goes on
	workers map[string]*member
	order   []string // of joining; the first leads
	steps   map[int]*step
	states  map[int][]byte // replicas of the first worker at the beginning of steps, of a loose run
	first   int            // step with which all begin; -1: unknown
	newest  int            // step with the largest number
	taking  int            // workers that take part
	blocked bool           // reports wait for other workers to reach a step
	mean    time.Duration  // of a slice; 0: unknown
	totals  Totals
}

// member is a worker, as far as the coordinator knows it.
type member struct {
	step  int           // in which it is
	done  int           // slices, of all steps
	seen  time.Time     // when it reported last
	last  time.Time     // when its last result came
	mean  time.Duration // of a slice; 0: unknown
	cause error
	left  bool

	joining bool   // it waits for the replica with which it begins
	state   []byte // the replica, until it is taken
}

// takes reports whether a worker takes part.
func (w *member) takes() bool { return !w.left && !w.joining }

// NewCoordinator makes the coordinator of a run. The workers, whose names differ, are expected from its beginning; others may join. The first leads: the others
// stay near it, and it cannot leave.
func NewCoordinator(cfg Config, workers ...string) (*Coordinator, error) {
	if cfg.Ahead < 0 || cfg.Late < 0 || cfg.Patience < 0 {
		return nil, fmt.Errorf("cluster: workers %d steps ahead, late after %v, given up after %v; want at least 0", cfg.Ahead, cfg.Late, cfg.Patience)
	}
	if len(workers) == 0 {
		return nil, fmt.Errorf("cluster: a run without workers; want at least one")
	}
	if cfg.Ahead == 0 {
		cfg.Ahead = defaultAhead
	}
	if cfg.Late == 0 {
		cfg.Late = defaultLate
	}
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	c := &Coordinator{cfg: cfg, changed: make(chan struct{}), workers: map[string]*member{}, order: workers, steps: map[int]*step{}, states: map[int][]byte{},
		first: -1, newest: -1}
	for _, name := range workers {
		if name == "" || c.workers[name] != nil {
			return nil, fmt.Errorf("cluster: worker %q twice, or without a name; want a name for each", name)
		}
		c.workers[name] = &member{step: -1, seen: time.Now()}
	}
	c.taking = len(workers)
	return c, nil
}

// Exchange implements Link.
func (c *Coordinator) Exchange(ctx context.Context, r Report) (Order, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		o, wait, err := c.exchange(r, time.Now())
		if err != nil || wait == 0 {
			return o, err
		}
		r.Result = nil // it was kept
		if err := c.wait(ctx, wait); err != nil {
			return Order{}, err
		}
	}
}

// wait waits, unlocked, until something has changed or the time has passed.
func (c *Coordinator) wait(ctx context.Context, most time.Duration) error {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// change wakes all that wait.
func (c *Coordinator) change() {
	close(c.changed)
	c.changed, c.blocked = make(chan struct{}), false
}

// count counts the workers that take part.
func (c *Coordinator) count() {
	c.taking = 0
	for _, w := range c.workers {
		if w.takes() {
			c.taking++
		}
	}
}

// exchange answers a report, or tells how long to wait for a change.
func (c *Coordinator) exchange(r Report, now time.Time) (o Order, wait time.Duration, err error) {
	w, err := c.admit(r, now)
	if err != nil {
		return Order{}, 0, err
	}
	var slice int
	s := c.steps[r.Step]
	if s == nil {
		if wait := c.ahead(r.Step, now); wait > 0 {
			c.blocked = true
			return Order{}, wait, nil
		}
		s = c.begin(r.Step, r.Slices)
	}
	s.expected, c.totals.Step = false, r.Slices
	if err := c.take(w, s, r, now); err != nil {
		c.fail(err)
		return Order{}, 0, err
	}
	if s.complete() {
		return Order{Results: s.results(), Next: c.early(r, now)}, 0, nil
	}
	s.confirm(r.Worker, r.Held, now)
	if slice, wait = s.next(r.Worker, r.Held, now, c.late(), c.taking); wait > 0 && len(r.Held) > 0 {
		slice, wait = NoSlice, 0
	}
	return Order{Slice: slice}, wait, nil
}

// begin begins a step.
func (c *Coordinator) begin(number, slices int) *step {
	s := newStep(slices)
	c.steps[number], c.newest = s, max(c.newest, number)
	c.forget()
	return s
}

// early reserves a slice of the next step for a worker that gets the results of one, so that it need not ask. It expects as many slices, and gives it back
// as soon as another worker has nothing else to do.
func (c *Coordinator) early(r Report, now time.Time) int {
	if !r.Early || r.Worker == c.order[0] {
		return NoSlice
	}
	s := c.steps[r.Step+1]
	if s == nil {
		if c.ahead(r.Step+1, now) > 0 {
			return NoSlice
		}
		s = c.begin(r.Step+1, r.Slices)
		s.expected = true
	}
	if len(s.slices) != r.Slices {
		return NoSlice
	}
	return s.reserve(r.Worker, now)
}

// admit notes in which step a worker is. It refuses those that have left, and reports that contradict others.
func (c *Coordinator) admit(r Report, now time.Time) (*member, error) {
	w := c.workers[r.Worker]
	switch {
	case c.err != nil:
		return nil, c.err
	case w == nil:
		return nil, fmt.Errorf("cluster: worker %q is not one of the run's: %q", r.Worker, c.order)
	case w.left:
		return nil, &LeftError{r.Worker, w.cause}
	case w.joining:
		return nil, fmt.Errorf("cluster: worker %s reports before it has joined the run", r.Worker)
	case r.Step < w.step:
		return nil, fmt.Errorf("cluster: worker %s reports of step %d after step %d; want growing numbers", r.Worker, r.Step, w.step)
	}
	if s := c.steps[r.Step]; s != nil && s.expected && len(s.slices) != r.Slices {
		delete(c.steps, r.Step) // it has other slices than the one before
	}
	if s := c.steps[r.Step]; s != nil && len(s.slices) != r.Slices || r.Slices < 1 || r.Done < 0 || r.Done >= r.Slices {
		return nil, fmt.Errorf("cluster: worker %s reports of slice %d of %d of step %d, which other workers divide differently; want one configuration",
			r.Worker, r.Done, r.Slices, r.Step)
	}
	if w.seen = now; c.first < 0 {
		c.first = r.Step
	}
	if r.Step > w.step {
		if w.step = r.Step; c.blocked {
			c.change()
		}
	}
	return w, nil
}

// ahead returns how long to wait before a step is begun that is far ahead of another worker; 0: not at all. Steps are kept until every worker has done
// them, so this bounds memory. A worker that is waited for in vain is given up.
func (c *Coordinator) ahead(step int, now time.Time) (wait time.Duration) {
	for i, name := range c.order {
		w := c.workers[name]
		at := max(w.step, c.first)
		switch {
		case !w.takes():
		case i == 0:
			if step > at+c.cfg.Ahead {
				wait = max(wait, time.Hour)
			}
		case step <= at+c.behind():
		case now.Sub(w.seen) >= c.cfg.Patience:
			c.leave(name, fmt.Errorf("it was in step %d when others were to begin step %d, and did not report for %v", at, step, c.cfg.Patience))
		default:
			wait = max(wait, c.cfg.Patience-now.Sub(w.seen))
		}
	}
	return wait
}

// behind returns how many steps a worker may be behind others. With a state for each step they are fewer.
func (c *Coordinator) behind() int {
	if c.cfg.Loose {
		return c.cfg.Ahead
	}
	return behindLimit
}

// take keeps what a report brings.
func (c *Coordinator) take(w *member, s *step, r Report, now time.Time) error {
	if !c.cfg.Loose {
		if err := s.compare(r); err != nil {
			return err
		}
	}
	if r.Result == nil {
		return nil
	}
	took, fresh, err := s.take(r, w.last, now, !c.cfg.Loose)
	if err != nil {
		return err
	}
	w.done++
	w.last = now
	c.totals.Slices++
	c.totals.Bytes += int64(len(r.Result))
	if !fresh {
		c.totals.Again++
	}
	if took > 0 { // else it was not given the slice
		smooth(&c.mean, took)
		smooth(&w.mean, took)
	}
	if s.complete() && fresh {
		c.change()
	}
	return nil
}

// smooth keeps a mean of the last times; 0: none yet.
func smooth(mean *time.Duration, took time.Duration) {
	if *mean == 0 {
		*mean = took
	}
	*mean += (took - *mean) / 8
}

// late returns after what time another worker is given a slice that has no result.
func (c *Coordinator) late() time.Duration { return max(c.cfg.Late, lateFactor*c.mean) }

// forget drops the steps that every worker has done.
func (c *Coordinator) forget() {
	oldest := c.newest
	for _, w := range c.workers {
		if w.takes() {
			oldest = min(oldest, max(w.step, c.first))
		}
	}
	before := func(n int) bool { return n < oldest }
	maps.DeleteFunc(c.steps, func(n int, _ *step) bool { return before(n) })
	maps.DeleteFunc(c.states, func(n int, _ []byte) bool { return before(n) })
}

// Leave implements Link.
func (c *Coordinator) Leave(worker string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(worker, cause)
	c.forget()
}

func (c *Coordinator) leave(worker string, cause error) {
	w := c.workers[worker]
	if w == nil || w.left {
		return
	}
	w.left, w.cause = true, cause
	for _, s := range c.steps {
		s.release(worker)
	}
	c.count()
	c.change()
}

// fail ends the run.
func (c *Coordinator) fail(err error) {
	if c.err == nil {
		c.err = err
		c.change()
	}
}

// Close ends the run: reports fail with ErrClosed. Calling it twice is allowed.
func (c *Coordinator) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(ErrClosed)
}
