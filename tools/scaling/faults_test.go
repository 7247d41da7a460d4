package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// quick is the timing of runs with faults.
var quick = machines.Timing{Poll: 300 * time.Millisecond, Beat: 100 * time.Millisecond, Lost: time.Second}

const (
	faultLate        = 60 * time.Millisecond
	faultGenerations = 6
)

var errKilled = errors.New("killed")

// deaths counts what happens in runs with faults.
type deaths struct{ runs, killed, joined, again, done, compared atomic.Int64 }

// mortal is the link of a replica that dies, and lives again by another connection.
type mortal struct {
	url    string
	name   string
	rate   float64 // of its deaths, a generation
	rng    *rand.Rand
	deaths *deaths

	life  int
	ctx   context.Context // of this life; its cause tells the end of the run
	conn  *nats.Conn
	link  *machines.Link
	fatal int // the step in which it dies; -1: in none
}

// begin connects it anew.
func (m *mortal) begin(ctx context.Context) (err error) {
	m.life++
	m.fatal = -1
	if m.conn, err = machines.Connect(ctx, m.url, machines.Access{}, nil); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%d", m.name, m.life)
	if m.link, err = machines.NewLink(m.conn, runName, name, identity, quick, func(string) {}); err != nil {
		return err
	}
	_, err = m.link.Hello(ctx)
	return err
}

// end cuts the connection, without a word.
func (m *mortal) end() {
	m.conn.Close()
	m.link.Close()
}

// Exchange implements cluster.Link. Dying is losing a slice that it was given, or has done.
func (m *mortal) Exchange(ctx context.Context, r cluster.Report) (cluster.Order, error) {
	o, err := m.link.Exchange(ctx, r)
	if err == nil && m.fatal == r.Step && o.Results == nil {
		m.deaths.killed.Add(1)
		return o, errKilled
	}
	return o, err
}

// Join implements cluster.Link.
func (m *mortal) Join(ctx context.Context, worker string) (int, []byte, error) {
	step, state, err := m.link.Join(ctx, worker)
	if err == nil {
		m.deaths.joined.Add(1)
	}
	return step, state, err
}

// Sync implements cluster.Link. In every generation it draws whether it dies.
func (m *mortal) Sync(ctx context.Context, worker string, step int, state func() ([]byte, error)) ([]byte, error) {
	if m.rng.Float64() < m.rate {
		m.fatal = step
	}
	return m.link.Sync(ctx, worker, step, state)
}

// Leave implements cluster.Link. It dies without a word.
func (m *mortal) Leave(string, error) {}

// crew is the replicas of a search: the coordinator's own, and others.
type crew struct {
	searches []*ec.Search
	links    []*relay
	want     string // digest at the end of the search alone
}

// relay is a link that differs from run to run.
type relay struct{ cluster.Link }

