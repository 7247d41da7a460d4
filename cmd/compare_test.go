package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// What a folder of runs has besides runs is left out with a word: sweeps, files, runs without metrics. Repetitions are their runs, and so are the trials of a
// sweep that is named alone.
func TestCompareFolder(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 4\n[evaluation]\nevery = 2\n")
	b.write("many.toml", "workflow = \"nsga-ii\"\nenv = \"zdt\"\niterations = 2\n[zdt]\nfunction = 1\n[search]\nmembers = 2\n[evaluation]\nevery = 1\n")
	b.write("s.toml", "config = \"es.toml\"\nbatch = 1\n[keys.\"snes.population\"]\nvalues = [8, 16]\n")
	b.must("run", "-q", "--out", "runs/a", "es.toml")
	b.must("sweep", "-q", "--out", "runs/b-sweep", "s.toml")
	b.must("run", "-q", "--seeds", "2", "--out", "runs/c-seeds", "many.toml") // members are given: separate runs
	b.write("runs/notes.txt", "")
	for _, empty := range []string{"runs/new", "runs/other"} {
		if err := os.Mkdir(b.path(empty), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.write("runs/new/config.toml", string(b.read("runs/a/config.toml")))
	b.write("runs/new/metrics.jsonl", "")
	all := []string{"runs/a", "runs/b-sweep", "runs/c-seeds", "runs/new", "runs/notes.txt", "runs/other"}
	type methods struct {
		Tasks []struct{ Methods []struct{ Runs int } }
	}
	read := func(paths ...string) (got methods, stderr string) {
		stdout, stderr, status := b.run(append([]string{"compare", "--json"}, paths...)...)
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 0 {
			t.Fatalf("compare %v: %v, status %d\n%s", paths, err, status, stderr)
		}
		return got, stderr
	}
	got, stderr := read(all...)
	if len(got.Tasks) != 2 || len(got.Tasks[0].Methods) != 1 || got.Tasks[1].Methods[0].Runs != 4 {
		t.Errorf("%+v; want the run a, and four of two times two members", got)
	}
	for _, want := range []string{"b-sweep is a sweep", "runs/new: no metrics yet", "runs/notes.txt", "runs/other"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no word of %q in\n%s", want, stderr)
		}
	}
	if got, _ := read("runs/b-sweep"); len(got.Tasks) != 1 || len(got.Tasks[0].Methods) != 2 {
		t.Errorf("a sweep alone: %+v; want two methods", got)
	}
	b.must(append([]string{"plot", "-o", "all.svg"}, all...)...)
	b.must("plot", "-o", "sweep.svg", "runs/b-sweep")
	b.must(append([]string{"plot", "--scores", "-o", "scores.svg"}, all[:2]...)...)
	if _, stderr, status := b.run("compare", "runs/a", "runs/nowhere"); status == 0 || !strings.Contains(stderr, "runs/nowhere") {
		t.Errorf("status %d, %s; want an error of what does not exist", status, stderr)
	}
	if _, stderr, status := b.run("compare", "runs/other"); status == 0 || !strings.Contains(stderr, "no run in runs/other") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// Runs that differ in their seed are one method, whether they are folders or independent members of one; settings that differ tell methods apart, and
// problems are tasks.
func TestCompare(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 6\n[evaluation]\nevery = 3\n")
	b.write("pso.toml", "workflow = \"pso\"\nenv = \"sphere\"\niterations = 6\n[evaluation]\nevery = 3\n")
	runs := []string{"swarm", "swarm-ackley", "es-wide"}
	for seed := range 3 {
		name := fmt.Sprint("es-", seed)
		b.must("run", "--seed", fmt.Sprint(seed), "--out", name, "es.toml")
		runs = append(runs, name)
	}
	b.must("run", "--out", "es-wide", "--set", "snes.population=64", "es.toml")
	b.must("run", "--set", "search.members=4", "--out", "swarm", "pso.toml")
	b.must("run", "--set", "search.members=2", "--set", "env=ackley", "--out", "swarm-ackley", "pso.toml")
	var got struct {
		Tasks []struct {
			Task    string
			Methods []struct {
				Method string
				Runs   int
				Scores []float64
				Mean   map[string]*float64
			}
		}
		All         []struct{ Method string }
		Improvement []struct {
			Method, Over string
			P            map[string]float64
		} `json:"probability_of_improvement"`
	}
	stdout, stderr, status := b.run(append([]string{"compare", "--json"}, runs...)...)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 0 {
		t.Fatalf("%v, status %d\n%s", err, status, stderr)
	}
	if len(got.Tasks) != 2 || got.Tasks[0].Task != "sphere" || got.Tasks[1].Task != "ackley" || len(got.Tasks[1].Methods) != 1 {
		t.Fatalf("tasks %v; want sphere, and ackley with one method", got.Tasks)
	}
	want := map[string]int{"pso": 4, "snes, population=64": 1, "snes, population=0": 3}
	for _, m := range got.Tasks[0].Methods {
		if want[m.Method] != m.Runs || len(m.Scores) != m.Runs || (m.Mean["low"] == nil) != (m.Runs == 1) {
			t.Errorf("%q has %d runs and interval %v; want %v, and none of one run", m.Method, m.Runs, m.Mean, want)
		}
	}
	if len(got.All) != 1 || got.All[0].Method != "pso" || len(got.Improvement) != 3 {
		t.Errorf("all: %v, %d pairs; want pso alone on both, and 3", got.All, len(got.Improvement))
	}
	for _, p := range got.Improvement {
		if v := p.P["value"]; v < 0.5 || v > 1 || p.P["low"] > v || p.P["high"] < v {
			t.Errorf("%s over %s: %v; want at least 0.5 within its interval", p.Method, p.Over, p.P)
		}
	}
	if !strings.Contains(stderr, "has no runs on ackley") {
		t.Errorf("%s; want a warning of what is missing", stderr)
	}
	table := b.must(append([]string{"compare", "--range", "ackley=-20:0", "--range", "sphere=-5:0"}, runs...)...)
	for _, want := range []string{"sphere, by the last evaluation of each run", "0 and 1 are the ends of --range", "probability that a run scores higher"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--range", "ackly=0:1"}, "there are those of: sphere; ackley"},
		{[]string{"--range", "ackley=2:1"}, "want ENV=LOW:HIGH with finite LOW below HIGH"},
		{[]string{"--range", "ackley=-inf:0"}, "want ENV=LOW:HIGH with finite LOW below HIGH"},
		{[]string{"--over", "0"}, "want at least 1"},
		{[]string{"--label", "A"}, "1 labels for 3 methods"},
	} {
		if _, stderr, status := b.run(slices.Concat([]string{"compare"}, c.args, runs)...); status != statusUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("compare %v: status %d\n%s; want %q", c.args, status, stderr, c.want)
		}
	}
	once := b.must("compare", "--json", runs[0])
	if twice, stderr, _ := b.run("compare", "--json", runs[0], "./"+runs[0]+"/"); twice != once || !strings.Contains(stderr, "is named twice, and counts once") {
		t.Errorf("a run that is named twice: %s\n%s; want %s", twice, stderr, once)
	}
	if _, stderr, status := b.run("compare", "--metric", "nothing", "swarm"); status != statusFailed || !strings.Contains(stderr, `no metric "nothing"`) {
		t.Errorf("status %d\n%s", status, stderr)
	}
}
