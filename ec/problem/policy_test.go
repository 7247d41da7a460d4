package problem

import (
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) { vktest.Main(m) }

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Device(t)
}

// TestOpenESLearns: searches learn, from random networks, to balance a pole.
func TestOpenESLearns(t *testing.T) {
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(3))
	cfg := ec.DefaultOpenES()
	cfg.LearningRate, cfg.NoiseStd = 0.05, 0.1
	s, err := ec.NewSearch(t.Context(), eng, cfg, Policy(env, envs.Options{}, DefaultNetwork(), DefaultPolicy()), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := engine.Learn(t.Context(), s, engine.Iterations(60)); err != nil {
		t.Fatal(err)
	}
	ev, err := s.Evaluate(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for m, mean := range ev.Means() {
		if mean < 475 {
			t.Errorf("search %d: mean return %g; want at least 475", m, mean)
		}
	}
}
