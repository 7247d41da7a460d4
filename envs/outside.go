package envs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Stepper is a batch of E environments that are stepped by the host: in Go, in another process, on another machine. Its environments are numbered
// 0 … E-1, and all slices have an element or a row for each. They belong to the caller: they are the memory that the device reads, so a Stepper writes
// its results where they are to be, and keeps no slice after it returns. Calls follow each other, and are not concurrent.
//
// An error ends the run, whose last checkpoint stays. If one environment failed it should be an *OutsideError, so that it is reported with member
// and step. A panic is such an error (*PanicError). A Stepper is closed after an error. Calls should return soon after their context has ended: nothing
// else ends one that hangs, and the engine's logger has a warning about it.
//
// A rollout makes one Stepper for all its environments. Where an agent's environments are in parts (actors), each part has a rollout, on every device and
// machine that acts in it; the Steppers of two are called at the same time.
//
// In worlds of A agents (Spec.Agents) each agent counts as an environment: those of one world follow each other, and E is A times the worlds. An agent that
// left is idle until its world's episode is over, which is when all its agents' are; then all begin a new one, idle ones too. Obs is 0 where an agent has
// left. Reset is called for whole worlds, with one seed for all agents of one; every agent takes part from the beginning.
type Stepper interface {
	// Reset begins a new episode in every environment that which selects (nil: in all), and writes its first observation to its row of obs [E, O], row-major.
	// An environment's random numbers follow from its seed until its next Reset, over any number of episodes.
	Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error
	// Step takes an action in every environment, and begins a new episode where one ended.
	Step(ctx context.Context, s *Step) error
	// Close ends the environments. It is called once.
	Close() error
}

// Step is a step of E environments: what a Stepper is given, and what it writes.
type Step struct {
	Action []float32 // [E, D]: within the space's bounds; for a discrete space [E]: the index
	Last   []bool    // [E]: the episode ends with this step at the latest, by a time limit of the rollout's
	Idle   []bool    // [E]: the environment takes no step; nothing is written
	Stay   bool      // no episode follows one that ends: Obs need not be written there, and the environment is idle until Reset

	// Obs [E, O], written: the observations to act on next, row-major. Where the episode ended, by the environment or by Last, it is the first of a
	// new episode. Nil if there are Frames.
	Obs []float32
	// Final [E, O], written where the episode ended: the observation after the action, from which learners bootstrap if the episode was truncated.
	Final []float32
	// Frames and FinalFrames [E, bytes] are in the place of Obs and Final where the Spec is Framed: the newest frame of each, row-major. Rows begin
	// at multiples of four bytes (Spec.FrameBytes).
	Frames, FinalFrames []byte
	// Reward [E], written: of the action.
	Reward []float32
	// Terminated [E], written, false before: the episode ended by itself, and has no future.
	Terminated []bool
	// Truncated [E], written, false before: the environment cut the episode off. Last need not be repeated here.
	Truncated []bool
}

// Ended reports whether environment i's episode ends with the step, once Terminated and Truncated are written.
func (s *Step) Ended(i int) bool { return s.Terminated[i] || s.Truncated[i] || s.Last[i] }

// checkSlices returns an error if a Stepper put slices of its own in the place of those that it was given to write to.
func (s *Step) checkSlices(given *Step) error {
	return errors.Join(
		sameSlice("Obs", s.Obs, given.Obs), sameSlice("Final", s.Final, given.Final), sameSlice("Reward", s.Reward, given.Reward),
		sameSlice("Frames", s.Frames, given.Frames), sameSlice("FinalFrames", s.FinalFrames, given.FinalFrames),
		sameSlice("Terminated", s.Terminated, given.Terminated), sameSlice("Truncated", s.Truncated, given.Truncated),
	)
}

func sameSlice[T any](name string, got, given []T) error {
	if len(got) == len(given) && (len(got) == 0 || &got[0] == &given[0]) {
		return nil
	}
	return fmt.Errorf("Step replaced the slice %s by another one, of %d elements; want its results in the slice that it is given, of %d",
		name, len(got), len(given))
}

