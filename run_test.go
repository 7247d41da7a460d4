package evorl_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// small returns a configuration that runs for a second.
func small(t *testing.T, opts ...evorl.Option) *evorl.Config {
	t.Helper()
	cfg, err := evorl.New("openes", "CartPole-v1", append([]evorl.Option{
		evorl.Set("network.hidden=[4]"), evorl.Set("openes.population=8"), evorl.Set("iterations=4"), evorl.Set("evaluation.episodes=2"), evorl.Set("seed=3"),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func openDevice(t *testing.T) *vk.Device {
	t.Helper()
	dev := vktest.Open(t, vk.Validate(false))
	return dev
}

func open(t *testing.T, seed uint32) *engine.Engine {
	t.Helper()
	return engine.New(openDevice(t), engine.Seed(seed))
}

// learn starts or resumes a run and learns to its end.
func learn(t *testing.T, begin func(context.Context, *vk.Device, *evorl.Config, string, ...evorl.RunOption) (*evorl.Run, error), dev *vk.Device,
	cfg *evorl.Config, path string, opts ...evorl.RunOption) *evorl.Run {
	t.Helper()
	run, err := begin(t.Context(), dev, cfg, path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	if err := run.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return run
}

// A run that is resumed on another device than its checkpoint's warns about it.
func TestAnotherDevice(t *testing.T) {
	dev, cfg, path := openDevice(t), small(t), filepath.Join(t.TempDir(), "run")
	if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Run.Iterations = 6
	first := learn(t, evorl.Resume, dev, cfg, path)
	if got := first.Warnings(); len(got) != 0 {
		t.Errorf("warnings on the same device: %q", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(path, "checkpoints"), "device", "Voodoo2")
	cfg.Run.Iterations = 8
	if got := learn(t, evorl.Resume, dev, cfg, path).Warnings(); len(got) != 1 || !strings.Contains(got[0], "its checkpoint is from Voodoo2") {
		t.Errorf("warnings %q; want one that names the other device", got)
	}
}

// rewrite rewrites the newest checkpoint of a folder with one fact changed.
func rewrite(t *testing.T, folder, fact, value string) {
	t.Helper()
	var tensors []checkpoint.Tensor
	_, err := checkpoint.Newest(folder, func(c *checkpoint.Checkpoint) error {
		err := c.Load(func(of checkpoint.Tensor) error {
			data, err := io.ReadAll(of.Data)
			of.Data = bytes.NewReader(data)
			tensors = append(tensors, of)
			return err
		})
		if err != nil {
			return err
		}
		facts := maps.Clone(c.Manifest.Provenance)
		facts[fact] = value
		_, err = checkpoint.Save(folder, c.Manifest.Step, slices.Values(tensors), checkpoint.Provenance(facts))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run in a user-defined environment is resumed and restored with a catalog that has it.
func TestRunInOwnEnvironment(t *testing.T) {
	const still = "// environment: Still\n#include \"engine/rng.glsl\"\n#define STATE_SIZE 1\n#define OBS_SIZE 1\n#define ACTION_SIZE 2\n#define DISCRETE 1\n" +
		"void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = 0.5; }\n" +
		"void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) { reward = 1.0; terminated = false; }\n" +
		"void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { obs[0] = s[0]; }\n"
	spec := envs.Spec{Name: "Still", Observation: envs.Symmetric(1), Action: envs.Discrete(2), State: []string{"x"}, MaxSteps: 10}
	catalog, err := evorl.NewCatalog(evorl.OwnEnvironment(envs.New(spec, still)))
	if err != nil {
		t.Fatal(err)
	}
	dev, path := openDevice(t), filepath.Join(t.TempDir(), "run")
	cfg := small(t, evorl.Use(catalog), evorl.Set("env=Still"))
	if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Run.Iterations = 6
	if err := learn(t, evorl.Resume, dev, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	stored, err := evorl.Stored(path, evorl.Use(catalog))
	if err != nil || stored.Run.Iterations != 6 {
		t.Fatalf("stored %+v, %v; want 6 iterations", stored, err)
	}
	trained, err := evorl.Restore(t.Context(), dev, stored, path, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer trained.Close()
	if e, err := trained.Evaluate(t.Context(), 2, nil); err != nil || e.MeanReturn != 10 || e.Iteration != 6 {
		t.Errorf("evaluated %+v, %v; want a return of 10 at iteration 6", e, err)
	}
	template, err := cfg.Template()
	if err != nil || strings.Contains(string(template), "digest") {
		t.Errorf("a template has the digest of the environment: %v\n%s", err, template)
	}
	other, err := evorl.NewCatalog(evorl.OwnEnvironment(envs.New(spec, strings.Replace(still, "reward = 1.0", "reward = 2.0", 1))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `this program's environment "Still" has GLSL with the digest `
	if _, err := evorl.Stored(path, evorl.Use(other)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("stored, with another source: %v; want %s", err, want)
	}
	changed := small(t, evorl.Use(other), evorl.Set("env=Still"), evorl.Set("iterations=8"))
	if r, err := evorl.Resume(t.Context(), dev, changed, path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("resumed with another source: %v, %v; want %s", r, err, want)
	}
	cfg.Run.Iterations = 7
	if err := learn(t, evorl.Resume, dev, cfg, path).Close(); err != nil {
		t.Errorf("resumed with the same source: %v", err)
	}
}

// A best state that names a nonexistent member is refused, even with correct digests.
func TestBestOfNoMember(t *testing.T) {
	dev, cfg, path := openDevice(t), small(t), filepath.Join(t.TempDir(), "run")
	if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	for fact, value := range map[string]string{"best_member": "999", "best_return": "NaN", "best_episodes": "0"} {
		before := filepath.Join(path, "best")
		if best, _, err := evorl.FindBest(cfg, path); err != nil || best == nil {
			t.Fatalf("best %v, %v", best, err)
		}
		kept := fact + "-kept"
		if err := os.CopyFS(filepath.Join(path, kept), os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		rewrite(t, before, fact, value)
		if best, refused, err := evorl.FindBest(cfg, path); err != nil || best != nil || len(refused) != 1 {
			t.Errorf("%s = %s: best %+v, refused %v, %v; want it refused", fact, value, best, refused, err)
		}
		if _, err := evorl.RestoreBest(t.Context(), dev, cfg, path, 3); err == nil || !strings.Contains(err.Error(), "does not say which member was best") {
			t.Errorf("%s = %s: error %v", fact, value, err)
		}
		if err := os.RemoveAll(before); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(path, kept), before); err != nil {
			t.Fatal(err)
		}
	}
}
