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
// and members move only where an enclosing method copies them, as PBT does. The states of slices on other devices and elsewhere come to the host's memory at
// times, and when they are saved: what a lost device or worker has done since is computed again. Without the first device the run ends.
//
// Results depend on the size of a slice, since a slice draws random numbers of its own, and not on the number of devices. Checkpoints have the tensors of all
// members together, by the names that a workflow without slices has.
type Slices struct {
	engine.Base
	all       []*memberSlice // in the order of members
	construct BuildSlice
	metrics   []string        // of the slices, in the order of rows
	tensors   map[string]bool // of the slices that the state has
	varied    []string        // hyperparameters that differ between members
	episodes  int             // of fitness; 0: it is not asked for
	common    engine.Description

	devices []*deviceHand          // beside the first
	crew    *cluster.Crew          // workers elsewhere; nil: there are none
	hands   []hand                 // that take part
	shares  []int                  // slices of the first device, and then of each hand
	pace    time.Duration          // of a slice's iteration on the first device; 0: unknown
	paces   map[hand]time.Duration // the same of hands
	homed   time.Time              // when all states came here
	homing  time.Duration          // how long it took

	patience time.Duration // with workers, see latePatience

	mu     sync.Mutex
	lost   []error // of the engine's devices; nil: it is not
	counts []int   // slices that each of them has

	behind bool // the slices do not have the state's clock and steps yet: it was loaded
	stale  bool // nor its hyperparameters
	done   int  // iterations of the slices
}

// NewSlices makes slices of the given number of members, the last one with what is left, of workflows that build makes with an engine and a number of members.
// The engine's devices have equally many consecutive slices, or one more. build is not called twice at once. Close it after use.
//
// Errors: sizes below 1, those of build, and workflows whose state cannot be divided by members.
func NewSlices(ctx context.Context, eng *engine.Engine, members, slice int, build BuildSlice) (*Slices, error) {
	if err := engine.Require(map[string]any{"engine": eng, "function that builds slices": build}); err != nil {
		return nil, fmt.Errorf("hybrid: members in slices: %w", err)
	}
	if members < 1 || slice < 1 {
		return nil, fmt.Errorf("hybrid: slices of %d of %d members; want at least 1", slice, members)
	}
	s := &Slices{tensors: map[string]bool{}, patience: latePatience}
	if err := s.build(ctx, eng, members, slice, build); err != nil {
		return nil, errors.Join(fmt.Errorf("hybrid: members in slices of %d: %w", slice, err), s.Close())
	}
	return s, nil
}

func (s *Slices) build(ctx context.Context, eng *engine.Engine, members, slice int, build BuildSlice) error {
	var once sync.Mutex
	s.construct = func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
		once.Lock()
		defer once.Unlock()
		return build(ctx, eng, members)
	}
	s.crew, s.paces = eng.Crew(), map[hand]time.Duration{}
	s.lost, s.counts = make([]error, len(eng.Devices())), make([]int, len(eng.Devices()))
	for first := 0; first < members; first += slice {
		s.all = append(s.all, &memberSlice{first: first, members: min(slice, members-first), where: eng.DeviceName(0)})
	}
	if err := s.all[0].open(ctx, eng.Slice(eng.Device(), 0), s.construct); err != nil {
		return err
	}
	first := s.all[0].of
	s.common = first.Describe()
	s.common.Members, s.common.StepsPerIter = members, s.common.StepsPerIter/s.all[0].members*members
	s.metrics = first.Metrics().Names()
	s.Base = engine.NewBase(eng, members, len(s.metrics)+maxRows)
	for _, name := range s.metrics {
		s.Metrics().Row(name)
	}
	for _, name := range first.Hyper().Names() {
		s.Hyper().Add(name, first.Hyper().Initial(name))
	}
	if err := s.adopt(); err != nil {
		return err
	}
	for i := range eng.Devices()[1:] {
		s.devices = append(s.devices, newDeviceHand(s, i+1, s.construct))
	}
	if s.crew != nil {
		s.crew.Divided(len(s.all))
	}
	if err := s.place(ctx); err != nil {
		return err
	}
	for _, m := range s.all {
		if m.by != nil {
			m.away = true
		} else if err := s.open(ctx, m); err != nil {
			return err
		}
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

// init begins a run of every slice.
func (s *Slices) init(ctx context.Context) error {
	s.vary()
	results, err := s.performAll(ctx, func(*memberSlice) sliceOp { return sliceOp{Kind: opInit} })
	if err != nil {
		return err
	}
	var steps uint64
	for i, m := range s.all {
		if len(results[i]) != 8 {
			return m.failed(fmt.Errorf("environment steps of %d bytes; want 8", len(results[i])))
		}
		steps += binary.LittleEndian.Uint64(results[i])
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
	return errors.Join(s.follows(ctx), s.countSteps(ctx, steps))
}

// vary tells the slices which hyperparameters differ between members, before they are recorded.
func (s *Slices) vary() {
	names := varied(s.Hyper())
	if slices.Equal(names, s.varied) {
		return
	}
	s.varied = names
	for _, m := range s.all {
		if m.of != nil {
			m.of.Hyper().Vary(names...)
		}
		m.again()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all), slices.Clone(s.counts)
}

// count counts the slices of each device.
func (s *Slices) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.counts)
	for _, m := range s.all {
		switch by := m.by.(type) {
		case nil:
			s.counts[0]++
		case *deviceHand:
			s.counts[by.index]++
		}
	}
}

// Close implements engine.Workflow.
func (s *Slices) Close() error {
	var errs []error
	for _, d := range slices.Backward(s.devices) {
		errs = append(errs, d.keep(nil))
	}
	for _, m := range slices.Backward(s.all) {
		errs = append(errs, m.close())
	}
	if s.State() != nil {
		errs = append(errs, s.Base.Close())
	}
	return errors.Join(errs...)
}
