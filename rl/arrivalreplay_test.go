package rl

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
)

// asynchronousReplay is a TD3 whose learner takes the trajectories that come first: 4 updates an iteration, with 72 steps of parts of 24.
func asynchronousReplay(t *testing.T, lag int) remoteCase {
	cfg, network := DefaultTD3(), DefaultOffPolicyNetwork()
	common, replay := smallOffPolicy()
	common.Members, common.Environments, common.UpdatesPerStep, common.Actors, common.Lag, common.Asynchronous = 2, 6, 0.1111111111, 3, lag, true
	cfg.OffPolicyConfig, network.Hidden = common, []int{8}
	replay.Capacity, replay.Steps, replay.EndShare = 20000, 1, 0.5
	return remoteCase{"td3", parted(t, NewTD3, "Pendulum-v1", cfg, Network(network), Replays(replay)), false}
}

// TestAsynchronousReplay: a learner with a replay goes on while an actor keeps a trajectory back, for at most lag iterations without new experience; updates
// per environment step stay below their bound. Every stored transition is one of the environment's, and counts as an environment step.
func TestAsynchronousReplay(t *testing.T) {
	const lag, parts = 2, 3
	c := asynchronousReplay(t, lag)
	w := newTroupe(t, c)
	w.join(1 << 30)
	slow := []*gated{w.joinGated()}
	p := c.begin(t, engine.Assisted(w.crew))
	a := p.collects().remote
	a.patience = time.Hour // nobody acts for the slow ones
	began := envSteps(t, p)
	all, without, iterations := began, 0, 0
	check := func(i int) {
		t.Helper()
		new := int(envSteps(t, p) - all)
		taken := new / 24
		if iterations, all = iterations+1, all+int64(new); new != 24*taken || taken < 0 || taken > parts {
			t.Errorf("iteration %d: %d new environment steps; want 0 to %d times 24", i, new, parts)
		}
		if without++; taken > 0 {
			without = 0
		}
		if without > lag {
			t.Errorf("iteration %d is the %d. without a trajectory; want at most %d", i, without, lag)
		}
		if n := int(all-began) / 24; iterations*parts > (lag+1)*n+lag*parts {
			t.Errorf("%d iterations learn from %d trajectories, which is more than %d times as often as %d an iteration", iterations, n, lag+1, parts)
		}
		rows, err := p.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		if oldest := rows["policy/lag_max"][0]; oldest > lag || (taken == 0) != math.IsNaN(float64(oldest)) {
			t.Errorf("iteration %d: weights of %d trajectories are %g iterations old; want at most %d", i, taken, oldest, lag)
		}
	}
	next := stepUntil(t, p, 0, "the slow actor has acted", func(i int) bool { check(i); return closed(slow[0].has) })
	before := acted(a)
	next = stepUntil(t, p, next, "ten iterations", func(i int) bool { check(i); return i == next+10 })
	stuck := 0
	for i, n := range acted(a) {
		if n == before[i] {
			stuck++
		}
	}
	if stuck == 0 {
		t.Error("the slow actor's part has acted")
	}
	checkPendulum(t, p.(*OffPolicy), int(all)/2)

	close(slow[0].open)
	next = stepUntil(t, p, next, "five iterations with what was late", func(i int) bool { check(i); return i == next+5 })
	checkPendulum(t, p.(*OffPolicy), int(all)/2)
}

// checkPendulum checks the transitions in the rings of all members: the next angle follows from the next velocity.
func checkPendulum(t *testing.T, o *OffPolicy, rows int) {
	t.Helper()
	y, head := o.replay, read(t, o.replay.head)
	if len(y.parts) != 1 {
		t.Fatalf("observations in %d tensors; want one", len(y.parts))
	}
	obs, link := read(t, y.parts[0].obs), read(t, y.link)
	for m := range y.rings {
		if held := int(head[2*m+1]); held != rows {
			t.Errorf("member %d: %d transitions are stored; want the %d environment steps", m, held, rows)
		}
		wrong := 0
		for row := range rows {
			at := func(i int) []float64 { return obs[3*(m*y.parts[0].size+i):][:3] }
			now, then := at(row), at(int(link[m*y.cfg.Capacity+row]))
			turned := math.Remainder(math.Atan2(then[1], then[0])-math.Atan2(now[1], now[0])-0.05*then[2], 2*math.Pi)
			if math.Abs(turned) > 1e-4 {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("member %d: %d of %d transitions are not the environment's", m, wrong, rows)
		}
	}
}

// TestAsynchronousReplayAlone: on one device the learner acts itself, in all parts in every iteration, and resumes exactly.
func TestAsynchronousReplayAlone(t *testing.T) {
	c := asynchronousReplay(t, 2)
	p := c.begin(t)
	want := steps(t, p, 0, 4)
	if got := envSteps(t, p); got != 5*72 {
		t.Errorf("%d environment steps; want 72 before the first iteration and in each of 4", got)
	}
	checkPendulum(t, p.(*OffPolicy), 5*36)
	first := c.begin(t)
	steps(t, first, 0, 2)
	dir := t.TempDir()
	if _, err := first.State().Save(t.Context(), dir, 2); err != nil {
		t.Fatal(err)
	}
	again := c.open(t)
	reload(t, again.State(), filepath.Join(dir, "00000002"))
	if got := steps(t, again, 2, 4); got != want {
		t.Errorf("resumed it ends with %s; want %s", got, want)
	}
}
