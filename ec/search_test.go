package ec_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Device(t)
}

func policy(t testing.TB, hidden, limit int) ec.Problem {
	t.Helper()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	network := problem.DefaultNetwork()
	network.Hidden = []int{hidden, hidden}
	return problem.Policy(env, envs.Options{TimeLimit: limit}, network, problem.DefaultPolicy())
}

func search(t testing.TB, dev *vk.Device, algorithm ec.Algorithm, p ec.Problem, members int) *ec.Search {
	t.Helper()
	s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(4)), algorithm, p, members)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func algorithms() []ec.Algorithm {
	openES, vanilla, ars, pgpe := ec.DefaultOpenES(), ec.DefaultVanillaES(), ec.DefaultARS(), ec.DefaultPGPE()
	openES.Population, vanilla.Population, ars.Population, pgpe.Population = 20, 21, 22, 24
	vanilla.Elites, ars.Elites = 7, 5
	openES.Optimizer = optim.ClipUp
	return []ec.Algorithm{
		openES, vanilla, ars, pgpe, ec.DefaultSNES(), ec.DefaultSepCMAES(), ec.DefaultCMAES(), ec.DefaultCRFMNES(), ec.DefaultLMMAES(),
		ec.DefaultXNES(), ec.CEMConfig{Population: 9, Elites: 5, ExtraVariance: 0.01, FinalExtraVariance: 1e-5}, ec.DefaultRandomSearch(),
	}
}

// TestSearch: a generation is one submission that reads nothing back, and a run resumed halfway is bit-identical to
// an uninterrupted one.
func TestSearch(t *testing.T) {
	dev := open(t)
	for _, algorithm := range algorithms() {
		t.Run(algorithm.Name(), func(t *testing.T) {
			p := policy(t, 5, 12)
			run := func(s *ec.Search, from, to int) {
				t.Helper()
				for i := from; i < to; i++ {
					ticket, err := s.Step(t.Context(), i)
					if err == nil {
						err = ticket.Wait(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			digest := func(s *ec.Search) string {
				t.Helper()
				d, err := s.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			whole := search(t, dev, algorithm, p, 2)
			if err := whole.Init(t.Context()); err != nil {
				t.Fatal(err)
			}
			run(whole, 0, 1)
			before := dev.Counters()
			run(whole, 1, 3)
			after := dev.Counters()
			if n := after.Submissions - before.Submissions; n != 2 {
				t.Errorf("%d submissions of 2 generations", n)
			}
			if up, down := after.BytesUp-before.BytesUp, after.BytesDown-before.BytesDown; up != 0 || down != 0 {
				t.Errorf("2 generations moved %d bytes up and %d down; want none", up, down)
			}
			dir := t.TempDir()
			if _, err := whole.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			run(whole, 3, 6)

			rest := search(t, dev, algorithm, p, 2)
			saved, _, err := checkpoint.Latest(dir)
			if err == nil {
				err = errors.Join(rest.State().Load(t.Context(), saved), rest.State().Poison(t.Context()))
			}
			if err != nil {
				t.Fatal(err)
			}
			run(rest, 3, 6)
			if a, b := digest(whole), digest(rest); a != b {
				t.Errorf("the whole run ends with %s, the resumed one with %s", a, b)
			}

			metrics, err := whole.Metrics().Read(5)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"fitness/best", "fitness/mean", "fitness/best_ever", "episode/length"} {
				for m, v := range metrics[name] {
					if !(v >= 1 && v <= 12) { // one per step
						t.Errorf("%s of member %d is %g; want 1 to 12", name, m, v)
					}
				}
			}
			fitness, fittest := whole.Generation().Best()
			best, err := fitness.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(best, metrics["fitness/best_ever"]) {
				t.Errorf("the best fitness is %v; the metrics say %v", best, metrics["fitness/best_ever"])
			}
			if ev, err := whole.Evaluate(t.Context(), 3); err != nil || len(ev.Returns) != 2 || len(ev.Returns[0]) != 3 {
				t.Errorf("evaluating the solutions: %v, %v", ev, err)
			}
			if fittest.Len() != whole.Generation().Strategy().Solution().Len() {
				t.Errorf("best %v; solution %v", fittest, whole.Generation().Strategy().Solution())
			}
		})
	}
}

// TestMemory: doubling the population needs only a few bytes per additional candidate, whatever the dimension.
func TestMemory(t *testing.T) {
	dev := open(t)
	used := func(population int) uint64 {
		t.Helper()
		cfg := ec.DefaultOpenES()
		cfg.Population = population
		s, err := ec.NewSearch(t.Context(), engine.New(dev), cfg, policy(t, 256, 1), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ticket, err := s.Step(t.Context(), 0); err != nil || ticket.Wait(t.Context()) != nil {
			t.Fatal(err)
		}
		return dev.Memory().Used
	}
	small, large := used(480), used(960) // windows of 240 candidates of 67,330 numbers each
	if t.Logf("%d bytes; twice the population %d", small, large); large > small+480*64 {
		t.Errorf("a population of 480 uses %d bytes, one of 960 %d; want at most 64 more a candidate", small, large)
	}
}

// TestMembers: a search takes the same course among more or fewer members; members differ.
func TestMembers(t *testing.T) {
	dev := open(t)
	for _, algorithm := range algorithms() {
		solution := func(members int) []float32 {
			t.Helper()
			s := search(t, dev, algorithm, policy(t, 4, 10), members)
			if err := engine.Learn(t.Context(), s, engine.Iterations(3)); err != nil {
				t.Fatal(err)
			}
			values, err := s.Generation().Strategy().Solution().ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return values
		}
		one, three := solution(1), solution(3)
		row := len(one)
		for i, v := range one {
			if d := math.Abs(float64(v - three[i])); !(d <= 1e-5) { // sums are split differently
				t.Fatalf("%s: number %d is %g in a search alone, %g among three", algorithm.Name(), i, v, three[i])
			}
		}
		if slices.Equal(three[:row], three[row:2*row]) {
			t.Errorf("%s: two members go the same way", algorithm.Name())
		}
	}
}
