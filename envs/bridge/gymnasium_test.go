package bridge

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
)

// gymConfig returns a configuration with a Python that has Gymnasium. Tests that need it are skipped without one.
func gymConfig(t testing.TB) Config {
	t.Helper()
	cfg := pythonConfig(t)
	if err := exec.Command(cfg.Python, "-c", "import gymnasium").Run(); err != nil {
		if os.Getenv("EVORL_BRIDGE_PYTHON") != "" {
			t.Fatalf("%s cannot import gymnasium: %v", cfg.Python, err)
		}
		t.Skipf("%s cannot import gymnasium (%v); EVORL_BRIDGE_PYTHON names another", cfg.Python, err)
	}
	cfg.Folder, cfg.Processes = t.TempDir(), 2
	return cfg
}

// Gymnasium's CartPole is the built-in one: from each of its states both come to the same next state, reward and end.
func TestCartPole(t *testing.T) {
	cfg := gymConfig(t)
	const n, steps, tolerance = 8, 400, 1e-6
	st := open(t, "gymnasium:CartPole-v1", cfg, nil, n)
	builtIn, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	env, err := New("gymnasium:CartPole-v1", &cfg, st.hello, nil)
	if err != nil {
		t.Fatal(err)
	}
	if env.MaxSteps != builtIn.MaxSteps || *env.RewardThreshold != *builtIn.RewardThreshold || env.Action.N != builtIn.Action.N ||
		env.Observation.High[0] != builtIn.Observation.High[0] {
		t.Errorf("the server describes %+v; want %+v", env.Spec, builtIn.Spec)
	}
	batch, err := envs.NewBatch(t.Context(), vktest.Device(t), builtIn, 1, n, envs.Options{AutoReset: envs.Disabled})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Close()
	s := newStep(n, 4, 1)
	if err := st.Reset(t.Context(), nil, seedsOf(n), s.Obs); err != nil {
		t.Fatal(err)
	}
	ended := 0
	worst := 0.0
	for k := range steps {
		state, actions := make([]float32, 4*n), make([]uint32, n)
		for i := range n {
			for j := range 4 {
				state[j*n+i] = s.Obs[4*i+j]
			}
			if i < n/2 && s.Obs[4*i+2]+s.Obs[4*i+3]/2 > 0 || i >= n/2 && k/(3+i)%2 == 0 { // half of them balance
				actions[i] = 1
			}
			s.Action[i] = float32(actions[i])
		}
		if err := batch.SetState(t.Context(), envs.State{Env: state, Episode: make([]envs.EpisodeWord, n), Return: make([]float32, n)}); err != nil {
			t.Fatal(err)
		}
		want, err := batch.Step(t.Context(), actions)
		if err != nil {
			t.Fatal(err)
		}
		clear(s.Terminated)
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			got := s.Obs[4*i : 4*i+4]
			if s.Terminated[i] {
				got = s.Final[4*i : 4*i+4]
				ended++
			}
			for j, x := range got {
				worst = max(worst, math.Abs(float64(x-want.NextObs[4*i+j])))
			}
			if worst > tolerance || s.Reward[i] != want.Reward[i] || s.Terminated[i] != (want.Done[i]&envs.Terminated != 0) || s.Truncated[i] {
				t.Fatalf("step %d, environment %d: %v, reward %v, terminated %t; the built-in one has %v, %v, %v", k, i, got, s.Reward[i],
					s.Terminated[i], want.NextObs[4*i:4*i+4], want.Reward[i], want.Done[i])
			}
		}
	}
	t.Logf("%d episodes, largest deviation %.2g", ended, worst)
	if ended < n {
		t.Errorf("%d episodes ended in %d steps; want more", ended, n*steps)
	}
}

