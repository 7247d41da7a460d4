package envs

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// storedSample is the sample of two agents with its state in the buffer.
func storedSample(t testing.TB) *Environment {
	t.Helper()
	glsl, err := fs.ReadFile(shaders.Files(), "envs/seats_sample.glsl")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		`#include "engine/rng.glsl"`, "#include \"engine/rng.glsl\"\n#include \"envs/stored.glsl\"", "#define AGENTS 2", "#define AGENTS 2\n#define STATE_IN_BUFFER",
		"out float s[STATE_SIZE], ", "", "inout float s[STATE_SIZE], ", "", "const float s[STATE_SIZE], ", "", ", out float obs[OBS_SIZE]", "",
		"s[i] = rng_uniform(rng, -1.5, 1.5);", "set_state(i, rng_uniform(rng, -1.5, 1.5));",
		"s[LEFT] = s[LEFT + 1u] = 0.0;", "set_state(LEFT, 0.0); set_state(LEFT + 1u, 0.0);",
		"s[a] += 0.25 * (float(action[a]) - 1.0) + rng_uniform(rng, -0.05, 0.05);",
		"set_state(a, state(a) + (0.25 * (float(action[a]) - 1.0) + rng_uniform(rng, -0.05, 0.05)));",
		"s[LEFT + a] = arrives ? 1.0 : 0.0;", "set_state(LEFT + a, arrives ? 1.0 : 0.0);",
		"obs = float[](s[seat], s[FLAG] - s[seat], s[other] - s[seat], s[LEFT + other]);",
		"show(0u, state(seat)); show(1u, state(FLAG) - state(seat)); show(2u, state(other) - state(seat)); show(3u, state(LEFT + other));",
		"s[LEFT]", "state(LEFT)", "s[LEFT + 1u]", "state(LEFT + 1u)", "s[LEFT + a]", "state(LEFT + a)", "s[a]", "state(a)", "s[FLAG]", "state(FLAG)",
		"s[LEFT + seat]", "state(LEFT + seat)", "s[0]", "state(0u)", "s[1]", "state(1u)", "s[2]", "state(2u)",
	).Replace(string(glsl))
	env, err := New(sampleWorld(t).env.Spec, text)
	if err != nil {
		t.Fatal(err)
	}
	if !env.stored {
		t.Fatal("the state is not in the buffer")
	}
	return env
}

// TestStored: rollouts of a world whose state stays in the buffer have the bits of those of the same world with an array: transitions, the state for
// critics, episodes that end and begin, and sums of observations, with each mode of resets.
func TestStored(t *testing.T) {
	dev, array, stored := open(t), sampleWorld(t).env, storedSample(t)
	for _, options := range []Options{{TimeLimit: 7}, {AutoReset: Fast, ActionRepeat: 2}, {AutoReset: Disabled, TimeLimit: 9, SparseReward: true}} {
		var bits [2][]uint32
		for i, env := range []*Environment{array, stored} {
			f := fixtureIn(t, engine.New(dev, engine.Seed(3)), env,
				RolloutConfig{Members: 2, Environments: 5, Horizon: 12, Options: options, Trajectory: true, Seen: true}, small,
				func(p *Policy) { p.Placement = PlacementStepped })
			for range 2 {
				f.advance()
				bits[i] = append(append(bits[i], f.everything()...), wordsOf(f.floats(f.ro.seen))...)
			}
		}
		differ := 0
		for i, w := range bits[0] {
			if w != bits[1][i] {
				differ++
			}
		}
		if differ > 0 {
			t.Errorf("%+v: %d of %d words differ", options, differ, len(bits[0]))
		}
	}
}

// TestStoredBatch steps an environment of one agent with its state in the buffer by the host's actions.
func TestStoredBatch(t *testing.T) {
	text := strings.NewReplacer(
		"#define DISCRETE 1", "#define DISCRETE 1\n#define AGENTS 1\n#define STATE_IN_BUFFER\n#include \"envs/stored.glsl\"",
		"out float s[STATE_SIZE], ", "", "inout float s[STATE_SIZE], uint action", "const uint action[AGENTS]", "out float reward", "out float reward[AGENTS]",
		"{ s[0] = floor(rng_uniform(rng, 0.0, 3.0)); }", "{ set_state(0u, floor(rng_uniform(rng, 0.0, 3.0))); }",
		"s[0] += action == 1u ? 1.0 : 0.0;", "set_state(0u, state(0u) + (action[0] == 1u ? 1.0 : 0.0));", "reward = s[0]", "reward[0] = state(0u)",
		"terminated = s[0]", "terminated = state(0u)", "const float s[STATE_SIZE], out float obs[OBS_SIZE]", "uint seat",
		"obs[0] = s[0]; obs[1] = -s[0];", "show(0u, state(0u)); show(1u, -state(0u));",
	).Replace(walkGLSL)
	env, err := New(walkSpec(), text)
	if err != nil {
		t.Fatal(err)
	}
	walk := dynamics{
		name:    "Walk-v0",
		reset:   func(rng *engine.Rng) []float64 { return []float64{float64(int(rng.UniformIn(0, 3)))} },
		step:    func(s []float64, action float64) (float64, bool) { s[0] += action; return s[0], s[0] >= 5 },
		observe: func(s []float64) []float64 { return []float64{s[0], -s[0]} },
	}
	dev := open(t)
	for _, options := range []Options{{}, {SparseReward: true, ActionRepeat: 2, AutoReset: Fast}, {TimeLimit: 6, AutoReset: Disabled}} {
		b, err := NewBatch(t.Context(), dev, env, 2, 19, options)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		drive(t, b, walk, 40)
	}
}

// TestStoredRefused: what is missing beside STATE_IN_BUFFER, and placements that such worlds do not have, are errors.
func TestStoredRefused(t *testing.T) {
	text := strings.Replace(walkGLSL, "#define DISCRETE 1", "#define DISCRETE 1\n#define STATE_IN_BUFFER", 1)
	if _, err := New(walkSpec(), text); err == nil || !strings.Contains(err.Error(), "want #define AGENTS too") {
		t.Errorf("without AGENTS: %v", err)
	}
	eng := engine.New(open(t))
	s := eng.NewState()
	t.Cleanup(func() { _ = s.Close() })
	env := storedSample(t)
	net := *small
	net.In, net.Out = env.ObsSize(), env.Action.Size()
	policy := &Policy{Network: net, Head: env.Action.Head(), Placement: PlacementLanes}
	ro, err := NewRollout(t.Context(), s, env, RolloutConfig{Members: 1, Environments: 1, Horizon: 1, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ro.Placement(policy, eng.Device().Info()); err == nil || !strings.Contains(err.Error(), "whose state stays in the buffer; want stepped") {
		t.Errorf("a placement in lanes: %v", err)
	}
	if at, err := ro.Placement(&Policy{Network: net, Head: policy.Head}, eng.Device().Info()); err != nil || at != PlacementStepped {
		t.Errorf("the placement is %v, %v; want %v", at, err, PlacementStepped)
	}
	if names := env.functions(); slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "STATE_SIZE") }) {
		t.Errorf("functions %q; want no state among their parameters", names)
	}
}