// Framer is a Stepper of an environment that is Framed: it writes observations as bytes, and of stacked frames the newest alone.
type Framer interface {
	Stepper
	// ResetFrames is called instead of Reset. frames is as Step.Frames.
	ResetFrames(ctx context.Context, which []bool, seeds []uint32, frames []byte) error
}

// Stater is a Stepper whose environments show their state, which Evaluator.Record keeps for viewers.
type Stater interface {
	// State writes the state of environment i, of the Spec's StateSize elements.
	State(i int, state []float32) error
}

// Saver is a Stepper whose environments can be saved, so that a resumed run continues exactly, and a member that is replaced by a copy of another one goes
// on in copies of its environments. Spec.Saved is how many bytes one takes at most. Without it, new episodes begin in them when a run is resumed, and a
// replaced member's go on as they were.
type Saver interface {
	// Save writes the state of environment i, between two steps, to Spec.Saved bytes, which are 0 before. The observation to act on next is not part of it.
	Save(i int, state []byte) error
	// Load continues environment i from what Save wrote, of this environment or another one, whatever it is doing. seed was given to its Reset before, and
	// episode counts the episodes that began since, 1 in the Reset's own.
	Load(i int, seed, episode uint32, state []byte) error
}

// MakeStepper makes a Stepper of n environments. seed is the run's, and of a part of the environments that is not the first one that follows from it; Reset is
// given the episodes'. It is called when the environments first begin an episode, for training and for every size of evaluation; ctx ends with this step. With
// parts it may be called by several goroutines at once, and again for a part that another device or machine goes on with.
type MakeStepper func(ctx context.Context, n int, seed uint32) (Stepper, error)

// NewOutside makes an environment that is stepped by the host instead of the device: one without GLSL, for policies of any model. Its Spec describes it as
// any other's; State may be empty, unless Stepper is a Stater, and Iterations and Options are not used.
//
// Of Options, TimeLimit and RewardScale apply, and AutoReset may be normal or disabled; action repeat, sparse rewards and other modes are refused, since
// a Stepper can have them in itself. A policy's placement must be automatic. A checkpoint does not contain the environments: a resumed run
// begins new episodes in them, so that it does not continue exactly as it would have, unless Spec.Saved is set and Stepper is a Saver.
//
// Errors: an incomplete or contradictory Spec, no constructor.
func NewOutside(spec Spec, newStepper MakeStepper) (*Environment, error) {
	spec.outside = true
	var wrong error
	if newStepper == nil {
		wrong = &engine.NilError{What: "constructor of its steppers"}
	}
	if spec.Agents > 1 && (spec.Saved > 0 || spec.Global > 0) {
		wrong = errors.Join(wrong, fmt.Errorf("the Spec has %d Agents, %d Saved bytes and a Global state of %d; want none of both with several agents",
			spec.Agents, spec.Saved, spec.Global))
	}
	if spec.Framed && (spec.Observation.Element != nn.Bytes || spec.Saved > 0) {
		wrong = errors.Join(wrong, fmt.Errorf("the Spec is Framed with observations of %v and %d Saved bytes; want uint8, and 0",
			spec.Observation.Element, spec.Saved))
	}
	if spec.Iterations != 0 || spec.Options != nil {
		wrong = errors.Join(wrong, errors.New("the Spec has Iterations or Options; want neither, since there is no GLSL"))
	}
	if err := errors.Join(spec.check(), wrong); err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	return &Environment{Spec: spec, newStepper: newStepper}, nil
}

// refuseOutside is the error of what needs an environment's GLSL.
func (e *Environment) refuseOutside(what string) error {
	if !e.outside {
		return nil
	}
	return fmt.Errorf("envs: %s of %q: it is stepped by the host and has no GLSL; want a Rollout or an Evaluator, or its Stepper itself", what, e.Name)
}

// World is one environment that is stepped in Go; Worlds makes a Stepper of them.
type World interface {
	// Reset begins an episode whose random numbers follow from the seed, and writes its first observation to obs [O].
	Reset(seed uint32, obs []float32) error
	// Step takes an action, [A] or [1] with the index of a discrete one, and writes the observation after it to obs [O].
	Step(action, obs []float32) (reward float32, terminated, truncated bool, err error)
}

