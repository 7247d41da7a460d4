package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// stepper steps environments in server processes. It is an envs.Stepper.
type stepper struct {
	name    string
	cfg     Config
	hello   *Hello
	fails   *Failures
	servers []*server
	at      []int // [E]: the server

	todo    []byte           // [E]: command; 0: none
	last    []float32        // [E, O]: what was observed last
	seeds   []uint32         // [E]: of the last reset
	renewed []uint32         // [E]: failures since then
	good    []bool           // [E]: the present step is taken over
	failed  map[int]error    // environments whose present command failed
	down    map[*server]bool // servers that failed
}

// newStepper starts the processes of n environments.
func newStepper(ctx context.Context, name string, cfg Config, hello *Hello, fails *Failures, n int) (_ *stepper, err error) {
	count := cfg.Processes
	if count == 0 {
		count = runtime.GOMAXPROCS(0)
	}
	count = min(count, n)
	st := &stepper{
		name: name, cfg: cfg, hello: hello, fails: fails, servers: make([]*server, count), at: make([]int, n), todo: make([]byte, n),
		last: make([]float32, n*hello.Observation.size()), seeds: make([]uint32, n), renewed: make([]uint32, n),
		good: make([]bool, n),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	errs := make([]error, count)
	var wait sync.WaitGroup
	for k := range count {
		wait.Go(func() { st.servers[k], errs[k] = st.begin(ctx, k*n/count, (k+1)*n/count-k*n/count) })
	}
	wait.Wait()
	for _, err := range errs { // they mostly fail for one reason
		if err != nil {
			return nil, err
		}
	}
	for k, s := range st.servers {
		for i := range s.n {
			st.at[s.first+i] = k
		}
	}
	return st, nil
}

// begin starts the server of n environments.
func (st *stepper) begin(ctx context.Context, first, n int) (*server, error) {
	s, hello, err := start(ctx, st.name, st.cfg, first)
	if err != nil {
		return nil, err
	}
	if !hello.same(st.hello) {
		err = fmt.Errorf("the server of %q steps another environment than the run's: it has %s; want %s", st.name, hello.text(), st.hello.text())
		return nil, errors.Join(err, s.abandon())
	}
	if err = s.makeAll(ctx, st.cfg, hello, first, n); err != nil {
		s.kill()
		return nil, errors.Join(fmt.Errorf("the server of %q, for environments %d to %d: %w%s", st.name, first, first+n-1, err, s.said()), s.free())
	}
	return s, nil
}

func (st *stepper) Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error {
	for i := range st.at {
		if st.todo[i] = 0; which == nil || which[i] {
			st.todo[i], st.seeds[i], st.renewed[i] = commandReset, seeds[i], 0
		}
	}
	if err := st.exchange(ctx, nil, nil, obs); err != nil {
		return err
	}
	return st.renew(ctx, obs, st.errors())
}

func (st *stepper) Step(ctx context.Context, s *envs.Step) error {
	for i := range st.at {
		st.todo[i] = 0
		st.good[i] = false
		if s.Idle[i] {
			continue
		}
		s.Reward[i] = 0
		st.todo[i] = commandStep
		if s.Last[i] {
			st.todo[i] |= commandLast
		}
		if s.Stay {
			st.todo[i] |= commandStay
		}
	}
	if err := st.exchange(ctx, s.Action, s, s.Obs); err != nil {
		return err
	}
	failed := st.errors()
	size := st.size()
	for i := range failed { // its episode is cut off at what was observed last, unless it ended before its process failed
		if !st.good[i] || !s.Ended(i) {
			copy(s.Final[i*size:(i+1)*size], st.last[i*size:])
			s.Truncated[i] = true
		}
	}
	if s.Stay { // they are reset when they are used again
		return st.check(failed)
	}
	return st.renew(ctx, s.Obs, failed)
}

func (st *stepper) size() int { return len(st.last) / len(st.at) }

// errors returns the environments that failed with the causes, and forgets them.
func (st *stepper) errors() map[int]error {
	failed := st.failed
	st.failed = nil
	return failed
}

// check counts failures; too many are an error.
func (st *stepper) check(failed map[int]error) error {
	counted := map[error]bool{}
	for i := range st.at {
		err, ok := failed[i]
		if !ok || counted[err] {
			continue
		}
		counted[err] = true // a process that fails is one failure of all its environments
		if st.fails.add(Failure{Environment: i, Err: err}) > st.cfg.Restarts {
			more := "[bridge] restarts is 0"
			if st.cfg.Restarts > 0 {
				more = fmt.Sprintf("after %d restarts, as many as [bridge] restarts allows", st.cfg.Restarts)
			}
			return &envs.OutsideError{Environment: i, Err: fmt.Errorf("%w (%s)", err, more)}
		}
	}
	return nil
}

// renew begins new episodes in environments that failed, made anew.
func (st *stepper) renew(ctx context.Context, obs []float32, failed map[int]error) error {
	for len(failed) > 0 {
		if err := st.check(failed); err != nil {
			return err
		}
		clear(st.todo)
		for i := range failed {
			if st.todo[i] = commandAnew; st.down[st.servers[st.at[i]]] {
				st.todo[i] = commandReset // in a new process it is new
			}
			st.renewed[i]++
		}
		if err := st.exchange(ctx, nil, nil, obs); err != nil {
			return err
		}
		failed = st.errors()
	}
	return nil
}

// exchange gives the environments their commands, waits for what they did and takes it over. Environments that failed are in st.failed then, and with a
// process all of its own that were not idle. An error is one after which nothing goes on.
func (st *stepper) exchange(ctx context.Context, actions []float32, s *envs.Step, obs []float32) error {
	st.failed, st.down = map[int]error{}, map[*server]bool{}
	if err := st.restart(ctx); err != nil {
		return err
	}
	for _, of := range st.servers {
		for h := range of.halves {
			if !st.down[of] {
				st.post(of, h, actions)
			}
		}
	}
	for k := range max(1, st.cfg.Halves) {
		for _, of := range st.servers {
			if k < len(of.halves) && of.posted[k] != 0 && !st.down[of] {
				st.take(ctx, of, k, s, obs)
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// post writes a half's commands, and tells the server of them if there are any.
func (st *stepper) post(of *server, h int, actions []float32) {
	half := &of.halves[h]
	any := false
	first := of.first + half.first
	for i := range half.n {
		command := st.todo[first+i]
		half.command[i], half.status[i], half.ended[i] = command, 0, 0
		any = any || command != 0
		half.seed[i] = st.seed(first + i)
	}
	if !any {
		of.posted[h] = 0
		return
	}
	if words := of.words; actions != nil && of.discrete {
		for i := range half.n {
			half.index[i] = int32(actions[first+i])
		}
	} else if actions != nil {
		copy(half.action, actions[first*words:(first+half.n)*words])
	}
	if err := of.send(h, messageGo); err != nil {
		of.posted[h] = of.sequence // what ended it is found when it is waited for
	}
}

// seed returns the seed of an environment's reset.
func (st *stepper) seed(i int) uint32 {
	seed := st.seeds[i]
	if st.cfg.Seed != 0 {
		seed = engine.Philox([2]uint32{seed, st.cfg.Seed}, [4]uint32{1})[0]
	}
	if n := st.renewed[i]; n > 0 {
		seed = engine.Philox([2]uint32{seed, n}, [4]uint32{2})[0]
	}
	return seed
}

// take waits for a half and takes over what its environments did.
func (st *stepper) take(ctx context.Context, of *server, h int, s *envs.Step, obs []float32) {
	done := of.limit(ctx, st.cfg.Timeout)
	count, err := of.receive(h, messageDone)
	done()
	if err != nil {
		st.drop(ctx, of, err)
		return
	}
	half, size := &of.halves[h], st.size()
	var faults map[int]string
	if count > 0 {
		faults = half.faults()
	}
	for i := range half.n {
		command := half.command[i]
		e := of.first + half.first + i
		if command == 0 {
			continue
		}
		if half.status[i] != 0 {
			text := faults[i]
			if text == "" {
				text = "the server says that it failed, and not why"
			}
			st.failed[e] = errors.New(text)
			continue
		}
		if err := st.takeOne(of, half, i, e, s, obs[e*size:(e+1)*size]); err != nil {
			st.failed[e] = err
		}
	}
}

// takeOne takes over what an environment did.
func (st *stepper) takeOne(of *server, half *halfView, i, e int, s *envs.Step, obs []float32) error {
	size := st.size()
	last := st.last[e*size : (e+1)*size]
	if s == nil || st.todo[e]&15 != commandStep {
		of.decode(obs, half.obs, i)
		if k := notFinite(obs); k >= 0 {
			return fmt.Errorf("the first observation of an episode has %v as its element %d; want finite numbers", obs[k], k)
		}
		copy(last, obs)
		return nil
	}
	reward := half.reward[i]
	if !finite(reward) {
		return fmt.Errorf("its reward is %v; want a finite number", reward)
	}
	ended := half.ended[i]
	over := ended != 0 || s.Last[e]
	if over {
		final := s.Final[e*size : (e+1)*size]
		of.decode(final, half.final, i)
		if k := notFinite(final); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", final[k], k)
		}
	}
	if !over || !s.Stay {
		of.decode(obs, half.obs, i)
		if k := notFinite(obs); k >= 0 {
			return fmt.Errorf("its observation has %v as its element %d; want finite numbers", obs[k], k)
		}
		copy(last, obs)
	}
	st.good[e] = true
	s.Reward[e], s.Terminated[e], s.Truncated[e] = reward, ended&endTerminated != 0, ended&endTruncated != 0
	return nil
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// notFinite returns the place of a number that is not finite; -1: there is none.
func notFinite(row []float32) int {
	var sum float32
	for _, v := range row {
		sum += v - v
	}
	if sum == 0 {
		return -1
	}
	for k, v := range row {
		if !finite(v) {
			return k
		}
	}
	return -1
}

// faults returns what a server says of environments that failed, by their number in the half.
func (h *halfView) faults() map[int]string {
	text, _, _ := strings.Cut(string(h.fault), "\x00")
	of := map[int]string{}
	for line := range strings.Lines(text) {
		number, cause, ok := strings.Cut(strings.TrimSpace(line), "\t")
		var i int
		if _, err := fmt.Sscan(number, &i); ok && err == nil {
			of[i] = strings.ToValidUTF8(cause, "?")
		}
	}
	return of
}

// drop notes that a server failed, with all its environments that are not idle.
func (st *stepper) drop(ctx context.Context, of *server, err error) {
	if ctx.Err() != nil {
		return // the run ends, not the server
	}
	err = of.explainAnswer(ctx, err, st.cfg)
	if at := of.at(); at >= 0 {
		err = fmt.Errorf("process %d of environments %d to %d, at environment %d: %w", of.command.Process.Pid, of.first, of.first+of.n-1, of.first+at, err)
	} else {
		err = fmt.Errorf("process %d of environments %d to %d: %w", of.command.Process.Pid, of.first, of.first+of.n-1, err)
	}
	of.kill()
	err = fmt.Errorf("%w%s", err, of.said())
	st.down[of] = true
	for i := of.first; i < of.first+of.n; i++ {
		if st.todo[i] != 0 {
			st.failed[i] = err
		}
	}
}

// explainAnswer says what was wrong with an answer.
func (s *server) explainAnswer(ctx context.Context, err error, cfg Config) error {
	var wrong *answerError
	if errors.As(err, &wrong) {
		return err
	}
	return s.explain(ctx, err, cfg.Timeout, "answered")
}

// restart starts servers that have ended anew, unless there are environments in them that were to go on: these failed.
func (st *stepper) restart(ctx context.Context) error {
	for k, of := range st.servers {
		select {
		case <-of.exited:
		default:
			continue
		}
		if slices.ContainsFunc(st.todo[of.first:of.first+of.n], func(command byte) bool { return command&15 == commandStep }) {
			st.drop(ctx, of, io.EOF)
			continue
		}
		begun, err := st.begin(ctx, of.first, of.n)
		if err != nil {
			return fmt.Errorf("restarting: %w", err)
		}
		if err := of.free(); err != nil {
			return errors.Join(err, begun.close())
		}
		st.servers[k] = begun
	}
	return nil
}

// Close ends all processes.
func (st *stepper) Close() error {
	errs := make([]error, len(st.servers))
	var wait sync.WaitGroup
	for k, s := range st.servers {
		if s != nil {
			wait.Go(func() { errs[k] = s.close() })
		}
	}
	wait.Wait()
	st.servers = nil
	return errors.Join(errs...)
}
