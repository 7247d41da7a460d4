package evorl_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// A nil argument of a constructor gives a *engine.NilError that names it.
func TestNilArguments(t *testing.T) {
	ctx, eng, cfg, path := t.Context(), open(t, 3), small(t), filepath.Join(t.TempDir(), "run")
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	policy := func(env *envs.Environment) ec.Problem {
		return problem.Policy(env, envs.Options{}, problem.DefaultNetwork(), problem.DefaultPolicy())
	}
	only := func(_ any, err error) error { return err }
	for _, c := range []struct {
		what string
		err  error
	}{
		{"engine", only(rl.NewPPO(ctx, nil, env, rl.DefaultPPO()))},
		{"device of the engine", only(rl.NewPPO(ctx, engine.New(nil), env, rl.DefaultPPO()))},
		{"environment", only(rl.NewPPO(ctx, eng, nil, rl.DefaultPPO()))},
		{"environment", only(rl.NewA2C(ctx, eng, nil, rl.DefaultA2C()))},
		{"environment", only(rl.NewIMPALA(ctx, eng, nil, rl.DefaultIMPALA()))},
		{"engine", only(ec.NewSearch(ctx, nil, ec.DefaultOpenES(), problem.Sphere(3), 1))},
		{"algorithm", only(ec.NewSearch(ctx, eng, nil, problem.Sphere(3), 1))},
		{"problem", only(ec.NewSearch(ctx, eng, ec.DefaultOpenES(), nil, 1))},
		{"problem", only(ec.NewSearch(ctx, eng, ec.DefaultOpenES(), (*problem.Function)(nil), 1))},
		{"environment", only(ec.NewSearch(ctx, eng, ec.DefaultOpenES(), policy(nil), 1))},
		{"engine", only(ec.NewAskTell(nil, ec.DefaultOpenES(), ec.Space{}))},
		{"algorithm", only(ec.NewAskTell(eng, nil, ec.Space{}))},
		{"workflow", only(hybrid.NewPBT(ctx, nil, hybrid.DefaultPBT()))},
		{"workflow", only(hybrid.NewPBTCSO(ctx, (*rl.PPO)(nil), hybrid.DefaultPBT()))},
		{"device", only(envs.NewBatch(ctx, nil, env, 1, 1, envs.Options{}))},
		{"environment", only(envs.NewBatch(ctx, eng.Device(), nil, 1, 1, envs.Options{}))},
		{"engine", only(cfg.Build(ctx, nil))},
		{"device", only(evorl.Start(ctx, nil, cfg, path))},
		{"configuration", only(evorl.Start(ctx, eng.Device(), nil, path))},
		{"configuration", only(evorl.Resume(ctx, eng.Device(), nil, path))},
	} {
		var missing *engine.NilError
		if !errors.As(c.err, &missing) || missing.What != c.what {
			t.Errorf("error %v; want one of a nil %s", c.err, c.what)
		}
	}
}

// Iterations must be consecutive, from the first or from a checkpoint's.
func TestIterationsFollow(t *testing.T) {
	eng := open(t, 3)
	for _, text := range []string{"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n", "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n",
		"workflow = \"snes\"\nenv = \"sphere\"\n"} {
		cfg, err := parse(t, text)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cfg.Build(t.Context(), eng)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		step := func(iteration int, ok bool) {
			t.Helper()
			ticket, err := w.Step(t.Context(), iteration)
			var wrong *engine.IterationError
			if ok != (err == nil) || !ok && (!errors.As(err, &wrong) || wrong.Iteration != iteration) {
				t.Fatalf("%s, iteration %d: error %v; allowed: %v", w.Describe().Workflow, iteration, err, ok)
			}
			if err == nil {
				err = ticket.Wait(t.Context())
			}
			if ok && err != nil {
				t.Fatal(err)
			}
		}
		step(0, false) // nothing has begun
		if err := w.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		step(1, false)
		step(0, true)
		step(0, false)
		step(1, true)
		folder := t.TempDir()
		if _, err := w.State().Save(t.Context(), folder, 2); err != nil {
			t.Fatal(err)
		}
		step(2, true)
		_, err = checkpoint.Newest(folder, func(c *checkpoint.Checkpoint) error { return w.State().Load(t.Context(), c) })
		if err != nil {
			t.Fatal(err)
		}
		step(3, false)
		step(2, true)
	}
}

// Every workflow rejects invalid numbers of evaluation episodes.
func TestEpisodes(t *testing.T) {
	eng := open(t, 3)
	for _, text := range []string{
		"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n", "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n", "workflow = \"snes\"\nenv = \"CartPole-v1\"\n",
		"workflow = \"snes\"\nenv = \"sphere\"\n", "workflow = \"nsga-ii\"\nenv = \"zdt\"\nzdt.function = 1\n",
	} {
		cfg, err := parse(t, text)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cfg.Build(t.Context(), eng)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{-1, 0, engine.MaxEpisodes + 1, 1 << 40} {
			var wrong *engine.EpisodesError
			if _, err := w.Evaluate(t.Context(), n); !errors.As(err, &wrong) || wrong.Episodes != n {
				t.Errorf("%s: evaluating %d episodes: error %v", w.Describe().Workflow, n, err)
			}
		}
		if e, err := w.Evaluate(t.Context(), 1); err != nil || len(e.Returns[0]) != 1 {
			t.Errorf("%s: one episode: %v, %v", w.Describe().Workflow, e, err)
		}
	}
}
