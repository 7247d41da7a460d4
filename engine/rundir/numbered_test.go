package rundir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNumbered(t *testing.T) {
	below := filepath.Join(t.TempDir(), "runs")
	newest := func(prefix, want string) {
		t.Helper()
		got, err := NewestNumbered(below, prefix, ConfigFile)
		if want != "" {
			want = filepath.Join(below, want)
		}
		if err != nil || got != want {
			t.Errorf("the newest of %q is %q, %v; want %q", prefix, got, err, want)
		}
	}
	newest("a", "") // no folder yet
	for _, c := range []struct{ prefix, want string }{
		{"a", "a-1"}, {"a", "a-2"}, {"a-2", "a-2-1"}, {"50%d", "50%d-1"}, {"50%d", "50%d-2"}, {`dm_env_rpc://host:1`, "dm_env_rpc---host-1-1"}, {`p/q\r`, "p-q-r-1"},
	} {
		if got, err := NewNumbered(below, c.prefix); err != nil || got != filepath.Join(below, c.want) {
			t.Fatalf("%q gets %q, %v; want %s", c.prefix, got, err, c.want)
		}
	}
	for _, name := range []string{"a-07", "a-x", "a--3", "b-4"} { // others' folders
		if err := os.Mkdir(filepath.Join(below, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	newest("a", "") // no run began in any
	for _, name := range []string{"a-1", "a-07", "50%d-2"} {
		if err := os.WriteFile(filepath.Join(below, name, ConfigFile), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	newest("a", "a-1")
	newest("50%d", "50%d-2")
	if err := os.RemoveAll(filepath.Join(below, "a-1")); err != nil {
		t.Fatal(err)
	}
	if got, err := NewNumbered(below, "a"); err != nil || got != filepath.Join(below, "a-3") { // numbers above all existing ones
		t.Errorf("after a gap: %q, %v", got, err)
	}
}
