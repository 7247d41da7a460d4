package hybrid

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// elsewhere is where a slice goes on that another device or a worker computes. The host then has a copy of an earlier state: done are the operations since,
// which are repeated, here or by others, if that one is lost.
type elsewhere struct {
	by     hand       // nil: the slice goes on here
	moved  bool       // the hand has the state
	away   bool       // the workflow here does not have the state: it is the copy, changed by what was done
	kept   *stateCopy // nil: all elements are zero
	done   []sliceOp  // those that have changed the slice since the copy
	behind int        // of them, those that the hand has not been told yet
}

// again makes a hand begin anew from the copy.
func (m *memberSlice) again() { m.moved, m.behind = false, len(m.done) }

// leave takes a slice from its hand.
func (m *memberSlice) leave() {
	m.by = nil
	m.again()
}

// here reports whether the workflow here has the slice's state.
func (m *memberSlice) here() bool { return m.by == nil && !m.away && len(m.done) == 0 }

// write sets elements of a tensor.
func (m *memberSlice) write(ctx context.Context, name string, at int, data []byte) error {
	return m.change(ctx, sliceOp{Kind: opWrite, Name: name, At: at, Data: data})
}

// change does an operation that only moves data: elsewhere together with the next one that is to be done.
func (m *memberSlice) change(ctx context.Context, op sliceOp) error {
	if !m.here() {
		m.done, m.behind = append(m.done, op), m.behind+1
		return nil
	}
	_, err := m.run(ctx, op)
	return m.failed(err)
}

// task is what a slice has to do.
type task struct {
	of      *memberSlice
	ops     []sliceOp
	results [][]byte // nil: they have not come
}

// perform has operations of slices done where these are, at once on all devices and workers. What a lost one had is placed anew.
func (s *Slices) perform(ctx context.Context, tasks []*task) error {
	for tries, left := 1, tasks; len(left) > 0; tries++ {
		if err := s.try(ctx, left); err != nil {
			return err
		}
		left = slices.DeleteFunc(slices.Clone(left), func(t *task) bool { return t.results != nil })
		if len(left) == 0 {
			break
		}
		if err := s.place(ctx); err != nil {
			return err
		}
		if tries >= mostTries {
			for _, t := range left {
				t.of.leave()
			}
			s.count()
		}
	}
	return nil
}

// mostTries is how often others fail at a task before it is done here.
const mostTries = 3

// performAll has an operation of all slices done, and returns the results in the order of members.
func (s *Slices) performAll(ctx context.Context, op func(m *memberSlice) sliceOp) ([][]byte, error) {
	tasks := make([]*task, len(s.all))
	for i, m := range s.all {
		tasks[i] = &task{of: m, ops: []sliceOp{op(m)}}
	}
	if err := s.perform(ctx, tasks); err != nil {
		return nil, err
	}
	results := make([][]byte, len(tasks))
	for i, t := range tasks {
		results[i] = t.results[0]
	}
	return results, nil
}

// group is tasks of the first device, or of one hand.
type group struct {
	by    hand // nil: the first device's
	tasks []*task
	sent  bool // slices were sent first
	took  time.Duration
	err   error
}

// groups divides tasks by where their slices are, in a fixed order.
func groups(tasks []*task) (all []*group) {
	for _, t := range tasks {
		i := slices.IndexFunc(all, func(g *group) bool { return g.by == t.of.by })
		if i < 0 {
			i, all = len(all), append(all, &group{by: t.of.by})
		}
		all[i].tasks = append(all[i].tasks, t)
	}
	return all
}

// try has tasks done; those of hands that are lost have no results then.
func (s *Slices) try(ctx context.Context, tasks []*task) error {
	for _, t := range tasks {
		if t.of.by != nil && !t.of.moved {
			if err := s.release(ctx, t.of); err != nil {
				return err
			}
		}
	}
	began, late := time.Now(), newLate(s.patience)
	all := groups(tasks)
	var wait sync.WaitGroup
	for _, g := range all {
		wait.Go(func() {
			if g.by == nil {
				g.err = s.here(ctx, g.tasks)
			} else {
				g.err = s.there(ctx, g, late)
			}
			g.took = time.Since(began)
			if g.err == nil { // one that fails at once says nothing of how long slices take
				late.one()
			}
		})
	}
	wait.Wait()
	late.end()
	var failed []error
	for _, g := range all {
		switch {
		case g.err == nil:
			s.note(g)
		case g.by == nil:
			failed = append(failed, g.err)
		case ctx.Err() != nil:
			for _, t := range g.tasks {
				t.of.again()
			}
			g.by.Leave(nil)
			failed = append(failed, context.Cause(ctx))
		default:
			g.by.Leave(g.err) // unless it has left with a cause of its own
		}
	}
	return errors.Join(failed...)
}

// here does tasks of slices on the first device, one behind the other: the device has the next one when it ends one.
func (s *Slices) here(ctx context.Context, tasks []*task) error {
	ends, by := make([][]ending, len(tasks)), &bench{worker: s.deviceName(0)}
	for i, t := range tasks {
		if err := s.restore(ctx, t.of); err != nil {
			return err
		}
		for _, op := range t.ops {
			end, err := by.begin(ctx, t.of, op)
			if err != nil {
				return t.of.failed(err)
			}
			ends[i] = append(ends[i], end)
		}
	}
	for i, t := range tasks {
		results := make([][]byte, len(t.ops))
		for k, end := range ends[i] {
			var err error
			if results[k], err = end(ctx); err != nil {
				return t.of.failed(err)
			}
		}
		t.results = results
	}
	return nil
}

// there has another device or a worker do tasks.
func (s *Slices) there(ctx context.Context, g *group, late *late) error {
	by, tasks := g.by, g.tasks
	if by.late() {
		var stop context.CancelFunc
		ctx, stop = late.watch(ctx)
		defer stop()
	}
	for _, t := range tasks {
		if !t.of.moved {
			g.sent = true
			if err := s.send(ctx, by, t.of); err != nil {
				return err
			}
		}
	}
	jobs := make([]sliceTask, len(tasks))
	for i, t := range tasks {
		m := t.of
		jobs[i] = sliceTask{First: m.first, Ops: slices.Concat(m.done[len(m.done)-m.behind:], t.ops)}
	}
	results, err := s.order(ctx, by, jobs)
	if err != nil {
		return err
	}
	for i, t := range tasks {
		m := t.of
		t.results = results[i][m.behind:]
		for _, op := range t.ops {
			if op.changes() {
				m.done = append(m.done, op)
			}
		}
		m.behind = 0
	}
	return nil
}
