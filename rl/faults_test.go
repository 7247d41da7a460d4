//go:build unix

package rl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// faultKind is something that goes wrong in a process of environments.
type faultKind struct {
	name string
	says string // its failure's text has it; "": it is no failure
	all  bool   // the process fails, with all its environments; else one environment
}

// faultKinds are in the order of KINDS in testdata/faults.py.
var faultKinds = []faultKind{
	{"raise", "ValueError: out of fuel", false},
	{"exit", "SystemExit: 7", false},
	{"reset", "RuntimeError: the lid is stuck", false},
	{"nan", "has NaN as its element", false},
	{"inf", "its reward is +Inf", false},
	{"shape", "an observation has the shape (3,); want (6,)", false},
	{"four", "step returned 4 values; want five", false},
	{"die", "it ended before it had answered (exit status 9)", true},
	{"crash", "it ended before it had answered (signal: segmentation fault", true},
	{"kill", "it ended before it had answered (signal: killed)", true},
	{"hang", "it has not answered in", true},
	{"stop", "it has not answered in", true},
	{"late", "it has not answered in", true},
	{"twice", "twice, or out of turn", true},
	{"noise", "it answered with sequence", true},
	{"slow", "", false},
	{"version", "it ended before it had answered (exit status 9)", true},
}

// faultSignals are the kinds that the test makes itself.
var faultSignals = map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}

const (
	faultTimeout   = time.Second // in which a process answers
	faultMembers   = 2
	faultCopies    = 8 // environments of a member
	faultWorlds    = faultMembers * faultCopies
	faultProcesses = 2
	faultSteps     = 32
	faultPatience  = 20 // iterations in which a fault is over
)

// dealFaults returns n kinds at random: all in a random order, again and again.
func dealFaults(rng *rand.Rand, n int) (dealt []*faultKind) {
	for len(dealt) < n {
		for _, k := range rng.Perm(len(faultKinds)) {
			dealt = append(dealt, &faultKinds[k])
		}
	}
	return dealt[:n]
}

// faultProcess is a process of environments, by the number of its first one.
type faultProcess struct {
	first    int
	kind     *faultKind // what is going wrong; nil: nothing
	since    int        // iteration
	lost     []float32  // lives of the environments whose episodes are lost
	failures []error
}

// faultSums sums up what happened by kinds.
type faultSums map[*faultKind]*struct {
	count, lost int
	recovery    []time.Duration
}

// faultRun is a training in whose processes something goes wrong.
type faultRun struct {
	t         *testing.T
	dev       *vk.Device
	cfg       bridge.Config
	hello     *bridge.Hello
	fails     *bridge.Failures
	rng       *rand.Rand
	file      *os.File
	kinds     []*faultKind // that are to come
	sums      faultSums
	processes []*faultProcess

	p         *PPO
	iteration int
	saved     string // checkpoint before a fault that ends the run; "": none
	echoes    [faultWorlds]faultEcho
	lives     map[[2]float32]bool
	compared  int       // transitions
	rewards   []float32 // sums of iterations

	mu    sync.Mutex
	noted []bridge.Failure
}

