package evorl_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
)

// Wrong use is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, eng, cfg, dir := t.Context(), open(t, 3), small(t), t.TempDir()
	run := learn(t, evorl.Start, eng.Device(), cfg, filepath.Join(dir, "run"))
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	restored, err := evorl.Restore(ctx, eng.Device(), cfg, run.Path(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.Close(); err != nil {
		t.Fatal(err)
	}
	sweep, err := evorl.NewSweep(cfg, 2)
	if err != nil {
		t.Fatal(err)
	}
	train := func(ctx context.Context, _ *evorl.Config, run *evorl.Run, _ []evorl.Trial) error {
		return run.Learn(ctx)
	}
	report := func(evorl.TrialResult) {}
	empty, dev := &evorl.Config{}, eng.Device()
	only := func(_ any, err error) error { return err }
	last := func(_, _ any, err error) error { return err }
	const none, made, closed = "configuration is nil", "want one made by New, Read or Parse", "is closed"
	const huge = 1 << 40
	for _, c := range []struct {
		what string
		err  error
		want string
	}{
		{"option of New", only(evorl.New("openes", "CartPole-v1", nil)), "option is nil"},
		{"option of Parse", only(evorl.Parse("x.toml", nil, nil)), "option is nil"},
		{"option of Read", only(evorl.Read("x.toml", evorl.Set("seed=1"), nil)), "option 2 of 2"},
		{"part of a catalog", only(evorl.NewCatalog(nil)), "nil"},
		{"option of Stored", only(evorl.Stored(run.Path(), nil)), "option is nil"},
		{"section nil", only(evorl.New("openes", "CartPole-v1", evorl.With(nil))), "no section of this type"},
		{"FindBest", last(evorl.FindBest(nil, run.Path())), none},
		{"NewPath", only(evorl.NewPath(dir, nil)), none},
		{"NewestPath", only(evorl.NewestPath(dir, nil)), none},
		{"NewSweep", only(evorl.NewSweep(nil, 1)), none},
		{"-1 seeds", only(evorl.NewSweep(cfg, -1)), "want at least 1"},
		{"many seeds", only(evorl.NewSweep(cfg, huge)), "at most"},
		{"Restore", only(evorl.Restore(ctx, dev, nil, run.Path(), 3)), none},
		{"RestoreBest", only(evorl.RestoreBest(ctx, dev, nil, run.Path(), 3)), none},
		{"Restore without device", only(evorl.Restore(ctx, nil, cfg, run.Path(), 3)), "device is nil"},
		{"Init", cfg.Init(ctx, nil), "workflow is nil"},
		{"empty: Start", only(evorl.Start(ctx, dev, empty, filepath.Join(dir, "empty"))), made},
		{"empty: Resume", only(evorl.Resume(ctx, dev, empty, run.Path())), made},
		{"empty: Restore", only(evorl.Restore(ctx, dev, empty, run.Path(), 3)), made},
		{"empty: Build", only(empty.Build(ctx, eng)), made},
		{"empty: TOML", only(empty.TOML()), made},
		{"empty: NewSweep", only(evorl.NewSweep(empty, 1)), made},
		{"empty sweep: folder", (&evorl.Sweep{}).CreateSweep(filepath.Join(dir, "empty")), "empty sweep"},
		{"empty sweep: run", only((&evorl.Sweep{}).Run(ctx, eng.Device(), dir, train, report)), "empty sweep"},
		{"sweep without device", only(sweep.Run(ctx, nil, dir, train, report)), "device is nil"},
		{"sweep without learning", only(sweep.Run(ctx, eng.Device(), dir, nil, report)), "learn function is nil"},
		{"sweep without report", only(sweep.Run(ctx, eng.Device(), dir, train, nil)), "report function is nil"},
		{"empty run: Learn", (&evorl.Run{}).Learn(ctx), "made by Start or Resume"},
		{"empty run: Result", only((&evorl.Run{}).Result(ctx)), "made by Start or Resume"},
		{"closed: Learn", run.Learn(ctx), "is closed: want Resume"},
		{"closed: Result", only(run.Result(ctx)), "is closed: want Resume"},
		{"closed: Evaluate", only(restored.Evaluate(ctx, 1, nil)), closed},
		{"closed: Record", only(restored.Record(ctx, 0)), closed},
		{"closed: Policy", only(restored.Policy(ctx, 0)), closed},
		{"member -1", only(restored.Record(ctx, -1)), "no member -1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
	if err := (&evorl.Run{}).Close(); err != nil {
		t.Error(err)
	}
	if got, all := cfg.Differences(nil), cfg.Differences(empty); len(got) == 0 || len(got) != len(all) {
		t.Errorf("%d differences from nil and %d from an empty configuration; want all settings", len(got), len(all))
	}
}

// Every kind of workflow answers calls before Init, with nil and after Close by an error.
func TestLifeCycle(t *testing.T) {
	eng := open(t, 3)
	for _, text := range []string{
		"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n", "workflow = \"snes\"\nenv = \"sphere\"\n", "workflow = \"td3\"\nenv = \"Pendulum-v1\"\n",
		"workflow = \"nsga-ii\"\nenv = \"zdt\"\nzdt.function = 1\n", "workflow = \"erl\"\nenv = \"Pendulum-v1\"\n", "workflow = \"cem-rl\"\nenv = \"Pendulum-v1\"\n",
		"workflow = \"map-elites\"\nenv = \"CartPole-v1\"\n", "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n",
	} {
		ctx := t.Context()
		cfg, err := parse(t, text)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cfg.Build(ctx, eng)
		if err != nil {
			t.Fatal(err)
		}
		name := w.Describe().Workflow
		refused := func(what string, err error, want string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: error %v; want %q", name, what, err, want)
			}
		}
		const late = "the state is closed"
		_, err = w.Evaluate(ctx, 1)
		refused("evaluated before Init", err, "want Init or State.Load")
		refused("loaded nil", w.State().Load(ctx, nil), "checkpoint is nil")
		refused("loaded nothing", w.State().Load(ctx, &checkpoint.Checkpoint{}), "of another configuration")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		refused("Init after Close", w.Init(ctx), late)
		_, err = w.Step(ctx, 0)
		refused("Step after Close", err, late)
		_, err = w.Evaluate(ctx, 1)
		refused("Evaluate after Close", err, late)
		refused("Prepare after Close", w.Prepare(ctx, 1), late)
		refused("Learn after Close", engine.Learn(ctx, w, engine.Iterations(1)), late)
		_, err = w.State().Digest(ctx)
		refused("digest after Close", err, late)
		if err := w.Close(); err != nil {
			t.Errorf("%s: closed twice: %v", name, err)
		}
	}
}
