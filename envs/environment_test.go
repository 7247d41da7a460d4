package envs

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/evorl/evorl/engine/nn"
)

func TestNamesAndLookup(t *testing.T) {
	want := []string{
		"Acrobot-v1", "Ant-v5", "CartPole-v1", "CartPoleMasked-v1", "CartPoleSwingUp-easy", "CartPoleSwingUp-hard",
		"FaultMaze-v0", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "HumanoidStandup-v5", "InvertedDoublePendulum-v5",
		"InvertedPendulum-v5", "KuhnPoker-v0", "LeducPoker-v0",
		"MinAtar-Asterix-v1", "MinAtar-Breakout-v1", "MinAtar-Freeway-v1", "MinAtar-Seaquest-v1", "MinAtar-SpaceInvaders-v1",
		"MountainCar-v0", "MountainCarContinuous-v0", "OvercookedCrampedRoom-v0", "Pendulum-v1", "PendulumMasked-v1", "Pong-v0", "PongDuel-v0",
		"PongImage-v0", "PufferPong-v0", "Pusher-v5", "Reacher-v5", "RepeatPrevious-v0", "SimpleSpeakerListener-v4", "SimpleSpread-v3", "SimpleTag-v3",
		"SlimeVolley-v0", "SlimeVolleyDuel-v0", "Swimmer-v5", "TMaze-v0", "Walker2d-v5",
		"WaterWorld-v0", "WaterWorldMulti-v0",
	}
	if got := strings.Join(Names(), " "); got != strings.Join(want, " ") {
		t.Errorf("Names() = %s; want %s", got, strings.Join(want, " "))
	}
	for _, name := range want {
		e, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != name || !e.IsBuiltIn() || e.Summary == "" || e.Source == "" || e.MaxSteps == 0 {
			t.Errorf("Lookup(%q) is incomplete: %+v", name, e.Spec)
		}
	}
}

func TestLookupSuggests(t *testing.T) {
	for name, want := range map[string]string{
		"CartPole":        "CartPole-v1",
		"cartpole-v0":     "CartPole-v1",
		"Pendulum-v0":     "Pendulum-v1",
		"MountianCar-v0":  "MountainCar-v0",
		"acrobat":         "Acrobot-v1",
		"swingup-easy":    "",
		"CartPoleSwingUp": "CartPoleSwingUp-easy",
		"Breakout-v5":     "",
		"":                "",
		"MountainCarCont": "MountainCarContinuous-v0",
	} {
		_, err := Lookup(name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Fatalf("Lookup(%q): %v; want an *UnknownError", name, err)
		}
		if unknown.Nearest != want {
			t.Errorf("Lookup(%q) suggests %q; want %q", name, unknown.Nearest, want)
		}
		if want == "" && !strings.Contains(err.Error(), "Acrobot-v1, Ant-v5, CartPole-v1") {
			t.Errorf("Lookup(%q): %v; want the names there are", name, err)
		}
	}
}

// walkGLSL is a minimal environment: a counter that ends at 5.
const walkGLSL = `// environment: Walk-v0
#include "engine/rng.glsl"
#define STATE_SIZE 1
#define OBS_SIZE 2
#define ACTION_SIZE 2
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = floor(rng_uniform(rng, 0.0, 3.0)); }
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] += action == 1u ? 1.0 : 0.0;
    reward = s[0];
    terminated = s[0] >= 5.0;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { obs[0] = s[0]; obs[1] = -s[0]; }
`

func walkSpec() Spec {
	return Spec{Name: "Walk-v0", Observation: Symmetric(5, 5), Action: Discrete(2), State: []string{"place"}, MaxSteps: 20}
}

