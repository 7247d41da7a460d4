package machines

import "errors"

// ErrEpoch: the host is of another session than the one that the worker has joined, or has given the worker up: it must join again.
var ErrEpoch = errors.New("machines: the run is coordinated by another session")

// ErrEnded: the run is complete.
var ErrEnded = errors.New("machines: the run is complete")

// RefusedError: the worker cannot take part.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return "the run refuses this worker: " + e.Text }

// FailedError: the run has ended with an error.
type FailedError struct{ Text string }

func (e *FailedError) Error() string { return "the run has failed: " + e.Text }

// ErrTaken: another process coordinates a run of the name.
var ErrTaken = errors.New("another process coordinates a run of this name on the server")
