package ec_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// failing is a link that fails a worker from a step on, as if it lost its device after it was given a slice.
type failing struct {
	cluster.Link
	step int
}

var errFailed = errors.New("failed in the middle")

func (f failing) Exchange(ctx context.Context, r cluster.Report) (cluster.Order, error) {
	o, err := f.Link.Exchange(ctx, r)
	if err == nil && r.Step >= f.step {
		f.Leave(r.Worker, errFailed)
		return o, errFailed
	}
	return o, err
}

// sharing runs some generations of a search on several engines of a device, and returns the digests of their states; "" of one that fails. No
// engine has all slices of all generations. fails is the number of the engine that fails in the third generation; 0: none. Loose engines but the first
// begin with an empty state.
func sharing(t *testing.T, dev *vk.Device, algorithm ec.Algorithm, p ec.Problem, members, workers, fails int, loose bool) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var names []string
	for i := range max(1, workers) {
		names = append(names, fmt.Sprint("worker ", i))
	}
	c, err := cluster.NewCoordinator(cluster.Config{Late: time.Minute, Loose: loose}, names...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	run := func(i int) (digest string, err error) {
		options := []engine.Option{engine.Seed(4)}
		if workers > 0 {
			var link cluster.Link = c
			if i > 0 && i == fails {
				link = failing{c, 2}
			}
			w, err := cluster.NewWorker(names[i], link)
			if err != nil {
				return "", err
			}
			options = append(options, engine.Shared(w))
		}
		s, err := ec.NewSearch(ctx, engine.New(dev, options...), algorithm, p, members)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		begin := s.Init
		if loose && i > 0 {
			begin = s.State().Zero
		}
		if err := begin(ctx); err != nil {
			return "", err
		}
		for g := range 5 {
			ticket, err := s.Step(ctx, g)
			if err == nil {
				err = ticket.Wait(ctx)
			}
			if err != nil {
				return "", err
			}
		}
		return s.State().Digest(ctx)
	}
	digests := make([]string, len(names))
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() {
			var err error
			if digests[i], err = run(i); (err != nil) != (i > 0 && i == fails) {
				t.Errorf("%s: %v", names[i], err)
			}
		})
	}
	all.Wait()
	return digests
}

// TestShared: a search in slices ends with the same bits whether one program evaluates all slices or several workers share them, with every kind of
// result: also if one of them fails.
func TestShared(t *testing.T) {
	dev := open(t)
	cartPole, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	network := problem.DefaultNetwork()
	network.Hidden = []int{6}
	running := network
	running.NormalizeObs = problem.Running
	options := envs.Options{TimeLimit: 15}
	openES, lowRank, grid := ec.DefaultOpenES(), ec.DefaultOpenES(), ec.DefaultMAPElites()
	openES.Population, lowRank.Population, lowRank.Rank, grid.Population, grid.Cells = 22, 22, 1, 13, []int{4, 4}
	several := ec.DefaultNSGA2()
	several.Population = 14
	bbob, err := problem.BBOB(problem.BBOBConfig{Function: 122, Dimension: 6, Instance: 3})
	if err != nil {
		t.Fatal(err)
	}
	described, err := problem.DescribedPolicy(cartPole, options, running, problem.DefaultPolicy(), problem.BehaviourConfig{Observations: []int{2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	zdt, err := problem.ZDT(1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		name    string
		algo    ec.Algorithm
		problem ec.Problem
		members int
	}{
		{"policies", openES, problem.Policy(cartPole, options, network, problem.DefaultPolicy()), 1},
		{"normalized", openES, problem.Policy(cartPole, options, running, problem.PolicyConfig{Episodes: 3, Cap: true}), 2},
		{"cma-es", ec.DefaultCMAES(), problem.Policy(cartPole, options, network, problem.DefaultPolicy()), 2},
		{"low rank", lowRank, problem.Policy(cartPole, options, network, problem.DefaultPolicy()), 1},
		{"double floats", ec.DefaultCMAES(), bbob, 2},
		{"descriptors", grid, described, 1},
		{"objectives", several, zdt, 2},
	} {
		t.Run(of.name, func(t *testing.T) {
			sliced, err := ec.Slice(of.problem, 4)
			if err != nil {
				t.Fatal(err)
			}
			want := sharing(t, dev, of.algo, sliced, of.members, 0, 0, false)[0]
			for _, workers := range []int{3} {
				for i, got := range sharing(t, dev, of.algo, sliced, of.members, workers, 0, false) {
					if got != want {
						t.Errorf("worker %d of %d ends with %s; want %s, as without workers", i, workers, got, want)
					}
				}
			}
			if got := sharing(t, dev, of.algo, sliced, of.members, 3, 1, false); got[0] != want || got[2] != want {
				t.Errorf("with a worker that fails, the others end with %v; want %s", got, want)
			}
			for i, got := range sharing(t, dev, of.algo, sliced, of.members, 2, 0, true) {
				if got != want {
					t.Errorf("loose worker %d ends with %s; want %s, from the first one's states", i, got, want)
				}
			}
		})
	}
}