// Environments of Gymnasium with other spaces, their time limits, and their seeds.
func TestGymnasium(t *testing.T) {
	cfg := gymConfig(t)
	for _, c := range []struct {
		id, arguments, spaces string
		err                   string
	}{
		{"MountainCarContinuous-v0", "", "Box([-1.2 -0.07], [0.6 0.07]), Box([-1], [1]), 999", ""},
		{"FrozenLake-v1", `{"is_slippery": false}`, "Box(0, 1, (16)), Discrete(4), 100", ""},
		{"Blackjack-v1", "", "", "observations are a Tuple"},
		{"CartPole-v7", "", "", "CartPole"},
		{"MountainCarContinuous-v0", `{"steepness": 2}`, "", "steepness"},
	} {
		name := "gymnasium:" + c.id
		cfg.Arguments = c.arguments
		hello, err := Describe(t.Context(), name, cfg)
		if err != nil {
			if c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v; want %q", name, err, c.err)
			}
			continue
		}
		env, err := New(name, &cfg, hello, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%v, %v, %d", env.Observation, env.Action, env.MaxSteps); got != c.spaces {
			t.Errorf("%s: %s; want %s", name, got, c.spaces)
		}
	}
	cfg.Arguments = `{"max_episode_steps": 5}`
	st := open(t, "gymnasium:Pendulum-v1", cfg, nil, 3)
	var first []float32
	for range 2 { // equal seeds, equal episodes
		s := newStep(3, 3, 1)
		if err := st.Reset(t.Context(), nil, []uint32{5, 6, 7}, s.Obs); err != nil {
			t.Fatal(err)
		}
		var all []float32
		for k := range 12 {
			clear(s.Truncated)
			s.Action[k%3] = float32(k%5) - 2
			if err := st.Step(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if s.Truncated[1] != (k%5 == 4) || s.Terminated[1] {
				t.Errorf("step %d: truncated %t, terminated %t; want the former every fifth step", k, s.Truncated[1], s.Terminated[1])
			}
			all = append(append(all, s.Obs...), s.Reward...)
		}
		if first != nil && !slices.Equal(first, all) {
			t.Errorf("episodes of equal seeds differ: %v and %v", first, all)
		}
		first = all
	}
	if slices.Equal(first[:3], first[3:6]) {
		t.Errorf("different seeds begin equally: %v", first[:6])
	}
}

// BenchmarkCartPole is a step of 64 of Gymnasium's CartPole. ns/env is what one of them takes.
func BenchmarkCartPole(b *testing.B) {
	for _, processes := range []int{1, 2} {
		b.Run(fmt.Sprint("processes=", processes), func(b *testing.B) {
			cfg := gymConfig(b)
			cfg.Processes = processes
			const n = 64
			st := open(b, "gymnasium:CartPole-v1", cfg, nil, n)
			s := newStep(n, 4, 1)
			if err := st.Reset(b.Context(), nil, seedsOf(n), s.Obs); err != nil {
				b.Fatal(err)
			}
			for k := 0; b.Loop(); k++ {
				clear(s.Terminated)
				for i := range s.Action {
					s.Action[i] = float32((i + k) % 2)
				}
				if err := st.Step(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/env")
		})
	}
}

// Actions are elements of Gymnasium's spaces: of their types, shapes and first values, and within bounds that float32 does not have.
func TestActionsAreContained(t *testing.T) {
	cfg := gymConfig(t)
	const module = `import gymnasium, numpy
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

SPACES = {
    "pi": Box(-numpy.pi, numpy.pi, (2, 1), numpy.float64),
    "third": Box(numpy.array([-0.3, -1.0]), numpy.array([0.3, 1.0]), dtype=numpy.float64),
    "half": Box(-0.1, 0.1, (1,), numpy.float16),
    "single": Box(-0.1, 0.1, (1,), numpy.float32),
    "table": MultiDiscrete([[2, 3], [4, 5]], dtype=numpy.int32),
    "started": MultiDiscrete([2, 3], start=[5, -1]),
    "bits": MultiBinary((2, 3)),
    "one": Discrete(5, start=-2),
}


class World(gymnasium.Env):
    def __init__(self, space):
        self.observation_space, self.action_space = Box(0, 1, (1,)), SPACES[space]

    def reset(self, seed=None, options=None):
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        assert self.action_space.contains(action), "%r is not in %s" % (action, self.action_space)
        return numpy.zeros(1, numpy.float32), float(numpy.sum(action)), False, False, {}
`
	if err := os.WriteFile(filepath.Join(cfg.Folder, "strict.py"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Restarts, cfg.Processes = 0, 1
	for _, c := range []struct {
		space  string
		action []float32
		reward float64
	}{
		{"pi", []float32{math.Pi, math.Pi}, 2 * math.Pi}, {"third", []float32{0.3, 1}, 1.3}, {"half", []float32{-0.1}, -0.1}, {"single", []float32{0.1}, 0.1},
		{"table", []float32{119}, 10}, {"started", []float32{5}, 7}, {"bits", []float32{38}, 3}, {"one", []float32{4}, 2},
	} {
		cfg.Arguments = fmt.Sprintf(`{"space": %q}`, c.space)
		st := open(t, "python:strict:World", cfg, nil, 1)
		s := newStep(1, 1, len(c.action))
		if err := st.Reset(t.Context(), nil, []uint32{1}, s.Obs); err != nil {
			t.Fatal(err)
		}
		copy(s.Action, c.action)
		if err := st.Step(t.Context(), s); err != nil || math.Abs(float64(s.Reward[0])-c.reward) > 1e-4 {
			t.Errorf("%s: %v, reward %v; want %v", c.space, err, s.Reward[0], c.reward)
		}
	}
}
