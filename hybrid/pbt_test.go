package hybrid

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// early exchanges soon and often.
func early() PBTConfig {
	cfg := overPPO()
	cfg.Warmup, cfg.Interval, cfg.Episodes = 2, 3, 4
	cfg.Top, cfg.Bottom, cfg.Resample = 0.25, 0.5, 0.1
	return cfg
}

// TestFitness: fitness is the mean return of the evaluation episodes of the same moment.
func TestFitness(t *testing.T) {
	cfg := early()
	p := kinds[0].over(t, newPPO(t, 4, "Acrobot-v1", small(5)), cfg)
	initialized(t, p)
	steps(t, p, 0, 1)
	if err := p.fitness.Fill(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	run(t, p, func(r *engine.Recorder) { p.ranking.evaluate(r, p.fitness) })
	fitness, err := p.fitness.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Evaluate(t.Context(), cfg.Episodes)
	if err != nil {
		t.Fatal(err)
	}
	for i, returns := range e.Returns {
		mean := float32(0)
		for _, x := range returns {
			mean += x / float32(len(returns))
		}
		if math.Abs(float64(mean-fitness[i])) > 1e-3 {
			t.Errorf("fitness of member %d is %g; its evaluation's mean return is %g", i, fitness[i], mean)
		}
	}
}

// TestCounters: an iteration is one submission, two with an exchange, and nothing crosses the bus.
func TestCounters(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			cfg := early()
			p := kind.over(t, newPPO(t, 4, "CartPole-v1", small(4)), cfg)
			initialized(t, p)
			steps(t, p, 0, 1)
			if err := p.exchanged.Build(); err != nil { // else its kernels are compiled in the background
				t.Fatal(err)
			}
			for i := 1; i < 9; i++ {
				before := open(t).Counters()
				steps(t, p, i, i+1)
				if _, err := p.Metrics().Read(i); err != nil {
					t.Fatal(err)
				}
				after := open(t).Counters()
				want := uint64(1)
				if i == 2 || i == 5 || i == 8 {
					want = 2
				}
				if n := after.Submissions - before.Submissions; n != want {
					t.Errorf("iteration %d takes %d submissions; want %d", i, n, want)
				}
				after.Submissions, after.Dispatches, after.Barriers = before.Submissions, before.Dispatches, before.Barriers
				if after != before {
					t.Errorf("iteration %d: counters went from %+v to %+v; want no transfer and no new pipeline", i, before, after)
				}
			}
		})
	}
}

// TestLineage follows a run by its lineage: survivors keep their hyperparameters, parents are better than those they replace, and the
// descent adds up to what the members know of their ancestors.
func TestLineage(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			const members, iterations = 6, 12
			p := kind.over(t, newPPO(t, 6, "CartPole-v1", small(members)), early())
			initialized(t, p)
			exchanges := map[int][]metrics.Record{}
			hyper := map[int][]float32{}
			rate := p.inner.Hyper().Lookup("learning_rate").Name()
			err := engine.Learn(t.Context(), p, engine.Iterations(iterations), engine.OnReport(func(_ context.Context, r engine.Report) error {
				if records := p.Lineage(r); records != nil {
					exchanges[r.Iteration] = records
				}
				hyper[r.Iteration] = r.Metrics[rate]
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			ancestors := make([]int, members)
			for i := range ancestors {
				ancestors[i] = i
			}
			for i := 1; i <= iterations; i++ {
				records := exchanges[i]
				if due := i == 1 || i == 3 || i == 6 || i == 9 || i == 12; due != (records != nil) {
					t.Fatalf("lineage of iteration %d: %v; the members are as drawn in the first iteration, "+
						"and exchanges are due before the iterations 3, 6, 9 and 12",
						i, records)
				}
				next := slices.Clone(ancestors)
				for m, r := range records {
					parent := int(r.Values["parent"])
					if r.Iteration != int64(i) || int(r.Values["member"]) != m || parent < 0 || parent >= members {
						t.Fatalf("record %+v", r)
					}
					next[m] = ancestors[parent]
					if mine, theirs := r.Values["fitness"], records[parent].Values["fitness"]; theirs < mine {
						t.Errorf("member %d of fitness %g became a copy of member %d of fitness %g", m, mine, parent, theirs)
					}
					if got := r.Values["hyper/learning_rate"]; float32(got) != hyper[i][m] {
						t.Errorf("lineage has the learning rate %g; the metrics have %g", got, hyper[i][m])
					}
					if parent == m && i > 1 && hyper[i][m] != hyper[i-1][m] {
						t.Errorf("iteration %d changed the learning rate of member %d, a survivor", i, m)
					}
				}
				if records == nil && i > 1 && !slices.Equal(hyper[i], hyper[i-1]) {
					t.Errorf("iteration %d changed learning rates", i)
				}
				ancestors = next
			}
			known, err := p.Members(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			descends := false
			for m, k := range known {
				last := exchanges[iterations][m].Values
				if k.Ancestor != ancestors[m] || float64(k.Parent) != last["parent"] || k.Fitness != last["fitness"] || k.Hyper["discount"] != last["hyper/discount"] {
					t.Errorf("member %+v; its lineage ends with %v, its ancestor is %d", k, last, ancestors[m])
				}
				descends = descends || k.Ancestor != m
			}
			if !descends {
				t.Error("nobody was replaced")
			}
		})
	}
}

func digest(t testing.TB, w engine.Workflow) string {
	t.Helper()
	d, err := w.State().Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestResume: a run that is saved just before an exchange, or between two, and resumed in a fresh PBT ends with the digest of one that
// went through, whatever the device held before. So does a rerun; another seed does not.
func TestResume(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			fresh := func(seed uint32) *PBT { return kind.over(t, newPPO(t, seed, "Pendulum-v1", small(5)), early()) }
			begun := func(seed uint32) *PBT {
				p := fresh(seed)
				initialized(t, p)
				return p
			}
			through := begun(9)
			steps(t, through, 0, 9)
			want := digest(t, through)

			half := begun(9)
			dir := t.TempDir()
			for _, at := range []int{0, 2, 4, 5} { // before any, before the first exchange, between two, before the second
				done, _, err := half.Clock().Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				steps(t, half, done, at)
				if _, err := half.State().Save(t.Context(), dir, at); err != nil {
					t.Fatal(err)
				}
				resumed := fresh(9)
				load(t, resumed, dir, at)
				steps(t, resumed, at, 9)
				if got := digest(t, resumed); got != want {
					t.Errorf("resumed after %d iterations: digest %s; want %s", at, got, want)
				}
			}
			initialized(t, half)
			steps(t, half, 0, 9)
			if got := digest(t, half); got != want {
				t.Errorf("begun anew in the same PBT: digest %s; want %s", got, want)
			}
			other := begun(10)
			steps(t, other, 0, 9)
			if digest(t, other) == want {
				t.Error("another seed gives the same digest")
			}
		})
	}
}

