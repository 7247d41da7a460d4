//go:build unix

package bridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
)

// Whatever an environment does, the error says which environment did what; with restarts it goes on anew, its episode is cut off at the last observation, and
// nothing else is lost.
func TestFailures(t *testing.T) {
	plain := testConfig(t)
	hello, err := Describe(t.Context(), "python:worlds:echo", plain)
	if err != nil {
		t.Fatal(err)
	}
	plain.Spec = hello.Text()
	for fail, want := range map[string]string{
		"step raise": `environment 1: ValueError: out of fuel (`,
		"step exit":  `environment 1: SystemExit: 7`,
		"step die":   "at environment 1: it ended before it had answered (exit status 9)\nlast words",
		"step kill":  "at environment 1: it ended before it had answered (signal: killed)",
		"step hang":  "at environment 1: it has not answered in 1s",
		"step nan":   "environment 1: its observation has NaN as its element 4; want finite numbers",
		"step inf":   "environment 1: its reward is +Inf; want a finite number",
		"step shape": "environment 1: ValueError: an observation has the shape (3,); want (5,)",
		"step four":  "environment 1: TypeError: step returned 4 values; want five",
		"step twice": "it answered message 1 twice, or out of turn",
		"step noise": "it answered with sequence 77, half 0, message 4; want ",
		"reset":      "environment 1: RuntimeError: the lid is stuck (",
	} {
		t.Run(fail, func(t *testing.T) {
			cfg := plain
			cfg.Timeout = time.Second
			at := 2
			if fail == "reset" { // at the end of the first episode, of 3 steps
				at = 3
			}
			cfg.Arguments = fmt.Sprintf(`{"fail": %q, "at": %d, "number": 1, "once": %q}`, fail, at, filepath.Join(cfg.Folder, "once"))
			run := func(restarts, split int) (*checker, *Failures) {
				_ = os.Remove(filepath.Join(cfg.Folder, "once"))
				cfg.Restarts = restarts
				if split < 6 {
					cfg.Processes = 1 // echoes have the numbers of their environments
				}
				fails := &Failures{}
				return newChecker(t, openHalved(t, "python:worlds:echo", cfg, fails, 6, split)), fails
			}
			c, _ := run(0, 6)
			var err error
			for range 6 {
				clear(c.step.Terminated)
				clear(c.step.Truncated)
				if err = c.st.Step(t.Context(), c.step); err != nil {
					break
				}
			}
			var one *envs.OutsideError
			if !errors.As(err, &one) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "restarts is 0") {
				t.Errorf("%v; want %q, of an environment", err, want)
			}
			for _, split := range []int{6, 2} {
				c, fails := run(1, split)
				process := len(c.worlds) / len(c.st.servers)
				for range 40 {
					c.advance(func(i int) bool { n, _ := fails.Count(); return n > 0 && c.lost < process && c.step.Truncated[i] })
				}
				if n, last := fails.Count(); n != 1 || !strings.Contains((&envs.OutsideError{Environment: last.Environment, Err: last.Err}).Error(), want) {
					t.Errorf("%d failures, the last %v; want 1: %s", n, last.Err, want)
				}
				most := 1
				if strings.Contains(want, "it ") { // a process
					most = process
				}
				if c.lost > most {
					t.Errorf("%d transitions are lost; want at most %d", c.lost, most)
				}
			}
		})
	}
}

// An environment that always fails ends the run after as many restarts as it may have.
func TestAlwaysFails(t *testing.T) {
	cfg := testConfig(t)
	cfg.Restarts, cfg.Arguments = 3, `{"fail": "reset", "at": 0, "number": -1}`
	st := open(t, "python:worlds:echo", cfg, nil, 2)
	err := st.Reset(t.Context(), nil, []uint32{1, 2}, make([]float32, 2*echoSize))
	if err == nil || !strings.Contains(err.Error(), "after 3 restarts") {
		t.Errorf("%v", err)
	}
}

// The time for an answer counts from the step, for all processes at once: four that hang cost one timeout, and not four.
func TestTimeoutOfAll(t *testing.T) {
	cfg := testConfig(t)
	cfg.Processes, cfg.Timeout, cfg.Arguments = 4, 1500*time.Millisecond, `{"fail": "step hang", "at": 1}`
	for n, split := range map[int]int{4: 4, 8: 4} {
		st := openHalved(t, "python:worlds:echo", cfg, nil, n, split)
		s := newStep(n, 5, 1)
		if err := st.Reset(t.Context(), nil, seedsOf(n), s.Obs); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := st.Step(t.Context(), s)
		if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), "has not answered in 1.5s") || took > 3*cfg.Timeout {
			t.Errorf("%d environments: %v after %v; want it after 1.5 s", n, err, took)
		}
	}
}

