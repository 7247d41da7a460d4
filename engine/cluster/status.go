package cluster

import "time"

// Totals count what was done since a coordinator was made.
type Totals struct {
	Slices int64 // results that came
	Again  int64 // of them, those of slices that had a result already
	Bytes  int64 // of the results
	Step   int   // slices of a step; 0: unknown
}

// Status describes a worker.
type Status struct {
	Worker string
	Step   int           // the step in which it is; -1: it has not begun
	Slices int           // that it has done
	Has    int           // slices whose state it has, of a Crew
	Mean   time.Duration // of a slice, lately; 0: unknown
	Left   bool          // it takes no part any more
	Cause  error         // why it left; nil: it did not fail
}

// Totals returns what was done.
func (c *Coordinator) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals
}

// Status describes the workers, in the order in which NewCoordinator was given them.
func (c *Coordinator) Status() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Status
	for _, name := range c.order {
		w := c.workers[name]
		all = append(all, Status{Worker: name, Step: w.step, Slices: w.done, Mean: w.mean, Left: w.left, Cause: w.cause})
	}
	return all
}