// TestOverA2C: PBT is over any workflow whose members it can compare, here one that has no clip_epsilon.
func TestOverA2C(t *testing.T) {
	env, err := envs.Lookup("Acrobot-v1")
	if err != nil {
		t.Fatal(err)
	}
	a2c := rl.DefaultA2C()
	a2c.Members, a2c.Environments = 4, 3
	made := func() *rl.PPO {
		w, err := rl.NewA2C(t.Context(), engine.New(open(t)), env, a2c, network(), rl.Environment(envs.Options{TimeLimit: 20}))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	var unknown *HyperError
	if _, err := NewPBT(t.Context(), made(), early()); !errors.As(err, &unknown) || unknown.Name != "clip_epsilon" {
		t.Errorf("error %v; want a *HyperError of clip_epsilon", err)
	}
	cfg := early()
	delete(cfg.Search, "clip_epsilon")
	for _, kind := range kinds {
		p := kind.over(t, made(), cfg)
		initialized(t, p)
		steps(t, p, 0, 6)
		members, err := p.Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Parent != m.Index }) {
			t.Errorf("%s: nobody was replaced: %+v", kind.name, members)
		}
	}
}

// TestOverMemory: a copied member goes on with the memory of its parent's policy and of its critic, in its parent's episodes; also if both share a network.
func TestOverMemory(t *testing.T) {
	network := rl.DefaultNetwork()
	network.Hidden, network.Layers = nil, []nn.LayerConfig{{Kind: nn.LSTM, Units: 5}}
	ppo, cfg := small(4), early()
	ppo.Minibatches, cfg.Warmup, cfg.Interval = 3, 1, 2
	taken := []string{"agent/actor/params", "rollout/stepped/memory", "rollout/env_state"}
	for _, network.Shared = range []rl.Sharing{rl.ShareNone, rl.ShareAll} {
		p := kinds[0].over(t, newPPO(t, 6, "CartPole-v1", ppo, rl.Network(network)), cfg)
		initialized(t, p)
		steps(t, p, 0, 2)
		if network.Shared == rl.ShareNone {
			exchanged(t, p, append(taken, "agent/critic/params", "agent/critic/memory"))
			continue
		}
		exchanged(t, p, append(taken, "agent/actor/optimizer/first_moment"))
	}
}

// TestLearns: a population under PBT gets better than it began, and its best member good.
func TestLearns(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			first, last := learnedBy(t, kind.over, overPPO())
			if m := mean(last); m < 1.5*mean(first) || m < 300 || slices.Max(last) < 400 {
				t.Errorf("mean fitness went from %.0f to %.0f, the best is %.0f; want half as much again "+
					"and at least 300, the best at least 400",
					mean(first), m, slices.Max(last))
			}
		})
	}
}

// learnedBy is the fitness at the first and at the last exchange of PBT over 16 agents in CartPole.
func learnedBy(t *testing.T, over func(testing.TB, engine.Trainable, PBTConfig) *PBT, cfg PBTConfig) (first, last []float32) {
	t.Helper()
	ppo := small(16)
	ppo.Environments, ppo.RolloutLength, ppo.Epochs, ppo.Minibatches = 4, 128, 4, 4
	cfg.Warmup, cfg.Interval = 8, 4
	p := over(t, newPPO(t, 1, "CartPole-v1", ppo), cfg)
	initialized(t, p)
	err := engine.Learn(t.Context(), p, engine.Iterations(41), engine.OnReport(func(_ context.Context, r engine.Report) error {
		if r.Iteration > 1 && p.Lineage(r) != nil {
			last = r.Metrics[FitnessMetric]
			if first == nil {
				first = last
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("mean fitness from %.0f to %.0f, best %.0f", mean(first), mean(last), slices.Max(last))
	return first, last
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}
