package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// value is the result of a slice.
func value(step, slice int) []byte { return fmt.Appendf(nil, "%d/%d", step, slice) }

// run does steps with every worker at once, by do, and returns each worker's error.
func run(t *testing.T, c *Coordinator, names []string, from, to, slices int, do func(worker string, step, slice int) ([]byte, error)) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		w, err := NewWorker(name, c)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for step := from; step < to && errs[i] == nil; step++ {
				var results [][]byte
				results, errs[i] = w.Step(ctx, step, slices, "", func(_ context.Context, slice int) ([]byte, error) { return do(name, step, slice) })
				for k, r := range results {
					if !bytes.Equal(r, value(step, k)) {
						errs[i] = fmt.Errorf("worker %s has %q of slice %d of step %d", name, r, k, step)
					}
				}
			}
		})
	}
	all.Wait()
	return errs
}

func coordinator(t *testing.T, cfg Config, names ...string) *Coordinator {
	t.Helper()
	c, err := NewCoordinator(cfg, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestSteps: every worker has all results of every step by their index, whatever the number of workers and of slices.
func TestSteps(t *testing.T) {
	for _, workers := range []int{1, 3, 17} {
		var names []string
		for i := range workers {
			names = append(names, fmt.Sprint("w", i))
		}
		c := coordinator(t, Config{Late: time.Minute}, names...)
		const steps, slices = 200, 7
		for i, err := range run(t, c, names, 5, 5+steps, slices, func(_ string, step, slice int) ([]byte, error) { return value(step, slice), nil }) {
			if err != nil {
				t.Errorf("%d workers, worker %d: %v", workers, i, err)
			}
		}
		if got := c.Totals(); got.Slices != steps*slices || got.Again != 0 {
			t.Errorf("%d workers: %+v; want %d slices, each once", workers, got, steps*slices)
		}
		done := 0
		for _, s := range c.Status() {
			done += s.Slices
		}
		if done != steps*slices || len(c.steps) > behindLimit+2 {
			t.Errorf("%d workers did %d slices, and %d steps are kept; want %d slices, and fewer steps", workers, done, len(c.steps), steps*slices)
		}
	}
}

// TestFailures: workers fail at random, and the others do their slices.
func TestFailures(t *testing.T) {
	names := []string{"lead", "a", "b", "c", "d"}
	c := coordinator(t, Config{}, names...)
	rng := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	broken := errors.New("broken")
	errs := run(t, c, names, 0, 100, 11, func(worker string, step, slice int) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if worker != "lead" && rng.IntN(50) == 0 {
			return nil, broken
		}
		return value(step, slice), nil
	})
	failed := 0
	for i, s := range c.Status() {
		if s.Left {
			failed++
		}
		if s.Left != (errs[i] != nil) || s.Left && !(errors.Is(errs[i], broken) && errors.Is(s.Cause, broken)) {
			t.Errorf("%+v, and the worker's error is %v", s, errs[i])
		}
	}
	if errs[0] != nil || failed == 0 {
		t.Errorf("the first worker: %v; %d workers failed", errs[0], failed)
	}
	var gone *LeftError
	for i, s := range c.Status() {
		w, err := NewWorker(names[i], c)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Left {
			continue
		}
		if _, err := w.Step(t.Context(), 200, 1, "", nil); !errors.As(err, &gone) {
			t.Errorf("a worker that has left reports: %v; want a *LeftError", err)
		}
	}
}

// TestLate: a slice of a worker that hangs goes to another one. What the first says at last is compared, and it goes on.
func TestLate(t *testing.T) {
	names := []string{"lead", "slow"}
	for _, lies := range []bool{false, true} {
		c := coordinator(t, Config{Late: time.Millisecond}, names...)
		hang := make(chan struct{})
		var once sync.Once
		errs := run(t, c, names, 0, 6, 3, func(worker string, step, slice int) ([]byte, error) {
			switch {
			case worker == "slow" && step == 2: // answers when the other one is two steps ahead
				<-hang
				if lies {
					return []byte("other"), nil
				}
			case step == 4:
				once.Do(func() { close(hang) })
			case step == 2:
				for c.Status()[1].Step < 2 { // until the slow one is there, and has a slice
					time.Sleep(time.Millisecond)
				}
				time.Sleep(5 * time.Millisecond)
			}
			return value(step, slice), nil
		})
		var differ *DisagreementError
		switch {
		case !lies && (errs[0] != nil || errs[1] != nil || c.Totals().Again == 0):
			t.Errorf("errors %v, %+v; want none, and slices done twice", errs, c.Totals())
		case lies && !(errors.As(errs[1], &differ) && differ.Step == 2 && differ.Workers == [2]string{"lead", "slow"}):
			t.Errorf("different results: %v; want a *DisagreementError of both workers", errs)
		}
	}
}

// TestAhead: the others stay near the first worker, and one that does not go on is given up.
func TestAhead(t *testing.T) {
	c := coordinator(t, Config{Ahead: 2, Patience: 100 * time.Millisecond}, "lead", "other", "asleep")
	do := func(_ string, step, slice int) ([]byte, error) { return value(step, slice), nil }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	other, _ := NewWorker("other", c)
	for step := 0; ; step++ {
		_, err := other.Step(ctx, step, 1, "", func(_ context.Context, slice int) ([]byte, error) { return do("", step, slice) })
		if err == nil {
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) || step != 3 {
			t.Errorf("stopped in step %d: %v; want step 3, two ahead of the first", step, err)
		}
		break
	}
	for i, err := range run(t, c, []string{"lead", "other"}, 3, 200, 1, do) {
		if err != nil {
			t.Errorf("worker %d: %v", i, err)
		}
	}
	if s := c.Status()[2]; !s.Left || s.Cause == nil || len(c.steps) > behindLimit+2 {
		t.Errorf("a worker that never reported: %+v, and %d steps are kept; want it given up", s, len(c.steps))
	}
}

// TestJoin: a worker that joins a run begins with the first one's replica at the beginning of a step, also after it has left; workers of a loose run
// begin every step so.
func TestJoin(t *testing.T) {
	for _, loose := range []bool{false, true} {
		c := coordinator(t, Config{Loose: loose}, "lead")
		replica := func(step int) func() ([]byte, error) { return func() ([]byte, error) { return value(step, 0), nil } }
		do := func(name string, step int) {
			t.Helper()
			w, err := NewWorker(name, c)
			if err != nil {
				t.Fatal(err)
			}
			state, err := w.Sync(t.Context(), step, replica(step))
			if want := loose && name != "lead"; err != nil || (state != nil) != want || want && !bytes.Equal(state, value(step, 0)) {
				t.Errorf("loose %v: %s begins step %d with %q (%v)", loose, name, step, state, err)
			}
			one := func(context.Context, int) ([]byte, error) { return []byte{1}, nil }
			if _, err := w.Step(t.Context(), step, 1, "", one); err != nil {
				t.Errorf("loose %v: %s, step %d: %v", loose, name, step, err)
			}
		}
		begins := make(chan int, 1)
		join := func() {
			go func() {
				step, state, err := c.Join(t.Context(), "other")
				if err != nil || !bytes.Equal(state, value(step, 0)) {
					t.Errorf("joined step %d with %q (%v)", step, state, err)
				}
				begins <- step
			}()
			for !c.wanted() || !c.has("other") {
				time.Sleep(time.Millisecond)
			}
		}
		do("lead", 0)
		join()
		if _, err := c.Exchange(t.Context(), Report{Worker: "other", Step: 1, Slices: 1}); err == nil {
			t.Error("a worker that has not joined reports")
		}
		if _, _, err := c.Join(t.Context(), "other"); err == nil {
			t.Error("two workers join by one name")
		}
		do("lead", 1)
		if step := <-begins; step != 1 {
			t.Errorf("loose %v: joined in step %d; want 1", loose, step)
		}
		do("other", 1)
		do("lead", 2)
		do("other", 2)
		c.Leave("other", errors.New("broken"))
		join()
		do("lead", 3)
		if step := <-begins; step != 3 {
			t.Errorf("loose %v: joined again in step %d; want 3", loose, step)
		}
		do("other", 3)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := c.Join(ctx, "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("joining after the end of its context: %v", err)
		}
	}
}

// has reports whether a worker joins, or has joined.
func (c *Coordinator) has(worker string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[worker]
	return w != nil && !w.left
}

// TestMisuse: what contradicts is refused.
func TestMisuse(t *testing.T) {
	if _, err := NewCoordinator(Config{}); err == nil {
		t.Error("a run without workers is accepted")
	}
	if _, err := NewCoordinator(Config{Ahead: -1}, "a"); err == nil {
		t.Error("negative settings are accepted")
	}
	if _, err := NewCoordinator(Config{}, "a", "a"); err == nil {
		t.Error("two workers of one name are accepted")
	}
	if _, err := NewWorker("", nil); err == nil {
		t.Error("a worker without a link is accepted")
	}
	c := coordinator(t, Config{}, "a", "b")
	for _, r := range []Report{
		{Worker: "c", Slices: 1}, {Worker: "a", Slices: 0}, {Worker: "a", Slices: 2, Done: 2}, {Worker: "a", Slices: 2, Done: -1},
	} {
		if _, err := c.Exchange(t.Context(), r); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	if _, err := c.Exchange(t.Context(), Report{Worker: "a", Step: 1, Slices: 2, State: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := c.Exchange(t.Context(), Report{Worker: "b", Step: 1, Slices: 3}); err == nil {
		t.Error("another number of slices is accepted")
	}
	if _, err := c.Exchange(t.Context(), Report{Worker: "a", Step: 0, Slices: 2}); err == nil {
		t.Error("an earlier step is accepted")
	}
	var differ *StateError
	if _, err := c.Exchange(t.Context(), Report{Worker: "b", Step: 1, Slices: 2, State: "y"}); !errors.As(err, &differ) || differ.Workers != [2]string{"a", "b"} {
		t.Errorf("different replicas: %v; want a *StateError of both workers", err)
	}
	if _, err := c.Exchange(t.Context(), Report{Worker: "a", Step: 1, Slices: 2}); !errors.As(err, &differ) {
		t.Errorf("after an error that ends the run: %v; want it", err)
	}
	ended := coordinator(t, Config{}, "a")
	ended.Close()
	if _, err := ended.Exchange(t.Context(), Report{Worker: "a", Slices: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v; want ErrClosed", err)
	}
	w, _ := NewWorker("a", c)
	if _, err := w.Step(t.Context(), 0, 0, "", nil); err == nil {
		t.Error("a step without slices is accepted")
	}
}
