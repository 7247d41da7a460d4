package hybrid

import (
	"context"
	"slices"
	"time"
)

// shares divides slices among those that compute, with the time that each takes for a slice, 0 where it is unknown: evenly, unless their times are known to
// differ so much that an iteration becomes a fifth shorter.
func shares(slices int, times []time.Duration) []int {
	n := len(times)
	even, fast := make([]int, n), make([]int, n)
	for i := range n {
		even[i] = slices / n
		if i < slices%n {
			even[i]++
		}
	}
	length := func(shares []int) (most time.Duration) {
		for i, share := range shares {
			most = max(most, time.Duration(share)*times[i])
		}
		return most
	}
	for _, t := range times {
		if t == 0 {
			return even
		}
	}
	for range slices {
		next := 0
		for i, t := range times {
			if time.Duration(fast[i]+1)*t < time.Duration(fast[next]+1)*times[next] {
				next = i
			}
		}
		fast[next]++
	}
	if 5*length(fast) > 4*length(even) {
		return even
	}
	return fast
}

// place divides the slices among the devices and the workers that take part now, if these are others than before, or their speed has changed. As few as
// possible move, by way of the host.
func (s *Slices) place(ctx context.Context) error {
	defer s.count()
	hands := s.takingPart()
	has := map[hand][]*memberSlice{}
	for _, m := range s.all {
		if m.by != nil && !slices.Contains(hands, m.by) {
			m.leave()
		}
		has[m.by] = append(has[m.by], m)
	}
	if s.shares == nil || !slices.Equal(hands, s.hands) {
		s.hands, s.shares = hands, shares(len(s.all), make([]time.Duration, 1+len(hands)))
	}
	each := s.shares[1:]
	var more []*memberSlice
	for i, by := range hands {
		if of := has[by]; len(of) > each[i] {
			more = append(more, of[each[i]:]...)
		}
	}
	if err := s.fetch(ctx, more); err != nil {
		return err
	}
	for _, m := range more {
		m.leave()
	}
	for i, by := range slices.Backward(hands) { // so that those of a device are consecutive
		for range each[i] - len(has[by]) {
			m := s.spare()
			m.again()
			m.by = by
		}
		if each[i] == 0 {
			by.Note(s.done, 0, 0)
			s.paces[by] -= s.paces[by] / idleShare
		}
	}
	if s.crew != nil && s.shares[0] == 0 {
		s.crew.Note(0, s.done, 0, 0)
	}
	return nil
}

// idleShare is the part, as its inverse, by which the time that a hand without slices took is taken to be less in each iteration, so that it gets one again
// after a while.
const idleShare = 64

// spare returns the last slice of the first device.
func (s *Slices) spare() *memberSlice {
	for _, m := range slices.Backward(s.all) {
		if m.by == nil {
			return m
		}
	}
	return nil
}

// weigh divides the slices anew by the speed of those that compute, which follows the states' coming here, when moving them costs least. On the devices of one
// machine, which are equal, they stay.
func (s *Slices) weigh() {
	if s.crew == nil {
		return
	}
	times := []time.Duration{s.pace}
	for _, by := range s.hands {
		times = append(times, s.paces[by])
	}
	if len(times) == len(s.shares) {
		s.shares = shares(len(s.all), times)
	}
}

// fetch brings the states of slices to the host, which go on where they are. It leaves out those whose device or worker is lost.
func (s *Slices) fetch(ctx context.Context, of []*memberSlice) error {
	var tasks []*task
	for _, m := range of {
		if m.by != nil && len(m.done) > 0 {
			tasks = append(tasks, &task{of: m, ops: s.copying(m)})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	if err := s.try(ctx, tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if t.results == nil {
			continue
		}
		m := t.of
		var err error
		if m.kept, err = s.copied(m, t.results); err != nil {
			return err
		}
		m.done, m.behind = nil, 0
	}
	return nil
}

// home brings all states to the host: those of lost devices and workers are computed again.
func (s *Slices) home(ctx context.Context) error {
	began := time.Now()
	for tries := 1; ; tries++ {
		if err := s.fetch(ctx, s.all); err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(s.all), func(m *memberSlice) bool { return len(m.done) == 0 })
		if len(left) == 0 {
			break
		}
		if err := s.place(ctx); err != nil {
			return err
		}
		for _, m := range left {
			if tries >= mostTries {
				m.leave()
			}
			if m.by == nil {
				if err := s.restore(ctx, m); err != nil {
					return err
				}
			}
		}
	}
	s.homed, s.homing = time.Now(), time.Since(began)
	return nil
}

// homeShare is the share of the time, as its inverse, that states may take to come here. They come anyway once the operations to repeat have more bytes than
// doneSize and than the states.
const (
	homeShare = 20
	doneSize  = 64 << 20
)

// guard brings all states here once the time since they were is long, so that little is lost with a device or a worker.
func (s *Slices) guard(ctx context.Context) error {
	bytes, most := 0, doneSize
	for _, m := range s.all {
		bytes, most = bytes+size(m.done), most+m.kept.size()
	}
	if away := slices.ContainsFunc(s.all, func(m *memberSlice) bool { return m.by != nil }); !away {
		return nil
	}
	if time.Since(s.homed) < homeShare*s.homing && bytes < most {
		return nil
	}
	if err := s.home(ctx); err != nil {
		return err
	}
	s.weigh()
	return nil
}

// note keeps how long an iteration took, and tells those that look at the run.
func (s *Slices) note(g *group) {
	op := g.tasks[0].ops[0]
	if op.Kind != opStep {
		return
	}
	n := len(g.tasks)
	if g.by == nil {
		if s.crew != nil {
			s.crew.Note(0, op.N, n, g.took)
		}
		s.pace = smooth(s.pace, g.took/time.Duration(n))
		return
	}
	g.by.Note(op.N, n, g.took)
	if !g.sent { // else the worker has made them first
		s.paces[g.by] = smooth(s.paces[g.by], g.took/time.Duration(n))
	}
}

// smooth adds a time to a mean of the last ones; 0: none yet.
func smooth(mean, took time.Duration) time.Duration {
	if mean == 0 {
		return took
	}
	return mean + (took-mean)/8
}
