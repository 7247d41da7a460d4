package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
)

// pythonConfig returns a configuration with the tests' Python: EVORL_BRIDGE_PYTHON, or python3.
func pythonConfig(t testing.TB) Config {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the bridge is not implemented on Windows")
	}
	cfg := Default()
	if python := os.Getenv("EVORL_BRIDGE_PYTHON"); python != "" {
		cfg.Python = python
	} else if _, err := exec.LookPath(cfg.Python); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return cfg
}

// testConfig returns a configuration whose modules are those of testdata.
func testConfig(t testing.TB) Config {
	t.Helper()
	cfg := pythonConfig(t)
	cfg.Folder = t.TempDir()
	for _, name := range []string{"worlds.py", "together.py"} {
		module, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cfg.Folder, name), module, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Processes, cfg.Restarts = 2, 0
	return cfg
}

// open starts a stepper of n environments.
func open(t testing.TB, name string, cfg Config, fails *Failures, n int) *stepper {
	t.Helper()
	return openHalved(t, name, cfg, fails, n, n)
}

// openHalved starts a stepper of n environments, of which the first split and the others take steps in turns; n: all at once.
func openHalved(t testing.TB, name string, cfg Config, fails *Failures, n, split int) *stepper {
	t.Helper()
	hello, err := Describe(t.Context(), name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if fails == nil {
		fails = &Failures{}
	}
	st, err := newStepper(t.Context(), name, cfg, hello, fails, n, split < n)
	if err == nil && split < n {
		err = st.Halve(t.Context(), split)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// newStep is a step of n environments.
func newStep(n, obs, words int) *envs.Step {
	return &envs.Step{
		Action: make([]float32, n*words), Last: make([]bool, n), Idle: make([]bool, n), Obs: make([]float32, n*obs), Final: make([]float32, n*obs),
		Reward: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
	}
}

// seedsOf are different seeds of n environments.
func seedsOf(n int) []uint32 {
	seeds := make([]uint32, n)
	for i := range seeds {
		seeds[i] = uint32(7*i + 1)
	}
	return seeds
}

// world is what an echo in Python does.
type world struct{ id, steps, episode, seed int }

func (w *world) row(action float32) []float32 {
	return []float32{float32(w.id), float32(w.steps), float32(w.episode), float32(w.seed), action}
}

func (w *world) reset(seed int) []float32 {
	w.seed, w.episode = seed&0xFFFF, 0
	return w.row(-1)
}

func (w *world) step(action float32) (obs []float32, reward float32, terminated, truncated bool) {
	w.steps++
	w.episode++
	length := 3 + w.seed%4
	ended := w.episode == length
	return w.row(action), float32(w.steps) / 16, ended && length%2 == 0, ended && length%2 == 1
}

const echoSize = 5

// checker compares a stepper with what echoes do.
type checker struct {
	t      testing.TB
	st     *stepper
	worlds []world
	step   *envs.Step
	steps  int
	lost   int // transitions of failed environments
}

func newChecker(t testing.TB, st *stepper) *checker {
	c := &checker{t: t, st: st, worlds: make([]world, len(st.at)), step: newStep(len(st.at), echoSize, 1)}
	for _, of := range st.servers {
		for i := range of.n { // echoes number themselves in the order of their making
			c.worlds[of.number(i)].id = of.first[0] + i
		}
	}
	seeds := seedsOf(len(st.at))
	if err := st.Reset(t.Context(), nil, seeds, c.step.Obs); err != nil {
		t.Fatal(err)
	}
	for i := range c.worlds {
		c.equal(i, "the first observation", c.row(c.step.Obs, i), c.worlds[i].reset(int(seeds[i])))
	}
	return c
}

func (c *checker) row(of []float32, i int) []float32 { return of[i*echoSize : (i+1)*echoSize] }

func (c *checker) equal(i int, what string, got, want []float32) {
	c.t.Helper()
	for k := range want {
		if got[k] != want[k] {
			c.t.Fatalf("step %d, environment %d: %s is %v; want %v", c.steps, i, what, got, want)
		}
	}
}

// advance takes a step and compares it. Environments of failed are expected to be cut off where they were; they go on anew.
func (c *checker) advance(failed func(i int) bool) {
	c.t.Helper()
	s := c.step
	c.steps++
	clear(s.Terminated)
	clear(s.Truncated)
	before := append([]float32(nil), s.Obs...)
	lost := slices.Clone(c.st.lost) // of processes whose end was noticed and counted in the step before
	for i := range c.worlds {
		s.Action[i] = float32((c.steps*31 + i*7) % 1000)
		s.Last[i] = (c.steps+i)%17 == 0
	}
	if err := c.take(); err != nil {
		c.t.Fatal(err)
	}
	for i := range c.worlds {
		w := &c.worlds[i]
		if failed != nil && (failed(i) || lost[i] != nil) && s.Truncated[i] && s.Reward[i] == 0 {
			c.equal(i, "the last observation before a failure", c.row(s.Final, i), c.row(before, i))
			first := c.row(s.Obs, i)
			*w = world{id: int(first[0])} // a world made anew
			c.equal(i, "the first observation after a failure", first, w.reset(int(first[3])))
			c.lost++
			continue
		}
		obs, reward, terminated, truncated := w.step(s.Action[i])
		if s.Reward[i] != reward {
			c.t.Fatalf("step %d, environment %d: reward %v; want %v", c.steps, i, s.Reward[i], reward)
		}
		if s.Terminated[i] != terminated || s.Truncated[i] != truncated && !(failed != nil && failed(i)) {
			c.t.Fatalf("step %d, environment %d: terminated %t, truncated %t; want %t, %t", c.steps, i, s.Terminated[i], s.Truncated[i], terminated, truncated)
		}
		if !s.Ended(i) {
			c.equal(i, "the observation", c.row(s.Obs, i), obs)
			continue
		}
		c.equal(i, "the last observation", c.row(s.Final, i), obs)
		first := c.row(s.Obs, i)
		if failed != nil && failed(i) && first[1] == 0 {
			*w = world{id: int(first[0])}
			c.equal(i, "the first observation after a failure", first, w.reset(int(first[3])))
			continue
		}
		c.equal(i, "the first observation", first, w.reset(w.seed+1))
	}
}

// take takes a step: at once or in halves, of which either begins or ends first.
func (c *checker) take() error {
	ctx, half := c.t.Context(), c.steps%2
	if c.st.split == len(c.st.at) {
		return c.st.Step(ctx, c.step)
	}
	return errors.Join(c.st.Begin(ctx, half, c.step), c.st.Begin(ctx, 1-half, c.step), c.st.Wait(ctx, c.steps/2%2), c.st.Wait(ctx, 1-c.steps/2%2))
}

// alive reports whether a process runs.
func alive(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return exec.Command("kill", "-0", fmt.Sprint(pid)).Run() == nil && runtime.GOOS != "linux"
	}
	_, rest, _ := strings.Cut(string(state), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// gone waits until a process has ended.
func gone(t testing.TB, pid int) {
	t.Helper()
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// An environment in Python is stepped as it is: terminated and truncated are kept apart, the last observation of an episode comes with the first of
// the next one, seeds are those given, and a time limit of evorl's ends episodes.
func TestEcho(t *testing.T) {
	for _, c := range []struct{ n, processes, halves, split int }{
		{1, 1, 2, 1}, {5, 2, 2, 5}, {7, 3, 1, 7}, {16, 0, 2, 16}, // at once
		{2, 2, 2, 1}, {5, 3, 2, 3}, {5, 3, 2, 1}, {16, 2, 2, 8}, {9, 1, 2, 4}, {9, 2, 2, 7}, // in turns
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Processes, cfg.Halves = c.processes, c.halves
			check := newChecker(t, openHalved(t, "python:worlds:echo", cfg, nil, c.n, c.split))
			for range 60 {
				check.advance(nil)
			}
		})
	}
}

// In idle environments nothing happens, and where episodes are not followed by others an environment is reset before it goes on.
func TestIdleAndStay(t *testing.T) {
	st := open(t, "python:worlds:echo", testConfig(t), nil, 4)
	s := newStep(4, echoSize, 1)
	if err := st.Reset(t.Context(), nil, []uint32{0, 1, 2, 3}, s.Obs); err != nil { // episodes of 3, 4, 5 and 6 steps
		t.Fatal(err)
	}
	s.Stay, s.Idle[3] = true, true
	for range 4 {
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			s.Idle[i] = s.Idle[i] || s.Ended(i)
		}
	}
	if got := []float32{s.Final[1], s.Final[2], s.Final[echoSize+2], s.Obs[2*echoSize+2], s.Obs[3*echoSize+1]}; fmt.Sprint(got) != "[3 3 4 4 0]" ||
		!s.Truncated[0] || !s.Terminated[1] || s.Ended(2) || s.Ended(3) {
		t.Errorf("%v, truncated %v, terminated %v; want [3 3 4 4 0], [true false …], [false true …]", got, s.Truncated, s.Terminated)
	}
	if err := st.Reset(t.Context(), []bool{true, false, false, false}, []uint32{5, 0, 0, 0}, s.Obs); err != nil {
		t.Fatal(err)
	}
	if s.Obs[3] != 5 || s.Obs[2] != 0 || s.Obs[2*echoSize+2] != 4 {
		t.Errorf("after a reset of environment 0 alone: %v", s.Obs)
	}
}

// Spaces other than boxes: whole numbers are observed as one-hot vectors, combinations of actions are numbered.
func TestSpaces(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		obs, action string
		wantObs     string
		actions     int
		act, reward float32
	}{
		{"discrete", "discrete", "[0 1 0 0]", 4, 3, 5},
		{"multi", "multi", "[0 1 0 0 1]", 6, 5, 21},
		{"binary", "binary", "[1 0 1]", 8, 6, 11},
		{"int", "discrete", "[2]", 4, 0, 2},
		{"int", "table", "[2]", 120, 119, 74321}, // rows of two, and a 7 for the shape
		{"int", "bits", "[2]", 64, 38, 7011001},
	} {
		cfg.Arguments = fmt.Sprintf(`{"obs": %q, "action": %q}`, c.obs, c.action)
		hello, err := Describe(t.Context(), "python:worlds:whole", cfg)
		if err != nil {
			t.Fatal(err)
		}
		env, err := New("python:worlds:whole", &cfg, hello, nil)
		if err != nil {
			t.Fatal(err)
		}
		if env.Action.N != c.actions {
			t.Errorf("%s: actions %v; want Discrete(%d)", c.action, env.Action, c.actions)
		}
		st := open(t, "python:worlds:whole", cfg, nil, 1)
		s := newStep(1, env.ObsSize(), 1)
		if err := st.Reset(t.Context(), nil, []uint32{1}, s.Obs); err != nil {
			t.Fatal(err)
		}
		s.Action[0] = c.act
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Obs); got != c.wantObs || s.Reward[0] != c.reward {
			t.Errorf("%s, %s: observation %s, reward %v; want %s, %v", c.obs, c.action, got, s.Reward[0], c.wantObs, c.reward)
		}
	}
	cfg.Arguments = `{"raw": true}`
	hello, err := Describe(t.Context(), "python:worlds:echo", cfg)
	if err != nil {
		t.Fatal(err)
	}
	env, err := New("python:worlds:echo", &cfg, hello, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(env.Observation, env.Observation.Shape(), env.Observation.Element, env.Action, env.MaxSteps); got !=
		"Box(0, 1, (2, 3, 1)) 2x3x1 uint8 Box(-2, 2, (2)) 100" {
		t.Errorf("spaces of bytes: %s", got)
	}
	st := open(t, "python:worlds:echo", cfg, nil, 1)
	frames := make([]byte, 8)
	if err := st.ResetFrames(t.Context(), nil, []uint32{1}, frames); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(frames[:6]); got != "[0 255 0 1 2 3]" {
		t.Errorf("bytes arrive as %v; want them as they are", got)
	}
}

// An action stays within bounds that float32 does not have: what it rounds up is moved back where the action is a number of the world's own type.
func TestBoundsOfFloat64(t *testing.T) {
	cfg := testConfig(t)
	st := open(t, "python:worlds:narrow", cfg, nil, 1)
	s := newStep(1, 1, 2)
	if err := st.Reset(t.Context(), nil, []uint32{1}, s.Obs); err != nil {
		t.Fatal(err)
	}
	s.Action[0], s.Action[1] = 0.3, -0.3
	if err := st.Step(t.Context(), s); err != nil || s.Reward[0] != 0.3 {
		t.Errorf("%v, reward %v; want 0.3", err, s.Reward[0])
	}
}

// Gymnasium imports the module before an ID from the folder of [bridge]. Before 1.0 it is refused: there the limit of steps that evorl sets, none, ends every
// episode at its first step.
func TestGymnasiumOfModule(t *testing.T) {
	for version, want := range map[string]string{"1.2.0": "", "0.29.1": "has gymnasium 0.29.1; want 1.0 or newer"} {
		cfg, packages := testConfig(t), t.TempDir()
		for path, text := range map[string]string{
			filepath.Join(packages, "gymnasium.py"): fmt.Sprintf("__version__ = %q\nspecs = {}\nspec = specs.get\n\n\n"+
				"def make(id, **arguments):\n    return specs[id].made()\n", version),
			filepath.Join(cfg.Folder, "mine.py"): "import gymnasium\nimport worlds\n\n\n" +
				"class Mine:\n    max_episode_steps, reward_threshold, made = 9, None, worlds.Echo\n\n\ngymnasium.specs[\"Mine-v0\"] = Mine\n",
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PYTHONPATH", packages)
		hello, err := Describe(t.Context(), "gymnasium:mine:Mine-v0", cfg)
		if want == "" && (err != nil || hello.MaxSteps != 9) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("gymnasium %s: %+v, %v; want %q", version, hello, err, want)
		}
	}
}

// A run of another machine is started in the working directory, by the python3 of the PATH, and its settings keep that machine's paths.
func TestElsewhere(t *testing.T) {
	cfg := testConfig(t)
	python, err := exec.LookPath(cfg.Python)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python3"), fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", python), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(cfg.Folder)
	cfg.Folder, cfg.Python = "/nowhere", "/nowhere/python"
	at := cfg.Elsewhere()
	if _, err := Describe(t.Context(), "python:worlds:echo", at); err != nil || at.Folder != cfg.Folder || at.Python != cfg.Python {
		t.Errorf("%s in %s, by %s: %v; want it started by %s", at.Python, at.Folder, cfg.Python, err, python)
	}
}

