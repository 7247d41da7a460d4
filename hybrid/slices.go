package hybrid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
)

// Slices is a workflow whose members are divided into slices, each of which is a workflow of its own with a part of the members, so that several devices can
// compute them (engine.Beside), and workers elsewhere (engine.Assisted). A slice stays where it is computed; of each iteration only metrics come to the host,
// and members move only where an enclosing method copies them, as PBT does. The states of slices elsewhere come here at times, and when they are saved:
// what a lost worker has done since is computed again.
//
// Results depend on the size of a slice, since a slice draws random numbers of its own, and not on the number of devices. Checkpoints have the tensors of all
// members together, by the names that a workflow without slices has.
type Slices struct {
	engine.Base
	all     []*memberSlice   // in the order of members
	queues  [][]*memberSlice // the same by device
	metrics []string         // of the slices, in the order of rows
	tensors map[string]bool  // of the slices that the state has
	common  engine.Description

	crew   *cluster.Crew                   // workers elsewhere; nil: there are none
	hands  []*cluster.Hand                 // that take part
	shares []int                           // slices of each device, and then of each worker
	times  []time.Duration                 // of a slice's iteration on each device; 0: unknown
	paces  map[*cluster.Hand]time.Duration // the same of workers
	homed  time.Time                       // when all states came here
	homing time.Duration                   // how long it took

	behind bool // the slices do not have the state's clock and steps yet: it was loaded
	stale  bool // nor its hyperparameters
	done   int  // iterations of the slices
}

// NewSlices makes slices of the given number of members, the last one with what is left, of workflows that build makes with an engine and a number of members.
// The engine's devices have equally many consecutive slices, or one more. Close it after use.
//
// Errors: sizes below 1, those of build, and workflows whose state cannot be divided by members.
func NewSlices(ctx context.Context, eng *engine.Engine, members, slice int, build BuildSlice) (*Slices, error) {
	if err := engine.Require(map[string]any{"engine": eng, "function that builds slices": build}); err != nil {
		return nil, fmt.Errorf("hybrid: members in slices: %w", err)
	}
	if members < 1 || slice < 1 {
		return nil, fmt.Errorf("hybrid: slices of %d of %d members; want at least 1", slice, members)
	}
	s := &Slices{tensors: map[string]bool{}}
	if err := s.build(ctx, eng, members, slice, build); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: members in slices of %d: %w", slice, err), s.Close())
	}
	return s, nil
}

func (s *Slices) build(ctx context.Context, eng *engine.Engine, members, slice int, build BuildSlice) error {
	devices := eng.Devices()
	s.crew = eng.Crew()
	s.queues = make([][]*memberSlice, len(devices))
	s.times, s.paces = make([]time.Duration, len(devices)), map[*cluster.Hand]time.Duration{}
	count := (members + slice - 1) / slice
	if s.crew != nil {
		s.crew.Divided(count)
	}
	for i := range count {
		m := &memberSlice{first: i * slice, members: min(slice, members-i*slice), device: i * len(devices) / count}
		of, err := build(ctx, eng.Slice(devices[m.device], m.first), m.members)
		if err != nil {
			return err
		}
		m.of, m.names = of, of.Metrics().Names()
		s.all, s.queues[m.device] = append(s.all, m), append(s.queues[m.device], m)
		if n := of.Describe().Members; n != m.members {
			return fmt.Errorf("a workflow of %d members; want %d", n, m.members)
		}
		s.common.StepsPerIter += of.Describe().StepsPerIter
	}
	first := s.all[0].of
	s.common.Workflow, s.common.Environment, s.common.Members = first.Describe().Workflow, first.Describe().Environment, members
	s.metrics = first.Metrics().Names()
	s.Base = engine.NewBase(eng, members, len(s.metrics)+maxRows)
	for _, name := range s.metrics {
		s.Metrics().Row(name)
	}
	for _, name := range first.Hyper().Names() {
		s.Hyper().Add(name, 0) // Init takes the slices' values
	}
	if err := s.adopt(); err != nil {
		return err
	}
	state := s.State()
	state.OnZero(s.zero)
	state.OnResume(s.follow)
	state.OnSave(s.settle)
	state.OnInherit(s.inherit)
	return s.Complete(engine.Parts{Description: s.common, Record: s.Record, Init: s.init, Evaluator: sliceEvaluator{s}})
}

