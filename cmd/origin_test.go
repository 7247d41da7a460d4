package cmd

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
)

// tinyERL is a run of ERL that takes a second or two.
const tinyERL = "workflow = \"erl\"\nenv = \"Pendulum-v1\"\niterations = 12\nseed = 3\n[erl]\nwarmup = 2\nevaluate = \"population\"\n" +
	"[td3]\nmembers = 2\nrollout_length = 8\nlearning_starts = 8\n[network]\nhidden = [8]\n[replay]\ncapacity = 1000\nbatch = 8\n" +
	"[ga]\npopulation = 6\nplus = true\n[environment]\ntime_limit = 20\n[evaluation]\nepisodes = 2\n[checkpoint]\nevery = 1\n"

// kill starts a run and kills it when it has written the given number of records.
func (b *box) kill(run string, records int, args ...string) {
	b.t.Helper()
	cmd, _, stderr := b.command(append([]string{"run", "--out", run}, args...)...)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(b.path(run, "metrics.jsonl")); err == nil && strings.Count(string(text), "\n") >= records {
			break
		}
		if time.Since(begin) > time.Minute {
			b.t.Fatalf("no %d records within a minute\n%s", records, stderr)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	cmd.Wait() // says only that it was killed
}

// evorl view and plot show where a member came from: of a run that was killed and resumed as of one that was not, and with files whose last line is
// cut. Of other runs they show nothing of it.
func TestOriginShown(t *testing.T) {
	b := newBox(t)
	b.write("erl.toml", tinyERL)
	b.write("es.toml", "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 2\n[search]\nmembers = 2\n[openes]\npopulation = 8\n")
	for _, c := range []struct{ config, file, want, panel string }{
		{"tiny.toml", "lineage.jsonl", "lineage: member ", "Lineage: thick"},
		{"erl.toml", "members.jsonl", "policy: the population's solution; best candidate so far: fitness ", "orange, made by learning"},
	} {
		b.must("run", "--out", "whole", c.config)
		b.kill("killed", 7, c.config)
		b.must("run", "--resume", "--out", "killed")
		want := b.origin("whole")
		if got := b.origin("killed"); want == nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: after a kill, the origin is %v; want %v", c.config, got, want)
		}
		text := b.must("view", "--out", "a.html", "killed")
		if strings.Count(text, c.want) != 1 {
			t.Errorf("%s: view writes\n%s\nwant %q", c.config, text, c.want)
		}
		whole := string(b.read("killed/" + c.file))
		b.write("killed/"+c.file, whole[:len(whole)-9])
		if stdout, stderr, status := b.run("view", "--out", "a.html", "killed"); status != 0 || stderr != "" ||
			!strings.Contains(stdout, c.want) {
			t.Errorf("%s: with a cut line, status %d\n%s%s", c.config, status, stdout, stderr)
		}
		for metric, panels := range map[string]int{"": 1, "return": 0} {
			if svg := b.plotted("killed", metric); strings.Count(svg, c.panel) != panels {
				t.Errorf("%s: a figure of %d bytes; want %d panels %q", c.config, len(svg), panels, c.panel)
			}
		}
		b.write("killed/"+c.file, strings.Replace(whole, "{\"iteration\":5,", "{\"iteration\"5,", 1))
		if _, stderr, status := b.run("view", "--out", "a.html", "killed"); status != 0 || !strings.Contains(stderr, "warning: ") ||
			!strings.Contains(stderr, c.file) {
			t.Errorf("%s: with a damaged line, status %d\n%s; want a warning of %s", c.config, status, stderr, c.file)
		}
		for _, run := range []string{"whole", "killed"} {
			if err := os.RemoveAll(b.path(run)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.must("run", "--out", "es", "es.toml")
	if of := b.origin("es"); of != nil {
		t.Errorf("openes: %v; want nothing", of)
	}
	if text := b.must("view", "--out", "a.html", "es"); strings.Count(text, "\n") != 3 {
		t.Errorf("openes: view writes\n%s\nwant the return, that of the best in new episodes, and the file", text)
	}
	if svg := b.plotted("es", ""); svg != b.plotted("es", "return") {
		t.Error("openes: by default the figure is another than that of the return")
	}
}

// plotted is the figure of a run.
func (b *box) plotted(run, metric string) string {
	b.t.Helper()
	args := []string{"plot", "-o", "p.svg"}
	if metric != "" {
		args = append(args, "--metric", metric)
	}
	b.must(append(args, run)...)
	return string(b.read("p.svg"))
}

// origin is the origin of member 1 as evorl view --json writes it.
func (b *box) origin(run string) any {
	b.t.Helper()
	return b.object(b.must("view", "--json", "--out", "a.html", "--member", "1", run))["origin"]
}

// Long chains of copies are told by their ends.
func TestWriteDescent(t *testing.T) {
	var copies []evorl.Copy
	for i := range 6 {
		copies = append(copies, evorl.Copy{Iteration: 61 - 10*i, Member: i, Of: i + 1})
	}
	for n, want := range map[int]string{
		0: "lineage: member 0 since the first iteration, never replaced by a copy\n",
		2: "lineage: member 2 of the first iteration, copied to member 1 in iteration 51, copied to member 0 in iteration 61\n",
		6: "lineage: member 6 of the first iteration, over 2 exchanges to member 4, copied to member 3 in iteration 31, copied to member 2 in iteration 41, " +
			"copied to member 1 in iteration 51, copied to member 0 in iteration 61\n",
	} {
		var b strings.Builder
		writeDescent(&b, 0, n, copies[:n])
		if b.String() != want {
			t.Errorf("%d copies:\n%swant\n%s", n, b.String(), want)
		}
	}
}
