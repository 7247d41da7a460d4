package envs

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// TestSeatsEvaluate compares evaluations with an episode that is emulated from the recorded actions.
func TestSeatsEvaluate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	w := sampleWorld(t)
	const members, episodes = 3, 4
	f := fixtureIn(t, eng, w.env, RolloutConfig{Members: members, Environments: 1, Horizon: 1}, small)
	ev, err := NewEvaluator(t.Context(), f.state, w.env, Options{TimeLimit: 15}, f.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	out, err := ev.Run(t.Context(), f.clock, episodes)
	if err != nil {
		t.Fatal(err)
	}
	s := eng.NewState()
	defer s.Close()
	fitness, err := ev.Fitness(t.Context(), s, f.clock, episodes)
	if err != nil {
		t.Fatal(err)
	}
	each := s.Scratch("each", engine.Float32, engine.Members(members), engine.Environments(episodes))
	means := s.Scratch("means", engine.Float32, engine.Members(members))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.run(func(r *engine.Recorder) { fitness(r, each) })
	f.run(func(r *engine.Recorder) { fitness(r, means) })
	for p := range members {
		sum := 0.0
		for e := range episodes {
			sum += float64(out.Returns[p][e]) / episodes
			if got := f.floats(each)[p*episodes+e]; math.Abs(float64(got-out.Returns[p][e])) > 1e-5 {
				t.Errorf("fitness of episode %d of member %d: %g; want %g", e, p, got, out.Returns[p][e])
			}
		}
		if got := f.floats(means)[p]; math.Abs(float64(got)-sum) > 1e-5 {
			t.Errorf("fitness of member %d: %g; want %g", p, got, sum)
		}
		episode, err := ev.Record(t.Context(), f.clock, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := episode.Return(), out.Returns[p][0]; got != want || float32(episode.Steps) != out.Lengths[p][0] {
			t.Errorf("the episode of member %d: return %g, %d steps; want %g, %g", p, got, episode.Steps, want, out.Lengths[p][0])
		}
		state, left := append([]float32(nil), episode.States[0]...), [2]bool{}
		rng := engine.NewRng(eng.Seed(), engine.Stream("evaluation"), uint32(p), 0, 0)
		if first := w.reset(rng); first[2] != state[2] {
			t.Errorf("member %d begins with the flag at %g; want %g", p, state[2], first[2])
		}
		if len(out.Seats[p]) != 2*episodes {
			t.Fatalf("%d returns of seats; want %d", len(out.Seats[p]), 2*episodes)
		}
		var sums [2]float32
		for i, a := range episode.Actions {
			reward, _ := w.step(state, [][]float32{a[:1], a[1:]}, engine.NewRng(eng.Seed(), engine.Stream("evaluation"), uint32(p), 0, uint32(i+1)))
			for seat := range 2 {
				if !left[seat] {
					sums[seat] += reward[seat]
				}
				left[seat] = !w.alive(state, seat)
				if d := sums[seat] - episode.Seats[i][seat]; d > 1e-5 || d < -1e-5 {
					t.Fatalf("member %d, step %d, seat %d: return %g; want %g", p, i, seat, episode.Seats[i][seat], sums[seat])
				}
			}
			for k, v := range episode.States[i+1] {
				if d := v - state[k]; d > 1e-5 || d < -1e-5 {
					t.Fatalf("member %d, step %d: state %v; want %v", p, i, episode.States[i+1], state)
				}
			}
		}
		for seat, want := range sums {
			if got := out.Seats[p][seat]; math.Abs(float64(got-want)) > 1e-5 {
				t.Errorf("member %d, seat %d: return %g; want %g", p, seat, got, want)
			}
		}
		if want := (sums[0] + sums[1]) / 2; math.Abs(float64(episode.Return()-want)) > 1e-5 {
			t.Errorf("member %d: return %g; want %g", p, episode.Return(), want)
		}
	}
}

// TestSeatsRefused: Specs, sizes and functions that do not agree.
func TestSeatsRefused(t *testing.T) {
	sample := sampleWorld(t)
	spec, glsl := sample.env.Spec, sample.env.GLSL()
	for _, c := range []struct {
		change func(*Spec)
		glsl   string
		want   string
	}{
		{func(s *Spec) { s.Agents = 3 }, glsl, "#define AGENTS 2, but the Spec has 3 Agents"},
		{func(s *Spec) { s.Agents = 0; s.Global = 0 }, glsl, "#define AGENTS 2, but the Spec has 1 Agents"},
		{func(*Spec) {}, strings.Replace(glsl, "#define AGENTS 2", "", 1), "no #define AGENTS; want #define AGENTS 2"},
		{func(s *Spec) { s.Global = 2 }, glsl, "#define GLOBAL_SIZE 3, but the Spec has a Global state of 2"},
		{func(s *Spec) { s.Agents = -1 }, glsl, "-1 Agents; want 0 (one) to 64"},
		{func(s *Spec) { s.Agents = 1 }, strings.Replace(glsl, "#define AGENTS 2", "#define AGENTS 1", 1), "a Global state of 3 with 1 Agents"},
		{func(s *Spec) { s.Agents, s.Global = 1, 0 }, strings.NewReplacer("#define AGENTS 2", "#define ENV_SHAPED", "#define GLOBAL_SIZE 3", "").Replace(glsl),
			"#define ENV_SHAPED, which is for several agents"},
		{func(s *Spec) { s.Iterations = 0 }, glsl, "has a loop; want the most iterations"},
	} {
		changed := spec
		c.change(&changed)
		if _, err := New(changed, c.glsl); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q in it", err, c.want)
		}
	}
	eng := engine.New(open(t))
	for _, c := range []struct{ from, to, want string }{
		{"uint seat, out float obs", "out float obs", "want void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE])"},
		{"const uint action[AGENTS]", "uint action", "const uint action[AGENTS], inout Rng rng, out float reward[AGENTS]"},
		{"bool env_alive", "bool env_living", "want bool env_alive(const float s[STATE_SIZE], uint seat)"},
		{"#define ENV_ALIVE", "#define ENV_ALIVE\n#define ENV_SHAPED", "want float env_shaped(const float s[STATE_SIZE], uint seat, uint steps)"},
		{"void env_global", "void env_all", "want void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE])"},
	} {
		env, err := New(spec, strings.Replace(glsl, c.from, c.to, 1))
		if err != nil {
			t.Fatal(err)
		}
		s := eng.NewState()
		_, err = NewRollout(t.Context(), s, env, RolloutConfig{Members: 1, Environments: 1, Horizon: 1})
		var refused *shaders.CompileError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", c.to, err, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewBatch(t.Context(), eng.Device(), sample.env, 1, 1, Options{}); err == nil || !strings.Contains(err.Error(), "2 agents") {
		t.Errorf("a batch: %v", err)
	}
	header := strings.Replace(glsl, "\n", "\n//! agents = 3\n//! iterations = 5\n", 1)
	if _, err := FromGLSL("own.glsl", []byte(header)); err == nil || !strings.Contains(err.Error(), "3 agents of GLSL that has 2") {
		t.Errorf("a header of three agents: %v", err)
	}
	env, err := FromGLSL("own.glsl", []byte(strings.Replace(header, "agents = 3", "agents = 2", 1)))
	if err != nil || env.Seats() != 2 || env.Global != 3 {
		t.Errorf("a header of two agents: %v", err)
	}
}