func newCrew(t *testing.T, dev *vk.Device, algorithm ec.Algorithm, p ec.Problem, n int) *crew {
	t.Helper()
	c := &crew{}
	build := func(options ...engine.Option) *ec.Search {
		s, err := ec.NewSearch(t.Context(), engine.New(dev, append(options, engine.Seed(4))...), algorithm, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	alone := build()
	if err := alone.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := generations(t.Context(), alone, 0); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.want, err = alone.State().Digest(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range n + 1 {
		link := &relay{}
		w, err := cluster.NewWorker(fmt.Sprint("replica ", i), link)
		if err != nil {
			t.Fatal(err)
		}
		c.links, c.searches = append(c.links, link), append(c.searches, build(engine.Shared(w)))
	}
	return c
}

func generations(ctx context.Context, w engine.Workflow, first int) error {
	for g := first; g < faultGenerations; g++ {
		ticket, err := w.Step(ctx, g)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow lets a replica take part, life after life, until the run is complete. It returns the digest of its state; "": it was dead at the end.
func (c *crew) follow(ctx context.Context, i int, m *mortal) (digest string, err error) {
	s := c.searches[i]
	c.links[i].Link = m
	for {
		digest, err = func() (string, error) {
			if err := m.begin(ctx); err != nil {
				return "", err
			}
			defer m.end()
			ctx, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			m.ctx = ctx
			go func() {
				select {
				case <-m.link.Ended():
					stop(machines.ErrEnded)
				case <-ctx.Done():
				}
			}()
			first, state, err := m.Join(ctx, "")
			if err != nil {
				return "", err
			}
			var of engine.Snapshot
			if err := of.UnmarshalBinary(state); err != nil {
				return "", err
			}
			if err := s.State().Restore(ctx, &of); err != nil {
				return "", err
			}
			if err := generations(ctx, s, first); err != nil {
				return "", err
			}
			digest, err := s.State().Digest(context.WithoutCancel(ctx))
			m.link.Leave("", nil)
			return digest, err
		}()
		if errors.Is(context.Cause(m.ctx), machines.ErrEnded) && digest == "" {
			err = machines.ErrEnded
		}
		switch {
		case errors.Is(err, errKilled), errors.Is(err, machines.ErrEpoch):
		case errors.Is(err, machines.ErrEnded):
			return "", nil
		default:
			return digest, err
		}
	}
}

// run makes a run with deaths, and checks that all who are there at its end have the digest of the search alone.
func (c *crew) run(t *testing.T, workers int, rate float64, seed uint64, d *deaths) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server, err := machines.Listen(machines.Address{Host: "127.0.0.1:0"}, machines.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := server.Connect(machines.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	coordinator, err := cluster.NewCoordinator(cluster.Config{Late: faultLate}, leader)
	if err != nil {
		t.Fatal(err)
	}
	host, err := machines.Serve(conn, machines.Run{Name: runName, Digest: "d", Identity: identity}, coordinator, quick)
	if err != nil {
		t.Fatal(err)
	}
	digests, errs := make([]string, workers+1), make([]error, workers+1)
	var all sync.WaitGroup
	for i := 1; i <= workers; i++ {
		m := &mortal{url: server.URL(), name: fmt.Sprint("w", i), rate: rate, rng: rand.New(rand.NewPCG(seed, uint64(i))), deaths: d}
		all.Go(func() { digests[i], errs[i] = c.follow(ctx, i, m) })
	}
	for len(coordinator.Status()) <= workers && ctx.Err() == nil { // all take part from the first generation on
		time.Sleep(time.Millisecond)
	}
	c.links[0].Link = named{coordinator}
	s := c.searches[0]
	if errs[0] = s.Init(ctx); errs[0] == nil {
		errs[0] = generations(ctx, s, 0)
	}
	if errs[0] == nil {
		digests[0], errs[0] = s.State().Digest(ctx)
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && !ended(coordinator); { // the others have the last results
		time.Sleep(time.Millisecond)
	}
	host.Finish()
	all.Wait()
	coordinator.Close()
	host.Close()
	totals := coordinator.Totals()
	d.done.Add(totals.Slices)
	d.again.Add(totals.Again)
	d.runs.Add(1)
	for _, digest := range digests {
		if digest != "" {
			d.compared.Add(1)
		}
	}
	for i, digest := range digests {
		if errs[i] != nil || digest != c.want && (digest != "" || i == 0) {
			t.Errorf("%d workers, %g%% die a generation, seed %d: replica %d ends with %q (%v); want %s, as alone", workers, 100*rate, seed, i, digest,
				errs[i], c.want)
		}
	}
}

// named lets the first replica be the coordinator's own worker.
type named struct{ *cluster.Coordinator }

func (n named) Exchange(ctx context.Context, r cluster.Report) (cluster.Order, error) {
	r.Worker = leader
	return n.Coordinator.Exchange(ctx, r)
}

func (n named) Sync(ctx context.Context, _ string, step int, state func() ([]byte, error)) ([]byte, error) {
	return n.Coordinator.Sync(ctx, leader, step, state)
}

// ended reports whether all that took part to the end have left.
func ended(c *cluster.Coordinator) bool {
	for _, w := range c.Status()[1:] {
		if !w.Left && w.Step >= 0 {
			return false
		}
	}
	return true
}

// Searches end with the same bits although workers die in every generation, at random, and join again.
// EVORL_FAULT_RUNS is the number of runs with up to 17 workers (default: 4 with up to 3).
func TestFaults(t *testing.T) {
	runs, numbers := 4, []int{3, 1, 3}
	if text := os.Getenv("EVORL_FAULT_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		numbers = []int{17, 3, 1}
	}
	dev := vktest.Open(t, vk.Validate(false), vk.OneThread())
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	network := problem.DefaultNetwork()
	network.Hidden, network.NormalizeObs = []int{4}, problem.Running
	openES, cmaES := ec.DefaultOpenES(), ec.DefaultCMAES()
	openES.Population = 36
	cmaES.Population = 36
	sliced, err := ec.Slice(problem.Policy(env, envs.Options{TimeLimit: 10}, network, problem.DefaultPolicy()), 2)
	if err != nil {
		t.Fatal(err)
	}
	crews := []*crew{newCrew(t, dev, openES, sliced, slices.Max(numbers)), newCrew(t, dev, cmaES, sliced, slices.Max(numbers))}
	rates := []float64{0.5, 0.1, 0.01}
	counts := make([]deaths, len(rates)*len(numbers))
	for i := range runs {
		k := i / 2 % len(counts)
		began := time.Now()
		crews[i%2].run(t, numbers[(k+k/3)%3], rates[k%3], uint64(i), &counts[k])
		t.Logf("run %d: %d workers, %g%%: %v", i, numbers[(k+k/3)%3], 100*rates[k%3], time.Since(began).Round(time.Millisecond))
	}
	for k := range counts {
		if d := &counts[k]; d.done.Load() > 0 {
			t.Logf("%d workers, %g%% die a generation: %d runs, %d deaths, %d times joined, %d slices, %d of them done twice, %d digests equal", numbers[(k+k/3)%3],
				100*rates[k%3], d.runs.Load(), d.killed.Load(), d.joined.Load(), d.done.Load(), d.again.Load(), d.compared.Load())
		}
	}
	if counts[0].killed.Load() == 0 {
		t.Error("no worker died")
	}
}
