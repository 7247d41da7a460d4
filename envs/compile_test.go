package envs

import (
	"errors"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// TestCustomEnvironment steps an environment given as GLSL.
func TestCustomEnvironment(t *testing.T) {
	env, err := New(walkSpec(), walkGLSL)
	if err != nil {
		t.Fatal(err)
	}
	dev := open(t)
	for _, options := range []Options{{}, {SparseReward: true, ActionRepeat: 2, AutoReset: Fast}, {TimeLimit: 6, AutoReset: Disabled}} {
		b, err := NewBatch(t.Context(), dev, env, 2, 19, options)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		drive(t, b, dynamics{
			name:  "Walk-v0",
			reset: func(rng *engine.Rng) []float64 { return []float64{float64(int(rng.UniformIn(0, 3)))} },
			step: func(s []float64, action float64) (float64, bool) {
				s[0] += action
				return s[0], s[0] >= 5
			},
			observe: func(s []float64) []float64 { return []float64{s[0], -s[0]} },
		}, 40)
	}
}

func TestCustomEnvironmentRefused(t *testing.T) {
	dev := open(t)
	try := func(change func(glsl string) string) error {
		env, err := New(walkSpec(), change(walkGLSL))
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBatch(t.Context(), dev, env, 1, 1, Options{})
		if err == nil {
			b.Close()
		}
		return err
	}
	err := try(func(glsl string) string { return strings.Replace(glsl, "reward = s[0];", "reward = height;", 1) })
	var refused *shaders.CompileError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "Walk-v0.glsl:10") || !strings.Contains(err.Error(), "height") {
		t.Errorf("an unknown variable: %v; want a *shaders.CompileError that names Walk-v0.glsl:10", err)
	}
	err = try(func(glsl string) string {
		return strings.Replace(glsl, "void env_reset", "layout(binding = 20) buffer Mine { float mine[]; };\nvoid env_reset", 1) +
			"\nfloat unused() { return mine[0]; }\n"
	})
	if err != nil {
		t.Errorf("a buffer that is never used: %v", err)
	}
	err = try(func(glsl string) string {
		return strings.Replace(strings.Replace(glsl, "void env_reset", "layout(set = 0, binding = 20) buffer Mine { float mine[]; };\nvoid env_reset", 1),
			"reward = s[0];", "reward = mine[0];", 1)
	})
	if err == nil || !strings.Contains(err.Error(), "binds a buffer") {
		t.Errorf("a buffer of its own: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := try(func(glsl string) string { return glsl }); !errors.Is(err, shaders.ErrNoCompiler) {
		t.Errorf("without a compiler: %v; want shaders.ErrNoCompiler", err)
	}
}

func TestBatchRefuses(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		members, environments int
		options               Options
		want                  string
	}{
		{0, 1, Options{}, "0 members × 1 environments; want at least 1"},
		{1, -1, Options{}, "want at least 1"},
		{1 << 20, 1 << 20, Options{}, "less than 2^31 together"},
		{1 << 15, 1 << 15, Options{}, "the device binds at most"},
		{1, 1, Options{ActionRepeat: -3}, "ActionRepeat is -3"},
	} {
		b, err := NewBatch(t.Context(), dev, lookup(t, "CartPole-v1"), c.members, c.environments, c.options)
		if err == nil {
			b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d × %d, %+v: %v; want %q in it", c.members, c.environments, c.options, err, c.want)
		}
	}
	cart, swing := newBatch(t, dev, "CartPole-v1", 1, 2, Options{}), newBatch(t, dev, "Pendulum-v1", 1, 2, Options{})
	for _, c := range []struct {
		act  func() (Transition, error)
		want string
	}{
		{func() (Transition, error) { return cart.Step(t.Context(), []uint32{0}) }, "1 action words for 1 members × 2 environments"},
		{func() (Transition, error) { return cart.Step(t.Context(), []uint32{0, 2}) }, "action 2 of environment 1; \"CartPole-v1\" has the actions 0 to 1"},
		{func() (Transition, error) { return cart.StepContinuous(t.Context(), []float32{0, 0}) }, "want Step"},
		{func() (Transition, error) { return swing.Step(t.Context(), []uint32{0, 0}) }, "want StepContinuous"},
	} {
		if _, err := c.act(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q in it", err, c.want)
		}
	}
	if err := cart.SetState(t.Context(), State{}); err == nil || !strings.Contains(err.Error(), "want 8 + 2 + 2") {
		t.Errorf("SetState of nothing: %v", err)
	}
	cart.Close()
	cart.Close()
	if _, err := cart.Step(t.Context(), []uint32{0, 0}); !errors.Is(err, ErrClosed) {
		t.Errorf("a step of a closed batch: %v; want ErrClosed", err)
	}
	if _, err := cart.Reset(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a reset of a closed batch: %v; want ErrClosed", err)
	}
}
