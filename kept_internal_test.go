package evorl

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/mirror"
)

// trap returns the configuration of a run whose environment is a program that leaves a file, without what that told of itself; sprung reports whether the
// program was started.
func trap(t *testing.T) (text string, sprung func() bool) {
	t.Helper()
	folder := t.TempDir()
	program, trace := filepath.Join(folder, "program"), filepath.Join(folder, "trace")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n: > %s\n", trace), 0o755); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("workflow = \"ppo\"\nenv = \"exec:%s\"\n", program), func() bool {
		_, err := os.Stat(trace)
		return err == nil
	}
}

// Reading what a run keeps, in its folder or in a checkpoint, starts no process and asks no server: other machines may have written it.
func TestKeptStartsNothing(t *testing.T) {
	text, sprung := trap(t)
	if _, err := Parse("x.toml", []byte(text)); err == nil || !sprung() {
		t.Fatalf("a configuration of the user: %v, started %t; want the program's error", err, sprung())
	}
	for _, of := range []struct{ text, glsl, want string }{
		{"trap", "", "bridge.spec"},
		{"workflow = \"ppo\"\nenv = \"dm_env_rpc://127.0.0.1:1\"\n", "", "dm_env_rpc.spec"},
		{"workflow = \"ppo\"\nenv = \"robot.xml\"\n", "", "keeps GLSL by its name"},
		{"workflow = \"openes\"\nenv = \"/nowhere/x.glsl\"\n", "", "keeps GLSL by its name"},
		{"workflow = \"openes\"\nenv = \"x.glsl\"\n", "// environment: Line\n#include \"robot.xml\"\n", "robot.xml"},
	} {
		sprung := func() bool { return false }
		if of.text == "trap" {
			of.text, sprung = trap(t)
		}
		folder := t.TempDir()
		files := map[string]string{rundir.ConfigFile: of.text, "robot.xml": "<mujoco/>"}
		if of.glsl != "" {
			files["x.glsl"] = of.glsl
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Stored(folder); err == nil || !strings.Contains(err.Error(), of.want) || sprung() {
			t.Errorf("%q: %v, started %t; want an error with %q", of.text, err, sprung(), of.want)
		}
	}
	cfg, err := New("snes", "sphere")
	if err != nil {
		t.Fatal(err)
	}
	text, sprung = trap(t)
	from := &checkpoint.Checkpoint{Path: "x", Manifest: checkpoint.Manifest{Provenance: map[string]string{configFact: text}}}
	if _, err := cfg.of(from); err == nil || !strings.Contains(err.Error(), "bridge.spec") || sprung() {
		t.Errorf("a checkpoint: %v, started %t; want an error with bridge.spec", err, sprung())
	}
}

// A worker refuses the folder of another run than the one that it was given, and a sweep what a worker sends of another run; nothing is written before.
func TestCopiedOtherRun(t *testing.T) {
	cfg, err := New("snes", "sphere")
	if err != nil {
		t.Fatal(err)
	}
	own, err := cfg.TOML()
	if err != nil {
		t.Fatal(err)
	}
	text, sprung := trap(t)
	file := func(name, text string) *mirror.Change {
		return &mirror.Change{Files: []mirror.File{{Name: name, Data: []byte(text)}}}
	}
	for _, of := range []struct {
		change *mirror.Change
		want   string
	}{
		{file(rundir.ConfigFile, string(own)), ""}, {file(rundir.MetricsFile, "x"), ""},
		{file(rundir.ConfigFile, text), "bridge.spec"},
		{file(rundir.ConfigFile, strings.Replace(string(own), "seed = 0", "seed = 7", 1)), "seed"},
		{file("x.glsl", "// environment: Line\n"), "not the GLSL of the run"},
	} {
		if err := cfg.checkCopied(of.change); (err == nil) != (of.want == "") || err != nil && !strings.Contains(err.Error(), of.want) {
			t.Errorf("%q: %v; want an error with %q", of.change.Files[0].Name, err, of.want)
		}
	}
	folder := filepath.Join(t.TempDir(), "run")
	w := &remote{tell: func(string) {}}
	if _, _, err := w.whole(t.Context(), nil, &machines.Hello{}, &wholeJob{Name: "x", Config: own, Stored: file(rundir.ConfigFile, text)}, folder); err == nil ||
		!strings.Contains(err.Error(), "bridge.spec") || sprung() {
		t.Errorf("a worker: %v, started %t; want an error with bridge.spec", err, sprung())
	}
	if found, _ := fs.Glob(os.DirFS(folder), "*"); len(found) > 0 {
		t.Errorf("the worker has written %q; want nothing", found)
	}
}
