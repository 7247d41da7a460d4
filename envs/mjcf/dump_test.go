package mjcf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// python returns the Python with MuJoCo. Tests that compile MJCF files are skipped without
// one.
func python(t *testing.T) string {
	t.Helper()
	program := Python()
	if err := exec.Command(program, "-c", "import mujoco, gymnasium").Run(); err != nil {
		if os.Getenv("MUJOCO_PYTHON") != "" {
			t.Fatalf("%s cannot import mujoco and gymnasium: %v", program, err)
		}
		t.Skipf("%s cannot import mujoco and gymnasium (%v); MUJOCO_PYTHON names another", program, err)
	}
	return program
}

// TestDump runs the tests of dump.py.
func TestDump(t *testing.T) {
	if out, err := exec.Command(python(t), "-m", "unittest", "dump_test.py").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestModelsAreCurrent: the committed models of robots are the output of dump.py for their files, where the
// repository has those.
func TestModelsAreCurrent(t *testing.T) {
	program, folder := python(t), t.TempDir()
	robots := filepath.Join("testdata", "robots")
	for name, from := range map[string]string{"parts": robots, "flags": robots, "tied": robots, "crawler": filepath.Join("..", "..", "docs", "examples")} {
		file := filepath.Join(robots, name+".json")
		if out, err := exec.Command(program, "dump.py", "--out", folder, filepath.Join(from, name+".xml")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v); run dump.py", file, err)
		}
	}
}
