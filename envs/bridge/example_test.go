//go:build unix

package bridge

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The example of docs/examples/bridge in C speaks the protocol: it is built, and does what its equations say.
func TestC(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cfg := Default()
	cfg.Folder, cfg.Processes = t.TempDir(), 2
	build := exec.Command(cc, "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-o", filepath.Join(cfg.Folder, "server"),
		filepath.Join("..", "..", "docs", "examples", "bridge", "server.c"), "-lm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const n = 7
	st := open(t, "exec:./server", cfg, nil, n)
	s, seeds := newStep(n, 2, 1), seedsOf(n)
	type hover struct {
		height, speed float32
		random        uint32
	}
	worlds := make([]hover, n)
	begin := func(w *hover) {
		w.random = w.random*1664525 + 1013904223
		w.height, w.speed = float32(w.random>>8)/(1<<24)-0.5, 0
	}
	if err := st.Reset(t.Context(), nil, seeds, s.Obs); err != nil {
		t.Fatal(err)
	}
	for i := range worlds {
		worlds[i].random = seeds[i]
		begin(&worlds[i])
	}
	ended := 0
	for k := range 500 {
		for i, w := range worlds {
			if s.Obs[2*i] != w.height || s.Obs[2*i+1] != w.speed {
				t.Fatalf("step %d, environment %d: observation %v; want %v", k, i, s.Obs[2*i:2*i+2], w)
			}
			s.Action[i] = float32((k / (3 + i)) % 2)
		}
		clear(s.Terminated)
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i := range worlds {
			w := &worlds[i]
			push := float32(-0.05)
			if s.Action[i] == 1 {
				push = 0.05
			}
			w.speed += push
			w.height += float32(0.1) * w.speed
			height := float32(math.Abs(float64(w.height)))
			if s.Reward[i] != 1-height || s.Terminated[i] != (height > 1) || s.Truncated[i] {
				t.Fatalf("step %d, environment %d: reward %v, terminated %t; want %v, %t", k, i, s.Reward[i], s.Terminated[i], 1-height, height > 1)
			}
			if s.Terminated[i] {
				ended++
				if s.Final[2*i] != w.height {
					t.Fatalf("step %d, environment %d: final observation %v; want %v", k, i, s.Final[2*i], w.height)
				}
				begin(w)
			}
		}
	}
	if ended == 0 {
		t.Error("no episode ended")
	}
}
