package cmd

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// No output replaces a file that a run or a sweep keeps of itself, by whatever path; others in its folder may be replaced.
func TestOutputsOfOthers(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.must("run", "-q", "--out", "run", "es.toml")
	b.write("s.toml", "config = \"es.toml\"\n[keys.seed]\nvalues = [1, 2]\n")
	b.must("sweep", "-q", "--out", "S", "s.toml")
	if err := errors.Join(os.Symlink(b.path("run"), b.path("link")), os.Symlink(b.path("run", "metrics.jsonl"), b.path("metrics.csv"))); err != nil {
		t.Fatal(err)
	}
	before, sweep := b.tree("run"), b.tree("S")
	for _, args := range []string{
		"export --csv run/metrics.jsonl run", "export --parquet run/config.toml run", "export --csv link/provenance.json run", "export --csv metrics.csv run",
		"export --csv run/lineage.jsonl run", "export --csv run/checkpoints/00000002/manifest.json run", "export --policy run/../run/best/x.json run",
		"plot -o run/tensorboard/x.svg run", "view --png run/metrics.jsonl run", "view -o run/.lock run", "bench --out run/metrics.jsonl",
		"bench compare --svg run/config.toml es.toml", "export --csv S/sweep.toml run", "export --csv S/trial-0/metrics.jsonl run", "export --csv S/base.toml run",
	} {
		_, stderr, status := b.run(strings.Fields(args)...)
		if status != statusUsage || !strings.Contains(stderr, "keeps this file of its own: want another name or folder") {
			t.Errorf("%s: status %d\n%s", args, status, stderr)
		}
	}
	for folder, was := range map[string]map[string]string{"run": before, "S": sweep} {
		now := b.tree(folder)
		for path, text := range now {
			if was[path] != text {
				t.Errorf("%s has been written", path)
			}
		}
		if len(now) != len(was) {
			t.Errorf("%s: %d files; want %d", folder, len(now), len(was))
		}
	}
	for range 2 {
		b.must("export", "--csv", "run/metrics.csv", "run")
	}
}

// What is no regular file, or too large, is refused at once wherever a user names a file.
func TestFilesThatNeverEnd(t *testing.T) {
	b := newBox(t)
	if err := syscall.Mkfifo(b.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(b.path("pipe"), b.path("pipe.glsl")), os.Symlink("/dev/zero", b.path("zero.xml"))); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(b.path("large.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(1<<40), large.Close()); err != nil {
		t.Fatal(err)
	}
	problem := func(include string) string {
		return "// problem: f\n" + include + "\nvoid evaluate(inout float f[OBJECTIVES]) { f[0] = x(0u); }\n"
	}
	b.write("f.glsl", problem(`#include "pipe"`))
	b.write("split.glsl", problem("#inc\\\nlude \"es.toml\""))
	for _, name := range []string{"f", "split"} {
		b.write(name+".toml", "workflow = \"snes\"\nproblem = \""+name+".glsl\"\n")
	}
	b.write("pipe.toml", "workflow = \"snes\"\nproblem = \"pipe.glsl\"\n")
	b.write("zero.toml", "workflow = \"openes\"\nenv = \"zero.xml\"\n[task]\nreward = \"1\"\n")
	for args, want := range map[string]string{
		"bench compare /dev/zero": "/dev/zero: not a regular file; want a file of evorl bench --out", "bench compare pipe": "pipe: not a regular file",
		"bench compare large.json": "want at most", "run f.toml": "pipe: not a regular file", "run pipe.toml": "pipe.glsl: not a regular file",
		"run split.toml": "split.glsl:2: an #include that continues on the next line: want it in one line", "run zero.toml": "zero.xml: not a regular file",
	} {
		_, stderr, status := b.run(strings.Fields(args)...)
		if status != statusUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d\n%s; want %q", args, status, stderr, want)
		}
	}
}