// deviceName names a device among the workers.
func (s *Slices) deviceName(i int) string {
	return fmt.Sprintf("%d (%s)", i, s.State().Engine().Devices()[i].Info().Name)
}

// maxRows leaves room for the metrics of an enclosing workflow.
const maxRows = 32

// failed is the error of a slice; nil if there is none.
func (m *memberSlice) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("device %d (%s), members from %d on: %w", m.device, m.of.State().Engine().Device().Info().Name, m.first, err)
}

// each calls f for the slices of every device, in their order; devices are called at once. It returns the errors of all.
func (s *Slices) each(f func(queue []*memberSlice) error) error {
	errs := make([]error, len(s.queues))
	var all sync.WaitGroup
	for i, queue := range s.queues {
		all.Go(func() {
			errs[i] = f(queue)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// init begins a run of every slice.
func (s *Slices) init(ctx context.Context) error {
	s.vary()
	err := s.each(func(queue []*memberSlice) error {
		for _, m := range queue {
			if err := m.of.Init(ctx); err != nil {
				return m.failed(err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range s.Hyper().Names() {
		values, err := s.gather(ctx, "hyper/"+name)
		if err == nil {
			err = s.Hyper().Lookup(name).WriteBytes(ctx, values)
		}
		if err != nil {
			return err
		}
	}
	s.behind, s.stale, s.done = false, true, 0
	steps, err := s.steps(ctx)
	return errors.Join(err, s.settle(ctx), s.countSteps(ctx, steps))
}

// vary tells the slices which hyperparameters differ between members, before they are recorded.
func (s *Slices) vary() {
	for _, name := range s.Hyper().Names() {
		if s.Hyper().Varied(name) {
			for _, m := range s.all {
				m.of.Hyper().Vary(name)
			}
		}
	}
}

// Record implements engine.Trainable.
func (s *Slices) Record(r *engine.Recorder, rows func(*engine.Recorder)) {
	s.vary()
	r.Host("an iteration of slices of members", s.step)
	s.End(r, rows, 0) // the steps are the slices', see settle
}

// step runs an iteration of every slice.
func (s *Slices) step(ctx context.Context) error {
	if err := errors.Join(s.spread(ctx), s.place(ctx)); err != nil {
		return err
	}
	results, err := s.performAll(ctx, func(*memberSlice) sliceOp { return sliceOp{Kind: opStep, N: s.done} })
	if err != nil {
		return err
	}
	s.done++
	values := make([][]float32, len(s.metrics))
	var steps uint64
	for i, m := range s.all {
		if len(results[i]) != 4*len(s.metrics)*m.members+8 {
			return m.failed(fmt.Errorf("%d bytes of metrics of an iteration; want those of %d metrics", len(results[i]), len(s.metrics)))
		}
		of := decodeFloats(results[i])
		for k := range s.metrics {
			values[k] = append(values[k], of[k*m.members:(k+1)*m.members]...)
		}
		steps += binary.LittleEndian.Uint64(results[i][len(results[i])-8:])
	}
	return errors.Join(s.Metrics().Write(ctx, values), s.countSteps(ctx, steps), s.guard(ctx))
}

// Config implements engine.Trainable.
func (s *Slices) Config() any { return s.all[0].of.Config() }

// Count returns the number of slices, and how many of them each of the engine's devices has.
func (s *Slices) Count() (all int, here []int) {
	for _, queue := range s.queues {
		n := 0
		for _, m := range queue {
			if m.by == nil {
				n++
			}
		}
		here = append(here, n)
	}
	return len(s.all), here
}

// Close implements engine.Workflow.
func (s *Slices) Close() error {
	var errs []error
	for _, m := range slices.Backward(s.all) {
		errs = append(errs, m.close())
	}
	if s.State() != nil {
		errs = append(errs, s.Base.Close())
	}
	return errors.Join(errs...)
}
