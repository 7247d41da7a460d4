package cluster

import (
	"bytes"
	"slices"
	"time"
)

// step is the slices of a step. What a report costs does not grow with their number.
type step struct {
	slices   []slice
	missing  int              // slices without a result
	all      [][]byte         // results, once they are complete
	expected bool             // no worker has told the number of slices
	state    string           // digest of the replicas; "": none has told it
	by       string           // the worker that told it
	has      map[string][]int // slices in a worker's hands
	fresh    int              // no slice before this one is without a result and in nobody's hands
	queue    []turn           // slices in workers' hands, in the order in which they were given, and some that have a result by now
}

// slice is a part of a step.
type slice struct {
	result []byte // nil: none yet
	by     string // the worker whose result it is
	given  []hold // to workers that have not answered
}

// hold is a slice in the hands of a worker.
type hold struct {
	worker   string
	since    time.Time
	reserved bool // the worker has not reached the step
}

// turn is a slice that was given to a worker.
type turn struct {
	slice  int
	worker string
}

func newStep(n int) *step {
	return &step{slices: make([]slice, n), missing: n, has: map[string][]int{}}
}

func (s *step) complete() bool { return s.missing == 0 }

func (s *step) results() [][]byte {
	if s.all == nil {
		s.all = make([][]byte, len(s.slices))
		for i := range s.slices {
			s.all[i] = s.slices[i].result
		}
	}
	return s.all
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

// take keeps a result, or compares it if there is one already, unless they may differ; fresh is false then. took is the time that the worker spent on it:
// since it was given the slice, or since its last result.
func (s *step) take(r Report, last, now time.Time, compared bool) (took time.Duration, fresh bool, err error) {
	of := &s.slices[r.Done]
	if h := s.drop(r.Done, r.Worker); h != nil {
		if took = now.Sub(h.since); last.After(h.since) {
			took = now.Sub(last)
		}
	}
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

// give puts a slice into a worker's hands.
func (s *step) give(slice int, worker string, now time.Time, reserved bool) {
	s.slices[slice].given = append(s.slices[slice].given, hold{worker, now, reserved})
	s.has[worker] = append(s.has[worker], slice)
	s.queue = append(s.queue, turn{slice, worker})
}

// drop takes a slice out of a worker's hands; nil: it was not in them.
func (s *step) drop(slice int, worker string) *hold {
	of := &s.slices[slice]
	i := slices.IndexFunc(of.given, func(h hold) bool { return h.worker == worker })
	if i < 0 {
		return nil
	}
	h := of.given[i]
	of.given = slices.Delete(of.given, i, i+1)
	s.has[worker] = slices.DeleteFunc(s.has[worker], func(k int) bool { return k == slice })
	if len(of.given) == 0 && of.result == nil {
		s.fresh = min(s.fresh, slice)
	}
	return &h
}

// confirm notes that a worker in the step has the slices that it says it holds, also those that were reserved for it.
func (s *step) confirm(worker string, held []int, now time.Time) {
	for _, k := range held {
		if k < 0 || k >= len(s.slices) || s.slices[k].result != nil {
			continue
		}
		of := s.slices[k].given
		i := slices.IndexFunc(of, func(h hold) bool { return h.worker == worker })
		if i < 0 {
			s.give(k, worker, now, false)
		} else if of[i].reserved {
			of[i].reserved, of[i].since = false, now
		}
	}
}

// reserve gives a worker a slice that none has, before it reaches the step; NoSlice: there is none.
func (s *step) reserve(worker string, now time.Time) int {
	for _, k := range s.has[worker] {
		if s.slices[k].result == nil {
			return k
		}
	}
	slice := s.free()
	if slice != NoSlice {
		s.give(slice, worker, now, true)
	}
	return slice
}

// free returns a slice without a result that is in nobody's hands.
func (s *step) free() int {
	for ; s.fresh < len(s.slices); s.fresh++ {
		if of := &s.slices[s.fresh]; of.result == nil && len(of.given) == 0 {
			return s.fresh
		}
	}
	return NoSlice
}

// next gives a worker a slice: one that none has; or one that is reserved for a worker elsewhere; or one that others have had for longer than late. Without
// such a slice, it returns how long to wait for one. A worker that holds slices gets no more of them than its share of what has no result.
func (s *step) next(worker string, held []int, now time.Time, late time.Duration, workers int) (slice int, wait time.Duration) {
	for _, k := range s.has[worker] {
		if s.slices[k].result == nil && !slices.Contains(held, k) { // the order was lost
			return k, 0
		}
	}
	if len(held) > 0 && len(held) >= (s.missing+workers-1)/max(workers, 1) {
		return NoSlice, time.Hour
	}
	if k := s.free(); k != NoSlice {
		s.give(k, worker, now, false)
		return k, 0
	}
	if len(held) > 0 {
		return NoSlice, time.Hour
	}
	wait, slice = time.Hour, NoSlice
	waiting := s.queue[:0]
	for _, of := range s.queue {
		at := &s.slices[of.slice]
		last := len(at.given) - 1
		if at.result != nil || last < 0 || at.given[last].worker != of.worker { // it is done, or was given to another one later
			continue
		}
		waiting = append(waiting, of)
		left := late - now.Sub(at.given[last].since)
		if at.given[last].reserved {
			left = 0
		}
		if left < wait {
			wait, slice = left, of.slice
		}
	}
	if s.queue = waiting; slice == NoSlice || wait > 0 {
		return NoSlice, wait
	}
	s.give(slice, worker, now, false)
	return slice, 0
}

// release makes the slices that a worker has be given to others.
func (s *step) release(worker string) {
	for _, k := range slices.Clone(s.has[worker]) {
		s.drop(k, worker)
	}
}
