package cluster

import (
	"errors"
	"fmt"
)

// ErrClosed is the error of reports after the end of a run.
var ErrClosed = errors.New("cluster: the run has ended")

// DisagreementError: two workers did the same slice with different results. One of them computes wrongly, or differs from the others in its device,
// driver or program. The run cannot go on.
type DisagreementError struct {
	Step, Slice int
	Workers     [2]string
}

func (e *DisagreementError) Error() string {
	return fmt.Sprintf("cluster: workers %s and %s have different results of slice %d of step %d; want the same device, driver and program, or a working one",
		e.Workers[0], e.Workers[1], e.Slice, e.Step)
}

// StateError: the replicas of two workers differ, although the same program changed them by the same results. The run cannot go on.
type StateError struct {
	Step    int
	Workers [2]string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cluster: the replicas of workers %s and %s differ in step %d; want the same device, driver and program, or a working one",
		e.Workers[0], e.Workers[1], e.Step)
}

// LeftError: a report of a worker that has left the run or was given up.
type LeftError struct {
	Worker string
	Cause  error // nil: it left without failing
}

func (e *LeftError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("cluster: worker %s has left the run", e.Worker)
	}
	return fmt.Sprintf("cluster: worker %s is no longer in the run: %v", e.Worker, e.Cause)
}

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Cause }
