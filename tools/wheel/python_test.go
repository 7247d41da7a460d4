// Package wheel has the source of the Python package, and its tests.
package wheel

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The Python package's own tests pass: those of the standard library with any Python, the others with one that has what they need.
func TestPython(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script stands for the program, which Windows does not start")
	}
	python := os.Getenv("EVORL_BRIDGE_PYTHON")
	if python == "" {
		var err error
		if python, err = exec.LookPath("python3"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-W", "error", "-m", "unittest", "discover", "-v", "-s", "tests")
	if os.Getenv("EVORL_BRIDGE_PYTHON") != "" { // it has Gymnasium, whose tests step environments of the program
		program := filepath.Join(t.TempDir(), "evorl")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/evorl").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cmd.Env = append(os.Environ(), "EVORL_TEST_PROGRAM="+program)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || cmd.Env != nil && !strings.Contains(string(out), "test_is_gymnasiums_cartpole") {
		t.Errorf("%v\n%s", err, out)
	}
}