func newFaultRun(t *testing.T, dev *vk.Device, halves int, seed uint64, kinds []*faultKind, sums faultSums) *faultRun {
	r := &faultRun{
		t: t, dev: dev, cfg: faultConfig(t), rng: rand.New(rand.NewPCG(seed, uint64(halves))), kinds: kinds, sums: sums,
		lives: map[[2]float32]bool{},
	}
	r.cfg.Halves = halves
	r.fails = &bridge.Failures{Notify: func(f bridge.Failure) {
		r.mu.Lock()
		r.noted = append(r.noted, f)
		r.mu.Unlock()
	}}
	for k := range faultProcesses {
		r.processes = append(r.processes, &faultProcess{first: k * faultWorlds / faultProcesses / halves})
	}
	var err error
	if r.file, err = os.Create(filepath.Join(r.cfg.Folder, "orders")); err == nil {
		err = r.file.Truncate(64 * faultWorlds)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.file.Close() })
	if r.hello, err = bridge.Describe(t.Context(), "python:faults:make", r.cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// faultConfig returns a configuration with the tests' Python, EVORL_BRIDGE_PYTHON or python3, in a folder of its own.
func faultConfig(t *testing.T) bridge.Config {
	cfg := bridge.Default()
	if python := os.Getenv("EVORL_BRIDGE_PYTHON"); python != "" {
		cfg.Python = python
	} else if _, err := exec.LookPath(cfg.Python); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cfg.Folder, cfg.Processes, cfg.Timeout, cfg.Restarts = t.TempDir(), faultProcesses, faultTimeout, 1<<20
	cfg.Arguments = fmt.Sprintf(`{"timeout": %g}`, faultTimeout.Seconds())
	module, err := os.ReadFile(filepath.Join("testdata", "faults.py"))
	if err == nil {
		err = os.WriteFile(filepath.Join(cfg.Folder, "faults.py"), module, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// begin makes the training, and begins it or goes on from the checkpoint.
func (r *faultRun) begin() {
	env, err := bridge.New("python:faults:make", &r.cfg, r.hello, r.fails)
	if err != nil {
		r.t.Fatal(err)
	}
	cfg, network := DefaultPPO(), smallNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = faultMembers, faultCopies, faultSteps, 2, 2
	cfg.LearningRate, cfg.Discount = 3e-3, 0.5
	network.NormalizeObs = true
	if r.p, err = NewPPO(r.t.Context(), engine.New(r.dev, engine.Seed(1)), env, cfg, Network(network)); err != nil {
		r.t.Fatal(err)
	}
	r.echoes = [faultWorlds]faultEcho{}
	if r.saved != "" {
		reload(r.t, r.p.State(), r.saved)
	} else if err := r.p.Init(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// run trains until all faults are over, and checks that no process is left.
func (r *faultRun) run() {
	open := openFiles()
	r.begin()
	defer func() { _ = r.p.Close() }()
	for len(r.kinds) > 0 || r.busy() {
		if r.t.Failed() {
			return
		}
		r.order()
		if err := r.step(); err != nil {
			r.end(err)
			continue
		}
		r.compare()
		r.settle()
	}
	if err := r.p.Close(); err != nil {
		r.t.Error(err)
	}
	r.alone()
	if now := openFiles(); now > open {
		r.t.Errorf("%d files are open; want %d, as before the run", now, open)
	}
}

func (r *faultRun) busy() bool {
	for _, of := range r.processes {
		if of.kind != nil {
			return true
		}
	}
	return false
}

// process returns the process of an environment; nil: there is none.
func (r *faultRun) process(e faultEcho) *faultProcess {
	for _, of := range r.processes {
		if of.first == int(e.row[0]) {
			return of
		}
	}
	return nil
}

// step takes an iteration of the training.
func (r *faultRun) step() error {
	ticket, err := r.p.Step(r.t.Context(), r.iteration)
	if err == nil {
		err = ticket.Wait(r.t.Context())
	}
	r.iteration++
	return err
}

// order lets something go wrong in processes where all is well, once they have been seen. What ends the run happens alone.
func (r *faultRun) order() {
	if !r.echoes[0].known {
		return
	}
	for _, of := range r.processes {
		if of.kind != nil || len(r.kinds) == 0 || r.rng.Float64() < 0.3 {
			continue
		}
		kind := r.kinds[0]
		if kind.name == "version" {
			if r.busy() {
				return
			}
			if _, err := r.p.State().Save(r.t.Context(), r.cfg.Folder, r.iteration); err != nil {
				r.t.Fatal(err)
			}
			r.saved = filepath.Join(r.cfg.Folder, fmt.Sprintf("%08d", r.iteration))
		}
		r.kinds = r.kinds[1:]
		first := of.first
		*of = faultProcess{first: first, kind: kind, since: r.iteration}
		r.put(first, faultFailed, 0)
		r.put(first, faultAgain, 0)
		if signal, ok := faultSignals[kind.name]; ok {
			time.AfterFunc(time.Duration(r.rng.IntN(20_000))*time.Microsecond, func() { r.signal(first, signal) })
			continue
		}
		most := faultSteps * faultWorlds / faultProcesses // steps of the process in an iteration
		if kind.name == "reset" {
			most /= 8 // episodes have up to 6
		}
		r.put(first, faultCountdown, uint64(r.rng.IntN(most)))
		r.put(first, faultKindAt, uint64(1+slices.IndexFunc(faultKinds, func(k faultKind) bool { return k.name == kind.name })))
		if kind.name == "version" {
			return
		}
	}
}

// end takes note of the end of the run, by a server of another version, and goes on from the checkpoint.
func (r *faultRun) end(err error) {
	ending := func() *faultProcess {
		for _, of := range r.processes {
			if of.kind != nil && of.kind.name == "version" {
				return of
			}
		}
		return nil
	}()
	if ending == nil || !strings.Contains(err.Error(), "it speaks version 2 of the bridge's protocol; want version 1") {
		r.t.Errorf("the run ended: %v", err)
		return
	}
	if err := r.p.Close(); err != nil {
		r.t.Error(err)
	}
	r.alone()
	for _, e := range r.echoes {
		ending.lost = append(ending.lost, e.row[1])
	}
	r.begin()
	r.iteration--
}

// settle takes note of failures, and of faults that are over: the environments that were made anew have taken a step.
func (r *faultRun) settle() {
	r.mu.Lock()
	for _, f := range r.noted {
		of := r.process(r.echoes[f.Environment])
		of.failures = append(of.failures, f)
	}
	r.noted = nil
	r.mu.Unlock()
	for _, of := range r.processes {
		if of.kind == nil {
			if len(of.failures)+len(of.lost) > 0 {
				r.t.Errorf("process %d fails, and nothing was to go wrong: %v, lives %v", of.first, of.failures, of.lost)
			}
			continue
		}
		if again := r.moment(of.first, faultAgain); again != 0 || of.kind.says == "" && r.get(of.first, faultKindAt) == 0 {
			r.over(of, again-r.moment(of.first, faultFailed))
		} else if r.iteration-of.since > faultPatience {
			r.t.Errorf("%s is not over after %d iterations: %v", of.kind.name, faultPatience, of.failures)
		}
	}
}

// over checks a fault that is over.
func (r *faultRun) over(of *faultProcess, seconds float64) {
	kind, most, least := of.kind, 1, 1
	switch {
	case kind.says == "":
		most, least = 0, 0
	case kind.name == "version":
		most = faultWorlds
	case kind.all:
		most = faultWorlds / faultProcesses
	}
	if n := len(of.lost); n < least || n > most {
		r.t.Errorf("%s: lives %v are lost; want %d to %d", kind.name, of.lost, least, most)
	}
	if hit := float32(r.get(of.first, faultHit)); least == 1 && !kind.all && !slices.Equal(of.lost, []float32{hit}) {
		r.t.Errorf("%s: lives %v are lost; want %v, which failed", kind.name, of.lost, hit)
	}
	if len(of.failures) != least || least == 1 && !strings.Contains(of.failures[0].Error(), kind.says) {
		r.t.Errorf("%s: %d failures are counted, %v; want %d: %s", kind.name, len(of.failures), errors.Join(of.failures...), least, kind.says)
	}
	sum := r.sums[kind]
	sum.count++
	sum.lost += len(of.lost)
	if least == 1 {
		sum.recovery = append(sum.recovery, time.Duration(seconds*float64(time.Second)))
	}
	*of = faultProcess{first: of.first}
}

// openFiles returns the number of open files of the test; 0: unknown.
func openFiles() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}

// A training goes on whatever happens in the processes of its environments: every transition on the device is one that an environment made, only the episodes
// of what failed are cut off, each failure is counted once and says what it was, and neither processes nor open files are left. A server of
// another version ends the run, which goes on from its checkpoint. EVORL_FAULT_RUNS is the number of faults (default: each kind once).
func TestFaults(t *testing.T) {
	n := len(faultKinds)
	if text := os.Getenv("EVORL_FAULT_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	sums := faultSums{}
	for k := range faultKinds {
		sums[&faultKinds[k]] = &struct {
			count, lost int
			recovery    []time.Duration
		}{}
	}
	const seed = 7
	kinds := dealFaults(rand.New(rand.NewPCG(seed, 0)), n)
	dev := vktest.Open(t, vk.Validate(false))
	for i, part := range [][]*faultKind{kinds[:n/2], kinds[n/2:]} {
		r := newFaultRun(t, dev, i+1, seed, part, sums)
		if r.run(); t.Failed() {
			break
		}
		t.Logf("halves %d: %d iterations, %d transitions compared, mean reward %.2f in the first and %.2f in the last", i+1, r.iteration, r.compared,
			r.rewards[0], r.rewards[len(r.rewards)-1])
	}
	for k := range faultKinds {
		sum := sums[&faultKinds[k]]
		if sum.count == 0 {
			continue
		}
		line := fmt.Sprintf("| %s | %d | %d |", faultKinds[k].name, sum.count, sum.lost)
		if times := sum.recovery; len(times) > 0 {
			slices.Sort(times)
			line += fmt.Sprintf(" %d | %d |", times[len(times)/2].Milliseconds(), times[len(times)-1].Milliseconds())
		}
		t.Log(line)
	}
}