// Worlds is a constructor for NewOutside of environments that make makes, each for itself. They are stepped in parallel, those of
// a processor one after the other, so that make's results must not share what changes. Worlds that implement io.Closer are closed; those with a method
// State(state []float32) error show their state (Stater), and those with methods Save(state []byte) error and Load(state []byte) error can be saved (Saver).
func Worlds(make func() (World, error)) MakeStepper {
	return func(_ context.Context, n int, _ uint32) (Stepper, error) {
		if make == nil {
			return nil, &engine.NilError{What: "constructor of worlds"}
		}
		w := &worlds{}
		for i := range n {
			var one World
			err := guarded(func() (err error) {
				if one, err = make(); err == nil && one == nil {
					err = &engine.NilError{What: "environment"}
				}
				return err
			})
			if err != nil {
				return nil, errors.Join(&OutsideError{Environment: i, Err: err}, w.Close())
			}
			w.all = append(w.all, world{World: one})
		}
		return w, nil
	}
}

// worlds steps environments in Go.
type worlds struct {
	all []world
	turns
}

type world struct {
	World
	seed, episode uint32
}

// begin begins the next episode of an environment: each has a seed of its own.
func (w *world) begin(obs []float32) error {
	w.episode++
	return w.Reset(engine.Philox([2]uint32{w.seed, w.episode}, [4]uint32{})[0], obs)
}

// each calls f for the environments first … end-1, in parallel, and returns the errors, an *OutsideError each.
func (w *worlds) each(first, end int, f func(i int, w *world) error) error {
	const atOnce = 8 // environments for which a goroutine pays
	n := end - first
	parts := min(runtime.GOMAXPROCS(0), (n+atOnce-1)/atOnce)
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for part := range parts {
		wait.Go(func() {
			for i := first + part*n/parts; i < first+(part+1)*n/parts && errs[part] == nil; i++ {
				if err := guarded(func() error { return f(i, &w.all[i]) }); err != nil {
					errs[part] = &OutsideError{Environment: i, Err: err}
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (w *worlds) Reset(_ context.Context, which []bool, seeds []uint32, obs []float32) error {
	size := len(obs) / len(w.all)
	return w.each(0, len(w.all), func(i int, one *world) error {
		if which != nil && !which[i] {
			return nil
		}
		one.seed, one.episode = seeds[i], 0
		return one.begin(obs[i*size : (i+1)*size : (i+1)*size])
	})
}

func (w *worlds) Step(_ context.Context, s *Step) error { return w.step(s, 0, len(w.all)) }

// step takes a step in the environments first … end-1.
func (w *worlds) step(s *Step, first, end int) error {
	words, size := len(s.Action)/len(w.all), len(s.Obs)/len(w.all)
	return w.each(first, end, func(i int, one *world) (err error) {
		if s.Idle[i] {
			return nil
		}
		obs := s.Obs[i*size : (i+1)*size : (i+1)*size]
		s.Reward[i], s.Terminated[i], s.Truncated[i], err = one.Step(s.Action[i*words:(i+1)*words:(i+1)*words], obs)
		if err != nil || !s.Ended(i) {
			return err
		}
		copy(s.Final[i*size:], obs)
		if s.Stay {
			return nil
		}
		return one.begin(obs)
	})
}

func (w *worlds) State(i int, state []float32) error {
	if shown, ok := w.all[i].World.(interface{ State([]float32) error }); ok {
		return shown.State(state)
	}
	return fmt.Errorf("%T has no method State(state []float32) error", w.all[i].World)
}

func (w *worlds) Save(i int, state []byte) error {
	if saved, ok := w.all[i].World.(interface{ Save([]byte) error }); ok {
		return saved.Save(state)
	}
	return fmt.Errorf("%T has no method Save(state []byte) error", w.all[i].World)
}

func (w *worlds) Load(i int, seed, episode uint32, state []byte) error {
	one := &w.all[i]
	if saved, ok := one.World.(interface{ Load([]byte) error }); ok {
		one.seed, one.episode = seed, episode
		return saved.Load(state)
	}
	return fmt.Errorf("%T has no method Load(state []byte) error", one.World)
}

func (w *worlds) Close() error {
	w.end()
	var errs []error
	for _, one := range w.all {
		if c, ok := one.World.(interface{ Close() error }); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
