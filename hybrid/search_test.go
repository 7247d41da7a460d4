package hybrid

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// overSearch makes PBT over a search of six members.
func overSearch(t *testing.T, seed uint32, algorithm ec.Algorithm, p ec.Problem, search map[string]Prior) *PBT {
	t.Helper()
	inner, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(seed)), algorithm, p, 6)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultPBT()
	cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Search = 2, 2, 4, search
	return kinds[0].over(t, inner, cfg)
}

// TestOverSearches: PBT compares, copies and varies searches of policies and of functions as it does agents: fitness belongs to the solutions,
// a replaced member has everything of its parent's but its hyperparameters, and a resumed run ends with the same digest.
func TestOverSearches(t *testing.T) {
	openes := ec.DefaultOpenES()
	openes.Population = 16
	for name, make := range map[string]func() *PBT{
		"openes on CartPole-v1": func() *PBT {
			env, err := envs.Lookup("CartPole-v1")
			if err != nil {
				t.Fatal(err)
			}
			network := problem.DefaultNetwork()
			network.Hidden = []int{4}
			p := overSearch(t, 3, openes, problem.Policy(env, envs.Options{TimeLimit: 40}, network, problem.DefaultPolicy()), nil)
			if want := []string{"learning_rate", "noise_std"}; !slices.Equal(p.names, want) {
				t.Fatalf("by default it searches %v; want %v", p.names, want)
			}
			return p
		},
		"cma-es on sphere": func() *PBT { return overSearch(t, 3, ec.DefaultCMAES(), problem.Sphere(6), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			p := make()
			initialized(t, p)
			steps(t, p, 0, 3)
			run(t, p, func(r *engine.Recorder) { p.ranking.evaluate(r, p.fitness) })
			e, err := p.Evaluate(t.Context(), p.cfg.Episodes)
			if err != nil {
				t.Fatal(err)
			}
			fitness, err := p.fitness.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, mean := range e.Means() {
				if !(math.Abs(mean-float64(fitness[i])) <= 1e-4*max(1, math.Abs(mean))) {
					t.Errorf("fitness of member %d is %g; its evaluation's mean is %g", i, fitness[i], mean)
				}
			}
			run(t, p, p.recordExchange)
			members, err := p.Members(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			replaced := 0
			for _, m := range members {
				if m.Parent == m.Index {
					continue
				}
				replaced++
				for _, tensor := range p.State().Inherited() {
					if slices.ContainsFunc(p.names, func(name string) bool { return tensor == p.inner.Hyper().Lookup(name) }) {
						continue
					}
					outer, n, inner, _ := tensor.Split(engine.MemberAxis)
					data, err := tensor.ReadBytes(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for o := range outer {
						own, parent := data[4*(o*n+m.Index)*inner:][:4*inner], data[4*(o*n+m.Parent)*inner:][:4*inner]
						if !bytes.Equal(own, parent) {
							t.Errorf("%v of member %d is not that of its parent %d", tensor, m.Index, m.Parent)
						}
					}
				}
			}
			if replaced == 0 {
				t.Error("nobody was replaced")
			}

			whole := make()
			initialized(t, whole)
			dir := t.TempDir()
			steps(t, whole, 0, 3)
			if _, err := whole.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			steps(t, whole, 3, 7)
			rest := make()
			load(t, rest, dir, 3)
			steps(t, rest, 3, 7)
			want, err := whole.State().Digest(t.Context())
			got, err2 := rest.State().Digest(t.Context())
			if err := errors.Join(err, err2); err != nil || got != want {
				t.Errorf("resumed, the digest is %s, %v; want %s", got, err, want)
			}
		})
	}
}

// TestSeveralObjectivesRefused: members of a search with several objectives cannot be compared.
func TestSeveralObjectivesRefused(t *testing.T) {
	f, err := problem.ZDT(1, 5)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := ec.NewSearch(t.Context(), engine.New(open(t)), ec.DefaultNSGA2(), f, 3)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultPBT()
	cfg.Search = nil
	if _, err := NewPBT(t.Context(), inner, cfg); err == nil || !strings.Contains(err.Error(), "2 objectives; members are compared by one") {
		t.Errorf("error %v", err)
	}
}
