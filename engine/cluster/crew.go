package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Crew is the workers of a run whose state is divided among them, where each worker of a Coordinator has all of it. It hands them jobs, whose contents it does
// not know. Which worker has what, and what happens to it when the worker leaves, is for its user to decide.
//
// It is safe for concurrent use. Workers can join between Open and Close.
type Crew struct {
	mu      sync.Mutex
	changed chan struct{} // closed at every change, and replaced
	open    bool
	hands   []*Hand // in the order of joining, also those that have left
	own     []Status
	totals  Totals
}

// Jobs connects a worker with a crew. A Crew is the connection of the workers of its own process.
type Jobs interface {
	// Join makes a worker take part. Neither a step nor a state comes with it: they are in the jobs.
	Join(ctx context.Context, worker string) (step int, state []byte, err error)
	// Next hands over the result of the worker's last job, and waits for its next one. Jobs are numbered from 1; done is the number of the last one, 0 before
	// the first. Without a result (nil) it only waits, so that repeating it is allowed.
	Next(ctx context.Context, worker string, done int, result []byte) (number int, job []byte, err error)
	// Leave ends a worker's part; cause is nil if it is no failure. Later calls of the worker are refused until it joins again.
	Leave(worker string, cause error)
}

// Hand is a worker of a crew, from its joining until it leaves. One that joins again is another hand.
type Hand struct {
	crew   *Crew
	name   string
	number int // of the newest job
	done   int // of the newest job with a result
	job    []byte
	result []byte
	status Status
}

// NewCrew makes a crew, which is closed. own are the names under which the devices of this process appear in Status.
func NewCrew(own ...string) *Crew {
	c := &Crew{changed: make(chan struct{})}
	for _, name := range own {
		c.own = append(c.own, Status{Worker: name, Step: -1})
	}
	return c
}

// Open lets workers join.
func (c *Crew) Open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
}

// Close ends the part of all workers, and lets none join. Calling it twice is allowed.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	for _, h := range c.hands {
		h.status.Left = true
		h.job, h.result = nil, nil
	}
	c.change()
}

// change wakes all that wait.
func (c *Crew) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// wait waits, unlocked, until something has changed.
func (c *Crew) wait(ctx context.Context) error {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns the newest hand of a name; nil: there is none.
func (c *Crew) find(worker string) *Hand {
	for _, h := range slices.Backward(c.hands) {
		if h.name == worker {
			return h
		}
	}
	return nil
}

// Join implements Jobs.
func (c *Crew) Join(_ context.Context, worker string) (step int, state []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		return 0, nil, ErrClosed
	}
	old := c.find(worker)
	if worker == "" || old != nil && !old.status.Left {
		return 0, nil, fmt.Errorf("cluster: worker %q joins a run in which the name is taken; want another one", worker)
	}
	h := &Hand{crew: c, name: worker, status: Status{Worker: worker, Step: -1}}
	if old != nil {
		c.hands = slices.DeleteFunc(c.hands, func(of *Hand) bool { return of == old })
	}
	c.hands = append(c.hands, h)
	c.change()
	return 0, []byte{}, nil
}

// Next implements Jobs.
func (c *Crew) Next(ctx context.Context, worker string, done int, result []byte) (number int, job []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.find(worker)
	switch {
	case h == nil:
		return 0, nil, fmt.Errorf("cluster: worker %q asks for a job before it has joined the run", worker)
	case done < 0 || done > h.number || done < h.done:
		return 0, nil, fmt.Errorf("cluster: worker %s has done job %d, of %d to %d; want its last one", worker, done, h.done, h.number)
	}
	if result != nil && h.done < done && !h.status.Left {
		h.done, h.result, h.job = done, result, nil
		c.totals.Bytes += int64(len(result))
		c.change()
	}
	for {
		switch {
		case !c.open:
			return 0, nil, ErrClosed
		case h.status.Left:
			return 0, nil, &LeftError{worker, h.status.Cause}
		case h.number > done:
			return h.number, h.job, nil
		}
		if err := c.wait(ctx); err != nil {
			return 0, nil, err
		}
	}
}

// Leave implements Jobs.
func (c *Crew) Leave(worker string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.find(worker); h != nil {
		h.leave(cause)
	}
}

func (h *Hand) leave(cause error) {
	if h.status.Left {
		return
	}
	h.status.Left, h.status.Cause = true, cause
	h.job, h.result = nil, nil
	h.crew.change()
}

// Exchange implements Link: workers of a coordinator are none of a crew.
func (c *Crew) Exchange(context.Context, Report) (Order, error) { return Order{}, errNoSteps }

// Sync implements Link, as Exchange.
func (c *Crew) Sync(context.Context, string, int, func() ([]byte, error)) ([]byte, error) {
	return nil, errNoSteps
}

var errNoSteps = errors.New("cluster: a worker asks for slices of a search in a run of members: want the same version of evorl")

// Hands returns the workers that take part, in the order in which they joined.
func (c *Crew) Hands() (all []*Hand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hands {
		if !h.status.Left {
			all = append(all, h)
		}
	}
	return all
}

// Name returns the worker's name.
func (h *Hand) Name() string { return h.name }

// Do gives the worker a job and waits for its result. One goroutine calls it at a time.
//
// Errors: *LeftError if the worker leaves, after which it does nothing more; the end of ctx, after which Leave must follow.
func (h *Hand) Do(ctx context.Context, job []byte) ([]byte, error) {
	c := h.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.status.Left {
		return nil, &LeftError{h.name, h.status.Cause}
	}
	h.number++
	h.job, h.result = job, nil
	c.change()
	for h.done < h.number {
		if h.status.Left {
			return nil, &LeftError{h.name, h.status.Cause}
		}
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
	}
	result := h.result
	h.result = nil
	return result, nil
}

// Leave ends the worker's part, as the crew's Leave.
func (h *Hand) Leave(cause error) {
	h.crew.mu.Lock()
	defer h.crew.mu.Unlock()
	h.leave(cause)
}

// Note says for Status how many slices a worker has, and that it has done an iteration of them in the given time.
func (h *Hand) Note(iteration, slices int, took time.Duration) {
	h.crew.mu.Lock()
	defer h.crew.mu.Unlock()
	h.crew.note(&h.status, iteration, slices, took)
}

// Note is Hand.Note for a device of this process, by its place in NewCrew.
func (c *Crew) Note(own, iteration, slices int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own < len(c.own) {
		c.note(&c.own[own], iteration, slices, took)
	}
}

// Lost says for Status that a device of this process, by its place in NewCrew, takes no part any more, and why.
func (c *Crew) Lost(own int, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own < len(c.own) {
		of := &c.own[own]
		of.Left, of.Cause, of.Has = true, cause, 0
	}
}

func (c *Crew) note(of *Status, iteration, slices int, took time.Duration) {
	of.Step, of.Has = iteration, slices
	of.Slices += slices
	c.totals.Slices += int64(slices)
	if slices > 0 {
		smooth(&of.Mean, took/time.Duration(slices))
	}
}

// Divided says for Status how many slices the members have.
func (c *Crew) Divided(slices int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.Step = slices
}

// Status describes the devices of this process and the workers, also those that have left.
func (c *Crew) Status() (all []Status, totals Totals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = append(all, c.own...)
	for _, h := range c.hands {
		all = append(all, h.status)
	}
	return all, c.totals
}
