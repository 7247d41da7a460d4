package cmd

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/checkpoint"
)

const sweepOfProblem = `
config = "es.toml"
method = "METHOD"
trials = 9
seeds = 2
seed = 5
set = ["iterations=12"]
[keys."snes.population"]
prior = "log_uniform"
low = 4
high = 40
[keys."snes.learning_rate"]
values = [0.5, 1]
[halving]
iterations = 2
`

// A sweep ranks its trials; a run that is lost is made again with the same bits, and others stay. Halving takes the best further.
func TestSweep(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 500\n[evaluation]\nevery = 4\n")
	b.write("grid.toml", "config = \"es.toml\"\nset = [\"iterations=8\"]\n[keys.\"snes.population\"]\nvalues = [8, 16]\n[keys.seed]\nvalues = [1, 2]\n")
	table := b.must("sweep", "-q", "--out", "grid", "grid.toml")
	csv := string(b.read("grid/results.csv"))
	if strings.Count(csv, "\n") != 5 || !strings.HasPrefix(csv, "trial,seed,snes.population,iterations,seeds,mean,scores,run_dirs,members\n") {
		t.Errorf("%s; want four trials", csv)
	}
	for _, row := range []string{"sweep   grid", "snes.population"} {
		if !strings.Contains(table, row) {
			t.Errorf("no %q in\n%s", row, table)
		}
	}
	if err := os.RemoveAll(b.path("grid", "trial-2")); err != nil {
		t.Fatal(err)
	}
	before := string(b.read("grid/trial-1/provenance.json"))
	if again := b.must("sweep", "-q", "--resume", "--out", "grid"); again != table || string(b.read("grid/results.csv")) != csv {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
	if string(b.read("grid/trial-1/provenance.json")) != before {
		t.Error("a trial that was done has been run again")
	}
	b.write("halving.toml", strings.ReplaceAll(sweepOfProblem, "METHOD", "halving"))
	halved := b.must("sweep", "-q", "--out", "halving", "halving.toml")
	at := map[string]int{}
	for _, row := range strings.Split(string(b.read("halving/results.csv")), "\n")[1:] {
		if fields := strings.Split(row, ","); len(fields) > 4 {
			at[fields[3]]++
			if fields[4] != "2" {
				t.Errorf("%s; want the scores of two members", row)
			}
		}
	}
	if at["2"] != 6 || at["6"] != 2 || at["12"] != 1 {
		t.Errorf("trials by their iterations: %v; want 6 at 2, 2 at 6, 1 at 12", at)
	}
	if again := b.must("sweep", "-q", "--resume", "--out", "halving", "halving.toml"); again != halved {
		t.Errorf("resumed at its end:\n%s\nwant\n%s", again, halved)
	}
}

// Trials that differ only in hyperparameters of members share runs, up to a number of members, with the same table.
func TestSweepBatch(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 6\n[evaluation]\nevery = 2\n")
	const sweep = "config = \"es.toml\"\nseeds = 2\n[keys.\"snes.learning_rate\"]\nvalues = [0.001, 0.5, 1]\n[keys.\"snes.population\"]\nvalues = [8, 16]\n"
	b.write("s.toml", sweep)
	table := b.must("sweep", "-q", "--out", "batches", "s.toml")
	rows := strings.Split(strings.TrimSpace(string(b.read("batches/results.csv"))), "\n")[1:]
	if len(rows) != 6 {
		t.Fatalf("%q; want six trials", rows)
	}
	for i, row := range rows {
		if small := strings.Contains(row, ",0.001,"); small != (i >= 4) || !strings.Contains(row, ",6,2,") {
			t.Errorf("row %d: %s; want those that hardly learn last, and two scores", i, row)
		}
	}
	for _, name := range []string{"batches/batch-0", "batches/batch-1"} {
		if text := string(b.read(name + "/config.toml")); !strings.Contains(text, "members = 6") ||
			!strings.Contains(text, "learning_rate = [0.001, 0.001, 0.5, 0.5, 1") {
			t.Errorf("%s\nwant six members with learning rates of their own", text)
		}
	}
	if err := os.RemoveAll(b.path("batches", "batch-1")); err != nil {
		t.Fatal(err)
	}
	before := string(b.read("batches/batch-0/provenance.json"))
	if again := b.must("sweep", "-q", "--resume", "--out", "batches"); again != table || string(b.read("batches/batch-0/provenance.json")) != before {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
	folders := func(out, batch string) (names []string) {
		b.write("s.toml", "batch = "+batch+"\n"+sweep)
		b.must("sweep", "-q", "--out", out, "s.toml")
		entries, err := os.ReadDir(b.path(out))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		return names
	}
	b.write("s.toml", "batch = 2\nconfig = \"es.toml\"\n[keys.\"snes.learning_rate\"]\nvalues = [0.25, 0.5, 1]\n")
	b.must("sweep", "-q", "--out", "odd", "s.toml") // the last run has one member
	if csv := string(b.read("odd/results.csv")); strings.Count(csv, ",6,1,") != 3 || !strings.Contains(csv, "odd/batch-1,0") {
		t.Errorf("%s\nwant a score of each trial", csv)
	}
	if got := folders("pairs", "5"); len(got) != 4 || got[3] != "batch-3" {
		t.Errorf("%q; want runs of two trials and of one", got)
	}
	if got := folders("single", "1"); len(got) != 6 || got[5] != "trial-5" {
		t.Errorf("%q; want a run for each trial", got)
	}
}

// Trials of successive halving that differ only in hyperparameters of members share runs; those that continue are members of smaller runs, with the state
// that they had. A run that is lost, or was killed before it began, is made again with the same bits.
func TestHalvingBatch(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"openes\"\nenv = \"sphere\"\niterations = 12\n[openes]\npopulation = 8\n[evaluation]\nevery = 2\n")
	const sweep = "config = \"es.toml\"\nmethod = \"halving\"\ntrials = 6\nseeds = 2\n[keys.\"openes.learning_rate\"]\nprior = \"log_uniform\"\n" +
		"low = 1e-6\nhigh = 0.5\n[halving]\neta = 2\niterations = 3\n"
	b.write("s.toml", sweep)
	table := b.must("sweep", "-q", "--out", "halving", "s.toml")
	at := map[string]int{}
	for _, row := range strings.Split(string(b.read("halving/results.csv")), "\n")[1:] {
		if fields := strings.Split(row, ","); len(fields) > 3 {
			at[fields[2]+" iterations of "+fields[6]]++
			if fields[3] != "2" {
				t.Errorf("%s; want the scores of two members", row)
			}
		}
	}
	want := map[string]int{"3 iterations of halving/batch-0": 3, "6 iterations of halving/batch-0-rung-1": 2, "12 iterations of halving/batch-0-rung-2": 1}
	if !maps.Equal(at, want) {
		t.Errorf("trials: %v; want %v", at, want)
	}
	b.continues("halving/batch-0", 12, "halving/batch-0-rung-1", 6)
	b.continues("halving/batch-0-rung-1", 6, "halving/batch-0-rung-2", 2)
	digest := func() any { return b.object(b.must("inspect", "--json", "halving/batch-0-rung-1"))["checkpoints"] }
	before := fmt.Sprint(digest())
	if err := os.RemoveAll(b.path("halving/batch-0-rung-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.path("halving/batch-0-rung-1/checkpoints/00000003"), 0o755); err != nil {
		t.Fatal(err)
	}
	if again := b.must("sweep", "-q", "--resume", "--out", "halving"); again != table || fmt.Sprint(digest()) != before {
		t.Errorf("resumed:\n%s\nwant\n%s\n%v\nwant\n%v", again, table, digest(), before)
	}
	b.write("s.toml", strings.Replace(sweep, "seeds = 2", "seeds = 1", 1)) // the last trial is the only member of its run
	if table := b.must("sweep", "-q", "--out", "seed", "s.toml"); strings.Contains(table, "none") || strings.Count(table, "\n") != 9 {
		t.Errorf("%s; want a score of each of six trials", table)
	}
	b.write("s.toml", "batch = 1\n"+sweep)
	b.must("sweep", "-q", "--out", "single", "s.toml")
	if csv := string(b.read("single/results.csv")); !strings.Contains(csv, "single/trial-5") {
		t.Errorf("%s; want a run for each trial", csv)
	}
}

// continues checks that the first checkpoint of a run has the hyperparameters and parameters of members of the last one of another run.
func (b *box) continues(of string, members int, path string, fewer int) {
	b.t.Helper()
	tensors := func(path string, from func([]os.DirEntry) os.DirEntry) map[string][]byte {
		entries, err := os.ReadDir(b.path(path, "checkpoints"))
		if err != nil || len(entries) == 0 {
			b.t.Fatalf("%s: %d checkpoints, %v", path, len(entries), err)
		}
		data := b.read(filepath.Join(path, "checkpoints", from(entries).Name(), "tensors.safetensors"))
		all, _, err := checkpoint.ReadSafetensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			b.t.Fatal(err)
		}
		out := map[string][]byte{}
		for _, x := range all {
			if out[x.Name], err = io.ReadAll(x.Data); err != nil {
				b.t.Fatal(err)
			}
		}
		return out
	}
	was := tensors(of, func(e []os.DirEntry) os.DirEntry { return e[len(e)-1] })
	is := tensors(path, func(e []os.DirEntry) os.DirEntry { return e[0] })
	checked := 0
	for name, data := range is {
		if len(data)*members != len(was[name])*fewer {
			continue // no member axis
		}
		checked++
		size := len(data) / fewer
		for m := range fewer {
			if !bytes.Contains(was[name], data[m*size:(m+1)*size]) {
				b.t.Errorf("%s: member %d has a %s that none had in %s", path, m, name, of)
			}
		}
	}
	if checked < 2 {
		b.t.Errorf("%s: %d tensors of members; want parameters and hyperparameters", path, checked)
	}
}

// A sweep that was interrupted in the middle of a run says how to go on, and ends with the table of one that was not.
func TestInterruptedSweep(t *testing.T) {
	b := newBox(t)
	b.write("s.toml", "config = \"tiny.toml\"\nset = [\"iterations=200\", \"checkpoint.every=1\"]\n[keys.\"ppo.epochs\"]\nvalues = [1, 2]\n")
	want := strings.ReplaceAll(b.must("sweep", "-q", "--out", "whole", "s.toml"), "whole", "cut")
	cmd, _, stderr := b.command("sweep", "-q", "--out", "cut", "s.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for begun := false; !begun; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("no metrics after a minute\n%s", stderr)
		}
		text, err := os.ReadFile(b.path("cut", "trial-0", "metrics.jsonl"))
		begun = err == nil && strings.Count(string(text), "\n") > 3
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status says how it ended
	if status := cmd.ProcessState.ExitCode(); status != statusSignal+2 || !strings.Contains(stderr.String(), "go on with: evorl sweep --resume --out cut") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	if got := b.must("sweep", "-q", "--resume", "--out", "cut"); got != want {
		t.Errorf("resumed:\n%s\nwant\n%s", got, want)
	}
}

func TestSweepMistakes(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 5\n")
	for name, c := range map[string]struct {
		text, want string
		status     int
	}{
		"a key that is none":    {"config = \"es.toml\"\n[keys.\"snes.populaton\"]\nvalues = [8]\n", `did you mean "population"?`, statusUsage},
		"a value out of range":  {"config = \"es.toml\"\n[keys.\"snes.population\"]\nvalues = [8, -1]\n", "population", statusUsage},
		"a range on a grid":     {"config = \"es.toml\"\n[keys.\"snes.population\"]\nlow = 4\nhigh = 8\n", "a grid needs values or choices", statusUsage},
		"nothing to try":        {"config = \"es.toml\"\n", "no keys to try", statusUsage},
		"two ways":              {"config = \"es.toml\"\n[keys.seed]\nvalues = [1]\nlow = 1\nhigh = 2\n", "want one of values, choices", statusUsage},
		"no such configuration": {"config = \"no.toml\"\n[keys.seed]\nvalues = [1]\n", "no.toml", statusUsage},
		"seeds in seeds": {"config = \"tiny.toml\"\nseeds = 2\n[keys.seed]\nvalues = [1, 2]\n",
			`keys."seed": seeds sets this key`, statusUsage},
		"members in seeds": {"config = \"es.toml\"\nseeds = 2\n[keys.\"search.members\"]\nvalues = [2, 3]\n",
			`keys."search.members": seeds sets this key`, statusUsage},
		"iterations in rungs": {"config = \"es.toml\"\nmethod = \"halving\"\n[keys.iterations]\nvalues = [4, 5]\n[halving]\niterations = 2\n",
			`keys."iterations": method = "halving" sets this key`, statusUsage},
		"too many repetitions": {"config = \"es.toml\"\nmethod = \"random\"\ntrials = 20000\nseeds = 10000\n[keys.\"snes.population\"]\nvalues = [8, 9]\n",
			"20000 trials × 10000 seeds are 200000000 repetitions: want at most 100000", statusUsage},
		"too long a rung": {"config = \"es.toml\"\nmethod = \"halving\"\n[keys.seed]\nvalues = [1]\n[halving]\niterations = 6\n", "want no more", statusUsage},
	} {
		b.write("s.toml", c.text)
		if _, stderr, status := b.run("sweep", "--out", "s", "s.toml"); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d\n%s; want %q", name, status, stderr, c.want)
		}
		if _, err := os.Stat(b.path("s")); err == nil {
			t.Fatalf("%s: it has begun", name)
		}
	}
	b.write("s.toml", "config = \"es.toml\"\nmetric = \"evaluations/s\"\n[keys.seed]\nvalues = [1, 2]\n")
	_, stderr, status := b.run("sweep", "--out", "metric", "s.toml")
	if status != statusFailed || !strings.Contains(stderr, `no metric "evaluations/s": snes on sphere has evaluation, evaluations, fitness,`) {
		t.Errorf("a metric that no run has: status %d\n%s", status, stderr)
	}
	if _, err := os.Stat(b.path("metric", "trial-0")); err == nil {
		t.Error("a trial has begun")
	}
	for _, metric := range []string{"fitness/best_ever", "evaluations", "evaluation/max"} {
		b.write("s.toml", "config = \"es.toml\"\nmetric = \""+metric+"\"\n[keys.seed]\nvalues = [1]\n")
		b.must("sweep", "-q", "--out", strings.ReplaceAll(metric, "/", "-"), "s.toml")
	}
	b.write("s.toml", "config = \"es.toml\"\n[keys.seed]\nvalues = [1]\n")
	b.must("sweep", "-q", "--out", "s", "s.toml")
	if _, stderr, status := b.run("sweep", "--out", "s", "s.toml"); status != statusUsage || !strings.Contains(stderr, "want --resume, or another folder") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	b.write("s.toml", "config = \"es.toml\"\n[keys.seed]\nvalues = [2]\n")
	if _, stderr, status := b.run("sweep", "--resume", "--out", "s", "s.toml"); status == 0 || !strings.Contains(stderr, "has another sweep") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// Members and seed are keys like others in a sweep with one seed.
func TestSweepOfMembers(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n[evaluation]\nevery = 0\n")
	b.write("s.toml", "config = \"es.toml\"\n[keys.\"search.members\"]\nvalues = [2, 3]\n")
	b.must("sweep", "-q", "--out", "members", "s.toml")
	for trial, want := range []string{"members = 2", "members = 3"} {
		if text := string(b.read(fmt.Sprintf("members/trial-%d/config.toml", trial))); !strings.Contains(text, want) {
			t.Errorf("trial %d: no %q in\n%s", trial, want, text)
		}
	}
	if csv := string(b.read("members/results.csv")); !strings.Contains(csv, "\n0,2,2,2,") || !strings.Contains(csv, "\n1,3,2,3,") {
		t.Errorf("%s; want the score of each member, evaluated at the end", csv)
	}
	b.write("s.toml", "config = \"es.toml\"\n[keys.\"search.members\"]\nvalues = [2, 3]\n[keys.\"snes.learning_rate\"]\nvalues = [0.5, 1]\n")
	b.must("sweep", "-q", "--out", "both", "s.toml")
	for _, row := range []string{"\n0,2,0.5,2,2,", "\n1,2,1,2,2,", "\n2,3,0.5,2,3,", "\n3,3,1,2,3,"} {
		if csv := string(b.read("both/results.csv")); !strings.Contains(csv, row) {
			t.Errorf("%s; want %q", csv, row)
		}
	}
	b.write("s.toml", "config = \"tiny.toml\"\nset = [\"iterations=1\"]\n[keys.seed]\nvalues = [5, 6]\n")
	b.must("sweep", "-q", "--out", "seeds", "s.toml")
	for trial, want := range []string{"\nseed = 5\n", "\nseed = 6\n"} {
		if text := string(b.read(fmt.Sprintf("seeds/trial-%d/config.toml", trial))); !strings.Contains(text, want) {
			t.Errorf("trial %d: no %q in\n%s", trial, want, text)
		}
	}
}

// Seeds are members where these are independent, and runs where they are not; both go on with --resume.
func TestSeeds(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 4\n")
	if r := b.object(b.must("run", "-q", "--seeds", "3", "--out", "batch", "--json", "es.toml")); r["run_dir"] != "batch" ||
		!strings.Contains(string(b.read("batch/config.toml")), "members = 3") {
		t.Errorf("%v; want one run of three members", r)
	}
	b.write("erl.toml", `workflow = "erl"
env = "Pendulum-v1"
iterations = 2
[network]
hidden = [4]
[replay]
capacity = 4000
batch = 4
[td3]
rollout_length = 4
learning_starts = 4
[ga]
population = 4
[erl]
warmup = 0
`)
	if r := b.object(b.must("run", "-q", "--seeds", "3", "--out", "erl", "--json", "erl.toml")); r["run_dir"] != "erl" {
		t.Errorf("%v; want one run of three agents, each with a population", r)
	}
	if of := b.must("compare", "--json", "erl"); !strings.Contains(of, `"runs":3`) {
		t.Errorf("%s; want three runs", of)
	}
	table := b.must("run", "-q", "--seeds", "2", "--out", "runs", "--iterations", "6", "tiny.toml")
	for _, seed := range []string{"seed-3", "seed-4"} {
		if text := string(b.read("runs/" + seed + "/metrics.jsonl")); strings.Count(text, "\n") != 6 {
			t.Errorf("%s has\n%s; want 6 iterations", seed, text)
		}
	}
	if err := os.RemoveAll(b.path("runs", "seed-4")); err != nil {
		t.Fatal(err)
	}
	if again := b.must("run", "-q", "--resume", "--out", "runs"); again != table {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
	if _, stderr, status := b.run("run", "--resume", "--seeds", "5", "--out", "runs"); status != statusUsage || !strings.Contains(stderr, "has 2") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	for _, flags := range [][]string{{"--set", "pbt.interval=2"}, {"--seed", "4"}, {"--iterations", "9"}} {
		if _, stderr, status := b.run(append([]string{"run", "--resume", "--out", "runs"}, flags...)...); status != statusUsage ||
			!strings.Contains(stderr, "with their own settings") {
			t.Errorf("%v: status %d\n%s", flags, status, stderr)
		}
	}
	if _, stderr, status := b.run("run", "--watch", "--seeds", "2", "tiny.toml"); status != statusUsage || !strings.Contains(stderr, "--watch follows one run") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if _, stderr, status := b.run("run", "--seeds", "0", "es.toml"); status != statusUsage || !strings.Contains(stderr, "want at least 1") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// Where there is no terminal the run directory comes first, then lines of progress, which are JSON when asked for; --quiet shows nothing.
func TestProgressWithoutTerminal(t *testing.T) {
	b := newBox(t)
	_, stderr, _ := b.run("run", "--out", "text", "--log-every", "0s", "--iterations", "3", "tiny.toml")
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(lines) != 5 || lines[1] != "in text" || !strings.HasPrefix(lines[4], "iteration 3/3  steps 1.54k  return ") {
		t.Errorf("%q; want the run directory and three iterations", lines)
	}
	_, stderr, _ = b.run("run", "--out", "json", "--log-format", "json", "--iterations", "3", "tiny.toml")
	first, _, _ := strings.Cut(stderr, "\n")
	if v := b.object(first); v["event"] != "run" || v["run_dir"] != "json" || v["seed"] != 3.0 {
		t.Errorf("%v", v)
	}
	if v := b.object(stderr); v["event"] != "progress" || v["iteration"] != 3.0 || v["env_steps"] != 1536.0 {
		t.Errorf("%v", v)
	}
	if _, stderr, _ = b.run("run", "--out", "quiet", "--quiet", "--iterations", "3", "tiny.toml"); stderr != "" {
		t.Errorf("%q; want nothing", stderr)
	}
	if _, stderr, status := b.run("run", "--out", "x", "--log-format", "xml", "tiny.toml"); status != statusUsage ||
		!strings.Contains(stderr, "want one of json, text") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// The newest study has the largest number of those that have a sweep, whatever numbers are missing.
func TestStudyPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"rates-2", "rates-3"} {
		if err := os.MkdirAll(filepath.Join(runsFolder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(runsFolder, "rates-2", evorl.SweepFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		newest bool
		want   string
	}{{true, "rates-2"}, {false, "rates-4"}} {
		if got, err := studyPath("rates", c.newest); err != nil || got != filepath.Join(runsFolder, c.want) {
			t.Errorf("newest %t: %q, %v; want %s", c.newest, got, err, c.want)
		}
	}
}
