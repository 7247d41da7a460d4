package checkpoint

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

const saverDir = "EVORL_TEST_SAVER_DIR"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(saverDir); dir != "" {
		for step := int64(0); ; step++ {
			if _, err := Save(dir, step%50, slices.Values(state(step))); err != nil {
				os.Exit(3)
			}
			if err := Prune(dir, 3, step); err != nil {
				os.Exit(4)
			}
		}
	}
	os.Exit(m.Run())
}

// Every checkpoint that a killed process leaves is whole.
func TestKilledWhileSaving(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 5 {
		child := exec.Command(exe)
		child.Env = append(os.Environ(), saverDir+"="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(50+rand.IntN(100)) * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		child.Wait() // "signal: killed"
		if code := child.ProcessState.ExitCode(); code > 0 {
			t.Fatalf("the child exited with status %d before it was killed", code)
		}
		_, refused, err := Latest(dir)
		if len(refused) > 0 || err != nil && !errors.Is(err, ErrNone) {
			t.Fatalf("refused %v, error %v", refused, err)
		}
	}
	if steps, err := Steps(dir); err != nil || len(steps) == 0 {
		t.Fatalf("steps %v, %v: nothing was saved", steps, err)
	}
}
