package rl

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

const stayMembers, stayEnvironments, stayParts, stayHorizon = 2, 6, 3, 5

// stayPPO is PPO in environments that the host steps, in parts.
func stayPPO(t *testing.T, lag int) (*stayEcho, remoteCase) {
	echo := newStayEcho(t)
	return echo, remoteCase{name: "ppo", make: func(ctx context.Context, eng *engine.Engine, opts ...Option) (apart, error) {
		cfg, network := apartPPO(stayParts, lag)
		return NewPPO(ctx, eng, echo.env, cfg, append([]Option{Network(network)}, opts...)...)
	}}
}

// follow makes iterations and compares what the learner has of each.
func follow(t *testing.T, p apart, c *stayCheck, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		steps(t, p, i, i+1)
		c.trajectory(p.collects().Trajectory())
	}
}

// settle makes iterations until so many parts have their home elsewhere, and returns the next one.
func settle(t *testing.T, p apart, c *stayCheck, from, elsewhere int) int {
	t.Helper()
	a := p.collects().remote
	return stepUntil(t, p, from, "the parts have a home", func(int) bool {
		c.trajectory(p.collects().Trajectory())
		a.mu.Lock()
		defer a.mu.Unlock()
		n := 0
		for _, of := range a.parts {
			if of.home != a.own && of.home != nil {
				n++
			}
		}
		return n == elsewhere
	})
}

// rest waits until no worker acts, so that none is in the middle of something when the run ends.
func rest(t *testing.T, p apart) {
	t.Helper()
	a := p.collects().remote
	acts := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return slices.ContainsFunc(a.parts, func(of *remotePart) bool { return a.weightsOf(of) != nil || of.held == of.next })
	}
	for deadline := time.Now().Add(time.Minute); acts(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("somebody acts for a minute")
		}
	}
}

// TestStaying: every transition that reaches a learner is one that an environment of its part made, one step after the other, when parts act here, on another
// device and with workers, of which one dies in the middle. Parts stay where they are otherwise, and begin new episodes where they go.
func TestStaying(t *testing.T) {
	const immortal = 1 << 30
	for _, lag := range []int{0, 1} {
		echo, c := stayPPO(t, lag)
		alone, p := echo.check(stayMembers, stayEnvironments, stayParts), c.begin(t)
		if follow(t, p, alone, 0, 6); alone.moves != 0 {
			t.Errorf("lag %d: %d environments have begun anew on one device", lag, alone.moves)
		}
		alone.distinct()

		beside, p := echo.check(stayMembers, stayEnvironments, stayParts), c.begin(t, engine.Beside(open(t)))
		theirs := stayParts - 1 + lag // the learner acts a part while it waits
		next := settle(t, p, beside, 0, theirs)
		follow(t, p, beside, next, next+1) // without a lag the last one goes there next
		moved := beside.moves
		if follow(t, p, beside, next+1, next+9); beside.moves != moved {
			t.Errorf("lag %d: beside another device %d environments have begun anew, and then %d more", lag, moved, beside.moves-moved)
		}
		if n := echo.open(); n != 2*stayParts {
			t.Errorf("lag %d: %d steppers are open; want one of each part and run", lag, n)
		}
		if _, done, lost := p.collects().remote.shares(); done[1] != theirs || len(lost) != 0 {
			t.Errorf("lag %d: the devices have acted %v parts, and %v; want %d of the second", lag, done, lost, theirs)
		}

		w := newTroupe(t, c)
		w.join(immortal)
		p = c.begin(t, engine.Assisted(w.crew))
		shared := echo.check(stayMembers, stayEnvironments, stayParts)
		next = settle(t, p, shared, 0, theirs)
		w.join(8)
		follow(t, p, shared, next, next+4)
		next, moved = next+4, shared.moves
		for ; len(w.crew.Hands()) > 1; next++ {
			if follow(t, p, shared, next, next+1); next == 1000 {
				t.Fatal("the worker does not die")
			}
		}
		if follow(t, p, shared, next, next+6); shared.moves == moved {
			t.Errorf("lag %d: no environment has begun anew after a worker has died", lag)
		}
		if moved == 0 {
			t.Errorf("lag %d: no environment has gone to a worker that joined", lag)
		}
		rest(t, p)
	}
}