func TestRegister(t *testing.T) {
	var r Registry
	if err := r.Register(walkSpec(), walkGLSL); err != nil {
		t.Fatal(err)
	}
	e, err := r.Lookup("Walk-v0")
	if err != nil || e.IsBuiltIn() || e.GLSL() != walkGLSL {
		t.Fatalf("Lookup: %+v, %v", e, err)
	}
	if len(r.Names()) != len(Names())+1 {
		t.Errorf("Names() = %q; want Walk-v0 among them", r.Names())
	}
	if err := r.Register(walkSpec(), walkGLSL); err == nil || !strings.Contains(err.Error(), "registered already") {
		t.Errorf("the same name again: %v", err)
	}
	if _, err := Lookup("Walk-v0"); err == nil {
		t.Error("an environment registered in one Registry is known outside it")
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := r.Lookup("Walk-v0"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Spec, *string)
		want   string
	}{
		{"no name", func(s *Spec, _ *string) { s.Name = "" }, "no Name"},
		{"other name", func(s *Spec, _ *string) { s.Name = "Run-v0" }, `want "// environment: Run-v0"`},
		{"state size", func(s *Spec, _ *string) { s.State = []string{"a", "b"} }, "#define STATE_SIZE 1, but the Spec names 2 state elements"},
		{"observation size", func(s *Spec, _ *string) { s.Observation = Symmetric(1) }, "#define OBS_SIZE 2, but the Spec's observation space has 1 dimensions"},
		{"action size", func(s *Spec, _ *string) { s.Action = Discrete(3) }, "#define ACTION_SIZE 2, but the size of the Spec's action space is 3"},
		{"kind of action", func(s *Spec, _ *string) { s.Action = Symmetric(1, 1) }, "#define DISCRETE 1, but the Spec's action space, Box(-1, 1, (2)), asks for 0"},
		{"missing define", func(_ *Spec, g *string) { *g = strings.Replace(*g, "#define OBS_SIZE 2", "", 1) }, "no #define OBS_SIZE; want #define OBS_SIZE 2"},
		{"odd define", func(_ *Spec, g *string) { *g = strings.Replace(*g, "OBS_SIZE 2", "OBS_SIZE two", 1) }, "#define OBS_SIZE two; want a whole number"},
		{"missing include", func(_ *Spec, g *string) { *g = strings.Replace(*g, "engine/rng", "engine/rnd", 1) }, `includes "engine/rnd.glsl"`},
		{"empty state", func(s *Spec, _ *string) { s.State = nil }, "an empty state"},
		{"discrete observation", func(s *Spec, _ *string) { s.Observation = Discrete(4) }, "the observation space is Discrete(4); want a box"},
		{"many actions", func(s *Spec, _ *string) { s.Action = Discrete(10001) }, "Discrete(10001); want at most 10000 discrete actions"},
		{"no action", func(s *Spec, _ *string) { s.Action = Space{} }, "an empty space"},
		{"bounds", func(s *Spec, _ *string) { s.Action = Box([]float32{1}, []float32{1}) }, "bounds 1 … 1 in dimension 0"},
		{"bounds' lengths", func(s *Spec, _ *string) { s.Action = Box([]float32{1}, nil) }, "1 lower and 0 upper bounds"},
		{"limit", func(s *Spec, _ *string) { s.MaxSteps = -1 }, "the Spec has -1 MaxSteps"},
	} {
		spec, glsl := walkSpec(), walkGLSL
		c.change(&spec, &glsl)
		if _, err := New(spec, glsl); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", c.name, err, c.want)
		}
	}
}

func TestSpace(t *testing.T) {
	box := Box([]float32{-1, 0}, []float32{1, float32(math.Inf(1))})
	for _, c := range []struct {
		space Space
		x     []float32
		want  bool
	}{
		{Discrete(3), []float32{2}, true}, {Discrete(3), []float32{3}, false}, {Discrete(3), []float32{0.5}, false}, {Discrete(3), []float32{-1}, false},
		{Discrete(3), nil, false}, {box, []float32{1, 1e30}, true}, {box, []float32{1.01, 0}, false}, {box, []float32{0}, false},
		{box, []float32{float32(math.NaN()), 0}, false},
	} {
		if got := c.space.Contains(c.x); got != c.want {
			t.Errorf("%v contains %v: %v; want %v", c.space, c.x, got, c.want)
		}
	}
	if got := box.String(); got != "Box([-1 0], [1 +Inf])" {
		t.Errorf("String() = %s", got)
	}
	image := Symmetric(make([]float32, 12)...)
	for i := range image.Low {
		image.Low[i], image.High[i] = 0, 1
	}
	image.Axes = nn.Shape{2, 2, 3}
	if err := image.check(); err != nil || image.String() != "Box(0, 1, (2, 2, 3))" {
		t.Errorf("an image: %v, %v", image, err)
	}
	for _, axes := range []nn.Shape{{}, {2, 2}, {-3, -4}, {12, 0}} {
		if image.Axes = axes; image.check() == nil {
			t.Errorf("a box of 12 dimensions has the shape %v", axes)
		}
	}
}

func TestOptions(t *testing.T) {
	spec := walkSpec()
	got, err := Options{}.resolved(spec)
	if want := (Options{TimeLimit: 20, ActionRepeat: 1, RewardScale: 1}); err != nil || got != want {
		t.Errorf("defaults: %+v, %v; want %+v", got, err, want)
	}
	spec.MaxSteps = 0
	if got, err := (Options{}).resolved(spec); err != nil || got.TimeLimit != NoTimeLimit || got.constants().timeLimit != 0 {
		t.Errorf("no limit: %+v, %v", got, err)
	}
	for _, o := range []Options{
		{TimeLimit: -2}, {TimeLimit: 1 << 30}, {ActionRepeat: -1}, {ActionRepeat: 1001},
		{RewardScale: float32(math.NaN())}, {AutoReset: 3},
	} {
		if _, err := o.resolved(spec); err == nil || !strings.Contains(err.Error(), `options of "Walk-v0"`) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, mode := range []AutoReset{Normal, Fast, Disabled} {
		text, err := mode.MarshalText()
		var back AutoReset
		if err != nil || back.UnmarshalText(text) != nil || back != mode {
			t.Errorf("mode %v: text %q, back %v, %v", mode, text, back, err)
		}
	}
	var mode AutoReset
	if err := mode.UnmarshalText([]byte("never")); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("unknown mode: %v", err)
	}
}
