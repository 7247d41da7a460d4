package bridge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
