package hybrid

import (
	"context"
	"testing"
	"time"
)

// pacedHand is a worker that fails at once, or ends an operation after a time.
type pacedHand struct {
	takes time.Duration
	fails error
	left  error
}

func (h *pacedHand) String() string { return "paced" }

func (h *pacedHand) do(ctx context.Context, job sliceJob) ([][][]byte, error) {
	if h.fails != nil {
		return nil, h.fails
	}
	select {
	case <-time.After(h.takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	results := make([][][]byte, len(job.Tasks))
	for i, t := range job.Tasks {
		results[i] = make([][]byte, len(t.Ops))
	}
	return results, nil
}

func (h *pacedHand) Leave(cause error) { h.left = cause }

func (h *pacedHand) Note(int, int, time.Duration) {}

func (h *pacedHand) late() bool { return true }

// TestSlicesLate: a worker is given up if it takes much longer than another one that is done, and not if the other one has failed.
func TestSlicesLate(t *testing.T) {
	const patience = 2 * time.Millisecond
	for _, c := range []struct {
		other pacedHand
		takes time.Duration
		want  error // why the worker leaves
	}{
		{pacedHand{fails: errInjected}, 50 * patience, nil},
		{pacedHand{}, time.Hour, errLate},
	} {
		s, slow := &Slices{patience: patience}, &pacedHand{takes: c.takes}
		tasks := make([]*task, 2)
		for i, by := range []hand{&c.other, slow} {
			m := &memberSlice{first: i, members: 1, elsewhere: elsewhere{by: by, moved: true}}
			s.all, tasks[i] = append(s.all, m), &task{of: m, ops: []sliceOp{{Kind: opRead}}}
		}
		if err := s.try(t.Context(), tasks); err != nil {
			t.Fatal(err)
		}
		if slow.left != c.want || (tasks[1].results != nil) != (c.want == nil) {
			t.Errorf("beside one that fails by %v: the worker leaves by %v, with results %v; want %v", c.other.fails, slow.left, tasks[1].results, c.want)
		}
		if c.other.left != c.other.fails {
			t.Errorf("the other worker leaves by %v; want %v", c.other.left, c.other.fails)
		}
	}
}
