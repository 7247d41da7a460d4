package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// replace puts one text in the place of another in a file.
func (b *box) replace(name, old, new string) {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		b.t.Fatalf("%s has no %q", name, old)
	}
	b.write(name, strings.Replace(string(data), old, new, 1))
}

// A damaged file that is no checkpoint does not keep a run from being resumed to the same end, nor from being inspected and drawn; there is
// word of it, and the run mends it.
func TestDamagedFiles(t *testing.T) {
	b := newBox(t)
	want := b.digest("--out", "whole", "tiny.toml")
	b.must("run", "--out", "half", "--iterations", "12", "tiny.toml")
	for name, damage := range map[string]struct {
		do   func(*box, string)
		want []string
	}{
		"torn provenance": {func(b *box, run string) { b.write(run+"/provenance.json", "{\"workflow\": \"p") }, []string{"provenance.json is damaged"}},
		"lost provenance": {func(b *box, run string) { os.Remove(b.path(run, "provenance.json")) }, nil},
		"a line":          {func(b *box, run string) { b.replace(run+"/metrics.jsonl", "{\"iteration\":5,", "{\"iteration\"5,") }, nil},
		"the last line": {func(b *box, run string) { b.replace(run+"/metrics.jsonl", "{\"iteration\":12,", "\n{\"iteration\"12,") },
			[]string{"metrics.jsonl: a line is not a record"}},
		"no metrics at all": {func(b *box, run string) { b.write(run+"/metrics.jsonl", "\x00\x00\x00\n\x00") }, []string{"metrics.jsonl: a line is not a record"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			run := strings.ReplaceAll(name, " ", "-")
			if err := os.CopyFS(b.path(run), os.DirFS(b.path("half"))); err != nil {
				t.Fatal(err)
			}
			damage.do(b, run)
			b.must("inspect", run)
			stdout, stderr, status := b.run("run", "--json", "--resume", "--out", run, "tiny.toml")
			if status != 0 || b.object(stdout)["digest"] != want {
				t.Fatalf("status %d; want digest %s\n%s%s", status, want, stdout, stderr)
			}
			for _, w := range damage.want {
				if !strings.Contains(stderr, "warning: ") || !strings.Contains(stderr, w) {
					t.Errorf("wrote\n%s; want %q", stderr, w)
				}
			}
			in := b.object(b.must("inspect", "--json", run))
			if sessions := in["provenance"].(map[string]any)["sessions"].([]any); len(sessions) != 2 || sessions[0].(map[string]any)["device"] == "" {
				t.Errorf("sessions %v; want two that know the device", sessions)
			}
			b.must("plot", "-o", "p.svg", run)
		})
	}
}

// A run directory that is removed or replaced while a run is at work in it ends the run with an error, and nothing is written to another's.
func TestRemovedWhileRunning(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		b := newBox(t)
		cmd, _, stderr := b.command("run", "--out", "one", "--iterations", "100000", "tiny.toml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); len(checkpoints(t, b.path("one"))) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal("no checkpoint within a minute")
			}
		}
		if err := os.Rename(b.path("one"), b.path("moved")); err != nil {
			t.Fatal(err)
		}
		if replaced {
			if err := os.MkdirAll(b.path("one", "checkpoints"), 0o755); err != nil {
				t.Fatal(err)
			}
			b.write("one/.lock", "")
		}
		cmd.Wait() // its status is looked at below
		if status := cmd.ProcessState.ExitCode(); status != statusFailed || !strings.Contains(stderr.String(), "removed or replaced during the run") {
			t.Errorf("status %d\n%s", status, stderr)
		}
		if found, _ := filepath.Glob(b.path("one", "*", "*")); len(found) > 0 {
			t.Errorf("wrote %v", found)
		}
	}
}

// What somebody else has put into a run directory neither loses files outside of it, nor hangs, nor exhausts the memory.
func TestForeignRunDirectory(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "run", "--iterations", "4", "tiny.toml")
	b.write("precious", "not to be lost\n")
	link := func(file string) func(string) error {
		return func(run string) error {
			path := b.path(run, file)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return os.Symlink(b.path("precious"), path)
		}
	}
	pipe := func(file string) func(string) error {
		return func(run string) error {
			path := b.path(run, file)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o644)
		}
	}
	for name, c := range map[string]struct {
		change func(run string) error
		args   []string
		want   string
	}{
		"lock":       {link(".lock"), []string{"run", "--resume", "--iterations", "5", "--out"}, "not a regular file"},
		"metrics":    {link("metrics.jsonl"), []string{"run", "--resume", "--iterations", "5", "--out"}, "not a regular file"},
		"manifest":   {pipe("checkpoints/00000004/manifest.json"), []string{"eval"}, "not a regular file"},
		"tensors":    {pipe("checkpoints/00000004/tensors.safetensors"), []string{"eval"}, "tensors.safetensors"},
		"config":     {pipe("config.toml"), []string{"eval"}, "not a regular file"},
		"provenance": {pipe("provenance.json"), []string{"inspect"}, "not a regular file"},
		"plot":       {pipe("metrics.jsonl"), []string{"plot"}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			if err := os.CopyFS(b.path(name), os.DirFS(b.path("run"))); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(b.path(name, "checkpoints", "00000003")); err != nil {
				t.Fatal(err)
			}
			if err := c.change(name); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, stderr, _ := b.run(append(c.args, name)...)
			if !strings.Contains(stderr, c.want) || time.Since(begin) > 20*time.Second {
				t.Errorf("wrote after %v\n%s; want %q", time.Since(begin), stderr, c.want)
			}
			if data, err := os.ReadFile(b.path("precious")); err != nil || string(data) != "not to be lost\n" {
				t.Errorf("the file that was linked to is %q, %v", data, err)
			}
		})
	}
	b.t = t
	begin := time.Now()
	if _, stderr, status := b.run("run", "/dev/zero"); status != statusUsage || !strings.Contains(stderr, "not a regular file") ||
		time.Since(begin) > 10*time.Second {
		t.Errorf("/dev/zero as configuration: status %d\n%s", status, stderr)
	}
}

// Control characters from files do not reach the terminal.
func TestEscapes(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "run", "--iterations", "2", "tiny.toml")
	data, err := os.ReadFile(b.path("run", "provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	session := p["sessions"].([]any)[0].(map[string]any)
	session["device"], session["outcome"], session["command"] = "\x1b[2Jdevice", "fini\rshed", []string{"evorl", "\x1b]0;title\x07"}
	if data, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	b.write("run/provenance.json", string(data))
	out := b.must("inspect", "run")
	if strings.ContainsAny(out, "\x1b\x07\r") || !strings.Contains(out, `\x1b[2Jdevice`) {
		t.Errorf("wrote %q", out)
	}
	if _, stderr, _ := b.run("eval", "no\x1b[2Jsuch"); strings.ContainsAny(stderr, "\x1b") || !strings.Contains(stderr, `no\x1b[2Jsuch`) {
		t.Errorf("wrote %q", stderr)
	}
}

// Runs that begin at once get folders of their own.
func TestRunsAtOnce(t *testing.T) {
	b := newBox(t)
	var group sync.WaitGroup
	for range 4 {
		cmd, stdout, stderr := b.command("run", "--json", "--iterations", "2", "tiny.toml")
		group.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
		})
	}
	group.Wait()
	if runs, err := filepath.Glob(b.path("runs", "pbt-CartPole-v1-[1-4]", "config.toml")); err != nil || len(runs) != 4 {
		t.Errorf("runs %v, %v; want four", runs, err)
	}
}