// A process that steps both halves, one after the other, has the time for each.
func TestTimeoutOfHalves(t *testing.T) {
	cfg := testConfig(t)
	cfg.Processes, cfg.Timeout, cfg.Arguments = 1, 3500*time.Millisecond, `{"idle": 2}`
	st := openHalved(t, "python:worlds:echo", cfg, nil, 2, 1)
	s := newStep(2, 5, 1)
	if err := st.Reset(t.Context(), nil, seedsOf(2), s.Obs); err != nil {
		t.Fatal(err)
	}
	if err := st.Step(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// The echo with kills: no observation, reward or end of a hundred thousand steps is out of place while processes are killed. EVORL_BRIDGE_STEPS is another
// number of steps of all environments.
func TestKills(t *testing.T) {
	steps := 100_000
	if text := os.Getenv("EVORL_BRIDGE_STEPS"); text != "" {
		var err error
		if steps, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const n = 16
	for _, split := range []int{n, n / 2} {
		t.Run(fmt.Sprint(split), func(t *testing.T) { testKills(t, steps, n, split) })
	}
}

func testKills(t *testing.T, steps, n, split int) {
	cfg, fails := testConfig(t), &Failures{}
	cfg.Restarts = 1 << 20
	c := newChecker(t, openHalved(t, "python:worlds:echo", cfg, fails, n, split))
	every := min(steps/n/10, 625)
	kills := 0
	for k := range steps / n {
		failed := -1
		if k%every == every/2 {
			failed = k / every % 2
			pid := c.st.servers[failed].command.Process.Pid
			kills++
			if k/every%3 == 0 { // before the step
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			} else { // somewhere in it, or later
				time.AfterFunc(time.Duration(k%7)*100*time.Microsecond, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			}
		}
		before, _ := fails.Count()
		c.advance(func(i int) bool {
			now, _ := fails.Count()
			return now > before
		})
	}
	time.Sleep(10 * time.Millisecond)
	c.advance(func(int) bool { return true })
	if got, _ := fails.Count(); got == 0 || got > kills {
		t.Errorf("%d failures; want at most %d, one of each kill", got, kills)
	}
	t.Logf("%d steps, %d kills, %d transitions lost", steps, kills, c.lost)
}

// Processes that a server began end with it.
func TestGrandchildren(t *testing.T) {
	cfg := testConfig(t)
	cfg.Processes = 1
	st := open(t, "python:worlds:children", cfg, nil, 1)
	text, err := os.ReadFile(filepath.Join(cfg.Folder, "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the server's child does not run")
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// Servers close their environments at the end of a run.
func TestCloses(t *testing.T) {
	cfg := testConfig(t)
	cfg.Arguments = `{"once": "closed"}`
	st := open(t, "python:worlds:echo", cfg, nil, 4)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"closed-0", "closed-1"} {
		if _, err := os.Stat(filepath.Join(cfg.Folder, name)); err != nil {
			t.Error(err)
		}
	}
}

// When evorl itself is killed, its servers end, even those whose environments hang.
func TestOrphans(t *testing.T) {
	if folder := os.Getenv("EVORL_BRIDGE_ORPHANS"); folder != "" { // the process that is killed
		cfg := Default()
		cfg.Folder, cfg.Processes, cfg.Arguments = folder, 2, `{"fail": "step hang", "at": 1}`
		if python := os.Getenv("EVORL_BRIDGE_PYTHON"); python != "" {
			cfg.Python = python
		}
		st := open(t, "python:worlds:echo", cfg, nil, 4)
		s := newStep(4, echoSize, 1)
		if err := st.Reset(t.Context(), nil, seedsOf(4), s.Obs); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%d %d", st.servers[0].command.Process.Pid, st.servers[1].command.Process.Pid)
		if err := os.WriteFile(filepath.Join(folder, "pids"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Fatal(st.Step(t.Context(), s))
	}
	cfg := testConfig(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-test.run=^TestOrphans$")
	command.Env = append(os.Environ(), "EVORL_BRIDGE_ORPHANS="+cfg.Folder)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	for range 600 {
		text, err := os.ReadFile(filepath.Join(cfg.Folder, "pids"))
		if n, _ := fmt.Sscan(string(text), &pids[0], &pids[1]); err == nil && n == 2 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if pids[1] == 0 || !alive(pids[0]) || !alive(pids[1]) {
		t.Fatalf("servers %v do not run", pids)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	for _, pid := range pids {
		gone(t, pid)
	}
}
