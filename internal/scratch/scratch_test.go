package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evorl/evorl/engine/rundir"
)

// A new folder's maker removes the folders that processes have left, and no others.
func TestLeft(t *testing.T) {
	in := t.TempDir()
	t.Setenv("TMPDIR", in)
	t.Setenv("TMP", in)
	old := time.Now().Add(-2 * young)
	place := func(name string, mode os.FileMode, lock bool, at time.Time) string {
		path := filepath.Join(in, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		if lock {
			l, err := rundir.NewLock(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := map[string]string{"unlocked": place("evorl-test-1", 0o700, true, time.Now()), "old": place("evorl-test-2", 0o700, false, old)}
	if err := os.Mkdir(filepath.Join(gone["unlocked"], "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{
		"being made": place("evorl-test-3", 0o700, false, time.Now()), "of another mode": place("evorl-test-4", 0o755, true, old),
		"of another name": place("evorl-other-5", 0o700, true, old), "target of a link": place("target", 0o700, true, old),
		"link": filepath.Join(in, "evorl-test-6"), "file": filepath.Join(in, "evorl-test-7"),
	}
	if err := os.Symlink(kept["target of a link"], kept["link"]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept["file"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := New("evorl-test-")
	if err != nil {
		t.Fatal(err)
	}
	kept["locked"] = first.Path()
	second, err := New("evorl-test-")
	if err != nil {
		t.Fatal(err)
	}
	kept["second"] = second.Path()
	for what, path := range gone {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the folder that is %s: %v; want it removed", what, err)
		}
	}
	for what, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v; want it left alone", what, err)
		}
	}
	for _, f := range []*Folder{first, second} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(f.Path()); !os.IsNotExist(err) {
			t.Errorf("after Close: %v", err)
		}
	}
}
