package mirror

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		name, _ := filepath.Rel(folder, file)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A copy follows the folder of a run: what grows is sent from where it grew, checkpoints come whole and go, and what is not the run's stays where it is.
func TestChange(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	source := NewSource(from)
	sent := 0
	follow := func(want int) {
		t.Helper()
		c, err := source.Change()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(to); err != nil {
			t.Fatal(err)
		}
		sent = 0
		for _, f := range c.Files {
			sent += len(f.Data)
		}
		expect := contents(t, from)
		delete(expect, ".lock")
		delete(expect, "notes.txt")
		if got := contents(t, to); !reflect.DeepEqual(got, expect) {
			t.Errorf("the copy has %v; want %v", got, expect)
		}
		if sent != want {
			t.Errorf("%d bytes were sent; want %d", sent, want)
		}
	}
	write(t, from, ".lock", "")
	write(t, from, "notes.txt", "the user's")
	write(t, from, "config.toml", "c")
	write(t, from, "point.glsl", "gg")
	write(t, from, "metrics.jsonl", "1\n")
	write(t, from, "tensorboard/events.out.tfevents.1.host.2.0", "eee")
	follow(8)
	write(t, from, "metrics.jsonl", "1\n2\n")
	write(t, from, "checkpoints/00000010/manifest.json", "mm")
	write(t, from, "checkpoints/00000010/tensors.safetensors", "tttt")
	write(t, from, "best/00000010/manifest.json", "b")
	follow(9)
	follow(0)
	write(t, from, "checkpoints/00000020/manifest.json", "m")
	if err := os.RemoveAll(filepath.Join(from, "checkpoints", "00000010")); err != nil {
		t.Fatal(err)
	}
	follow(1)
	write(t, from, "metrics.jsonl", "1\n") // cut off by a run that is resumed, which then adds more than there was
	if err := source.Cut(); err != nil {
		t.Fatal(err)
	}
	write(t, from, "metrics.jsonl", "1\n9\n10\n")
	write(t, from, "provenance.json", "pp")
	follow(7)
	write(t, from, "metrics.jsonl", "1\n9\n")
	if err := source.Cut(); err != nil { // and ends
		t.Fatal(err)
	}
	follow(0)
	write(t, from, "metrics.jsonl", "8\n") // without a note all of it is sent
	follow(2)
	if _, err := os.Stat(filepath.Join(to, "checkpoints", "00000010")); !os.IsNotExist(err) {
		t.Errorf("a checkpoint that was removed: %v", err)
	}
}

// A change writes nothing but files of a run's folder.
func TestApplyRefuses(t *testing.T) {
	folder := t.TempDir()
	inside := filepath.Join(folder, "run")
	write(t, inside, "metrics.jsonl", "1\n")
	before := contents(t, folder)
	for _, c := range []Change{
		{Files: []File{{Name: "../x.json"}}},
		{Files: []File{{Name: "/tmp/x.json"}}},
		{Files: []File{{Name: ".lock"}}},
		{Files: []File{{Name: "a/x.glsl"}}},
		{Files: []File{{Name: `a\x.glsl`}}},
		{Files: []File{{Name: "tensorboard/../../x"}}},
		{Files: []File{{Name: "checkpoints/00000010/../x.json"}}},
		{Files: []File{{Name: "checkpoints/../x.json"}}},
		{Files: []File{{Name: "run.sh"}}},
		{Files: []File{{Name: "tensorboard/module.py", Grows: true}}},
		{Files: []File{{Name: "checkpoints/00000010/module.py"}}},
		{Files: []File{{Name: "config.toml", Offset: 1}}},
		{Files: []File{{Name: "config.toml", Grows: true}}},
		{Files: []File{{Name: "metrics.jsonl", Grows: true, Offset: 3}}},
		{Files: []File{{Name: "metrics.jsonl", Grows: true, Offset: -1}}},
		{Files: []File{{Name: "metrics.jsonl"}}},
		{Removed: []string{"checkpoints"}},
		{Removed: []string{"checkpoints/../.."}},
		{Removed: []string{"best/00000010/x"}},
	} {
		if err := c.Apply(inside); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%+v: %v; want it refused", c, err)
		}
	}
	if got := contents(t, folder); !reflect.DeepEqual(got, before) {
		t.Errorf("the folder has %v; want %v", got, before)
	}
}
