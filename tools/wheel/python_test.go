// Package wheel has the source of the Python package, and its tests.
package wheel

import (
	"os"
	"os/exec"
	"runtime"
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
	if out, err := exec.CommandContext(t.Context(), python, "-W", "error", "-m", "unittest", "discover", "-s", "tests").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
