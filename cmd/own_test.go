package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ownBox has the examples of docs/own.md, and needs a compiler.
func ownBox(t *testing.T) *box {
	t.Helper()
	b := newBox(t)
	if _, err := exec.LookPath("glslc"); err != nil && os.Getenv("CI") == "" {
		t.Skip("no glslc: ", err)
	}
	for _, name := range []string{"point.glsl", "point.toml", "styblinski-tang.glsl", "styblinski-tang.toml"} {
		text, err := os.ReadFile("../configs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b.write(name, string(text))
	}
	return b
}

// A run in which no candidate has a finite fitness fails; one in which some have warns.
func TestOwnProblemWithoutFitness(t *testing.T) {
	b := ownBox(t)
	b.write("f.toml", "workflow = \"snes\"\nproblem = \"f.glsl\"\niterations = 3\n")
	run := func(out, body string) (string, int) {
		b.write("f.glsl", "// problem: f\n//! dimension = 2\nvoid evaluate(inout float f[OBJECTIVES]) { "+body+" }\n")
		_, stderr, status := b.run("run", "-q", "--out", out, "f.toml")
		return stderr, status
	}
	stderr, status := run("none", "f[0] = sqrt(-1.0 - x(0u) * x(0u));")
	if status != statusFailed || !strings.Contains(stderr, "no candidate had a finite fitness in 3 iterations: see fitness/not_finite in none/metrics.jsonl") {
		t.Errorf("status %d, %s", status, stderr)
	}
	stderr, status = run("some", "f[0] = x(0u) > 0.0 ? sqrt(-1.0 - x(0u)) : x(0u);")
	if status != 0 || !strings.Contains(stderr, "candidates was not finite, and they ranked last: see fitness/not_finite in some/metrics.jsonl") {
		t.Errorf("status %d, %s", status, stderr)
	}
	b.write("s.toml", "config = \"f.toml\"\n[keys.seed]\nvalues = [1, 2]\n")
	b.write("f.glsl", "// problem: f\nvoid evaluate(inout float f[OBJECTIVES]) { f[0] = sqrt(-1.0 - x(0u) * x(0u)); }\n")
	if table := b.must("sweep", "-q", "--out", "sweep", "s.toml"); strings.Count(table, "none") != 2 {
		t.Errorf("%s; want two trials without a score", table)
	}
}

// TestOwnEnvironment: an environment in a file is learned in, evaluated, seen, exported, plotted and gone on with, from the copy in the run directory.
func TestOwnEnvironment(t *testing.T) {
	b := ownBox(t)
	whole := b.object(b.must("run", "--json", "--out", "whole", "point.toml"))
	if mean, ok := whole["mean_return"].(float64); !ok || mean < -14 { // it is about -25 of an agent that does nothing
		t.Errorf("mean return %v; want at least -14", whole["mean_return"])
	}
	b.must("run", "--out", "half", "--iterations", "30", "point.toml")
	for _, name := range []string{"point.glsl", "point.toml"} { // the run has its own
		if err := os.Remove(b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	resumed := b.object(b.must("run", "--json", "--resume", "--iterations", "60", "--out", "half"))
	if resumed["digest"] != whole["digest"] || resumed["resumed_from"] != 30. {
		t.Errorf("resumed: %v; want the digest %v after iteration 30", resumed, whole["digest"])
	}
	e := b.object(b.must("eval", "--json", "--member", "0", "--seed", "3", "--episodes", "1", "half"))
	v := b.object(b.must("view", "--json", "--member", "0", "--seed", "3", "--png", "a.png", "--width", "32", "--height", "32", "half"))
	if e["mean_return"] != v["return"] || v["length"] != 50. {
		t.Errorf("evaluated %v, viewed %v", e, v)
	}
	b.must("plot", "--out", "a.svg", "half", "whole")
	b.must("export", "--onnx", "p.onnx", "half")
	text := b.must("inspect", "half")
	if !strings.Contains(text, "point.glsl") {
		t.Errorf("%s", text)
	}
	b.write("half/point.glsl", "// environment: Point-v0\n")
	if _, stderr, status := b.run("eval", "half"); status != 2 || !strings.Contains(stderr, "config.toml:") ||
		!strings.Contains(stderr, "another file than the run's") {
		t.Errorf("a changed copy: status %d, %s", status, stderr)
	}
}
func TestOwnProblem(t *testing.T) {
	b := ownBox(t)
	r := b.object(b.must("run", "--json", "--out", "run", "styblinski-tang.toml"))
	if best, ok := r["best_return"].(float64); !ok || best < 156.6 || best > 156.7 { // 39.166 a dimension
		t.Errorf("best %v; want 156.66", r["best_return"])
	}
	again := b.object(b.must("run", "--json", "--resume", "--out", "run", "--iterations", "81"))
	if again["resumed_from"] != 80. {
		t.Errorf("%v", again)
	}
	b.env = []string{"PATH="} // what was computed is read without a compiler
	b.must("inspect", "run")
	b.must("plot", "--out", "a.svg", "run")
	b.env = nil
	b.must("run", "--out", "cma", "--set", "workflow=cma-es", "--iterations", "2", "styblinski-tang.toml")
}

// Runs on a file of another dimension, or with other text, are of another task.
func TestOwnTasks(t *testing.T) {
	b := ownBox(t)
	b.must("run", "-q", "--out", "a", "--iterations", "1", "styblinski-tang.toml")
	b.must("run", "-q", "--out", "b", "--iterations", "1", "--set", "function.dimension=2", "styblinski-tang.toml")
	b.write("styblinski-tang.glsl", string(b.read("styblinski-tang.glsl"))+"// changed\n")
	b.must("run", "-q", "--out", "c", "--iterations", "1", "styblinski-tang.toml")
	table := b.must("compare", "a", "b", "c")
	if strings.Count(table, "by the last evaluation") != 3 || !strings.Contains(table, ", dimension=2") || !strings.Contains(table, "\nde ") {
		t.Errorf("%s; want three tasks and one method", table)
	}
}

// A sweep on a file keeps it, and is resumed without the original.
func TestOwnSweep(t *testing.T) {
	b := ownBox(t)
	b.write("s.toml", "config = \"styblinski-tang.toml\"\nset = [\"iterations=4\"]\n[keys.\"de.population\"]\nvalues = [8, 16]\n")
	table := b.must("sweep", "-q", "--out", "sweep", "s.toml")
	if err := errors.Join(os.Remove(b.path("styblinski-tang.glsl")), os.RemoveAll(b.path("sweep", "trial-1"))); err != nil {
		t.Fatal(err)
	}
	if again := b.must("sweep", "-q", "--resume", "--out", "sweep"); again != table {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
}

// A trial does not take the file of the sweep's configuration for another one of the same name.
func TestOwnSweepOfFiles(t *testing.T) {
	b := ownBox(t)
	if err := os.Mkdir(b.path("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("other/point.glsl", strings.Replace(string(b.read("point.glsl")), "TIME_STEP = 0.1", "TIME_STEP = 0.2", 1))
	b.write("s.toml", "config = \"point.toml\"\n[keys.env]\nchoices = [\"point.glsl\", \"other/point.glsl\"]\n")
	if _, stderr, status := b.run("sweep", "--out", "sweep", "s.toml"); status != statusUsage || !strings.Contains(stderr, "other/point.glsl has the digest") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// A file may include others beside it, which the run keeps in the same text; mistakes are told by the places of each.
func TestOwnIncludes(t *testing.T) {
	b := ownBox(t)
	point := string(b.read("point.glsl"))
	head, rest, ok := strings.Cut(point, "const float TIME_STEP = 0.1;\n")
	if !ok {
		t.Fatal("point.glsl has no TIME_STEP")
	}
	b.write("point.glsl", head+"#include \"time.glsl\"\n#include \"engine/math.glsl\"\n"+rest)
	b.write("time.glsl", "\n#include \"engine/rng.glsl\"\nconst float TIME_STEP = 0.1;\n")
	b.must("run", "--out", "run", "--iterations", "1", "point.toml")
	for _, name := range []string{"point.glsl", "time.glsl"} {
		if err := os.Rename(b.path(name), b.path(name+".away")); err != nil {
			t.Fatal(err)
		}
	}
	b.must("eval", "--episodes", "1", "run")
	b.write("time.glsl", "\n#include \"engine/rng.glsl\"\nconst float TIME_STEP = what;\n")
	b.write("point.glsl", string(b.read("point.glsl.away")))
	if _, stderr, _ := b.run("run", "point.toml"); !strings.Contains(stderr, "time.glsl:3: ") {
		t.Errorf("a mistake in an included file: %s", stderr)
	}
	b.write("time.glsl", string(b.read("time.glsl.away")))
	lines := strings.Split(string(b.read("point.glsl")), "\n")
	at := slices.Index(lines, "    s[1] = 0.0;")
	lines[at] = "    s[1] = what;"
	b.write("point.glsl", strings.Join(lines, "\n"))
	if _, stderr, _ := b.run("run", "point.toml"); !strings.Contains(stderr, fmt.Sprintf("point.glsl:%d: ", at+1)) {
		t.Errorf("a mistake behind includes, in line %d: %s", at+1, stderr)
	}
}

// A task on a model's dynamics, in files, is the built-in environment to the bit.
func TestOwnRobot(t *testing.T) {
	b := ownBox(t)
	task, err := os.ReadFile("../configs/balance.glsl")
	if err != nil {
		t.Fatal(err)
	}
	dynamics, err := os.ReadFile("../shaders/envs/models/inverted_pendulum.glsl")
	if err != nil {
		t.Fatal(err)
	}
	const settings = "workflow = \"ppo\"\niterations = 2\n"
	b.write("balance.glsl", strings.Replace(string(task), "envs/models/inverted_pendulum.glsl", "robot.glsl", 1))
	b.write("robot.glsl", string(dynamics))
	b.write("own.toml", settings+"env = \"balance.glsl\"\n[network]\nhidden = [8]\n")
	b.write("built-in.toml", settings+"env = \"InvertedPendulum-v5\"\n[network]\nhidden = [8]\n")
	own, builtIn := b.object(b.must("run", "--json", "--out", "own", "own.toml")), b.object(b.must("run", "--json", "--out", "built-in", "built-in.toml"))
	if own["digest"] != builtIn["digest"] || own["mean_return"] != builtIn["mean_return"] {
		t.Errorf("own: %v\nbuilt in: %v", own, builtIn)
	}
}

// modelWarning is the warning of all models of fakeMuJoCo.
const modelWarning = "robot.xml:1: <option>: iterations is 3, not 100"

// fakeMuJoCo is a Python whose MuJoCo knows one model, which it compiled once, in a file of envs/mjcf. It returns the variables that select it.
func fakeMuJoCo(t *testing.T, b *box, model string) []string {
	t.Helper()
	model, err := filepath.Abs("../envs/mjcf/" + model)
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'dump.py: warning: " + modelWarning + "' >&2\ncp '" + model + "' \"$3/$(basename \"$4\" .xml).json\"\n"
	if err := os.WriteFile(b.path("python"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"MUJOCO_PYTHON=" + b.path("python"), "XDG_CACHE_HOME=" + b.path("cache"), "HOME=" + b.dir}
}

// An MJCF file with a task in TOML, or included by a task in GLSL, is the built-in environment to the bit. Its first use needs Python; a run needs neither
// Python nor the file afterwards.
func TestOwnModel(t *testing.T) {
	b := ownBox(t)
	const settings = "workflow = \"ppo\"\niterations = 2\nenv = \"%s\"\n[network]\nhidden = [8]\n"
	const task = "[task]\nreward = \"where(terminated, 0, 1)\"\nterminate = \"abs(hinge) > 0.2\"\nframe_skip = 2\n"
	glsl, err := os.ReadFile("../configs/balance.glsl")
	if err != nil {
		t.Fatal(err)
	}
	b.write("robot.xml", "<mujoco/>")
	b.write("task.glsl", strings.Replace(string(glsl), "envs/models/inverted_pendulum.glsl", "robot.xml", 1))
	b.write("built-in.toml", fmt.Sprintf(settings, "InvertedPendulum-v5"))
	b.write("model.toml", fmt.Sprintf(settings, "robot.xml")+task)
	b.write("glsl.toml", fmt.Sprintf(settings, "task.glsl"))
	b.env = []string{"MUJOCO_PYTHON=" + b.path("none"), "XDG_CACHE_HOME=" + b.path("cache"), "HOME=" + b.dir}
	if _, stderr, status := b.run("run", "model.toml"); status != 2 || !strings.Contains(stderr, "model.toml:3:7: ") ||
		!strings.Contains(stderr, "pip install mujoco") {
		t.Errorf("without Python: status %d, %s", status, stderr)
	}
	without := b.env
	b.env = fakeMuJoCo(t, b, "models/inverted_pendulum.json")
	builtIn := b.object(b.must("run", "--json", "--out", "built-in", "built-in.toml"))
	for _, name := range []string{"model", "glsl"} {
		own := b.object(b.must("run", "--json", "--out", name, name+".toml"))
		if own["digest"] != builtIn["digest"] || own["mean_return"] != builtIn["mean_return"] {
			t.Errorf("%s: %v\nbuilt in: %v", name, own, builtIn)
		}
		b.env = without
		b.must("run", "--resume", "--out", name, name+".toml")
	}
	template := b.must("init", "ppo", "robot.xml")
	for _, want := range []string{"env = \"robot.xml\"", "reward = \"1 - 0.001 * effort\"", "# slider, slider_velocity, slider_rate, hinge"} {
		if !strings.Contains(template, want) || strings.Contains(template, "digest") {
			t.Errorf("%s\nwant %q, and no digest", template, want)
		}
	}
	b.write("init.toml", template)
	b.must("run", "--iterations", "1", "--out", "init", "init.toml")
	if err := os.Remove(b.path("robot.xml")); err != nil {
		t.Fatal(err)
	}
	resumed := b.object(b.must("run", "--json", "--resume", "--iterations", "3", "--out", "model"))
	if resumed["resumed_from"] != 2. {
		t.Errorf("%v", resumed)
	}
	e := b.object(b.must("eval", "--json", "--seed", "3", "--episodes", "1", "--member", "0", "model"))
	v := b.object(b.must("view", "--json", "--seed", "3", "--member", "0", "--png", "a.png", "--width", "32", "--height", "32", "model"))
	if e["mean_return"] != v["return"] {
		t.Errorf("evaluated %v, viewed %v", e, v)
	}
	b.must("plot", "--out", "a.svg", "model")
	b.write("robot.xml", "<mujoco/>")
	b.write("other.toml", strings.Replace(string(b.read("model.toml")), "0.2", "0.3", 1))
	if _, stderr, status := b.run("run", "--resume", "--out", "model", "other.toml"); status != 2 || !strings.Contains(stderr, "source.digest") {
		t.Errorf("another task: status %d, %s", status, stderr)
	}
	for change, want := range map[string]string{
		"reward=where(terminated, 0, x)": `--set: "where(terminated, 0, x)", column 22: there is no "x"`,
		"reword=1":                       `unknown key "reword" in [task]`,
		"terminate=hinge":                "want a condition",
		"frame_skip=0":                   "want at least 1",
	} {
		if _, stderr, status := b.run("run", "--out", "bad", "--set", "task."+change, "model.toml"); status != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s; want %s", change, status, stderr, want)
		}
	}
	b.write("task.glsl", "// environment: A-v0\n//! sense = [\"site\"]\n#include \"robot.xml\"\n")
	if _, stderr, status := b.run("run", "--out", "bad", "glsl.toml"); status != 2 || !strings.Contains(stderr, `sense "site": 1 words; want 3`) {
		t.Errorf("a wrong sense: status %d, %s", status, stderr)
	}
}

// Warnings of a robot's model are shown once, also if the model comes from the cache.
func TestOwnModelWarnings(t *testing.T) {
	b := newBox(t)
	b.env = fakeMuJoCo(t, b, "models/inverted_pendulum.json")
	b.write("robot.xml", "<mujoco/>")
	b.write("robot.toml", "workflow = \"openes\"\nenv = \"robot.xml\"\niterations = 1\n[network]\nhidden = []\n[openes]\npopulation = 8\n"+
		"[task]\nreward = \"1\"\nmax_steps = 20\n")
	glsl, err := os.ReadFile("../configs/balance.glsl")
	if err != nil {
		t.Fatal(err)
	}
	b.write("task.glsl", strings.Replace(string(glsl), "envs/models/inverted_pendulum.glsl", "robot.xml", 1))
	check := func(args ...string) {
		t.Helper()
		if _, stderr, status := b.run(args...); status != 0 || strings.Count(stderr, "evorl: warning: "+modelWarning+"\n") != 1 {
			t.Errorf("%v: status %d, %s\nwant the warning of the model once", args, status, stderr)
		}
	}
	check("init", "ppo", "robot.xml")
	b.env[0] = "MUJOCO_PYTHON=" + b.path("none")
	check("init", "ppo", "robot.xml")
	check("init", "ppo", "task.glsl")
	check("run", "-q", "--out", "run", "robot.toml")
	if stdout, stderr, status := b.run("run", "-q", "--log-format", "json", "--resume", "--out", "run"); status != 0 || strings.Contains(stderr, "warning") {
		t.Errorf("resumed from the run's own files: status %d, %s%s", status, stdout, stderr)
	}
}

// A sweep tries keys of a robot's task, keeps the model, and is resumed without the MJCF file and Python.
func TestOwnTaskSweep(t *testing.T) {
	b := ownBox(t)
	b.env = fakeMuJoCo(t, b, "models/inverted_pendulum.json")
	b.write("robot.xml", "<mujoco/>")
	b.write("model.toml", "workflow = \"openes\"\niterations = 2\nenv = \"robot.xml\"\n[network]\nhidden = []\n[openes]\npopulation = 8\n"+
		"[task]\nreward = \"1\"\nterminate = \"abs(hinge) > 0.2\"\nmax_steps = 20\n")
	b.write("s.toml", "config = \"model.toml\"\n[keys.\"task.terminate\"]\nchoices = [\"abs(hinge) > 0.2\", \"abs(hinge) >= 0\"]\n"+
		"[keys.\"task.frame_skip\"]\nvalues = [2]\n")
	table, stderr, status := b.run("sweep", "-q", "--out", "sweep", "s.toml")
	if status != 0 || strings.Count(stderr, "evorl: warning: "+modelWarning+"\n") != 1 {
		t.Fatalf("status %d, %s\nwant the model's warning once", status, stderr)
	}
	if text := string(b.read("sweep/trial-1/robot.glsl")); !strings.Contains(text, "FRAME_SKIP = 2u") || !strings.Contains(text, ">= 0.0") {
		t.Errorf("trial 1 has another task:\n%.2000s", text)
	}
	rows := strings.Split(strings.TrimSpace(string(b.read("sweep/results.csv"))), "\n")
	if len(rows) != 3 || !strings.HasPrefix(rows[0], "trial,task.frame_skip,task.terminate,") {
		t.Fatalf("%q; want two trials", rows)
	}
	if !strings.Contains(rows[2], ">= 0,") { // its episodes end at once
		t.Errorf("%s is not the worse one", rows[2])
	}
	before := string(b.read("sweep/base.toml"))
	if err := errors.Join(os.Remove(b.path("robot.xml")), os.Remove(b.path("python")), os.RemoveAll(b.path("cache")),
		os.RemoveAll(b.path("sweep", "trial-1"))); err != nil {
		t.Fatal(err)
	}
	if again := b.must("sweep", "-q", "--resume", "--out", "sweep"); again != table {
		t.Errorf("resumed:\n%s\nwant\n%s", again, table)
	}
	if !strings.Contains(before, "env = \"robot.json\"") || string(b.read("sweep/base.toml")) != before {
		t.Errorf("%s\nwant the model, and the same after resuming", before)
	}
	b.write("s.toml", "config = \"sweep/base.toml\"\nmethod = \"random\"\ntrials = 1\n[keys.\"task.frame_skip\"]\nlow = 3\nhigh = 4\n")
	b.must("sweep", "-q", "--out", "drawn", "s.toml")
	b.write("sweep/robot.json", strings.Replace(string(b.read("sweep/robot.json")), "0.02", "0.03", 1))
	if _, stderr, status := b.run("sweep", "--resume", "--out", "sweep"); status != 2 || !strings.Contains(stderr, "robot.json has the digest") {
		t.Errorf("another model: status %d, %s", status, stderr)
	}
	b.write("bare.toml", "workflow = \"openes\"\nenv = \"sweep/robot.json\"\n[task]\nreward = \"1\"\n")
	if _, stderr, status := b.run("run", "bare.toml"); status != 2 || !strings.Contains(stderr, "want the MJCF file, robot.xml") {
		t.Errorf("a model without a digest: status %d, %s", status, stderr)
	}
}

// A signal ends MuJoCo's compiler with the command, and leaves nothing of it.
func TestInterruptedModel(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		b := newBox(t)
		b.env = append(fakeMuJoCo(t, b, "models/hopper.json"), "TMPDIR="+b.path("temporary"))
		if err := os.Mkdir(b.path("temporary"), 0o755); err != nil {
			t.Fatal(err)
		}
		// As a script that starts Python: its child writes on until it is killed.
		script := "#!/bin/sh\n(while :; do echo >> beats; sleep 0.02; done)\n"
		if err := os.WriteFile(b.path("python"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write("robot.xml", "<mujoco/>")
		cmd, stdout, stderr := b.command("init", "ppo", "robot.xml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		beats := func() int64 {
			info, err := os.Stat(b.path("beats"))
			if err != nil {
				return 0
			}
			return info.Size()
		}
		for begin := time.Now(); beats() == 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal("the compiler has not begun")
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its status says how it ended
		if status := cmd.ProcessState.ExitCode(); status != statusSignal+int(signal) || stdout.Len() > 0 || stderr.Len() > 0 {
			t.Errorf("%v: status %d\n%s%s", signal, status, stdout, stderr)
		}
		before := beats()
		time.Sleep(200 * time.Millisecond)
		if after := beats(); after != before {
			t.Errorf("%v: the compiler goes on", signal)
		}
		if left, err := os.ReadDir(b.path("temporary")); err != nil || len(left) > 0 {
			t.Errorf("%v: %v left, %v", signal, left, err)
		}
	}
}

// The robot of docs/own.md runs. TestModelsAreCurrent of envs/mjcf compares what MuJoCo makes of it with the file used here.
func TestCrawler(t *testing.T) {
	b := ownBox(t)
	b.env = fakeMuJoCo(t, b, "testdata/robots/crawler.json")
	for _, name := range []string{"crawler.toml", "crawler.xml"} {
		text, err := os.ReadFile("../docs/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b.write(name, string(text))
	}
	b.must("run", "--out", "run", "--iterations", "2", "crawler.toml")
	if text := string(b.read("run/crawler.glsl")); !strings.HasPrefix(text, "// environment: crawler\n") {
		t.Errorf("%.200s", text)
	}
}

// Mistakes in a file are told by its name and line, before there is a run directory.
func TestOwnMistakes(t *testing.T) {
	b := ownBox(t)
	point, f := string(b.read("point.glsl")), string(b.read("styblinski-tang.glsl"))
	for _, c := range []struct {
		name, config, file, text string
		want                     string
	}{
		{"code", "point.toml", "point.glsl", strings.Replace(point, "s[1] = 0.0;", "s[1] = nothing;", 1), "point.glsl:20: "},
		{"no function", "point.toml", "point.glsl", strings.Replace(point, "void env_observe(", "void observe(", 1),
			"point.glsl: no function env_observe with the parameters of its call; want void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE])"},
		{"other parameters", "point.toml", "point.glsl", strings.Replace(point, "out bool terminated", "out float terminated", 1),
			"point.glsl: no function env_step with the parameters of its call; want void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE],"},
		{"no evaluation", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "void evaluate(", "void value(", 1),
			"styblinski-tang.glsl: no function evaluate with the parameters of its call; want void evaluate(inout float f[OBJECTIVES])"},
		{"a key", "point.toml", "point.glsl", strings.Replace(point, "max_steps", "max_step", 1), "point.glsl:4:5: unknown key \"max_step\""},
		{"a bound", "point.toml", "point.glsl", strings.Replace(point, "max_steps = 50", "action_low = [1, 2]", 1), "point.glsl:4:18: 2 bounds of 1 dimensions"},
		{"a time limit", "point.toml", "point.glsl", strings.Replace(point, "max_steps = 50", "", 1), "without a time limit"},
		{"a size", "point.toml", "point.glsl", strings.Replace(point, "#define OBS_SIZE 2", "", 1), "#define OBS_SIZE"},
		{"a place", "point.toml", "point.glsl", strings.Replace(point, `["x"]`, `["y"]`, 1), `there is no "y" in the state, which has x, v`},
		{"the first line", "point.toml", "point.glsl", "void f() {}\n", "want // environment: NAME"},
		{"a loop", "point.toml", "point.glsl", strings.Replace(point, "terminated = false;", "for (uint i = 0u; i < 3u; i++) s[0] += 0.0;", 1), "has a loop"},
		{"a macro's loop", "point.toml", "point.glsl", strings.Replace(point, "terminated = false;", "int i = 0;\n#define W while\nW (i < 3) i++;", 1), "has a loop"},
		{"a function's loop", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "//! iterations = 1000\n", "", 1),
			"styblinski-tang.glsl:9: a loop, and iterations is 0; want"},
		{"a function's loop of a macro", "styblinski-tang.toml", "styblinski-tang.glsl",
			strings.NewReplacer("//! iterations = 1000\n", "#define F for\n", "for (", "F (").Replace(f), "styblinski-tang.glsl:10: a loop, and iterations is 0; want"},
		{"a function's long loops", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "1000", "70000", 1), "styblinski-tang.glsl:5:18: "},
		{"no file", "point.toml", "other.glsl", point, "point.glsl: no such file"},
		{"a function's code", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "f[0] -=", "f[0] -= no", 1),
			"styblinski-tang.glsl:12: "},
		{"a function's bounds", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "low = [-5]", "low = [-5, -5]", 1),
			"low has 2 numbers, and candidates have 4"},
		{"a function's key", "styblinski-tang.toml", "styblinski-tang.glsl", strings.Replace(f, "dimension", "dim", 1),
			"styblinski-tang.glsl:2:5: unknown key \"dim\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			if c.name == "no file" {
				if err := os.Remove(b.path("point.glsl")); err != nil {
					t.Fatal(err)
				}
			}
			b.write(c.file, c.text)
			_, stderr, status := b.run("run", "--out", "run", c.config)
			if status != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d, %s; want %q", status, stderr, c.want)
			}
			if _, err := os.Stat(b.path("run")); err == nil {
				t.Error("there is a run directory")
			}
			b.write("point.glsl", point)
			b.write("styblinski-tang.glsl", f)
		})
	}
	b.t = t
	if _, stderr, status := b.run("run", "--set", "workflow=ppo", "styblinski-tang.toml"); status != 2 || !strings.Contains(stderr, "learns in environments") {
		t.Errorf("an agent on a problem: status %d, %s", status, stderr)
	}
	b.env = []string{"PATH="}
	if _, stderr, status := b.run("run", "point.toml"); status != 1 || !strings.Contains(stderr, "apt install glslc") {
		t.Errorf("without a compiler: status %d, %s", status, stderr)
	}
}
