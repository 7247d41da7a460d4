package evorl_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/vk"
)

// workshop is a sweep whose runs workers elsewhere do whole.
type workshop struct {
	t       *testing.T
	mu      sync.Mutex
	address string
	said    []string
	workers []chan error
}

// options are those of the sweep.
func (w *workshop) options() []evorl.RunOption {
	return []evorl.RunOption{
		evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}),
		evorl.Listening(func(address, _ string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.address = address
		}),
		evorl.Told(func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, text)
		}),
	}
}

// join makes a worker take part.
func (w *workshop) join(ctx context.Context, dev *vk.Device, trusted ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended, at := make(chan error, 1), evorl.ClusterConfig{Address: w.address, Trusted: trusted}
	w.workers = append(w.workers, ended)
	go func() { ended <- evorl.Work(ctx, dev, at, nil, func(text string) { w.t.Log(text) }) }()
}

// count returns how often something was said of runs elsewhere.
func (w *workshop) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(strings.Join(w.said, "\n"), what)
}

// await waits for something to be said as often as wanted.
func (w *workshop) await(ctx context.Context, what string, n int) {
	for begin := time.Now(); w.count(what) < n && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			w.t.Errorf("not within a minute: %q %d times in %q", what, n, w.said)
			return
		}
	}
}

// end waits for the workers, and returns how they have ended.
func (w *workshop) end() (errs []error) {
	for _, ended := range w.workers {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-time.After(20 * time.Second):
			w.t.Error("a worker has not ended 20 s after the sweep")
		}
	}
	return errs
}

// Where the runs of a sweep have no slices, a worker elsewhere does whole runs, beside the device here, and to the same bits.
func TestSweepWhole(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	const snes = "workflow = \"snes\"\nenv = \"sphere\"\niterations = 6\n[checkpoint]\nevery = 2\n"
	const ppo = "workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 3\n[ppo]\nenvironments = 2\nrollout_length = 8\nepochs = 1\nminibatches = 2\n" +
		"[evaluation]\nevery = 1\nepisodes = 2\n"
	keys := "[keys.\"snes.population\"]\nvalues = [8, 12, 16, 20]\n"
	for name, of := range map[string]struct{ base, sweep string }{
		"searches": {snes, "seeds = 2\n" + keys},
		"agents":   {ppo, "[keys.\"network.activation\"]\nchoices = [\"tanh\", \"relu\", \"silu\"]\n"},
		"halving":  {snes, "method = \"halving\"\ntrials = 4\n" + keys + "[halving]\niterations = 2\neta = 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweepOf(t, of.base, of.sweep)
			want, err := swept(t, s, dev, filepath.Join(t.TempDir(), "alone"), learnPlainly)
			if err != nil {
				t.Fatal(err)
			}
			w := &workshop{t: t}
			var once sync.Once
			here := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
				once.Do(func() {
					w.join(t.Context(), second)
					w.await(ctx, "has done it", 2)
				})
				return r.Learn(ctx)
			}
			shared := filepath.Join(t.TempDir(), "shared")
			if got, err := swept(t, s, dev, shared, here, w.options()...); err != nil || got != want {
				t.Errorf("with a worker %s, %v; want %s", got, err, want)
			}
			for _, err := range w.end() {
				if err != nil {
					t.Errorf("the worker ends with %v", err)
				}
			}
			if got, err := swept(t, s, dev, shared, learnPlainly); err != nil || got != want { // what has come is complete
				t.Errorf("run again %s, %v; want %s", got, err, want)
			}
		})
	}
}

// A run whose worker is stopped in the middle goes on elsewhere, from the checkpoint that had come; so does one whose sweep is interrupted, with the worker
// that has waited.
func TestSweepWholeFaults(t *testing.T) {
	defer evorl.SendOften()()
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	s := sweepOf(t, "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 120\n[network]\nhidden = [4]\n[environment]\ntime_limit = 60\n"+
		"[evaluation]\nepisodes = 2\n[checkpoint]\nevery = 5\n", "[keys.\"openes.population\"]\nvalues = [8, 10, 12]\n")
	want, err := swept(t, s, dev, filepath.Join(t.TempDir(), "alone"), learnPlainly)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "shared")
	checkpoints := func() int { // of the run that the first worker does, which the device here does not
		found, _ := filepath.Glob(filepath.Join(folder, "*", "checkpoints", "[0-9]*"))
		return len(found)
	}
	w := &workshop{t: t}
	working, stop := context.WithCancel(t.Context())
	defer stop()
	interrupted := errors.New("interrupted")
	first := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
		w.join(working, second)
		for checkpoints() < 2 && ctx.Err() == nil && w.count("has done it") == 0 {
			time.Sleep(time.Millisecond)
		}
		stop()
		w.await(ctx, "another one goes on", 1)
		w.join(t.Context(), third)
		w.await(ctx, "does this run", 2)
		for before := checkpoints(); checkpoints() == before && ctx.Err() == nil && w.count("has done it") == 0; {
			time.Sleep(time.Millisecond)
		}
		return interrupted
	}
	if _, err := swept(t, s, dev, folder, first, w.options()...); !errors.Is(err, interrupted) {
		t.Fatalf("%v; want %v", err, interrupted)
	}
	if w.count("has done it") > 0 {
		t.Errorf("%q; want no run done", w.said)
	}
	options := append(w.options()[1:], evorl.Clustered(evorl.ClusterConfig{Address: strings.Replace(w.address, "nats://", "embed://", 1)}))
	again := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
		w.await(ctx, "has done it", 1)
		return r.Learn(ctx)
	}
	if got, err := swept(t, s, dev, folder, again, options...); err != nil || got != want {
		t.Errorf("resumed %s, %v; want %s", got, err, want)
	}
	if errs := w.end(); len(errs) != 2 || !errors.Is(errs[0], context.Canceled) || errs[1] != nil {
		t.Errorf("the workers end with %v; want one stopped, and the other with the sweep", errs)
	}

}

// GLSL of a sweep is executed by a worker that trusts its key; one that does not leaves, and the sweep goes on.
func TestSweepWholeSource(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	file, err := filepath.Abs("configs/styblinski-tang.glsl")
	if err != nil {
		t.Fatal(err)
	}
	s := sweepOf(t, fmt.Sprintf("workflow = \"snes\"\nproblem = %q\niterations = 6\n", file), "[keys.\"snes.population\"]\nvalues = [8, 12, 16]\n")
	want, err := swept(t, s, dev, filepath.Join(t.TempDir(), "alone"), learnPlainly)
	if err != nil {
		t.Fatal(err)
	}
	w, key := &workshop{t: t}, ""
	options := append(w.options(), evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0", SigningKey: filepath.Join(t.TempDir(), "key")}),
		evorl.Listening(func(address, public string) { w.address, key = address, public }))
	var once sync.Once
	here := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
		once.Do(func() {
			w.join(t.Context(), second)
			w.await(ctx, "another one goes on", 1)
			w.join(t.Context(), second, key)
			w.await(ctx, "has done it", 2)
		})
		return r.Learn(ctx)
	}
	if got, err := swept(t, s, dev, filepath.Join(t.TempDir(), "shared"), here, options...); err != nil || got != want {
		t.Errorf("with a worker %s, %v; want %s", got, err, want)
	}
	if errs := w.end(); len(errs) != 2 || errs[0] == nil || !strings.Contains(errs[0].Error(), "--trust "+key) || errs[1] != nil {
		t.Errorf("the workers end with %v; want one that names the key %s, and the other with the sweep", errs, key)
	}
}
