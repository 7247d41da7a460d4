package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// stepper steps a server's worlds: all requests of a step are sent before the first response is waited for, since a world of several agents may hold a step
// until all of them have sent theirs. It is an envs.Stepper.
type stepper struct {
	*client
	specs  *Specs
	layout *layout
	fails  *bridge.Failures
	links  []*link // [E]; nil: not joined
	last   []float32
	lost   []error // [E]: why the environment's stream was given up; its next step fails
	failed []error // [E]: of the present call
	begins []bool  // [E]: the environment begins a sequence
	epoch  int     // connections to the server that were lost
}

// newStepper joins n worlds. A server that is gone is an error, or waited for.
func newStepper(ctx context.Context, address string, cfg Config, specs *Specs, l *layout, fails *bridge.Failures, n int, wait bool) (*stepper, error) {
	c, err := newClient(address, &cfg, n)
	if err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	st := &stepper{
		client: c, specs: specs, layout: l, fails: fails, links: make([]*link, n), last: make([]float32, n*l.observation.Size()),
		lost: make([]error, n), failed: make([]error, n), begins: make([]bool, n),
	}
	if err := st.rejoinAll(ctx, func(int) bool { return true }, wait); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// rejoinAll joins the worlds of chosen environments anew. A server that is gone is an error, or waited for.
func (st *stepper) rejoinAll(ctx context.Context, chosen func(i int) bool, wait bool) error {
	errs := make([]error, len(st.links))
	var all sync.WaitGroup
	for i := range st.links {
		if chosen(i) {
			all.Go(func() { errs[i] = st.rejoin(ctx, i, wait) })
		}
	}
	all.Wait()
	for i, err := range errs { // they mostly fail for one reason
		if err != nil {
			return &envs.OutsideError{Environment: i, Err: err}
		}
	}
	return nil
}

// rejoin joins environment i's world anew.
func (st *stepper) rejoin(ctx context.Context, i int, wait bool) error {
	if st.links[i] != nil {
		st.links[i].cancel(context.Canceled)
		st.links[i] = nil
	}
	l, err := st.join(ctx, i, wait)
	if err != nil {
		return err
	}
	if got := l.specs.Text(); got != st.specs.Text() {
		l.leave()
		return fmt.Errorf("the server %s has other actions and observations than the run began with: %.2000s; want %.2000s", st.address, got, st.specs.Text())
	}
	l.requested, l.epoch = st.layout.requested(l.observations), st.epoch
	st.links[i], st.lost[i] = l, nil
	return nil
}

// each calls f for parts of the environments, in parallel, and gives streams up whose responses do not come in time.
func (st *stepper) each(ctx context.Context, f func(first, end int)) error {
	const atOnce = 4 // environments for which a goroutine pays
	n := len(st.links)
	parts := min(runtime.GOMAXPROCS(0), (n+atOnce-1)/atOnce)
	release := limit(ctx, st.cfg.Timeout, st.links...)
	defer release()
	if parts == 1 {
		f(0, n)
	} else {
		var wait sync.WaitGroup
		for part := range parts {
			wait.Go(func() { f(part*n/parts, (part+1)*n/parts) })
		}
		wait.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (st *stepper) size() int { return st.layout.observation.Size() }

// row returns environment i's observation.
func (st *stepper) row(of []float32, i int) []float32 { return of[i*st.size() : (i+1)*st.size()] }

func (st *stepper) Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error {
	clear(st.failed)
	for i := range st.links {
		st.begins[i] = which == nil || which[i]
	}
	if err := st.rejoinLost(ctx, st.begins); err != nil {
		return err
	}
	err := st.each(ctx, func(first, end int) {
		for i := first; i < end; i++ {
			if st.begins[i] {
				st.fail(i, st.sendBegin(st.links[i], st.links[i].running, &seeds[i]))
			}
		}
		st.receiveBegins(first, end, obs)
	})
	if err != nil {
		return err
	}
	return st.recover(ctx, obs)
}

func (st *stepper) Step(ctx context.Context, s *envs.Step) error {
	clear(st.failed)
	words := len(s.Action) / len(st.links)
	err := st.each(ctx, func(first, end int) {
		for i := first; i < end; i++ {
			st.begins[i] = false
			if s.Idle[i] {
				continue
			}
			s.Reward[i] = 0
			if st.lost[i] != nil {
				st.fail(i, st.lost[i])
				continue
			}
			l := st.links[i]
			st.fail(i, l.send(l.step(st.layout.tensors(s.Action[i*words:(i+1)*words], l.actions))))
		}
		for i := first; i < end; i++ {
			if !s.Idle[i] && st.failed[i] == nil {
				st.fail(i, st.take(i, s))
			}
		}
		st.receiveBegins(first, end, s.Obs)
	})
	if err != nil {
		return err
	}
	for i, err := range st.failed { // cut off at what was observed last, unless it ended before the next one failed to begin
		if err != nil && !st.begins[i] {
			copy(st.row(s.Final, i), st.row(st.last, i))
			s.Reward[i], s.Terminated[i], s.Truncated[i] = 0, false, true
		}
	}
	if s.Stay { // they are joined when they are used again
		return st.count()
	}
	return st.recover(ctx, s.Obs)
}

// step returns a request that steps.
func (l *link) step(actions map[uint64]*pb.Tensor) *pb.EnvironmentRequest {
	return &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_Step{Step: &pb.StepRequest{Actions: actions, RequestedObservations: l.requested}}}
}

// take takes over what a step did in environment i, and begins the next sequence where one follows.
func (st *stepper) take(i int, s *envs.Step) error {
	l := st.links[i]
	of, err := l.receive("step")
	if err != nil {
		return err
	}
	obs := st.row(s.Obs, i)
	reward, discounted, err := st.layout.read(of.GetStep().GetObservations(), l.observations, obs)
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	switch state := of.GetStep().GetState(); state {
	case pb.EnvironmentStateType_RUNNING:
	case pb.EnvironmentStateType_TERMINATED:
		l.running = false
		s.Terminated[i], s.Truncated[i] = discounted <= 0, discounted > 0
	case pb.EnvironmentStateType_INTERRUPTED:
		l.running = false
		s.Truncated[i] = true
	default:
		return fmt.Errorf("step: the server answers state %v; want RUNNING, TERMINATED or INTERRUPTED", state)
	}
	s.Reward[i] = reward
	copy(st.row(st.last, i), obs)
	if !s.Ended(i) {
		return nil
	}
	copy(st.row(s.Final, i), obs)
	if s.Stay {
		return nil
	}
	st.begins[i] = true
	return st.sendBegin(l, l.running, nil)
}

// sendBegin sends what begins a sequence: a reset if one is running or there is a seed that the server takes, and a step without actions.
func (st *stepper) sendBegin(l *link, reset bool, seed *uint32) error {
	var settings map[string]*pb.Tensor
	if st.cfg.Seed != "" && seed != nil {
		t := &pb.Tensor{}
		putInts(t, pb.DataType_INT64, []int64{int64(*seed)})
		settings, reset = map[string]*pb.Tensor{st.cfg.Seed: t}, true
	}
	if l.resets = reset; reset {
		if err := l.send(&pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_Reset_{Reset_: &pb.ResetRequest{Settings: settings}}}); err != nil {
			return err
		}
	}
	return l.send(l.step(nil))
}

// receiveBegins takes over the first observations of sequences.
func (st *stepper) receiveBegins(first, end int, obs []float32) {
	for i := first; i < end; i++ {
		if st.begins[i] && st.failed[i] == nil {
			st.fail(i, st.receiveBegin(i, st.row(obs, i)))
		}
	}
}

func (st *stepper) receiveBegin(i int, obs []float32) error {
	l := st.links[i]
	if l.resets {
		of, err := l.receive("reset")
		if err != nil {
			return err
		}
		specs, actions, observations, err := specsOf(of.GetReset_().GetSpecs())
		if err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		if specs.Text() != st.specs.Text() {
			return fmt.Errorf("reset: actions and observations change to %.2000s; want those of joining, %.2000s", specs.Text(), st.specs.Text())
		}
		l.actions, l.observations = actions, observations // identifiers may change
		requested := st.layout.requested(observations)
		if fmt.Sprint(requested) != fmt.Sprint(l.requested) {
			return errors.New("reset: the identifiers of observations change; want those of joining")
		}
	}
	of, err := l.receive("step")
	if err != nil {
		return fmt.Errorf("the first one of a sequence: %w", err)
	}
	if state := of.GetStep().GetState(); state != pb.EnvironmentStateType_RUNNING {
		return fmt.Errorf("the first step of a sequence: the server answers state %v; want RUNNING", state)
	}
	if _, _, err := st.layout.read(of.GetStep().GetObservations(), l.observations, obs); err != nil {
		return fmt.Errorf("the first step of a sequence: %w", err)
	}
	l.running = true
	copy(st.row(st.last, i), obs)
	return nil
}

// Close leaves the worlds, destroys those that were created, and ends the connections.
func (st *stepper) Close() error {
	var wait sync.WaitGroup
	for _, l := range st.links {
		if l != nil {
			wait.Go(l.leave)
		}
	}
	wait.Wait()
	st.links = nil
	return st.client.close()
}
