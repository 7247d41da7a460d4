package hybrid

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/rl"
)

// crowd is workers elsewhere, in this process, of a run with a crew.
type crowd struct {
	t    *testing.T
	kind sliced
	crew *cluster.Crew
	all  sync.WaitGroup
	n    int
}

// mortal is a worker's connection that is lost after some jobs, whose results were sent or not.
type mortal struct {
	*cluster.Crew
	lives int
	sends bool
}

var errKilled = errors.New("killed")

func (m *mortal) Next(ctx context.Context, worker string, done int, result []byte) (int, []byte, error) {
	if m.lives--; m.lives >= 0 {
		return m.Crew.Next(ctx, worker, done, result)
	}
	if m.sends {
		short, stop := context.WithTimeout(ctx, time.Microsecond)
		defer stop()
		_, _, _ = m.Crew.Next(short, worker, done, result)
	}
	m.Leave(worker, errKilled)
	return 0, nil, errKilled
}

// join begins a worker, that dies after some jobs, and waits until it has joined.
func (c *crowd) join(lives int, sends bool) {
	c.t.Helper()
	c.n++
	name, eng := fmt.Sprintf("worker %d", c.n), engine.New(open(c.t), engine.Seed(7))
	c.all.Go(func() {
		err := Assist(context.WithoutCancel(c.t.Context()), eng, &mortal{c.crew, lives, sends}, name, 2, 2, c.kind.build)
		if c.crew.Leave(name, err); !errors.Is(err, errKilled) && !errors.Is(err, cluster.ErrClosed) {
			c.t.Errorf("%s ends with %v", name, err)
		}
	})
	joined := func(h *cluster.Hand) bool { return h.Name() == name }
	for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(c.crew.Hands(), joined); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s has not joined", name)
		}
	}
}

// assisted makes the kind's workflow in slices of two members, with a crew.
func (k sliced) assisted(t *testing.T) (engine.Workflow, *crowd) {
	t.Helper()
	c := &crowd{t: t, kind: k, crew: cluster.NewCrew("own")}
	c.crew.Open()
	s, err := NewSlices(t.Context(), engine.New(open(t), engine.Seed(7), engine.Assisted(c.crew)), slicedMembers, 2, k.build)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.crew.Close()
		c.all.Wait()
	})
	return k.over(t, s), c
}

// immortal is the number of jobs of a worker that does not die.
const immortal = 1 << 30

// TestAssisted: members in slices end with the same bits with workers elsewhere, whichever joined when, and although they die.
func TestAssisted(t *testing.T) {
	const iterations = 8
	for _, kind := range []sliced{
		{"ppo", slicedPPO, nil, true},
		{"pbt over ppo", slicedPPO, often(t, rl.DefaultPPO(), Truncation), true},
		{"pbt of the policies of td3 without replays", slicedTD3(false), policies(often(t, rl.DefaultTD3(), Truncation)), false},
	} {
		t.Run(kind.name, func(t *testing.T) {
			alone := kind.open(t, 1, 2)
			initialized(t, alone)
			steps(t, alone, 0, iterations)
			want, err := alone.State().Digest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			evaluated, err := alone.Evaluate(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name string
				// before an iteration
				before func(c *crowd, s *Slices, iteration int)
				away   bool
			}{
				{"no worker", func(*crowd, *Slices, int) {}, false},
				{"one worker", func(c *crowd, _ *Slices, i int) {
					if i == 0 {
						c.join(immortal, true)
					}
				}, true},
				{"three workers that join one after the other", func(c *crowd, _ *Slices, i int) {
					if i < 3 {
						c.join(immortal, true)
					}
				}, true},
				{"workers that die, and states that come here at times", func(c *crowd, _ *Slices, i int) {
					if len(c.crew.Hands()) < 2 {
						c.join(c.lives())
					}
				}, false},
				{"workers that die, and states that never come here", func(c *crowd, s *Slices, i int) {
					if s.homed, s.homing = time.Now(), time.Hour; len(c.crew.Hands()) < 2 {
						c.join(c.lives())
					}
				}, false},
			} {
				if kind.pbt == nil && !c.away { // a part of the cases, to save time
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					w, crowd := kind.assisted(t)
					s := Innermost(w).(*Slices)
					initialized(t, w)
					for i := range iterations {
						c.before(crowd, s, i)
						steps(t, w, i, i+1)
					}
					if _, here := s.Count(); c.away && here[0] > 2 {
						t.Errorf("%d of 3 slices are here", here[0])
					}
					e, err := w.Evaluate(t.Context(), 2)
					if err != nil {
						t.Fatal(err)
					}
					if got := fmt.Sprint(e); got != fmt.Sprint(evaluated) {
						t.Errorf("it is evaluated to %s; want %v", got, evaluated)
					}
					got, err := w.State().Digest(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if got != want {
						t.Errorf("it ends with %s; want %s, as without workers", got, want)
					}
				})
			}
		})
	}
}

// TestShares: slices are divided evenly, unless times are known and differ.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		slices      int
		times, want string
	}{
		{8, "[1 1 1 1]", "[2 2 2 2]"}, {7, "[0 0 0]", "[3 2 2]"}, {1, "[1 1]", "[1 0]"}, {8, "[1 3 1 1]", "[3 1 2 2]"}, {8, "[1 0 9 1]", "[2 2 2 2]"},
		{3, "[1 9 1]", "[2 0 1]"}, {8, "[10 11 12 10]", "[2 2 2 2]"},
	} {
		var times []time.Duration
		for _, text := range strings.Fields(strings.Trim(c.times, "[]")) {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Duration(n))
		}
		if got := fmt.Sprint(shares(c.slices, times)); got != c.want {
			t.Errorf("%d slices at %s: %s; want %s", c.slices, c.times, got, c.want)
		}
	}
}

// lives draws after how many jobs a worker dies, and whether the result of the last one is sent.
func (c *crowd) lives() (lives int, sends bool) {
	lives, sends = 2+rand.IntN(12), rand.IntN(2) == 0
	c.t.Logf("worker %d dies after %d jobs; sent: %v", c.n+1, lives, sends)
	return lives, sends
}
