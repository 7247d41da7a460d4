package evorl

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

const varied = `
workflow = "openes"
env = "sphere"
iterations = 20
[search]
members = 3
[vary.values]
learning_rate = [0.5, 1e-9, 0.5]
`

// TestVary: members begin with hyperparameters of their own, and learn by them.
func TestVary(t *testing.T) {
	cfg, err := Parse("vary.toml", []byte(varied))
	if err != nil {
		t.Fatal(err)
	}
	dev := vktest.Open(t, vk.Validate(false))
	eng := engine.New(dev, engine.Seed(cfg.Run.Seed))
	w, err := cfg.Build(t.Context(), eng)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Prepare(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Init(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	before, err := w.Evaluate(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.(engine.Trainable).Hyper().Lookup("learning_rate").ReadFloat32(t.Context())
	if err != nil || !slices.Equal(got, []float32{0.5, 1e-9, 0.5}) {
		t.Errorf("learning rates %v, %v", got, err)
	}
	for i := range cfg.Run.Iterations {
		if _, err := w.Step(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	after, err := w.Evaluate(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for m, learns := range []bool{true, false, true} {
		if change := after.Means()[m] - before.Means()[m]; (change > 0.1) != learns {
			t.Errorf("member %d improves by %g", m, change)
		}
	}
	text, err := cfg.TOML()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse("again.toml", text); err != nil || len(again.Differences(cfg)) > 0 {
		t.Errorf("%v, %v", again.Differences(cfg), err)
	}
}

func TestVaryMistakes(t *testing.T) {
	for change, want := range map[string]string{
		"learning_rat = [1, 2, 3]":         "vary.toml:8:16: no hyperparameter of members: want one of",
		"learning_rate = [0.5, 0.5]":       "vary.toml:8:17: 2 values of 3 members",
		"learning_rate = [0.5, -1, .5]":    "vary.toml:8:",
		"learning_rate = [0.5, -1.0, 1.0]": "want at least 0",
		"population = [8, 8, 8]":           "no hyperparameter of members",
	} {
		text := strings.Replace(varied, "learning_rate = [0.5, 1e-9, 0.5]", change, 1)
		if _, err := Parse("vary.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", change, err, want)
		}
	}
	pbt := "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[vary.values]\nlearning_rate = [1.0]\n"
	if _, err := Parse("pbt.toml", []byte(pbt)); err == nil || !strings.Contains(err.Error(), "members of pbt do not learn by themselves") {
		t.Error(err)
	}
}
