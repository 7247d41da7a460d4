package cmd

import (
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/metrics"

	"github.com/evorl/evorl"
)

// interruptedAt is the last iteration of the first session of a run that is resumed.
const interruptedAt = 10

// sameRecords demands that a file of two runs has the same records, seconds aside, and how many.
func (b *box) sameRecords(file string, count int, runs ...string) {
	b.t.Helper()
	var all []string
	for _, run := range runs {
		records, bad, err := metrics.ReadFile(b.path(run, file))
		if err != nil || bad != nil || len(records) != count {
			b.t.Fatalf("%s of %s: %d records, %v, %v; want %d", file, run, len(records), err, bad, count)
		}
		for i, r := range records {
			records[i].Seconds = 0
			if r.Iteration == interruptedAt { // the last iteration of a session is evaluated
				maps.DeleteFunc(r.Values, func(name string, _ float64) bool { return strings.HasPrefix(name, "evaluation/") })
			}
		}
		all = append(all, fmt.Sprint(records))
	}
	if all[0] != all[1] {
		b.t.Errorf("%s:\n%s\nwant\n%s", file, all[1], all[0])
	}
}

// The descent of a run of PBT is written down, the same after it was interrupted, and drawn; a mean over numbers of members is not.
func TestLineage(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "whole", "tiny.toml")
	b.must("run", "--out", "half", "--iterations", fmt.Sprint(interruptedAt), "tiny.toml")
	b.must("run", "--resume", "--out", "half", "tiny.toml")
	// The members as they were drawn, and exchanges after 4, 8, 12, 16 and 20 iterations.
	b.sameRecords("lineage.jsonl", 6*8, "whole", "half")
	b.sameRecords("members.jsonl", 24, "whole", "half")
	if text, err := os.ReadFile(b.path("whole", "metrics.jsonl")); err != nil || strings.Contains(string(text), "pbt/parent") {
		t.Errorf("metrics.jsonl has a mean parent, %v", err)
	}
	b.must("plot", "--lineage", "-o", "l.svg", "whole")
	svg, err := os.ReadFile(b.path("l.svg"))
	if err != nil || !strings.Contains(string(svg), "Learning rate") || !strings.Contains(string(svg), "Discount, as the horizon") {
		t.Errorf("a figure of %d bytes, %v", len(svg), err)
	}
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 3\n")
	b.must("run", "--out", "es", "es.toml")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"es"}, statusFailed, "want a run of pbt or pbt-cso, not of snes"},
		{[]string{"whole", "half"}, statusUsage, "want one RUN_DIR, got 2"},
		{[]string{"--front", "whole"}, statusUsage, "front"},
	} {
		if _, stderr, status := b.run(append([]string{"plot", "--lineage"}, c.args...)...); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("plot --lineage %v: status %d\n%s; want %q", c.args, status, stderr, c.want)
		}
	}
}

