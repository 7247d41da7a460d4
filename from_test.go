package evorl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// fromConfigs returns configurations whose runs others begin with.
func fromConfigs(t *testing.T) map[string]*evorl.Config {
	ppo := []string{"ppo.environments=4", "ppo.rollout_length=8", "ppo.minibatches=2", "network.hidden=[8]", "ppo.members=2", "evaluation.every=3",
		"evaluation.episodes=2", "iterations=6"}
	pbt := append([]string{"pbt.interval=2", "pbt.warmup=0", "pbt.episodes=2", "pbt.search.learning_rate={low=1e-4, high=1e-2}"}, ppo...)
	return map[string]*evorl.Config{
		"ppo": configure(t, "ppo", ppo...), "ppo in slices": configure(t, "ppo", append(ppo, "members.slice=1")...), "pbt": configure(t, "pbt", pbt...),
		"openes": configure(t, "openes", "openes.population=8", "network.hidden=[4]", "iterations=6", "evaluation.every=3", "evaluation.episodes=2"),
	}
}

// TestStartFrom: a run that begins with the state of another one, by the same settings, ends with the bits of one run of as many iterations; the other stays
// as it was. By another learning rate it differs, and a run that is interrupted then resumes to the same bits.
func TestStartFrom(t *testing.T) {
	dev := openDevice(t)
	for name, cfg := range fromConfigs(t) {
		t.Run(name, func(t *testing.T) {
			folder, rate := t.TempDir(), ".learning_rate=0.005"
			first, other := filepath.Join(folder, "first"), func(name string) string { return filepath.Join(folder, name) }
			digest := func(run *evorl.Run) string {
				result, err := run.Result(t.Context())
				if err := errors.Join(err, run.Close()); err != nil {
					t.Fatal(err)
				}
				return result.Digest
			}
			was := digest(learn(t, evorl.Start, dev, cfg, first))
			from := func(ctx context.Context, dev *vk.Device, cfg *evorl.Config, path string, opts ...evorl.RunOption) (*evorl.Run, error) {
				return evorl.StartFrom(ctx, dev, cfg, path, first, opts...)
			}
			longer := func(settings ...string) *evorl.Config {
				var options []evorl.Option
				for _, of := range append(settings, "iterations=9") {
					options = append(options, evorl.Set(of))
				}
				cfg, err := evorl.Stored(first, options...)
				if err != nil {
					t.Fatal(err)
				}
				return cfg
			}
			run := learn(t, from, dev, longer(), other("second"))
			if run.From() != 6 {
				t.Errorf("it begins after %d iterations; want 6", run.From())
			}
			got := digest(run)
			dir, err := rundir.Open(other("second"))
			if err != nil {
				t.Fatal(err)
			}
			if p, err := dir.ReadProvenance(); err != nil || p.Continues.String() != first || p.Sessions[0].From != 6 {
				t.Errorf("provenance %+v, %v; want the other run's folder", p, err)
			}
			changed := "ppo"
			if name == "openes" {
				changed = name
			}
			fine := longer(changed + rate)
			stopped, err := from(t.Context(), dev, fine, other("third")) // interrupted before its first iteration
			if err != nil {
				t.Fatal(err)
			}
			if err := stopped.Close(); err != nil {
				t.Fatal(err)
			}
			resumed, tuned := digest(learn(t, evorl.Resume, dev, fine, other("third"))), digest(learn(t, from, dev, fine, other("fourth")))
			if resumed != tuned || (tuned == got) != (name == "pbt") { // in PBT members keep their rates
				t.Errorf("digests: with the other rate %s, resumed %s, with the same %s", tuned, resumed, got)
			}
			if now, err := evorl.Restore(t.Context(), dev, cfg, first, 1); err != nil || now.Iteration() != 6 {
				t.Errorf("the other run changed: %v", err)
			} else if err := now.Close(); err != nil {
				t.Error(err)
			}
			whole := digest(learn(t, evorl.Resume, dev, longer(), first))
			if got != whole || was == whole {
				t.Errorf("from the other run: %s; in one run: %s; after 6 iterations: %s", got, whole, was)
			}
		})
	}
}

// TestStartFromRefused: what cannot begin with another run says why, and leaves no folder.
func TestStartFromRefused(t *testing.T) {
	dev, folder := openDevice(t), t.TempDir()
	first, path := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	cfg := fromConfigs(t)["openes"]
	learn(t, evorl.Start, dev, cfg, first)
	wider := configure(t, "openes", "openes.population=8", "network.hidden=[5]", "iterations=9")
	empty := filepath.Join(folder, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		cfg   *evorl.Config
		other string
		want  string
	}{
		{cfg, first, "6 iterations in all, of which the run in"}, {wider, first, "is of another configuration"}, {wider, empty, rundir.ErrNoRun.Error()},
	} {
		_, err := evorl.StartFrom(t.Context(), dev, of.cfg, path, of.other)
		if err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("error %v; want one with %q", err, of.want)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the folder exists: %v", err)
		}
	}
	if err := os.RemoveAll(filepath.Join(first, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	longer := configure(t, "openes", "openes.population=8", "network.hidden=[4]", "iterations=9")
	if _, err := evorl.StartFrom(t.Context(), dev, longer, path, first); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("a run without a checkpoint: %v; want checkpoint.ErrNone", err)
	}
}
