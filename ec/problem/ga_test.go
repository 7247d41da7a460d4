package problem

import (
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestGALearns: five searches each learn, from random networks, to balance a pole and to swing one up.
func TestGALearns(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	for _, c := range []struct {
		env         string
		episodes    int // enough that the best of a generation is not the luckiest
		generations int
		want        float64
	}{{"CartPole-v1", 8, 20, 475}, {"Pendulum-v1", 16, 100, -250}} {
		env, err := envs.Lookup(c.env)
		if err != nil {
			t.Fatal(err)
		}
		cfg, policy := ec.DefaultGA(), DefaultPolicy()
		cfg.EliteRatio, cfg.Crossover, cfg.MutationStd, policy.Episodes = 0.1, ec.UniformCrossover, 0.1, c.episodes
		s, err := ec.NewSearch(t.Context(), eng, cfg, Policy(env, envs.Options{}, DefaultNetwork(), policy), 5)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := engine.Learn(t.Context(), s, engine.Iterations(c.generations)); err != nil {
			t.Fatal(err)
		}
		ev, err := s.Evaluate(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: mean returns %.1f", c.env, ev.Means())
		for m, mean := range ev.Means() {
			if !(mean >= c.want) {
				t.Errorf("%s, search %d: mean return %g; want at least %g", c.env, m, mean, c.want)
			}
		}
	}
}