// Lines are named by what their folders have in common or by --label, several environments on one axis are warned of, and evaluations stand along
// the bottom where there are no steps.
func TestPlotOfSeveral(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 3\n")
	b.write("pso.toml", "workflow = \"pso\"\nenv = \"sphere\"\niterations = 3\n")
	for seed := range 3 {
		b.must("run", "--seed", fmt.Sprint(seed), "--out", fmt.Sprint("s", seed), "es.toml")
		b.must("run", "--seed", fmt.Sprint(seed), "--out", fmt.Sprint("swarm-", seed), "pso.toml")
	}
	runs := []string{"s0", "s1", "s2", "swarm-0", "swarm-1", "swarm-2"}
	draw := func(args ...string) (svg, stderr string, status int) {
		t.Helper()
		_, stderr, status = b.run(append([]string{"plot", "-o", "p.svg"}, args...)...)
		data, _ := os.ReadFile(b.path("p.svg")) // status tells whether there is one
		return string(data), stderr, status
	}
	svg, stderr, status := draw(runs...)
	if status != 0 || stderr != "" || !strings.Contains(svg, "snes, 3 seeds") || !strings.Contains(svg, "swarm, 3 seeds") ||
		!strings.Contains(svg, "Evaluations") {
		t.Errorf("status %d\n%s; want the labels snes and swarm with 3 seeds, and evaluations", status, stderr)
	}
	if svg, stderr, status = draw(append(runs, "--label", "Evolution", "--label", "Swarm")...); status != 0 || !strings.Contains(svg, "Evolution") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status = draw(append(runs, "--label", "Evolution")...); status != statusUsage ||
		!strings.Contains(stderr, "1 labels for 2 lines: snes, 3 seeds; swarm, 3 seeds") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	b.must("run", "--out", "other", "--set", "env=ackley", "es.toml")
	if svg, stderr, status = draw("s0", "other"); status != 0 || stderr != "" || !strings.Contains(svg, ">sphere<") || !strings.Contains(svg, ">ackley<") {
		t.Errorf("status %d\n%s; want a panel of sphere and one of ackley", status, stderr)
	}
	for _, c := range []struct {
		args []string
		want string // in the figure
	}{
		{[]string{"--center", "iqm", "--band", "bootstrap", "--smooth", "2", "--metric", "evaluation"},
			"inter-quartile mean, band: 95% bootstrap interval of 3 runs, smoothed over 2"},
		{[]string{"--log", "x", "--xlabel", "Work", "--ylabel", "Height"}, ">Height<"},
		{[]string{"--scores"}, ">IQM<"},
		{[]string{"--improvement"}, "pso over snes"},
		{[]string{"--profile", "--label", "Evolution", "--label", "Swarm"}, "Share of runs above"},
	} {
		if svg, stderr, status = draw(append(c.args, runs...)...); status != 0 || !strings.Contains(svg, c.want) {
			t.Errorf("plot %v: status %d\n%s; want %q", c.args, status, stderr, c.want)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--log", "y", "s0"}, statusFailed, "is not above 0, as a logarithmic axis needs it"},
		{[]string{"--log", "z", "s0"}, statusUsage, "want one of"},
		{[]string{"--smooth", "0", "s0"}, statusUsage, "want at least 1"},
		{[]string{"--scores", "--profile", "s0"}, statusUsage, "want at most one of"},
		{[]string{"--improvement", "s0"}, statusUsage, "want runs of two methods"},
		{[]string{"--scores", "swarm-0", "other"}, statusUsage, "--scores: no method has runs on all of 2 environments: sphere, ackley"},
		{[]string{"--improvement", "swarm-0", "other"}, statusUsage, "got pso and snes"},
	} {
		if _, stderr, status = draw(c.args...); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("plot %v: status %d\n%s; want %q", c.args, status, stderr, c.want)
		}
	}
	b.replace("s0/metrics.jsonl", "\"seconds\":", "\"seconds\":\"NaN\",\"was\":")
	if _, stderr, status = draw("--x", "seconds", "--metric", "fitness/best", "s0"); status != statusFailed ||
		!strings.Contains(stderr, `"seconds" is NaN at iteration 1`) {
		t.Errorf("status %d\n%s", status, stderr)
	}
	for _, command := range []string{"plot", "inspect", "eval", "view"} {
		if _, stderr, status = b.run(command, "es.toml"); status != statusFailed ||
			!strings.Contains(stderr, "no run in es.toml: it is a file, want the folder of a run") {
			t.Errorf("%s of a file: status %d\n%s", command, status, stderr)
		}
	}
}

// A map of elites has the cells of its grid within the bounds of the descriptors, and runs without one are told so.
func TestArchive(t *testing.T) {
	b := newBox(t)
	b.write("me.toml", "workflow = \"map-elites\"\nenv = \"arm\"\niterations = 4\n[map-elites]\ncells = [8, 4]\n")
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.must("run", "-q", "--out", "me", "me.toml")
	b.must("run", "-q", "--out", "es", "es.toml")
	b.must("plot", "--archive", "-o", "a.svg", "me")
	if svg := string(b.read("a.svg")); !strings.Contains(svg, ">map-elites on arm<") || strings.Count(svg, "<path") < 20 {
		t.Errorf("%d bytes; want cells under a title", len(svg))
	}
	b.write("cvt.toml", "workflow = \"cvt-map-elites\"\nenv = \"arm\"\niterations = 4\n[cvt-map-elites]\ncentroids = 40\nsamples = 1000\n")
	b.must("run", "-q", "--out", "cvt", "cvt.toml")
	b.must("plot", "--archive", "-o", "b.svg", "cvt")
	elites, centroids, err := readElites(b.path("cvt"))
	if err != nil || len(centroids) != 40 || len(elites) < 10 {
		t.Fatalf("%d elites of %d centroids, %v", len(elites), len(centroids), err)
	}
	low, high := []float64{-1, -1}, []float64{1, 1}
	if cfg, err := evorl.Stored(b.path("cvt")); err == nil {
		low, high, _ = cfg.Archive()
	}
	for _, e := range elites { // an elite lies in the region of its own centroid
		nearest, least := 0, math.Inf(1)
		for k, c := range centroids {
			if d := math.Hypot((e.X-low[0])/(high[0]-low[0])-c[0], (e.Y-low[1])/(high[1]-low[1])-c[1]); d < least {
				nearest, least = k, d
			}
		}
		if nearest != e.cell {
			t.Errorf("the elite at %v, %v is in cell %d; its nearest centroid is %d", e.X, e.Y, e.cell, nearest)
		}
	}
	for x, want := range map[float64]float64{-1: -0.875, 0.1: 0.125, 1: 0.875, 9: 0.875} {
		if middle, width := snap(x, -1, 1, 8); middle != want || width != 0.25 {
			t.Errorf("%v falls into the cell of %v, width %v; want %v and 0.25", x, middle, width, want)
		}
	}
	if _, stderr, status := b.run("plot", "--archive", "es"); status != statusFailed || !strings.Contains(stderr, "want a run of map-elites") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status := b.run("plot", "--archive", "me", "es"); status != statusUsage || !strings.Contains(stderr, "want one RUN_DIR, got 2") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}
