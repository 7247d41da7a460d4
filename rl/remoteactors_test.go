package rl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// remoteCase is a workflow whose environments are in parts.
type remoteCase struct {
	name  string
	make  func(ctx context.Context, eng *engine.Engine, opts ...Option) (apart, error)
	short bool // a part of the test, to save time
}

// parted makes a workflow by a constructor.
func parted[C any, W apart](
	t *testing.T, construct func(context.Context, *engine.Engine, *envs.Environment, C, ...Option) (W, error), env string, c C, opts ...Option,
) func(context.Context, *engine.Engine, ...Option) (apart, error) {
	of := lookup(t, env)
	opts = append(opts, Environment(envs.Options{TimeLimit: 8}))
	return func(ctx context.Context, eng *engine.Engine, more ...Option) (apart, error) {
		return construct(ctx, eng, of, c, append(slices.Clone(opts), more...)...)
	}
}

func remoteCases(t *testing.T) []remoteCase {
	impala := func(parts, lag int) func(context.Context, *engine.Engine, ...Option) (apart, error) {
		cfg, network := apartIMPALA(parts, lag)
		return parted(t, NewIMPALA, "CartPole-v1", cfg, Network(network))
	}
	clipped, lanes := apartPPO(3, 1)
	whole, carried := apartPPO(2, 2)
	whole.Minibatches, carried.Hidden, carried.Layers, carried.NormalizeReward = 2, nil, cells(nn.LSTM, 3, 4), true
	a2c := DefaultA2C()
	a2c.Environments, a2c.Actors = 6, 2
	later, memory := apartIMPALA(2, 3)
	memory.Hidden, memory.Layers, memory.NormalizeReward = nil, cells(nn.GRU, 3, 4), true
	fast, network, replay := fastSettings()
	fast.Actors, fast.Lag = 3, 2
	dqn, q, priorities := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
	dqn.OffPolicyConfig, priorities = smallOffPolicy()
	dqn.Actors, dqn.Lag, dqn.NoisyStd, q.Hidden = 2, 1, 0.5, []int{8}
	priorities.Prioritized, priorities.InitialPriority, priorities.Steps = true, ErrorPriority, 2
	return []remoteCase{
		{"impala, lag 0", impala(3, 0), false},
		{"impala, lag 1", impala(3, 1), false},
		{"impala, lag 1, one part", impala(1, 1), true},
		{"impala, lag 3, with memory", parted(t, NewIMPALA, "CartPole-v1", later, Network(memory)), true},
		{"ppo, lag 1", parted(t, NewPPO, "CartPole-v1", clipped, Network(lanes)), false},
		{"ppo, lag 2, with memory", parted(t, NewPPO, "CartPole-v1", whole, Network(carried)), true},
		{"a2c", parted(t, NewA2C, "Pendulum-v1", a2c, Network(lanes)), true},
		{"td3 of several deviations, lag 2", parted(t, NewTD3, "Pendulum-v1", fast, Network(network), Replays(replay)), false},
		{"noisy dqn, lag 1", parted(t, NewDQN, "CartPole-v1", dqn, Network(q), Replays(priorities)), true},
	}
}