// What cannot be stepped is refused with one error that says what would be right.
func TestRefused(t *testing.T) {
	plain := testConfig(t)
	for _, c := range []struct {
		name, arguments string
		change          func(*Config)
		want            []string
	}{
		{"gymnasium:", "", nil, []string{"names no environment"}},
		{"python:worlds", "", nil, []string{"want python:MODULE:FUNCTION"}},
		{"python:worlds:nothing", "", nil, []string{"module worlds", "has no function 'nothing'"}},
		{"python:nowhere:make", "", nil, []string{"No module named 'nowhere'"}},
		{"python:worlds:broken", "", nil, []string{"OSError: no such game", "worlds.py:"}},
		{"python:worlds:whole", `{"obs": "dict"}`, nil, []string{"observations are a Dict; want a Box, Discrete, MultiDiscrete or MultiBinary"}},
		{"python:worlds:whole", `{"obs": "text"}`, nil, []string{"observations are a box of str; want numbers"}},
		{"python:worlds:whole", `{"action": "wide"}`, nil, []string{"10000 combinations of actions; want at most 4096"}},
		{"python:worlds:whole", `{"action": "int"}`, nil, []string{"actions are a box of int64"}},
		{"python:worlds:slow", "", func(c *Config) { c.StartTimeout = 500 * time.Millisecond }, []string{"has not said what it steps in 500ms"}},
		{"python:worlds:echo", "", func(c *Config) { c.Python = "no-such-python" }, []string{"there is no such Python", "pip install gymnasium"}},
		{"python:worlds:echo", "", func(c *Config) { c.Folder = "/nowhere" }, []string{"[bridge] folder is /nowhere, and there is no such folder"}},
		{"exec:./nothing", "", func(c *Config) { c.Folder = "/nowhere" }, []string{"[bridge] folder is /nowhere, and there is no such folder"}},
		{"exec:./nothing", "", nil, []string{"nothing: there is no such program"}},
		{"exec:true", "", nil, []string{"it ended before it had said what it steps"}},
		{"retro:mpe", "", nil, []string{"want one of gymnasium:ID, pettingzoo:MODULE, python:MODULE:FUNCTION, exec:PROGRAM"}},
		{"pettingzoo:nowhere", "", nil, []string{"cannot import nowhere (No module named 'nowhere')", "-m pip install pettingzoo"}},
		{"pettingzoo:worlds", "", nil, []string{"module worlds", "has no parallel_env; want a world of PettingZoo's parallel API"}},
		{"pettingzoo:together", `{"unequal": "start"}`, nil, []string{`actions of ada are {"shape": [], "choices": [5], "start": [0]}, and of cleo`, `"start": [1]`}},
		{"pettingzoo:together", `{"unequal": "n"}`, nil, []string{"actions of ada are {\"n\": 5}, and of cleo {\"n\": 6}; want equal spaces"}},
	} {
		cfg := plain
		cfg.Arguments = c.arguments
		if c.change != nil {
			c.change(&cfg)
		}
		_, err := Describe(t.Context(), c.name, cfg)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v; want %q", c.name, c.arguments, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		`{"protocol": "evorl-bridge", "version": 2}`: "it speaks version 2 of the bridge's protocol; want version 1",
		`{"version": 1}`: `want a line of JSON with "protocol": "evorl-bridge"`,
	} {
		cfg := plain
		server := filepath.Join(cfg.Folder, "server")
		if err := os.WriteFile(server, fmt.Appendf(nil, "#!/bin/sh\necho '%s' >&3\nread x <&3\n", text), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Describe(t.Context(), "exec:./server", cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if err := (Config{Arguments: "[1]"}).Validate(); err == nil || !strings.Contains(err.Error(), "no JSON object") {
		t.Errorf("arguments that are a list: %v", err)
	}
}

// A server whose environment has changed since the run began is refused.
func TestChanged(t *testing.T) {
	cfg := testConfig(t)
	hello, err := Describe(t.Context(), "python:worlds:echo", cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Arguments = `{"raw": true}`
	const want = "another environment than the run's"
	if _, err = newStepper(t.Context(), "python:worlds:echo", cfg, hello, &Failures{}, 2, false); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// A step ends soon after its context, and no process is left.
func TestCancelled(t *testing.T) {
	cfg := testConfig(t)
	cfg.Arguments = `{"fail": "step hang", "at": 2, "number": 0}`
	st := open(t, "python:worlds:echo", cfg, nil, 4)
	c := newChecker(t, st)
	c.advance(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := st.Step(ctx, c.step); err != context.DeadlineExceeded || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	pids := []int{st.servers[0].command.Process.Pid, st.servers[1].command.Process.Pid}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		gone(t, pid)
	}
}

// A bound of -0, which LunarLander-v3 has, is the 0 that somebody writes into [bridge] spec.
func TestNegativeZero(t *testing.T) {
	const line = `{"protocol": "evorl-bridge", "version": 1, "observation": {"shape": [2], "low": [-1, %s], "high": [1, null]}, "action": {"n": 4}}`
	var of [2]*Hello
	for i, zero := range []string{"-0", "0"} {
		var err error
		if of[i], err = parseHello(fmt.Appendf(nil, line, zero)); err != nil {
			t.Fatal(err)
		}
	}
	if !of[0].same(of[1]) {
		t.Errorf("%s and %s are different environments; want the same", of[0].text(), of[1].text())
	}
}
