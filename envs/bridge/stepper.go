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

// stepper steps environments in server processes. It is an envs.Halver, and an envs.Framer if observations are bytes.
type stepper struct {
	name    string
	cfg     Config
	hello   *Hello
	fails   *Failures
	servers []*server
	at      []int // [E]: the server; E counts the agents of each world
	seats   int   // agents of a world
	split   int   // environments of half 0, if halves take steps in turns; else E

	taking [2]*envs.Step // steps that halves are taking; nil: none
	ahead  [2]bool       // the results of a half's step were taken over before it was waited for

	todo    []byte           // [E]: command; 0: none
	last    rows             // what was observed last
	seeds   []uint32         // [E]: of the last reset
	renewed []uint32         // [E]: failures since then
	good    []bool           // [E]: the present step is taken over
	lost    []error          // [E]: why an environment is not in the episode in which it was; its next step fails
	failed  map[int]error    // environments whose present command failed
	down    map[*server]bool // servers that failed
	counted map[error]bool   // failures that were counted
}

// newStepper makes a stepper of n environments, and starts their processes unless Halve does.
func newStepper(ctx context.Context, name string, cfg Config, hello *Hello, fails *Failures, n int, turns bool) (*stepper, error) {
	count := cfg.Processes
	if count == 0 {
		count = runtime.GOMAXPROCS(0)
	}
	st := &stepper{
		name: name, cfg: cfg, hello: hello, fails: fails, seats: hello.seats(),
		servers: make([]*server, min(count, n/hello.seats())), at: make([]int, n), split: n, todo: make([]byte, n),
		last: hello.rows(n), seeds: make([]uint32, n), renewed: make([]uint32, n),
		good: make([]bool, n), lost: make([]error, n), failed: map[int]error{}, down: map[*server]bool{}, counted: map[error]bool{},
	}
	if turns {
		return st, nil
	}
	if err := st.start(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// start starts the processes.
func (st *stepper) start(ctx context.Context) error {
	worlds, count := len(st.at)/st.seats, len(st.servers)
	errs := make([]error, count)
	var wait sync.WaitGroup
	for k := range count {
		of := share(k, count, worlds, st.cfg.Halves)
		if st.split < len(st.at) {
			of = shareHalves(k, count, worlds, st.split/st.seats)
		}
		wait.Go(func() { st.servers[k], errs[k] = st.begin(ctx, of.of(st.seats)) })
	}
	wait.Wait()
	for _, err := range errs { // they mostly fail for one reason
		if err != nil {
			return err
		}
	}
	for k, s := range st.servers {
		for i := range s.n {
			st.at[s.number(i)] = k
		}
	}
	return nil
}

// begin starts the server of a portion of the environments.
func (st *stepper) begin(ctx context.Context, of portion) (*server, error) {
	s, hello, err := start(ctx, st.name, st.cfg, of.first[0])
	if err != nil {
		return nil, err
	}
	if !hello.same(st.hello) {
		err = fmt.Errorf("the server of %q steps another environment than the run's: it has %s; want %s", st.name, hello.text(), st.hello.text())
		return nil, errors.Join(err, s.abandon())
	}
	if err = s.makeAll(ctx, st.cfg, hello, of); err != nil {
		s.kill()
		return nil, errors.Join(fmt.Errorf("the server of %q, for environments %v: %w%s", st.name, of, err, s.said()), s.free())
	}
	return s, nil
}

func (st *stepper) Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error {
	return st.reset(ctx, which, seeds, st.floats(obs))
}

// ResetFrames implements envs.Framer.
func (st *stepper) ResetFrames(ctx context.Context, which []bool, seeds []uint32, frames []byte) error {
	return st.reset(ctx, which, seeds, st.last.like(frames))
}

func (st *stepper) reset(ctx context.Context, which []bool, seeds []uint32, obs rows) error {
	if err := st.settle(ctx); err != nil {
		return err
	}
	for i := range st.at {
		if st.todo[i] = 0; which == nil || which[i] {
			st.todo[i], st.seeds[i], st.renewed[i], st.lost[i] = commandReset, seeds[i], 0, nil
		}
	}
	if err := st.exchange(ctx, nil, nil, obs); err != nil {
		return err
	}
	return st.renew(ctx, obs, st.errors())
}

func (st *stepper) Step(ctx context.Context, s *envs.Step) error {
	if err := st.settle(ctx); err != nil {
		return err
	}
	st.order(s, 0, len(st.at))
	if err := st.exchange(ctx, s.Action, s, st.observations(s)); err != nil {
		return err
	}
	return st.recover(ctx, s, st.errors())
}

// order makes the commands of a step of the environments first … end-1.
func (st *stepper) order(s *envs.Step, first, end int) {
	for i := first; i < end; i++ {
		st.todo[i], st.good[i] = 0, false
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
}

// recover cuts off the episodes of environments that failed in a step, and begins new ones.
func (st *stepper) recover(ctx context.Context, s *envs.Step, failed map[int]error) error {
	finals := st.finals(s)
	for i := range failed { // cut off at what was observed last, unless it ended before its process failed
		if !st.good[i] || !s.Ended(i) {
			copy(finals.of(i), st.last.of(i))
			s.Truncated[i] = true
		}
	}
	if s.Stay { // they are reset when they are used again
		return st.check(failed)
	}
	return st.renew(ctx, st.observations(s), failed)
}

// errors returns the environments that failed with the causes, and forgets them.
func (st *stepper) errors() map[int]error {
	failed := st.failed
	st.failed = map[int]error{}
	return failed
}

// exchange gives the environments their commands, waits for what they did and takes it over. Environments that failed are in st.failed then, and with a
// process all of its own that were not idle. An error is one after which nothing goes on.
func (st *stepper) exchange(ctx context.Context, actions []float32, s *envs.Step, obs rows) error {
	clear(st.down)
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
	for h := range 2 {
		for _, of := range st.servers {
			if h < len(of.halves) && of.posted[h] != 0 && !st.down[of] {
				st.take(ctx, of, h, s, obs)
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
	first := half.first
	for i := range half.n {
		if i%st.seats == 0 {
			st.lose(first + i)
		}
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

// lose makes a world fail at once whose step would go on with an episode that is lost. i is the number of its first agent.
func (st *stepper) lose(i int) {
	err := st.lost[i]
	if err == nil || !st.steps(i) {
		return
	}
	for k := i; k < i+st.seats; k++ {
		st.failed[k], st.todo[k] = err, 0
	}
}

// steps reports whether an agent of the world of agent i is to take a step.
func (st *stepper) steps(i int) bool {
	for _, command := range st.todo[i/st.seats*st.seats : (i/st.seats+1)*st.seats] {
		if command&15 == commandStep {
			return true
		}
	}
	return false
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
