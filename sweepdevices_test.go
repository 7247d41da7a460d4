package evorl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/vk"
)

// sweepOf is a sweep over a configuration.
func sweepOf(t *testing.T, base, of string) *evorl.Sweep {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"base.toml": base, "sweep.toml": "config = \"base.toml\"\n" + of} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := evorl.ReadSweep(filepath.Join(folder, "sweep.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// swept runs a sweep to its end, and returns its results with the digests of all runs.
func swept(t *testing.T, s *evorl.Sweep, dev *vk.Device, folder string, learn evorl.LearnFunc, options ...evorl.RunOption) (text string, err error) {
	t.Helper()
	if err := s.CreateSweep(folder); err != nil {
		t.Fatal(err)
	}
	results, err := s.Run(t.Context(), dev, folder, learn, func(evorl.TrialResult) {}, options...)
	for _, r := range results {
		text += fmt.Sprint(r.Number, r.Iterations, r.Scores)
		for _, path := range r.Folders {
			text += " " + digestOf(t, path)
		}
	}
	return text, err
}

// learnPlainly is a LearnFunc.
func learnPlainly(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
	return r.Learn(ctx)
}

// The runs of a sweep end with the same bits whether they are run one after the other or side by side on several devices, of which one is lost in the
// middle of a run; so does a halving. Any other error ends the sweep.
func TestSweepBeside(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	keys := "[keys.\"snes.population\"]\nvalues = [8, 12, 16, 20]\n"
	for name, of := range map[string]string{
		"grid": keys, "halving": "method = \"halving\"\ntrials = 4\n" + keys + "[halving]\niterations = 2\neta = 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := sweepOf(t, "workflow = \"snes\"\nenv = \"sphere\"\niterations = 6\n[search]\nmembers = 2\n[checkpoint]\nevery = 2\n", "seeds = 2\n"+of)
			run := func(folder string, learn evorl.LearnFunc, beside ...*vk.Device) (string, error) {
				return swept(t, s, dev, folder, learn, evorl.Beside(beside...))
			}
			want, err := run(filepath.Join(t.TempDir(), "one"), learnPlainly)
			if err != nil || strings.Count(want, " ") < 8 {
				t.Fatalf("%s: %v", want, err)
			}

			both, here := sync.WaitGroup{}, map[*vk.Device]int{}
			both.Add(2)
			var mu sync.Mutex
			meet := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
				mu.Lock()
				here[r.Device()]++
				first := here[r.Device()] == 1
				mu.Unlock()
				if first { // each device waits in its first run until the other has one
					both.Done()
					both.Wait()
				}
				return r.Learn(ctx)
			}
			if got, err := run(filepath.Join(t.TempDir(), "two"), meet, second); err != nil || got != want {
				t.Errorf("on two devices %s, %v; want %s", got, err, want)
			}

			fails := openDevice(t)
			lose := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
				if r.Device() == fails {
					if err := fails.Close(); err != nil {
						t.Error(err)
					}
				}
				return r.Learn(ctx)
			}
			if got, err := run(filepath.Join(t.TempDir(), "lost"), lose, fails); err != nil || got != want {
				t.Errorf("with a device that is lost %s, %v; want %s", got, err, want)
			}

			broken := errors.New("broken")
			folder := filepath.Join(t.TempDir(), "broken")
			fail := func(ctx context.Context, cfg *evorl.Config, r *evorl.Run, of []evorl.Trial) error {
				if of[0].Number == 1 {
					return broken
				}
				return r.Learn(ctx)
			}
			if _, err := run(folder, fail, second); !errors.Is(err, broken) || !strings.Contains(err.Error(), "trial 1: ") {
				t.Errorf("%v; want the error of trial 1", err)
			}
			if got, err := run(folder, learnPlainly, second); err != nil || got != want {
				t.Errorf("after an error, resumed: %s, %v; want %s", got, err, want)
			}
		})
	}
}