// open makes the workflow with an engine of the seed and options.
func (c remoteCase) open(t *testing.T, opts ...engine.Option) apart {
	t.Helper()
	p, err := c.make(t.Context(), engine.New(open(t), append(opts, engine.Seed(7))...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// begin is open with a run begun.
func (c remoteCase) begin(t *testing.T, opts ...engine.Option) apart {
	t.Helper()
	p := c.open(t, opts...)
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// troupe is workers in this process.
type troupe struct {
	t    *testing.T
	of   remoteCase
	crew *cluster.Crew
	all  sync.WaitGroup
	n    int
}

func newTroupe(t *testing.T, of remoteCase) *troupe {
	w := &troupe{t: t, of: of, crew: cluster.NewCrew("own")}
	w.crew.Open()
	t.Cleanup(func() {
		w.crew.Close()
		w.all.Wait()
	})
	return w
}

var errKilled = errors.New("killed")

// mortal is a worker's connection that is lost after some jobs.
type mortal struct {
	*cluster.Crew
	lives int
}

func (m *mortal) Next(ctx context.Context, worker string, done int, result []byte) (int, []byte, error) {
	if m.lives--; m.lives >= 0 {
		return m.Crew.Next(ctx, worker, done, result)
	}
	m.Leave(worker, errKilled)
	return 0, nil, errKilled
}

// join begins a worker that dies after some jobs, and waits until it has joined.
func (w *troupe) join(lives int) {
	w.t.Helper()
	w.joinBy(&mortal{w.crew, lives})
}

// joinBy is join of a worker with a connection of its own.
func (w *troupe) joinBy(link cluster.Jobs) {
	w.t.Helper()
	w.n++
	name, eng := fmt.Sprintf("worker %d", w.n), engine.New(open(w.t), engine.Seed(7))
	w.all.Go(func() {
		err := Act(context.WithoutCancel(w.t.Context()), eng, link, name, func(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
			return w.of.make(ctx, eng, ForActing())
		})
		var left *cluster.LeftError
		over := errors.Is(err, cluster.ErrClosed) || errors.As(err, &left) && left.Cause == nil // the learner closed, perhaps while it acted
		if w.crew.Leave(name, err); !errors.Is(err, errKilled) && !over {
			w.t.Errorf("%s ends with %v", name, err)
		}
	})
	joined := func(h *cluster.Hand) bool { return h.Name() == name }
	for deadline := time.Now().Add(5 * time.Minute); !slices.ContainsFunc(w.crew.Hands(), joined); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s has not joined", name)
		}
	}
}

// TestActorsElsewhere: a run of an on-policy or off-policy agent ends with the same bits on one device, on two, and with workers that join in the middle and
// die, whoever acts; also after it was saved and resumed by others.
func TestActorsElsewhere(t *testing.T) {
	const immortal = 1 << 30
	for _, c := range remoteCases(t) {
		t.Run(c.name, func(t *testing.T) {
			iterations := 8
			if c.short {
				iterations = 5
			}
			want := steps(t, c.begin(t), 0, iterations)
			check := func(what string, got string) {
				t.Helper()
				if got != want {
					t.Errorf("%s it ends with %s; want %s, as on one device", what, got, want)
				}
			}
			check("beside another device", steps(t, c.begin(t, engine.Beside(open(t))), 0, iterations))
			if c.short {
				return
			}

			w := newTroupe(t, c)
			for range 2 {
				w.join(immortal)
			}
			p := c.begin(t, engine.Assisted(w.crew))
			steps(t, p, 0, 3)
			dir := t.TempDir()
			if _, err := p.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			w.join(immortal)
			check("with two workers and then three", steps(t, p, 3, iterations))
			done := 0
			status, _ := w.crew.Status()
			for _, s := range status[1:] {
				if s.Step >= 0 {
					done++
				}
			}
			if done == 0 {
				t.Errorf("no worker has acted: %+v", status)
			}

			dying := newTroupe(t, c)
			p = c.open(t, engine.Assisted(dying.crew))
			reload(t, p.State(), filepath.Join(dir, "00000003"))
			for i := 3; i < iterations; i++ {
				if len(dying.crew.Hands()) < 2 {
					dying.join(2 + i%4)
				}
				steps(t, p, i, i+1)
			}
			check("resumed with workers that die", steps(t, p, iterations, iterations))
			if dying.n < 2 {
				t.Errorf("%d workers took part; want some that died", dying.n)
			}
			if err := p.Init(t.Context()); err != nil { // what is under way is of the run before
				t.Fatal(err)
			}
			check("begun again", steps(t, p, 0, iterations))
		})
	}
}

// stalling is a worker's connection that stands still after some jobs, until it is released.
type stalling struct {
	*cluster.Crew
	jobs     int
	released chan struct{}
}

func (s *stalling) Next(ctx context.Context, worker string, done int, result []byte) (int, []byte, error) {
	if s.jobs--; s.jobs < 0 {
		<-s.released
	}
	return s.Crew.Next(ctx, worker, done, result)
}

// TestActorLate: the learner acts for a worker that stands still, and what that one did comes too late to count.
func TestActorLate(t *testing.T) {
	c := remoteCases(t)[1]
	want := steps(t, c.begin(t), 0, 6)
	w := newTroupe(t, c)
	link := &stalling{w.crew, 3, make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- Act(context.WithoutCancel(t.Context()), engine.New(open(t), engine.Seed(7)), link, "slow",
			func(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
				return c.make(ctx, eng, ForActing())
			})
	}()
	for deadline := time.Now().Add(time.Minute); len(w.crew.Hands()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the worker has not joined")
		}
	}
	p := c.begin(t, engine.Assisted(w.crew))
	p.collects().remote.patience = time.Millisecond
	steps(t, p, 0, 3)
	close(link.released)
	if got := steps(t, p, 3, 6); got != want {
		t.Errorf("with a late worker it ends with %s; want %s, as on one device", got, want)
	}
	w.crew.Close()
	if err := <-ended; !errors.Is(err, cluster.ErrClosed) {
		t.Errorf("the worker ends with %v", err)
	}
}

// TestActorRefused: an actor refuses jobs that it cannot do, with what would be right.
func TestActorRefused(t *testing.T) {
	c := remoteCases(t)[1]
	site := &actorSite{build: func(ctx context.Context) (apart, error) { return c.make(ctx, engine.New(open(t), engine.Seed(7))) }}
	defer site.close()
	for name, job := range map[string]*actorJob{
		"no such part":             {Part: 3, Version: 1, Weights: [][]byte{{0}, {0}}},
		"a part before the first":  {Part: -1, Version: 1, Weights: [][]byte{{0}, {0}}},
		"weights that it lacks":    {Version: 1},
		"weights of another size":  {Version: 1, Weights: [][]byte{{0, 0, 0, 0}, {0, 0, 0, 0}}},
		"a state of other tensors": {State: [][]byte{{0}}},
	} {
		if _, err := site.do(t.Context(), job); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
