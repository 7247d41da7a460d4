package hybrid

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evorl/evorl/engine/cluster"
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

// place divides the slices among the devices here and the workers that take part now, if these are others than before, or their speed has changed. As few as
// possible move, by way of this process.
func (s *Slices) place(ctx context.Context) error {
	if s.crew == nil {
		return nil
	}
	hands := s.crew.Hands()
	has := map[*cluster.Hand][]*memberSlice{}
	for _, m := range s.all {
		if m.by != nil && !slices.Contains(hands, m.by) {
			m.leave()
		}
		has[m.by] = append(has[m.by], m)
	}
	if s.shares == nil || !slices.Equal(hands, s.hands) {
		s.hands, s.shares = hands, shares(len(s.all), make([]time.Duration, len(s.queues)+len(hands)))
	}
	here, each := s.shares[:len(s.queues)], s.shares[len(s.queues):]
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
	for i, by := range hands {
		for range each[i] - len(has[by]) {
			m := s.spare(here)
			m.by, m.moved, m.behind = by, false, len(m.done)
		}
		if each[i] == 0 {
			by.Note(s.done, 0, 0)
			s.paces[by] -= s.paces[by] / idleShare
		}
	}
	_, left := s.Count()
	for i, n := range left {
		if n == 0 {
			s.crew.Note(i, s.done, 0, 0)
		}
	}
	return nil
}

// idleShare is the part, as its inverse, by which the time that a worker without slices took is taken to be less in each iteration, so that it gets one again
// after a while.
const idleShare = 64

// spare returns the last slice of the device here that has most above its share.
func (s *Slices) spare(shares []int) (last *memberSlice) {
	most := 0
	for i, queue := range s.queues {
		here := slices.DeleteFunc(slices.Clone(queue), func(m *memberSlice) bool { return m.by != nil })
		if n := len(here); n > 0 && (last == nil || n-shares[i] > most) {
			most, last = n-shares[i], here[n-1]
		}
	}
	return last
}

// weigh divides the slices anew by the speed of those that compute, which follows the states' coming here, when moving them costs least.
func (s *Slices) weigh() {
	times := slices.Clone(s.times[:len(s.queues)])
	for _, by := range s.hands {
		times = append(times, s.paces[by])
	}
	if len(times) == len(s.shares) {
		s.shares = shares(len(s.all), times)
	}
}

// fetch brings the states of slices here, which workers keep. It leaves out those whose worker is lost.
func (s *Slices) fetch(ctx context.Context, of []*memberSlice) error {
	var tasks []*task
	for _, m := range of {
		if !m.moved || len(m.done) == 0 {
			continue
		}
		t := &task{of: m, ops: []sliceOp{{Kind: opPosition}}}
		for _, of := range m.of.State().Moving() {
			t.ops = append(t.ops, reads(of)...)
		}
		tasks = append(tasks, t)
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
		for i, op := range t.ops {
			back := sliceOp{Kind: opMoveTo, Data: t.results[i]}
			if op.Kind == opRead {
				if len(t.results[i]) != 4*op.N {
					return m.failed(fmt.Errorf("%d bytes of tensor %q from a worker; want %d", len(t.results[i]), op.Name, 4*op.N))
				}
				back = sliceOp{Kind: opWrite, Name: op.Name, At: op.At, Data: t.results[i]}
			}
			if _, err := m.run(ctx, back); err != nil {
				return m.failed(err)
			}
		}
		m.done, m.behind = nil, 0
	}
	return nil
}

// home brings all states here: those of lost workers are computed again.
func (s *Slices) home(ctx context.Context) error {
	began := time.Now()
	if err := s.fetch(ctx, s.all); err != nil {
		return err
	}
	err := s.each(func(queue []*memberSlice) error {
		for _, m := range queue {
			if len(m.done) > 0 {
				m.leave()
				if err := m.catchUp(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.homed, s.homing = time.Now(), time.Since(began)
	return err
}

// homeShare is the share of the time, as its inverse, that states may take to come here, and doneSize the bytes of operations to repeat beyond which they come
// anyway.
const (
	homeShare = 20
	doneSize  = 64 << 20
)

// guard brings all states here once the time since they were is long, so that little is lost with a worker.
func (s *Slices) guard(ctx context.Context) error {
	bytes := 0
	for _, m := range s.all {
		bytes += size(m.done)
	}
	if away := slices.ContainsFunc(s.all, func(m *memberSlice) bool { return m.by != nil }); !away {
		return nil
	}
	if time.Since(s.homed) < homeShare*s.homing && bytes < doneSize {
		return nil
	}
	if err := s.home(ctx); err != nil {
		return err
	}
	s.weigh()
	return nil
}

// note keeps how long an iteration took, and tells the crew, for those that look at the run.
func (s *Slices) note(g *group) {
	op := g.tasks[0].ops[0]
	if s.crew == nil || op.Kind != opStep {
		return
	}
	n := len(g.tasks)
	if g.by == nil {
		s.crew.Note(g.device, op.N, n, g.took)
		s.times[g.device] = smooth(s.times[g.device], g.took/time.Duration(n))
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
