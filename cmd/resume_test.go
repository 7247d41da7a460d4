package cmd

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// digest is the end of a run.
func (b *box) digest(args ...string) string {
	b.t.Helper()
	d, ok := b.object(b.must(append([]string{"run", "--json"}, args...)...))["digest"].(string)
	if !ok || len(d) != 64 {
		b.t.Fatalf("digest %q", d)
	}
	return d
}

// A run that was stopped half-way and resumed ends with the very bits of one that was not; so does one that is run again.
func TestResumeHalfWay(t *testing.T) {
	b := newBox(t)
	want := b.digest("--out", "whole", "tiny.toml")
	if got := b.digest("--out", "again", "tiny.toml"); got != want {
		t.Errorf("run again: digest %s; want %s", got, want)
	}
	if got := b.digest("--out", "other", "--seed", "4", "tiny.toml"); got == want {
		t.Error("another seed gives the same digest")
	}
	half := b.digest("--out", "half", "--iterations", "12", "tiny.toml")
	if half == want {
		t.Error("half a run gives the digest of a whole one")
	}
	if got := b.digest("--out", "from", "--from", "half", "--iterations", "24"); got != want {
		t.Errorf("a run from half of one: digest %s; want %s", got, want)
	}
	if out := b.must("inspect", "from"); !strings.Contains(out, "begun with the state of "+b.path("half")) {
		t.Errorf("inspect does not name the other run:\n%s", out)
	}
	for _, of := range [][]string{{"want it without --resume", "--resume", "--iterations", "24"}, {"want more"}, {"--from begins one run", "--seeds", "2"}} {
		if _, stderr, status := b.run(append([]string{"run", "--from", "half"}, of[1:]...)...); status != statusUsage || !strings.Contains(stderr, of[0]) {
			t.Errorf("--from half %v: status %d\n%s", of[1:], status, stderr)
		}
	}
	r := b.object(b.must("run", "--json", "--resume", "--out", "half", "tiny.toml"))
	if r["digest"] != want || r["resumed_from"] != 12.0 || r["iterations"] != 24.0 {
		t.Errorf("resumed: %v; want digest %s after iteration 12", r, want)
	}
	// A finished run has nothing left to do, and says again what it came to; the run's own configuration is enough.
	r = b.object(b.must("run", "--json", "--resume", "--out", "half"))
	if r["digest"] != want || r["resumed_from"] != 24.0 {
		t.Errorf("resumed at its end: %v; want digest %s", r, want)
	}
	if got, want := metricLines(t, b.path("half")), metricLines(t, b.path("whole")); got != want {
		t.Errorf("%d records; want %d", got, want)
	}
	if r := b.object(b.must("inspect", "--json", "half")); len(r["provenance"].(map[string]any)["sessions"].([]any)) != 3 {
		t.Errorf("sessions: %v; want 3", r["provenance"])
	}
	// Other settings are refused, whatever they are.
	stdout, stderr, status := b.run("run", "--resume", "--out", "half", "--seed", "5", "--set", "ppo.epochs=1", "tiny.toml")
	if status != statusUsage || stdout != "" || !strings.Contains(stderr, "seed is 5; the run has 3") ||
		!strings.Contains(stderr, "ppo.epochs is 1; the run has 2") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

func metricLines(t *testing.T, run string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// Killed at random moments ten times, and resumed each time, a run ends with the digest of one that was left alone. --resume alone is
// enough to begin it, too.
func TestKilledTenTimes(t *testing.T) {
	b := newBox(t)
	args := []string{"--set", "checkpoint.every=1", "--iterations", "200", "tiny.toml"}
	begin := time.Now()
	want := b.digest(append([]string{"--out", "whole"}, args...)...)
	whole := time.Since(begin)
	begin = time.Now()
	b.digest(append([]string{"--resume", "--out", "whole"}, args...)...)
	start := time.Since(begin) // of the program, with nothing left to learn
	longest := start + max(whole-start, 0)/4
	records := metricLines(t, b.path("whole"))
	killed := append([]string{"--resume", "--out", "killed"}, args...)
	for i := range 10 {
		cmd, _, _ := b.command(append([]string{"run"}, killed...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Float64() * float64(longest)))
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		cmd.Wait() // says only that it was killed
		t.Logf("kill %d: %v", i+1, checkpoints(t, b.path("killed")))
	}
	if got := b.digest(killed...); got != want {
		t.Errorf("digest %s; want %s", got, want)
	}
	if got := metricLines(t, b.path("killed")); got != records {
		t.Errorf("%d records; want %d", got, records)
	}
}

func checkpoints(t *testing.T, run string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(run, "checkpoints", "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
}

// SIGINT, SIGTERM and SIGHUP end a run with a checkpoint of where it stands and word of how to go on.
func TestSignals(t *testing.T) {
	b := newBox(t)
	want := b.digest("--out", "whole", "--iterations", "300", "tiny.toml")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		out := "stopped-" + signal.String()
		cmd, stdout, stderr := b.command("run", "--json", "--out", out, "--iterations", "300", "--set", "checkpoint.every=0", "tiny.toml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(b.path(out, "metrics.jsonl")); err == nil && strings.Count(string(text), "\n") > 2 {
				break
			}
			if time.Since(begin) > time.Minute {
				t.Fatal("no metrics within a minute")
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // its status is looked at below
		if got := cmd.ProcessState.ExitCode(); got != statusSignal+int(signal) {
			t.Errorf("%v: status %d; want %d\n%s", signal, got, statusSignal+int(signal), stderr)
		}
		r := b.object(stdout.String())
		if r["interrupted"] != true || !strings.Contains(stderr.String(), "evorl run --resume --out "+out) {
			t.Errorf("%v: %v\n%s", signal, r, stderr)
		}
		if got := len(checkpoints(t, b.path(out))); got != 1 {
			t.Errorf("%v: %d checkpoints; want one of where it stood", signal, got)
		}
		if got := b.digest("--resume", "--out", out); got != want {
			t.Errorf("%v: digest %s; want %s", signal, got, want)
		}
	}
}

// A run goes on when nobody reads what it says any longer, and resumes where it stood.
func TestReaderGone(t *testing.T) {
	b := newBox(t)
	cmd, _, _ := b.command("run", "--log-every", "0s", "--iterations", "40", "--out", "alone", "tiny.toml")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for buffer := make([]byte, 1<<10); ; { // until the first line of progress
		n, err := read.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(buffer[:n]), "iteration ") {
			break
		}
	}
	if err := errors.Join(read.Close(), write.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || metricLines(t, b.path("alone")) != 40 {
		t.Errorf("%v, %d records; want 40", err, metricLines(t, b.path("alone")))
	}
}

// What is resumed without --out is the newest run that began, not the folder of one that could not begin.
func TestResumeNewest(t *testing.T) {
	b := newBox(t)
	b.must("run", "--iterations", "4", "tiny.toml")
	for _, wrong := range [][]string{{"--from", "nowhere", "tiny.toml"}, {"--from", "runs/ppo-CartPole-v1-1", "--iterations", "4", "tiny.toml"}} {
		if _, stderr, status := b.run(append([]string{"run"}, wrong...)...); status == 0 {
			t.Fatalf("%v: status 0\n%s", wrong, stderr)
		}
	}
	if err := os.Mkdir(b.path("runs", "ppo-CartPole-v1-7"), 0o755); err != nil { // of a run that was killed before it began
		t.Fatal(err)
	}
	if r := b.object(b.must("run", "--json", "--resume", "--iterations", "8", "tiny.toml")); r["resumed_from"] != 4.0 {
		t.Errorf("resumed: %v; want to go on after iteration 4", r)
	}
	if all, err := os.ReadDir(b.path("runs")); err != nil || len(all) != 2 {
		t.Errorf("%d folders, %v; want the run and the one made here", len(all), err)
	}
}

// A checkpoint with any byte changed is refused, with word of it, and the one before is used.
func TestAlteredCheckpoint(t *testing.T) {
	b := newBox(t)
	want := b.digest("--out", "whole", "tiny.toml")
	b.must("run", "--out", "half", "--iterations", "12", "tiny.toml")
	for _, name := range []string{"tensors.safetensors", "manifest.json"} {
		file := b.path("half", "checkpoints", "00000012", name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := "altered-" + name
		if err := os.CopyFS(b.path(out), os.DirFS(b.path("half"))); err != nil {
			t.Fatal(err)
		}
		at := rand.IntN(len(data))
		data[at] ^= 1 << rand.IntN(8)
		if err := os.WriteFile(b.path(out, "checkpoints", "00000012", name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := b.run("run", "--json", "--resume", "--out", out, "tiny.toml")
		if status != 0 {
			t.Fatalf("byte %d of %s: status %d\n%s", at, name, status, stderr)
		}
		for _, w := range []string{"warning: checkpoint refused", "00000012", name, "of iteration 9, is used"} {
			if !strings.Contains(stderr, w) {
				t.Errorf("byte %d of %s: wrote\n%s; want %q in it", at, name, stderr, w)
			}
		}
		if r := b.object(stdout); r["digest"] != want || r["resumed_from"] != 9.0 {
			t.Errorf("byte %d of %s: %v; want digest %s", at, name, r, want)
		}
	}
	// With no good one left the run is not begun anew behind the user's back.
	for _, step := range checkpoints(t, b.path("half")) {
		if err := os.Truncate(b.path("half", "checkpoints", step, "tensors.safetensors"), 100); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{{"run", "--resume", "--out", "half", "tiny.toml"}, {"eval", "half"}} {
		_, stderr, status := b.run(command...)
		if status != statusFailed || !strings.Contains(stderr, "refused") || !strings.Contains(stderr, "100 bytes") {
			t.Errorf("%v: status %d\n%s", command, status, stderr)
		}
	}
}

// Two processes never work on one run.
func TestRunInUse(t *testing.T) {
	b := newBox(t)
	cmd, _, _ := b.command("run", "--out", "one", "--iterations", "100000", "tiny.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	for begin := time.Now(); len(checkpoints(t, b.path("one"))) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("no checkpoint within a minute")
		}
	}
	_, stderr, status := b.run("run", "--resume", "--out", "one")
	if status != statusFailed || !strings.Contains(stderr, "in use by process") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	// It can be looked at meanwhile.
	b.must("inspect", "one")
	b.must("eval", "--episodes", "2", "one")
}

// snapshot is the content of every file of a folder, by its path.
func snapshot(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Whoever edits the configuration of a run, or asks for fewer iterations than it has, is told which key; nothing is rewritten.
func TestOtherSettingsAreRefused(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "r", "--iterations", "12", "tiny.toml")
	text, err := os.ReadFile(b.path("r", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	edited := func(old, new string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("config.toml has no %q", old)
		}
		return strings.Replace(string(text), old, new, 1)
	}
	resume, eval := []string{"run", "--resume", "--out", "r"}, []string{"eval", "r"}
	for _, c := range []struct {
		config string
		args   []string
		want   string
	}{
		{edited("seed = 3", "seed = 5"), resume, "seed is 5; the run has 3"},
		{edited("seed = 3", "seed = 5"), eval, "seed is 5; the run has 3"},
		{edited("epochs = 2", "epochs = 1"), resume, "ppo.epochs is 1; the run has 2"},
		{edited("iterations = 12", "iterations = 6"), resume, "iterations is 6; the run has 12"},
		{string(text), append(resume, "--iterations", "6"), "iterations is 6; the run has 12"},
		{string(text), append(resume, "--iterations", "6", "tiny.toml"), "iterations is 6; the run has 12"},
	} {
		b.write("r/config.toml", c.config)
		before := snapshot(t, b.path("r"))
		stdout, stderr, status := b.run(c.args...)
		if status != statusUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d\n%s%s; want %q", c.args, status, stdout, stderr, c.want)
		}
		if after := snapshot(t, b.path("r")); !maps.Equal(before, after) {
			t.Errorf("%v has changed the run directory", c.args)
		}
	}
	b.write("r/config.toml", string(text))
	b.must("run", "--resume", "--out", "r", "--iterations", "13")
}

// A signal ends a run at once while it compiles its kernels, and nothing is left of it; where the device has compiled them by then, it is a
// run that can be resumed.
func TestSignalWhileCompiling(t *testing.T) {
	b := newBox(t)
	b.env = []string{"XDG_CACHE_HOME=" + b.path("cache")} // without compiled kernels
	cmd, _, stderr := b.command("run", "--out", "one", "--set", "env=Humanoid-v5", "--iterations", "100000", "tiny.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its status is looked at below
	took := time.Since(begin)
	if got := cmd.ProcessState.ExitCode(); got != statusSignal+int(syscall.SIGINT) {
		t.Errorf("status %d\n%s", got, stderr)
	}
	if _, err := os.Stat(b.path("one")); err == nil {
		if len(checkpoints(t, b.path("one"))) == 0 {
			t.Errorf("a run without a checkpoint is left: %v", snapshot(t, b.path("one")))
		}
	} else if took > 10*time.Second {
		t.Errorf("it ended %v after the signal", took)
	}
}

// A signal ends a run within seconds also in an iteration of hours, and the run can be resumed.
func TestSignalInLongIteration(t *testing.T) {
	b := newBox(t)
	b.write("long.toml", `
workflow = "openes"
env = "Pendulum-v1"
iterations = 2
[environment]
time_limit = 100_000_000
[openes]
population = 64
[evaluation]
every = 0
`)
	cmd, _, stderr := b.command("run", "--out", "long", "long.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(b.path("long", "metrics.jsonl")); err == nil {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("no run directory within a minute")
		}
	}
	time.Sleep(time.Second) // into the iteration
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its status is looked at below
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it ended %v after the signal", took)
	}
	if got, want := cmd.ProcessState.ExitCode(), statusSignal+int(syscall.SIGTERM); got != want {
		t.Errorf("status %d; want %d", got, want)
	}
	if !strings.Contains(stderr.String(), "in iteration 1") || !strings.Contains(stderr.String(), "evorl run --resume --out long") {
		t.Errorf("no word of the iteration or of how to go on in\n%s", stderr)
	}
}
