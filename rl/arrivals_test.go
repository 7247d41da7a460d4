package rl

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/envs"
)

// asynchronousCase is an IMPALA whose learner takes the trajectories that come first.
func asynchronousCase(t *testing.T, parts, lag int) remoteCase {
	cfg, network := apartIMPALA(parts, lag)
	cfg.Asynchronous = true
	return remoteCase{"impala", parted(t, NewIMPALA, "CartPole-v1", cfg, Network(network)), false}
}

// gated is the connection of an actor that keeps the trajectory of its first job until the gate is opened.
type gated struct {
	*cluster.Crew
	once      sync.Once
	has, open chan struct{} // closed: it has done the job; it may hand over what it did
}

func (g *gated) Next(ctx context.Context, worker string, done int, result []byte) (int, []byte, error) {
	if done > 0 {
		g.once.Do(func() { close(g.has) })
		<-g.open
	}
	return g.Crew.Next(ctx, worker, done, result)
}

// joinGated is join of an actor whose first trajectory is held back.
func (w *troupe) joinGated() *gated {
	w.t.Helper()
	g := &gated{Crew: w.crew, has: make(chan struct{}), open: make(chan struct{})}
	w.joinBy(g)
	return g
}

// arrived returns what the metrics tell of an iteration's trajectories, which is the same for all members.
func arrived(t *testing.T, p apart, iteration int) (behind, oldest, dropped, idle float64) {
	t.Helper()
	rows, err := p.Metrics().Read(iteration)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) float64 {
		row := rows[name]
		if len(row) != p.Describe().Members || slices.Min(row) != slices.Max(row) {
			t.Fatalf("iteration %d: %s is %v; want the same for each of %d members", iteration, name, row, p.Describe().Members)
		}
		return float64(row[0])
	}
	return of("policy/lag"), of("policy/lag_max"), of("actors/dropped"), of("actors/idle")
}

