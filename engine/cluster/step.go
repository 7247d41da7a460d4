package cluster

import (
	"bytes"
	"slices"
	"time"
)

// step is the slices of a step.
type step struct {
	slices  []slice
	missing int    // slices without a result
	state   string // digest of the replicas; "": none has told it
	by      string // the worker that told it
}

// slice is a part of a step.
type slice struct {
	result []byte // nil: none yet
	by     string // the worker whose result it is
	given  []hold // to workers that have not answered
}

// hold is a slice in the hands of a worker.
type hold struct {
	worker string
	since  time.Time
}

func newStep(n int) *step { return &step{slices: make([]slice, n), missing: n} }

func (s *step) complete() bool { return s.missing == 0 }

func (s *step) results() [][]byte {
	all := make([][]byte, len(s.slices))
	for i := range s.slices {
		all[i] = s.slices[i].result
	}
	return all
}

// compare compares the digest of a worker's replica with the first one's.
func (s *step) compare(r Report) error {
	switch {
	case r.State == "" || r.State == s.state:
	case s.state == "":
		s.state, s.by = r.State, r.Worker
	default:
		return &StateError{Step: r.Step, Workers: [2]string{s.by, r.Worker}}
	}
	return nil
}

// take keeps a result, or compares it if there is one already, unless they may differ; fresh is false then. took is the time since the worker was given
// the slice.
func (s *step) take(r Report, now time.Time, compared bool) (took time.Duration, fresh bool, err error) {
	of := &s.slices[r.Done]
	of.given = slices.DeleteFunc(of.given, func(h hold) bool {
		if h.worker == r.Worker {
			took = now.Sub(h.since)
		}
		return h.worker == r.Worker
	})
	if of.result == nil {
		of.result, of.by = r.Result, r.Worker
		s.missing--
		return took, true, nil
	}
	if compared && !bytes.Equal(of.result, r.Result) {
		return took, false, &DisagreementError{Step: r.Step, Slice: r.Done, Workers: [2]string{of.by, r.Worker}}
	}
	return took, false, nil
}

// next gives a worker a slice: one that none has, or else one that others have had for longer than late. Without such a slice, it returns how long to wait
// for one.
func (s *step) next(worker string, now time.Time, late time.Duration) (slice int, wait time.Duration) {
	wait = time.Hour
	oldest := -1
	for i := range s.slices {
		of := &s.slices[i]
		switch {
		case of.result != nil:
		case slices.ContainsFunc(of.given, func(h hold) bool { return h.worker == worker }): // the order was lost
			return i, 0
		case len(of.given) == 0:
			of.given = append(of.given, hold{worker, now})
			return i, 0
		default:
			left := late - now.Sub(of.given[len(of.given)-1].since)
			if left < wait {
				wait, oldest = left, i
			}
		}
	}
	if oldest < 0 || wait > 0 {
		return 0, wait
	}
	s.slices[oldest].given = append(s.slices[oldest].given, hold{worker, now})
	return oldest, 0
}

// release makes the slices that a worker has be given to others.
func (s *step) release(worker string) {
	for i := range s.slices {
		s.slices[i].given = slices.DeleteFunc(s.slices[i].given, func(h hold) bool { return h.worker == worker })
	}
}
