package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Join implements Link.
func (c *Coordinator) Join(ctx context.Context, worker string) (step int, state []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[worker]; worker == "" || w != nil && !w.left {
		return 0, nil, fmt.Errorf("cluster: worker %q joins a run in which the name is taken; want another one", worker)
	}
	w := &member{step: -1, joining: true}
	if c.workers[worker] = w; !slices.Contains(c.order, worker) {
		c.order = append(c.order, worker)
	}
	for w.joining && !w.left && c.err == nil {
		if err := c.wait(ctx, time.Hour); err != nil {
			c.leave(worker, err)
			return 0, nil, err
		}
	}
	switch {
	case c.err != nil:
		return 0, nil, c.err
	case w.left:
		return 0, nil, &LeftError{worker, w.cause}
	}
	state, w.state = w.state, nil
	return w.step, state, nil
}

// Sync implements Link.
func (c *Coordinator) Sync(ctx context.Context, worker string, step int, state func() ([]byte, error)) ([]byte, error) {
	if worker == c.leader() {
		return nil, c.share(step, state)
	}
	if !c.cfg.Loose {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if w := c.workers[worker]; c.err == nil && w != nil && w.left {
			return nil, &LeftError{worker, w.cause}
		}
		if of := c.states[step]; of != nil || c.err != nil {
			return of, c.err
		}
		if err := c.wait(ctx, time.Hour); err != nil {
			return nil, err
		}
	}
}

// leader returns the name of the first worker.
func (c *Coordinator) leader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order[0]
}

// share gives the first worker's replica at the beginning of a step to those that need it: workers that join, and all workers of a loose run.
func (c *Coordinator) share(step int, state func() ([]byte, error)) error {
	if !c.wanted() {
		return nil
	}
	of, err := state()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.Loose {
		c.states[step] = of
	}
	for _, w := range c.workers {
		if w.joining {
			w.joining, w.step, w.state, w.seen = false, step, of, time.Now()
		}
	}
	c.count()
	c.change()
	return nil
}

// wanted reports whether anybody needs the first worker's replica.
func (c *Coordinator) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		if w.joining && !w.left {
			return true
		}
	}
	return c.cfg.Loose
}
