package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs/mjcf"
)

// python returns the Python with MuJoCo. Tests that compile MJCF files are skipped without one.
func python(t *testing.T) string {
	t.Helper()
	program := mjcf.Python()
	if err := exec.Command(program, "-c", "import mujoco").Run(); err != nil {
		if os.Getenv("MUJOCO_PYTHON") != "" {
			t.Fatalf("%s cannot import mujoco: %v", program, err)
		}
		t.Skipf("%s cannot import mujoco (%v); MUJOCO_PYTHON names another", program, err)
	}
	return program
}

// TestOwnModel generates a user's own model from an MJCF file outside the repository.
func TestOwnModel(t *testing.T) {
	program, folder := python(t), filepath.Join(t.TempDir(), "Robot-lab")
	var stdout, stderr bytes.Buffer
	run := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		return run(t.Context(), append([]string{"-python", program, "-out", folder}, args...), &stdout, &stderr)
	}
	if status := run("../../envs/mjcf/testdata/robots/parts.xml"); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	for file, want := range map[string]string{"parts.glsl": "#define TIME_STEP_ITERATIONS ", "parts_gen.go": "package robot_lab\n"} {
		if text, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v; want %q in it", file, err, want)
		}
	}
	if status := run("-check", "../../envs/mjcf/testdata/robots/parts.xml"); status != 0 || stdout.Len() > 0 {
		t.Errorf("-check after writing: status %d, %s", status, stdout.String())
	}
	limited := filepath.Join(t.TempDir(), "slow.xml")
	text := "<mujoco>\n<option iterations=\"3\"/><worldbody><body><joint/><geom size=\"1\"/></body></worldbody></mujoco>"
	if err := os.WriteFile(limited, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if status := run(limited); status != 0 || !strings.HasPrefix(stderr.String(), "mjcf: warning: slow.xml:2: <option>: iterations is 3, not 100") {
		t.Errorf("a limit of iterations: status %d, %s", status, stderr.String())
	}
}

// TestUsage: bad files and arguments give one line that says what is wrong, and status 1 or 2.
func TestUsage(t *testing.T) {
	missing := []string{"-out", t.TempDir(), filepath.Join(t.TempDir(), "missing.xml")}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no Python", append([]string{"-python", "/nowhere/python"}, missing...), 1,
			"mjcf: /nowhere/python: there is no such program; want a Python with MuJoCo: python3 -m venv"},
		{"two files of one name", []string{"a/robot.xml", "b/robot.xml"}, 1,
			"mjcf: b/robot.xml: its outputs would be named \"robot\", as those of a/robot.xml"},
		{"a name without letters", []string{".xml"}, 1, "mjcf: .xml: its outputs would be named"},
		{"flags of one's own", []string{"-package", "robots"}, 1, "mjcf: -out, -go and -package are for models of one's own; want MJCF files"},
		{"outside of the repository", nil, 1, "mjcf: envs/mjcf/models holds no models"},
		{"an unknown flag", []string{"-models", "x"}, 2, "flag provided but not defined: -models"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), c.args, &stdout, &stderr)
		text := stderr.String()
		if status != c.status || !strings.HasPrefix(text, c.want) || strings.Contains(text, "Traceback") {
			t.Errorf("%s: status %d, %s; want %d and %q", c.name, status, text, c.status, c.want)
		}
	}
	program := python(t)
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), append([]string{"-python", program}, missing...), &stdout, &stderr)
	if status != 1 || stderr.String() != "mjcf: "+missing[2]+": no such file\n" {
		t.Errorf("a missing file: status %d, %s", status, stderr.String())
	}
}
