package evorl_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
)

// TestMembersBeside: PBT over agents in slices ends with the same bits on one device and on two, also if one of them fails, and if it is resumed without that
// one. What is restored of it has the returns that the run had.
func TestMembersBeside(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	cfg, err := evorl.New("pbt", "CartPole-v1", evorl.Set("network.hidden=[4]"), evorl.Set("ppo.members=5"), evorl.Set("ppo.environments=2"),
		evorl.Set("ppo.rollout_length=8"), evorl.Set("ppo.epochs=1"), evorl.Set("ppo.minibatches=2"), evorl.Set("members.slice=2"), evorl.Set("pbt.warmup=1"),
		evorl.Set("pbt.interval=1"), evorl.Set("pbt.episodes=2"), evorl.Set("pbt.bottom=0.6"), evorl.Set("iterations=6"), evorl.Set("checkpoint.every=2"),
		evorl.Set("evaluation.episodes=3"), evorl.Set("evaluation.best_episodes=2"))
	if err != nil {
		t.Fatal(err)
	}
	place := func(name string) string { return filepath.Join(t.TempDir(), name) }
	alone := place("alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, alone)
	lineage, _, err := evorl.Lineage(alone)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for _, g := range lineage {
		for member, parent := range g.Parent {
			if member/2 != parent/2 {
				moved++
			}
		}
	}
	if moved == 0 {
		t.Error("no member became a copy of one in another slice")
	}

	two := place("two")
	run := learn(t, evorl.Start, dev, cfg, two, evorl.Beside(second))
	result, err := run.Result(t.Context())
	if err = errors.Join(err, run.Close()); err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, two); got != want {
		t.Errorf("two devices end with %s; want %s, as one", got, want)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(two, rundir.ProvenanceFile))
	if err = errors.Join(err, json.Unmarshal(data, &provenance)); err != nil {
		t.Fatal(err)
	}
	if w := provenance.Sessions[0].Workers; len(w) != 2 || w[0].Slices != 2 || w[1].Slices != 1 {
		t.Errorf("provenance of the workers: %+v; want two with two slices and one", w)
	}
	if text, err := os.ReadFile(filepath.Join(two, "metrics.jsonl")); err != nil || strings.Count(string(text), `"workers":2`) != 6 {
		t.Errorf("metrics %s (%v); want two workers in each iteration", text, err)
	}
	restored, err := evorl.Restore(t.Context(), dev, cfg, two, cfg.Run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	e, err := restored.Evaluate(t.Context(), cfg.Evaluation.Episodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Members {
		if got := float64(e.MemberReturns[m.Index]); got != m.Return {
			t.Errorf("restored, member %d has the return %g; want %g, as in the run", m.Index, got, m.Return)
		}
	}

	failing := place("failing")
	if run, err = evorl.Start(t.Context(), dev, cfg, failing, evorl.Beside(second)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
		switch r.Iteration {
		case 2:
			return second.Close()
		case 4:
			stop()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("without a device, and interrupted: %v", err)
	}
	if text := strings.Join(run.Warnings(), "\n"); strings.Count(text, "device 1 (") != 1 || !strings.Contains(text, "computes members no more") {
		t.Errorf("warnings %q; want one of the device that failed", text)
	}
	if w := run.Workers(); len(w) != 2 || w[0].Slices != 3 || w[0].Outcome != "" || w[1].Slices != 0 || w[1].Outcome == "" || run.Taking() != 1 {
		t.Errorf("workers %+v, of which %d take part; want the first one with all slices", w, run.Taking())
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if err := learn(t, evorl.Resume, dev, cfg, failing).Close(); err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, failing); got != want {
		t.Errorf("without a device, and resumed, the run ends with %s; want %s", got, want)
	}
}

// TestMembersRefused: what has no slices of members is refused by the key that would be right.
func TestMembersRefused(t *testing.T) {
	for _, of := range []struct{ text, want string }{
		{"workflow = \"pbt\"\nenv = \"FaultMaze-v0\"\n[members]\nslice = 2\n[pbt]\nobjective = \"coverage\"\n", "x.toml:6"},
		{"workflow = \"td3\"\nenv = \"Pendulum-v1\"\n[replay]\nshared = true\n[members]\nslice = 2\n", "x.toml:6"},
		{"workflow = \"erl\"\nenv = \"Pendulum-v1\"\n[members]\nslice = 2\n", "x.toml:3"},
		{"workflow = \"openes\"\nenv = \"Pendulum-v1\"\n[members]\nslice = 2\n", "x.toml:3"},
		{"workflow = \"emogi\"\nenv = \"Pong-v0\"\n[members]\nslice = 2\n", "x.toml:3"},
		{"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[members]\nslice = -1\n", "x.toml:4"},
	} {
		if _, err := evorl.Parse("x.toml", []byte(of.text)); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v; want an error at %s", of.text, err, of.want)
		}
	}
}

// TestMembersClustered: PBT over agents ends with the same bits on one device and with workers elsewhere, one of which is stopped, and another of which joins
// later; so does a run that is interrupted and resumed. Who took part is in its provenance.
func TestMembersClustered(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg, err := evorl.New("pbt", "CartPole-v1", evorl.Set("network.hidden=[4]"), evorl.Set("ppo.members=5"), evorl.Set("ppo.environments=2"),
		evorl.Set("ppo.rollout_length=8"), evorl.Set("ppo.epochs=1"), evorl.Set("ppo.minibatches=2"), evorl.Set("members.slice=2"), evorl.Set("pbt.warmup=1"),
		evorl.Set("pbt.interval=1"), evorl.Set("pbt.episodes=2"), evorl.Set("pbt.bottom=0.6"), evorl.Set("iterations=20"), evorl.Set("checkpoint.every=5"),
		evorl.Set("evaluation.every=4"), evorl.Set("evaluation.episodes=3"), evorl.Set("evaluation.best_episodes=2"))
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run")
	twoSessions(t, cfg, path, dev, second, third, func(run *evorl.Run, address evorl.ClusterConfig) {
		if w := run.Workers(); len(w) < 3 || w[0].Slices+w[1].Slices+w[2].Slices != 3 || w[1].Name == "" || w[1].Device != second.Info().Name {
			t.Errorf("workers %+v; want three, two of them named, with a slice each", w)
		}
		status, err := evorl.ReadClusterStatus(t.Context(), address)
		if err != nil || status.Divides != rundir.Members || status.Slices != 3 || len(status.Workers) < 3 {
			t.Fatalf("status %+v (%v); want members in 3 slices, of three workers", status, err)
		}
		if w := status.Workers; w[0].Has+w[1].Has+w[2].Has != 3 || w[0].Slices < 4 || w[1].Slices < 1 {
			t.Errorf("status of the workers %+v; want 3 slices among them, and those that each has done", w)
		}
	})
	if got, want := digestOf(t, path), digestOf(t, alone); got != want {
		t.Errorf("with workers it ends with %s; want %s, as alone", got, want)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(path, rundir.ProvenanceFile))
	if err = errors.Join(err, json.Unmarshal(data, &provenance)); err != nil {
		t.Fatal(err)
	}
	if of := provenance.Sessions[1]; len(of.Workers) != 3 || of.Workers[1].Name == "" || of.Divides != rundir.Members {
		t.Errorf("provenance of the workers: %+v, of %q; want three, two of them named, of members", of.Workers, of.Divides)
	}
}
