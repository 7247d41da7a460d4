package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/rundir"
)

// tree returns the contents of all files of a folder, but for locks.
func (b *box) tree(name string) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(b.path(name), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != rundir.LockFile {
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

const halvingOfSphere = "config = \"es.toml\"\nmethod = \"halving\"\ntrials = 6\nseeds = 2\n[keys.\"openes.learning_rate\"]\nprior = \"log_uniform\"\n" +
	"low = 1e-6\nhigh = 0.5\n[halving]\neta = 2\niterations = 3\n"

// A sweep takes a run that is done only if its settings, members and records belong to its trials: else it stops, and says where, before anything is
// changed. Once the folder has been moved away, it is run again, with the same result.
func TestSweepOfDamagedRuns(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"openes\"\nenv = \"sphere\"\niterations = 12\n[openes]\npopulation = 8\n[evaluation]\nevery = 2\n")
	b.write("s.toml", halvingOfSphere)
	table := b.must("sweep", "-q", "--out", "S", "s.toml")
	edit := func(old, new string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, old) {
				t.Fatalf("no %q in\n%s", old, text)
			}
			return strings.Replace(text, old, new, 1)
		}
	}
	withoutLine := func(number int) func(string) string {
		return func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(append(lines[:number-1:number-1], lines[number:]...), "")
		}
	}
	for name, c := range map[string]struct {
		file   string
		damage func(string) string
		want   string
	}{
		"members, empty": {
			"batch-0/members.jsonl", func(string) string { return "" }, "S/batch-0/members.jsonl:1: the evaluation of members in iteration 2 is lost",
		},
		"members, a line":  {"batch-0/members.jsonl", withoutLine(2), "S/batch-0/members.jsonl:2: the evaluation of members in iteration 3 is lost"},
		"members, damaged": {"batch-0/members.jsonl", edit("{\"iteration\":2", "{\"itera"), "S/batch-0/members.jsonl:1: a line is not a record"},
		"members, changed": {
			"batch-0/members.jsonl", edit("\"evaluation/3\":-", "\"evaluation/3\":-1"),
			"S/batch-0/members.jsonl:1: the evaluation of members in iteration 2 is not that of metrics.jsonl",
		},
		"metrics, a line":     {"batch-0/metrics.jsonl", withoutLine(2), "S/batch-0/metrics.jsonl:2: the record of iteration 2 is lost"},
		"metrics, the end":    {"batch-0-rung-1/metrics.jsonl", withoutLine(3), "S/batch-0-rung-1/metrics.jsonl:3: the record of iteration 6 is lost"},
		"metrics of a member": {"batch-0-rung-2/metrics.jsonl", edit("{", "["), "S/batch-0-rung-2/metrics.jsonl:1: a line is not a record"},
		"settings":            {"batch-0-rung-1/config.toml", edit("learning_rate = [0.", "learning_rate = [0.9"), "vary.values is {learning_rate = [0.4"},
		"members continued": {
			"batch-0-rung-1/provenance.json", edit("\"run\": \"batch-0\"", "\"run\": \"batch-1\""),
			"the run continues members [0 1 4 5 10 11] of batch-1: want",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := b.path("S", c.file)
			good := b.read("S/" + c.file)
			b.write("S/"+c.file, c.damage(string(good)))
			before := b.tree("S")
			_, stderr, status := b.run("sweep", "-q", "--resume", "--out", "S", "s.toml")
			if status == 0 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "move the folder S/batch-0") {
				t.Errorf("status %d\n%s; want %q", status, stderr, c.want)
			}
			for file, text := range b.tree("S") {
				if text != before[file] {
					t.Errorf("%s has been changed", file)
				}
			}
			if err := os.WriteFile(path, good, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := os.Rename(b.path("S/batch-0"), b.path("away")); err != nil {
		t.Fatal(err)
	}
	before := string(b.read("S/batch-0-rung-1/provenance.json"))
	if again := b.must("sweep", "-q", "--resume", "--out", "S"); again != table || string(b.read("S/batch-0-rung-1/provenance.json")) != before {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
	// Trials with runs of their own.
	b.write("g.toml", "config = \"es.toml\"\nset = [\"iterations=4\"]\n[keys.seed]\nvalues = [1, 2]\n")
	b.must("sweep", "-q", "--out", "G", "g.toml")
	b.write("G/trial-1/metrics.jsonl", withoutLine(3)(string(b.read("G/trial-1/metrics.jsonl"))))
	_, stderr, status := b.run("sweep", "-q", "--resume", "--out", "G")
	if status != statusFailed || !strings.Contains(stderr, "G/trial-1/metrics.jsonl:3: the record of iteration 3 is lost") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// A sweep that was cut while its folder was made begins there again, whichever file was the last; the folder of something else is refused.
func TestSweepCutWhileMade(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.write("s.toml", "config = \"es.toml\"\n[keys.seed]\nvalues = [1, 2]\n")
	table := b.must("sweep", "-q", "--out", "whole", "s.toml")
	for name, left := range map[string]map[string]string{
		"lock": {".lock": ""}, "temporary": {".base.toml.tmp-123": "workfl"}, "base": {"base.toml": string(b.read("whole/base.toml")), ".sweep.toml.tmp-9": "con"},
	} {
		for file, text := range left {
			if err := os.MkdirAll(b.path(name), 0o755); err != nil {
				t.Fatal(err)
			}
			b.write(filepath.Join(name, file), text)
		}
		if again := b.must("sweep", "-q", "--resume", "--out", name, "s.toml"); strings.ReplaceAll(again, name, "whole") != table {
			t.Errorf("%s:\n%s\nwant\n%s", name, again, table)
		}
	}
	if err := os.Mkdir(b.path("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"base.toml": "mine", "notes.txt": ""} {
		b.write("other/"+name, text)
		if _, stderr, status := b.run("sweep", "-q", "--out", "other", "s.toml"); status == 0 || !strings.Contains(stderr, "not empty: "+name) {
			t.Errorf("status %d\n%s", status, stderr)
		}
		if string(b.read("other/"+name)) != text {
			t.Errorf("%s has been changed", name)
		}
		if err := os.Remove(b.path("other", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// The folder of a sweep is locked while the sweep runs.
func TestSweepIsLocked(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.write("s.toml", "config = \"es.toml\"\n[keys.seed]\nvalues = [1, 2]\n")
	b.must("sweep", "-q", "--out", "S", "s.toml")
	if err := os.RemoveAll(b.path("S/trial-1")); err != nil {
		t.Fatal(err)
	}
	lock, err := rundir.NewLock(b.path("S"))
	if err != nil {
		t.Fatal(err)
	}
	before := b.tree("S")
	_, stderr, status := b.run("sweep", "-q", "--resume", "--out", "S")
	if status != statusFailed || !strings.Contains(stderr, "sweep folder S: the folder is in use by process") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if after := b.tree("S"); len(after) != len(before) {
		t.Errorf("%d files; want %d", len(after), len(before))
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	b.must("sweep", "-q", "--resume", "--out", "S")
}
