// Package cluster divides the work of a step among workers, so that its results depend neither on how many workers there are, nor on the order in which
// they finish, nor on those that fail.
//
// Every worker holds a replica: the whole state of the run, which the same program changes by the same results. Only the expensive part of a step is
// divided, into slices. A slice is the same block of work whoever does it, and its result is found by its index. So the workers exchange slices' results
// alone, a few bytes for each candidate of a search (T. Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning", 2017).
//
// A Coordinator hands out slices and keeps their results. A Worker does those it is given, and gets the results of all. Between them is a Link.
//
// Where each worker holds a part of the state, a Crew hands out jobs for it, by way of Jobs. The package knows no device.
package cluster

import "context"

// Link connects a worker with the coordinator. A Coordinator is the link of the workers of its own process.
type Link interface {
	// Exchange hands over what a worker has done and returns what it does next. It waits until there is something to do, or ctx ends. Repeating
	// a report is allowed.
	Exchange(ctx context.Context, r Report) (Order, error)
	// Join makes a worker take part in a run that may have begun. It waits for the step with which the worker begins, and returns the replica at its
	// beginning.
	Join(ctx context.Context, worker string) (step int, state []byte, err error)
	// Sync is called at the beginning of a step, before the replica changes. state returns the replica, which the first worker is asked for where
	// others need it. The result is what the worker's replica must become; nil: what it is.
	Sync(ctx context.Context, worker string, step int, state func() ([]byte, error)) ([]byte, error)
	// Leave ends a worker's part in the run, which others take over; cause is nil if it is no failure. Later reports of the worker are refused.
	Leave(worker string, cause error)
}

// Report is what a worker says of itself.
type Report struct {
	Worker string // its name
	Step   int    // the iteration in which it is
	Slices int    // slices of the step
	State  string // digest of its replica in this step; "": not compared
	Done   int    // the slice that it has done; none: see Result
	Result []byte // of the slice; nil: it has done none
	Held   []int  // slices that it was given and has not done yet; with one, the answer does not wait for another
	Early  bool   // it can take a slice of the next step along with a step's results
}

// Order is what a worker does next.
type Order struct {
	Slice   int      // to be done, if there are no results; NoSlice: go on with those that are held
	Results [][]byte // the results of all slices of the step, by index; nil: they are not complete. They must not be changed
	Next    int      // with results: the slice of the next step to begin with, if it has as many; NoSlice: ask
}

// NoSlice is no slice.
const NoSlice = -1
