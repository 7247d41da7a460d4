package rl

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

// TestAsynchronousFaults: a run goes on while actors die, and while all of them have what they never hand over; saved then, it is resumed by others, which go
// on from the states and the counts of random numbers that are saved.
func TestAsynchronousFaults(t *testing.T) {
	const lag = 2
	c := asynchronousCase(t, 3, lag)
	w := newTroupe(t, c)
	w.join(3)
	w.join(5)
	p := c.begin(t, engine.Assisted(w.crew))
	p.collects().remote.patience = 100 * time.Millisecond
	next := stepUntil(t, p, 0, "two actors have died", func(int) bool { return len(w.crew.Hands()) == 0 })

	var slow []*gated
	for range 3 {
		slow = append(slow, w.joinGated())
	}
	next = stepUntil(t, p, next, "three actors have a part each", func(int) bool {
		return !slices.ContainsFunc(slow, func(g *gated) bool { return !closed(g.has) })
	})
	steps(t, p, next, next+3)
	next += 3
	dir := t.TempDir()
	if _, err := p.State().Save(t.Context(), dir, next); err != nil {
		t.Fatal(err)
	}
	rounds := p.State().Lookup("rollout/arrivals/rounds")
	taken := 0.0
	for _, n := range read(t, rounds) {
		taken += n
	}
	if taken < float64(3*next) {
		t.Errorf("parts have acted %g times in %d iterations of three trajectories", taken, next)
	}

	others := newTroupe(t, c)
	others.join(1 << 30)
	resumed := c.open(t, engine.Assisted(others.crew))
	saved, err := filepath.Glob(filepath.Join(dir, "0*"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("checkpoints %q, %v", saved, err)
	}
	reload(t, resumed.State(), saved[0])
	if got := read(t, resumed.State().Lookup("rollout/arrivals/rounds")); !slices.Equal(got, read(t, rounds)) {
		t.Errorf("resumed after rounds %v; want %v", got, read(t, rounds))
	}
	steps(t, resumed, next, next+5)
	for i := next + 2; i < next+5; i++ {
		if _, oldest, _, _ := arrived(t, resumed, i); !(oldest <= lag) {
			t.Errorf("iteration %d: weights that acted are %g iterations old; want at most %d", i, oldest, lag)
		}
	}
	for _, g := range slow {
		close(g.open)
	}
	if err := p.Init(t.Context()); err != nil { // what the slow ones hand over is of the run before
		t.Fatal(err)
	}
	steps(t, p, 0, 4)
}

// TestAsynchronousStops: the end of a context ends the wait for actors that do not answer.
func TestAsynchronousStops(t *testing.T) {
	c := asynchronousCase(t, 1, 1)
	w := newTroupe(t, c)
	slow := w.joinGated()
	defer close(slow.open)
	p := c.begin(t, engine.Assisted(w.crew))
	p.collects().remote.patience = time.Hour
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	go func() {
		<-slow.has
		stop(cause)
	}()
	for i := range 1 << 12 {
		ticket, err := p.Step(ctx, i)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
			t.Errorf("the iteration ends with %v; want %v", err, cause)
		}
		return
	}
	t.Error("no iteration waited for the actor")
}