// stepUntil makes iterations until something has happened, at most for five minutes, and returns the next one.
func stepUntil(t *testing.T, p apart, from int, what string, happened func(iteration int) bool) int {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; from++ {
		if time.Now().After(deadline) {
			t.Fatalf("not in %d iterations: %s", from, what)
		}
		steps(t, p, from, from+1)
		if happened(from) {
			return from + 1
		}
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestAsynchronousSlow: a learner that takes the trajectories that come first makes iterations while an actor keeps one back, which a learner in lockstep does
// not; what the actor then hands over is too old, and dropped.
func TestAsynchronousSlow(t *testing.T) {
	const lag, held = 2, 12
	for _, asynchronous := range []bool{true, false} {
		c := asynchronousCase(t, 3, lag)
		if !asynchronous {
			cfg, network := apartIMPALA(3, lag)
			c.make = parted(t, NewIMPALA, "CartPole-v1", cfg, Network(network))
		}
		w := newTroupe(t, c)
		w.join(1 << 30)
		slow := w.joinGated()
		p := c.begin(t, engine.Assisted(w.crew))
		a := p.collects().remote
		a.patience = time.Hour // nobody acts for the slow one
		if !asynchronous {
			boundedBySlow(t, p, slow, lag)
			continue
		}
		next := stepUntil(t, p, 0, "the slow actor has acted", func(int) bool { return closed(slow.has) })
		before := acted(a)
		steps(t, p, next, next+held)
		next += held
		stuck := -1
		for i, n := range acted(a) {
			if n == before[i] {
				if stuck >= 0 {
					t.Errorf("parts %d and %d have not acted in %d iterations; want the held one alone", stuck, i, held)
				}
				stuck = i
			}
		}
		if stuck < 0 {
			t.Fatal("the slow actor's part has acted")
		}
		close(slow.open)
		dropped := 0.0
		check := func(i int) {
			_, oldest, old, _ := arrived(t, p, i)
			if dropped += old; !(oldest <= lag) {
				t.Errorf("iteration %d: weights that acted are %g iterations old; want at most %d", i, oldest, lag)
			}
		}
		next = stepUntil(t, p, next, "the slow actor has handed over its trajectory", func(i int) bool {
			check(i)
			return acted(a)[stuck] > before[stuck]
		})
		steps(t, p, next, next+1)
		if check(next); dropped == 0 {
			t.Error("the slow actor's trajectory is not dropped")
		}
	}
}

// acted returns how often each part has acted.
func acted(a *remoteActors) (times []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.parts {
		times = append(times, of.next)
	}
	return times
}

// boundedBySlow checks that a learner in lockstep does not complete the iteration whose trajectory an actor keeps back.
func boundedBySlow(t *testing.T, p apart, slow *gated, lag int) {
	t.Helper()
	a, most := p.collects().remote, 0
	completed := make(chan int, 1<<12)
	go func() {
		defer close(completed)
		for i := 0; i == 0 || !closed(slow.open); i++ {
			steps(t, p, i, i+1)
			completed <- i
		}
	}()
	ahead := func() bool { // the other parts have acted as far as they may
		times := acted(a)
		if !closed(slow.has) || len(times) == 0 {
			return false
		}
		slices.Sort(times)
		most = times[0]
		return times[1] == most+lag+1 && times[2] == most+lag+1
	}
	for deadline := time.Now().Add(5 * time.Minute); !ahead(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the other parts have not acted as far as they may")
		}
	}
	for len(completed) > 0 {
		if i := <-completed; i >= most {
			t.Errorf("iteration %d is complete, and an actor keeps the trajectory of iteration %d back", i, most)
		}
	}
	close(slow.open)
	for range completed {
	}
}

// TestAsynchronousLag: the trajectories of a batch are by weights of at most lag iterations ago, which the metrics tell.
func TestAsynchronousLag(t *testing.T) {
	const parts, lag = 3, 2
	impala, network := apartIMPALA(parts, lag)
	ppo, same := apartPPO(parts, lag)
	impala.Asynchronous, ppo.Asynchronous = true, true
	network.NormalizeObs, same.NormalizeObs, impala.LearningRate, ppo.LearningRate = false, false, 0.01, 0.01
	for _, construct := range []func(context.Context, *engine.Engine, ...Option) (apart, error){
		parted(t, NewIMPALA, "CartPole-v1", impala, Network(network)), parted(t, NewPPO, "CartPole-v1", ppo, Network(same)),
	} {
		of := remoteCase{"", construct, false}.begin(t, engine.Beside(open(t), open(t)))
		p := of.(onPolicyWorkflow).learns()
		n, each, model := p.env.ObsSize(), p.common.Environments/parts, p.agent.actor.Model()
		var params [][]float64 // before each iteration
		late, deadline := 0, time.Now().Add(5*time.Minute)
		for i := 0; i < 6 || late == 0 && time.Now().Before(deadline); i++ {
			params = append(params, read(t, p.agent.Actor()))
			steps(t, of, i, i+1)
			x := p.collector.Trajectory()
			obs, action, logProb := read(t, x.Obs), read(t, x.Action), read(t, x.LogProb)
			sum, most := 0, 0
			for slot := range parts {
				age := -1
				for back := 0; back <= min(i, lag) && age < 0; back++ {
					row, worst := len(params[i-back])/p.common.Members, 0.0
					for k, got := range logProb {
						if k%p.common.Environments/each != slot {
							continue
						}
						out := forward(model, params[i-back][k/p.common.Environments%p.common.Members*row:], obs[n*k:n*k+n])
						all := 0.0
						for _, v := range out {
							all += math.Exp(v)
						}
						worst = max(worst, math.Abs(got-out[int(action[k])]+math.Log(all)))
					}
					if worst < 1e-4 {
						age = back
					}
				}
				if age < 0 {
					t.Fatalf("%s, iteration %d: the trajectory in place %d is by no weights of the last %d iterations", p.name, i, slot, lag)
				}
				sum, most = sum+age, max(most, age)
			}
			late = max(late, most)
			behind, oldest, dropped, idle := arrived(t, of, i)
			if math.Abs(behind-float64(sum)/parts) > 1e-6 || oldest != float64(most) || dropped < 0 || !(idle >= 0) {
				t.Errorf("%s, iteration %d: weights are %g iterations old and at most %g, %g dropped, %g s idle; want %g and %d", p.name, i, behind, oldest, dropped,
					idle, float64(sum)/parts, most)
			}
		}
		if late == 0 {
			t.Errorf("%s: all weights that acted are the newest ones", p.name)
		}
	}
}

// TestAsynchronousAlone: on one device the learner acts itself, by the newest weights: it learns as without a lag, and resumes exactly.
func TestAsynchronousAlone(t *testing.T) {
	c := asynchronousCase(t, 3, 4)
	cfg, network := apartIMPALA(3, 0)
	lockstep := remoteCase{"", parted(t, NewIMPALA, "CartPole-v1", cfg, Network(network)), false}.begin(t)
	steps(t, lockstep, 0, 6)
	p := c.begin(t)
	want := steps(t, p, 0, 6)
	if a, b := read(t, p.(*IMPALA).Agent().Actor()), read(t, lockstep.(*IMPALA).Agent().Actor()); !slices.Equal(a, b) {
		t.Error("the actor differs from the one without a lag")
	}
	if len(p.State().Lost()) == 0 {
		t.Error("the state does not say that a run does not resume exactly")
	}
	first := c.begin(t)
	steps(t, first, 0, 3)
	dir := t.TempDir()
	if _, err := first.State().Save(t.Context(), dir, 3); err != nil {
		t.Fatal(err)
	}
	again := c.open(t)
	reload(t, again.State(), filepath.Join(dir, "00000003"))
	if got := steps(t, again, 3, 6); got != want {
		t.Errorf("resumed it ends with %s; want %s", got, want)
	}
}

// TestAsynchronousLearns: V-trace makes up for weights of whatever age, in a batch of whichever trajectories come first.
func TestAsynchronousLearns(t *testing.T) {
	const steps = 200000 // with 100,000 steps, which are enough without a lag, one run of six ends below 400: who comes first differs
	cfg := cartPoleIMPALA()
	cfg.Members, cfg.Actors, cfg.Lag, cfg.Asynchronous, cfg.AnnealSteps = 2, 4, 4, true, steps
	p := remoteCase{"", func(ctx context.Context, eng *engine.Engine, opts ...Option) (apart, error) {
		return NewIMPALA(ctx, eng, lookup(t, "CartPole-v1"), cfg, append(opts, Network(smallNetwork()), Environment(envs.Options{RewardScale: 0.1}))...)
	}, false}.open(t, engine.Beside(open(t)))
	if got := learn(t, p, steps); !(got >= 450) {
		t.Errorf("mean return %.1f; want at least 450 of 500", got)
	}
}
