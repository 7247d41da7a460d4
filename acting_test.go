package evorl_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
)

func actingConfig(t *testing.T, workflow string, more ...string) *evorl.Config {
	t.Helper()
	return configure(t, workflow, append([]string{
		"network.hidden=[4]", "network.normalize_obs=true", workflow + ".environments=6", workflow + ".rollout_length=8", workflow + ".epochs=1",
		workflow + ".minibatches=2", workflow + ".actors=3", workflow + ".lag=1", "iterations=20", "checkpoint.every=5", "evaluation.every=4",
		"evaluation.episodes=3", "evaluation.best_episodes=2",
	}, more...)...)
}

// TestActingShared: an IMPALA or PPO whose environments other devices and machines act in ends with the same bits on one device, on two, one of which fails,
// and with workers, one of which is stopped, also if it is interrupted and resumed. Who took part is in its provenance.
func TestActingShared(t *testing.T) {
	for _, workflow := range []string{"impala", "ppo"} {
		t.Run(workflow, func(t *testing.T) { testActingShared(t, actingConfig(t, workflow)) })
	}
}

func testActingShared(t *testing.T, cfg *evorl.Config) {
	t.Helper()
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	place := func(name string) string { return filepath.Join(t.TempDir(), name) }
	alone := place("alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, alone)

	two, failing := place("two"), openDevice(t)
	run, err := evorl.Start(t.Context(), dev, cfg, two, evorl.Beside(second, failing))
	if err != nil {
		t.Fatal(err)
	}
	err = run.Learn(t.Context(), func(_ context.Context, r engine.Report) error {
		if r.Iteration == 7 {
			return failing.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(run.Warnings(), "\n"); !strings.Contains(text, "device 2 (") || !strings.Contains(text, "acts no more") {
		t.Errorf("warnings %q; want one of the device that failed", text)
	}
	if w := run.Workers(); len(w) != 3 || w[0].Slices+w[1].Slices != 3 {
		t.Errorf("workers %+v; want three, of which two have acted in the three parts", w)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{alone, two} {
		if text, err := os.ReadFile(filepath.Join(path, "metrics.jsonl")); err != nil || strings.Count(string(text), `"policy/lag":1,`) != 19 {
			t.Errorf("metrics %s, %v; want a lag of 1 in all of 20 iterations but the first", text, err)
		}
	}
	if got := digestOf(t, two); got != want {
		t.Errorf("with other devices it ends with %s; want %s, as alone", got, want)
	}

	path := place("run")
	twoSessions(t, cfg, path, dev, second, third, func(run *evorl.Run, _ evorl.ClusterConfig) {
		if w := run.Workers(); len(w) < 3 || w[1].Name == "" || w[1].Device != second.Info().Name {
			t.Errorf("workers %+v; want three, two of them named", w)
		}
	})
	if got := digestOf(t, path); got != want {
		t.Errorf("with workers it ends with %s; want %s, as alone", got, want)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(path, rundir.ProvenanceFile))
	if err = errors.Join(err, json.Unmarshal(data, &provenance)); err != nil {
		t.Fatal(err)
	}
	if w := provenance.Sessions[1].Workers; len(w) != 3 || w[1].Name == "" {
		t.Errorf("provenance of the workers: %+v; want three, two of them named", w)
	}
}

// TestActingAsynchronous: a run whose learner takes the trajectories that come first, from another device and a worker, says that no run repeats it, has
// weights as old as they may be at most, and goes on after it was stopped, with a warning that it does not do so exactly.
func TestActingAsynchronous(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg, path := actingConfig(t, "impala", "impala.lag=2", "impala.asynchronous=true"), filepath.Join(t.TempDir(), "run")
	run, err := evorl.Start(t.Context(), dev, cfg, path, evorl.Beside(second), evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}))
	if err != nil {
		t.Fatal(err)
	}
	working, quit := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- evorl.Work(working, third, evorl.ClusterConfig{Address: run.WorkersAddress()}, nil, nil)
	}()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
		for r.Iteration == 3 && run.Taking() < 3 {
			time.Sleep(time.Millisecond)
		}
		if r.Iteration == 9 {
			stop()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped, the run ends with %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	quit()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, the worker ends with %v", err)
	}

	run, err = evorl.Resume(t.Context(), dev, cfg, path, evorl.Beside(second))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(run.Warnings(), "\n"); !strings.Contains(text, "does not continue exactly") {
		t.Errorf("warnings %q; want one that it does not continue exactly", text)
	}
	if err := errors.Join(run.Learn(t.Context()), run.Close()); err != nil {
		t.Fatal(err)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(path, rundir.ProvenanceFile))
	if err == nil {
		err = json.Unmarshal(data, &provenance)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range provenance.Sessions {
		if !strings.HasPrefix(s.Varies, "impala.asynchronous: ") {
			t.Errorf("session %d: %+v; want why no run repeats it", i, s)
		}
	}
	text, err := os.ReadFile(filepath.Join(path, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 20 {
		t.Errorf("%d iterations in the metrics; want 20", len(lines))
	}
	for _, line := range lines {
		var of map[string]float64
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		if behind, most := of["policy/lag"], of["policy/lag_max"]; behind > most || most > 2 || of["actors/idle"] < 0 {
			t.Errorf("%s: want weights that are at most 2 iterations old", line)
		}
		for _, name := range []string{"policy/lag", "policy/lag_max", "actors/dropped", "actors/idle"} {
			if _, there := of[name]; !there {
				t.Errorf("%s: want %s", line, name)
			}
		}
	}
}

// TestActingOffPolicy: an agent with a replay ends with the same bits on one device, and with another device and a worker that act for it.
func TestActingOffPolicy(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg, err := evorl.New("dqn", "CartPole-v1", evorl.Set("network.hidden=[4]"), evorl.Set("dqn.environments=6"), evorl.Set("dqn.rollout_length=8"),
		evorl.Set("dqn.updates_per_step=0.125"), evorl.Set("dqn.learning_starts=100"), evorl.Set("replay.capacity=1000"), evorl.Set("replay.batch=8"),
		evorl.Set("dqn.actors=3"), evorl.Set("dqn.lag=1"), evorl.Set("dqn.exploration_levels=2"), evorl.Set("iterations=12"), evorl.Set("evaluation.episodes=3"),
		evorl.Set("evaluation.best_episodes=2"))
	if err != nil {
		t.Fatal(err)
	}
	alone, path := filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "run")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	run, err := evorl.Start(t.Context(), dev, cfg, path, evorl.Beside(second), evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- evorl.Work(t.Context(), third, evorl.ClusterConfig{Address: run.WorkersAddress()}, nil, nil)
	}()
	err = run.Learn(t.Context(), func(_ context.Context, r engine.Report) error {
		for r.Iteration == 2 && run.Taking() < 3 {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err = errors.Join(err, run.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, path), digestOf(t, alone); got != want {
		t.Errorf("with others it ends with %s; want %s, as alone", got, want)
	}
}

// TestActingRefused: what others cannot act in is refused by the key that would be right.
func TestActingRefused(t *testing.T) {
	for _, of := range []struct{ text, want string }{
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[impala]\nenvironments = 16\nminibatches = 4\nactors = 3\n", "x.toml:6"},
		{"workflow = \"impala\"\nenv = \"FaultMaze-v0\"\n[impala]\nactors = 2\n", "x.toml:4"},
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[impala]\nlag = -1\n", "x.toml:4"},
		{"workflow = \"td3\"\nenv = \"Pendulum-v1\"\n[td3]\nenvironments = 8\nupdates_per_step = 0.125\nexploration_levels = 4\nactors = 4\n", "x.toml:6"},
		{"workflow = \"erl\"\nenv = \"Pendulum-v1\"\n[td3]\nlag = 1\n", "x.toml:4"},
		{"workflow = \"dvd\"\nenv = \"Pendulum-v1\"\n[dvd]\nlag = 1\n", "x.toml:4"},
		{"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nactors = 3\n", "x.toml:4"},
		{"workflow = \"ppo\"\nenv = \"SimpleSpread-v3\"\n[ppo]\nlag = 1\nactors = 2\n", "x.toml:5"},
		{"workflow = \"a2c\"\nenv = \"CartPole-v1\"\n[a2c]\nactors = 2\nlag = 1\n", "x.toml:5"},
		{"workflow = \"self-play\"\nenv = \"PongDuel-v0\"\n[ppo]\nlag = 1\n", "x.toml:4"},
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[impala]\nasynchronous = true\n", "want a lag of at least 1"},
		{"workflow = \"impala\"\nenv = \"FaultMaze-v0\"\n[impala]\nlag = 1\nasynchronous = true\n", "others do not act in \"FaultMaze-v0\""},
		{"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[network]\nnormalize_reward = true\n[ppo]\nlag = 1\nasynchronous = true\n", "network.normalize_reward"},
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[[network.layers]]\ntype = \"gru\"\nunits = 4\n[impala]\nlag = 1\nasynchronous = true\n",
			"a network without memory"},
		{"workflow = \"ppo\"\nenv = \"SimpleSpread-v3\"\n[ppo]\nlag = 1\nasynchronous = true\n", "others do not act in \"SimpleSpread-v3\""},
		{"workflow = \"a2c\"\nenv = \"CartPole-v1\"\n[a2c]\nactors = 2\nasynchronous = true\n", "want false, or ppo, which clips it, or impala"},
		{"workflow = \"td3\"\nenv = \"Pendulum-v1\"\n[network]\nnormalize_obs = true\n[td3]\nlag = 1\nasynchronous = true\n", "network.normalize_obs"},
		{"workflow = \"dqn\"\nenv = \"CartPole-v1\"\n[dqn]\nrollout_length = 4\nupdates_per_step = 0.25\nlag = 1\nasynchronous = true\n",
			"end_share has room for one of 8 rows"},
		{"workflow = \"erl\"\nenv = \"Pendulum-v1\"\n[td3]\nasynchronous = true\n", "learn together"},
		{"workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[pbt]\nover = \"impala\"\n[impala]\nlag = 1\nasynchronous = true\n", "nobody acts elsewhere"},
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[impala]\nmembers = 2\nlag = 1\nasynchronous = true\n[members]\nslice = 1\n", "members.slice = 0"},
		{"workflow = \"impala\"\nenv = \"CartPole-v1\"\n[impala]\nlag = 1\nasynchronous = true\ngradient_parts = 2\n", "one actor and no lag"},
	} {
		if _, err := evorl.Parse("x.toml", []byte(of.text)); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v; want an error at %s", of.text, err, of.want)
		}
	}
	for text, want := range map[string]string{"": "", "impala.actors=1": "", "impala.lag=0": "", "members.slice=1": ""} {
		more := []string{"impala.members=2"}
		if text != "" {
			more = append(more, text)
		}
		if err := actingConfig(t, "impala", more...).CheckShared(); (err == nil) != (want == "") {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if err := actingConfig(t, "impala", "impala.actors=1", "impala.lag=0").CheckShared(); err == nil || !strings.Contains(err.Error(), "impala.actors") {
		t.Errorf("one actor that does not lag: %v; want an error of impala.actors", err)
	}
}

// TestActingOutsideShared: several devices share environments that other processes step among actors, and nothing else.
func TestActingOutsideShared(t *testing.T) {
	const hello = `'{"protocol": "evorl-bridge", "version": 1, "max_steps": 9, "observation": {"shape": [2]}, "action": {"n": 2}%s}'`
	bridge := "[bridge]\nspec = " + strings.Replace(hello, "%s", "", 1) + "\n"
	seats := "[bridge]\nspec = " + strings.Replace(hello, "%s", `, "agents": 2`, 1) + "\n"
	const rpc = "[environment]\ntime_limit = 9\n[dm_env_rpc]\n" +
		"spec = '{\"actions\": [{\"name\": \"a\", \"type\": \"int32\", \"shape\": [], \"min\": [0], \"max\": [1]}], " +
		"\"observations\": [{\"name\": \"o\", \"type\": \"float\", \"shape\": [2]}, {\"name\": \"reward\", \"type\": \"float\", \"shape\": []}]}'\n"
	const program, server = "env = \"exec:./nothing\"\n", "env = \"dm_env_rpc://127.0.0.1:1\"\n"
	for _, of := range []struct{ text, want string }{
		{"workflow = \"ppo\"\n" + program + bridge + "[ppo]\nactors = 2\n", ""},
		{"workflow = \"dqn\"\n" + program + bridge + "[dqn]\nlag = 1\n", ""},
		{"workflow = \"impala\"\n" + program + bridge + "[impala]\nactors = 2\nlag = 2\nasynchronous = true\n", ""},
		{"workflow = \"ppo\"\n" + server + rpc + "[ppo]\nactors = 2\n", ""},
		{"workflow = \"ppo\"\n" + program + bridge, "want ppo.actors = 2 or more"},
		{"workflow = \"ppo\"\n" + program + bridge + "[ppo]\ngradient_parts = 2\n", "want ppo.actors = 2 or more"},
		{"workflow = \"ppo\"\n" + program + bridge + "[ppo]\nmembers = 2\n[members]\nslice = 1\n", "for all members at once: want 0"},
		{"workflow = \"ppo\"\n" + server + rpc + "[ppo]\nmembers = 2\n[members]\nslice = 1\n", "without members.slice and gradient_parts"},
		{"workflow = \"ppo\"\n" + server + rpc + "world = \"arena\"\n[ppo]\nactors = 2\n", "whose steps may wait for all of them"},
		{"workflow = \"openes\"\n" + program + bridge + "[search]\nslice = 8\n", "one of a2c, ddpg, dqn"},
		{"workflow = \"pbt\"\n" + program + bridge + "[members]\nslice = 1\n", "want 0"},
		{"workflow = \"ppo\"\n" + program + seats + "[ppo]\nactors = 2\n", "of several agents; want one part"},
		{"workflow = \"ppo\"\n" + program + seats + "[ppo]\nlag = 1\n", "with one agent in a world"},
	} {
		cfg, err := evorl.Parse("x.toml", []byte(of.text))
		if err == nil {
			err = cfg.CheckShared()
		}
		if (err == nil) != (of.want == "") || err != nil && !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v; want %q", of.text, err, of.want)
		}
	}
}