// TestStayingAsynchronous: trajectories that are taken as they come are whole, and of worlds that go on, also if a worker dies.
func TestStayingAsynchronous(t *testing.T) {
	echo := newStayEcho(t)
	c := remoteCase{name: "impala", make: func(ctx context.Context, eng *engine.Engine, opts ...Option) (apart, error) {
		cfg, network := apartIMPALA(stayParts, 3)
		cfg.Asynchronous = true
		return NewIMPALA(ctx, eng, echo.env, cfg, append([]Option{Network(network)}, opts...)...)
	}}
	check := func() *stayCheck {
		c := echo.check(stayMembers, stayEnvironments, stayParts)
		c.anyone = map[[2]float32]*stayLane{}
		return c
	}
	follow(t, c.begin(t), check(), 0, 4)
	w := newTroupe(t, c)
	w.join(1 << 30)
	w.join(8)
	p, of, next := c.begin(t, engine.Assisted(w.crew)), check(), 0
	for ; len(w.crew.Hands()) > 1; next++ {
		if follow(t, p, of, next, next+1); next == 1000 {
			t.Fatal("the worker does not die")
		}
	}
	follow(t, p, of, next, next+6)
	rest(t, p)
}

// TestStayingFails: environments that end with an error are those of one actor alone, whose part others go on with.
func TestStayingFails(t *testing.T) {
	echo, c := stayPPO(t, 1)
	p, check := c.begin(t, engine.Beside(open(t))), echo.check(stayMembers, stayEnvironments, stayParts)
	next := settle(t, p, check, 0, stayParts)
	follow(t, p, check, next, next+2)
	echo.mu.Lock()
	number := int(check.lanes[0].row[stayMaker])
	stepper := echo.made[number]
	echo.mu.Unlock()
	stepper.order <- func() error { return errBroken }
	follow(t, p, check, next+2, next+8)
	if _, done, lost := p.collects().remote.shares(); len(lost) != 1 || done[0] != stayParts {
		t.Errorf("the devices have acted %v parts, and %v; want a lost one, and all parts at the other", done, lost)
	}
	if n := echo.open(); n != stayParts {
		t.Errorf("%d steppers are open; want one of each part", n)
	}
}

// TestStayingLate: the learner acts for a worker that stands still, whose trajectory is dropped when it comes, and goes on with new episodes.
func TestStayingLate(t *testing.T) {
	echo, c := stayPPO(t, 0)
	w := newTroupe(t, c)
	w.join(1 << 30)
	p, check := c.begin(t, engine.Assisted(w.crew)), echo.check(stayMembers, stayEnvironments, stayParts)
	a := p.collects().remote
	next := settle(t, p, check, 0, stayParts-1)
	follow(t, p, check, next, next+1)
	var theirs *stayStepper
	a.mu.Lock()
	echo.mu.Lock()
	for i, of := range a.parts {
		if of.home != a.own && theirs == nil {
			theirs = echo.made[int(check.lanes[i*stayEnvironments/stayParts].row[stayMaker])]
		}
	}
	a.patience, a.longest = 10*time.Millisecond, 0
	echo.mu.Unlock()
	a.mu.Unlock()
	if theirs == nil {
		t.Fatal("the worker has no part")
	}
	stands, goesOn := make(chan struct{}), make(chan struct{})
	theirs.order <- func() error {
		close(stands)
		<-goesOn
		return nil
	}
	follow(t, p, check, next+1, next+5)
	<-stands
	a.mu.Lock()
	if n := a.homes(a.own); n != stayParts {
		t.Errorf("the learner has %d parts; want all, since the worker stands still", n)
	}
	a.mu.Unlock()
	moved := check.moves
	close(goesOn)
	for i := next + 5; check.moves == moved; i++ {
		if follow(t, p, check, i, i+1); i == 1000 {
			t.Fatal("the worker does not come back")
		}
	}
	rest(t, p)
}

// TestCut: what goes on from one trajectory to the next does not in parts that begin anew, and does in others.
func TestCut(t *testing.T) {
	s := engine.New(open(t)).NewState()
	defer s.Close()
	m, e := engine.Members(2), engine.Environments(6)
	c := &Collector{continued: []*engine.Tensor{
		s.Tensor("owner", engine.Uint32, m, e), s.Tensor("sums", engine.Float32, m, e, engine.Axis("feature", 3)),
	}}
	for _, of := range c.continued {
		if err := of.WriteBytes(t.Context(), slices.Repeat([]byte{1}, 4*of.Len())); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.cut(t.Context(), make([]bool, 3)), c.cut(t.Context(), []bool{false, true, false})); err != nil {
		t.Fatal(err)
	}
	for _, of := range c.continued {
		data, err := of.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range data {
			want := byte(1)
			if e := i * 12 / len(data) % 6; e/2 == 1 {
				want = 0
			}
			if v != want {
				t.Fatalf("byte %d of %d is %d; want %d", i, len(data), v, want)
			}
		}
	}
}
