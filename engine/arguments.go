package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// MaxEpisodes is the maximum number of evaluation episodes per member.
const MaxEpisodes = 65536

// ErrLearning is the error of a Learn on a workflow while another Learn runs on it.
var ErrLearning = errors.New("engine: another Learn is at work on the workflow: a workflow is for one goroutine")

// NilError is the error of a nil argument.
type NilError struct {
	What string // the argument, such as "environment"
}

func (e *NilError) Error() string { return fmt.Sprintf("the %s is nil", e.What) }

// EpisodesError is the error of an evaluation with too few or too many episodes.
type EpisodesError struct {
	Episodes int
}

func (e *EpisodesError) Error() string {
	return fmt.Sprintf("%d evaluation episodes: want 1 to %d", e.Episodes, MaxEpisodes)
}

// IterationError is the error of an invalid iteration.
type IterationError struct {
	Iteration int
	Want      string // the valid values in words
}

func (e *IterationError) Error() string {
	return fmt.Sprintf("engine: iteration %d: want %s", e.Iteration, e.Want)
}

// Require returns a *NilError for the first argument, sorted by name, that is nil or is an engine made with a nil device or option.
func Require(arguments map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value := arguments[name]
		if isNil(value) {
			return &NilError{name}
		}
		if e, ok := value.(*Engine); ok && e.dev == nil {
			return &NilError{"device of the " + name}
		} else if ok && e.nilOption {
			return &NilError{"option of the " + name}
		}
	}
	return nil
}

// Advance checks that an iteration is the next one of the state's workflow, and counts it. Step calls it. Iterations start at 0, or at
// the loaded checkpoint's. Otherwise the error is an *IterationError. The first call after a Load runs what OnResume was given.
func (s *State) Advance(ctx context.Context, iteration int) error {
	switch {
	case s.all.torn > 0:
		return s.refuse(iteration)
	case !s.all.begun:
		return &IterationError{iteration, "a state to begin with, by Init or State.Load"}
	case iteration != s.all.next:
		return &IterationError{iteration, fmt.Sprintf("%d, the next of the workflow", s.all.next)}
	}
	if s.all.resumed {
		for _, f := range s.all.resume {
			if err := f(ctx); err != nil {
				return err
			}
		}
		s.all.resumed = false
	}
	s.all.next++
	return nil
}

// tear notes the iteration, counted from 1, that a host stage failed half-way; other errors of a step change nothing.
func (s *State) tear(iteration int, err error) {
	var failed *HostError
	if errors.As(err, &failed) {
		s.all.torn = iteration
	}
}

// refuse is the error of a state in which an iteration was given up half-way.
func (s *State) refuse(iteration int) error {
	return &IterationError{iteration, fmt.Sprintf("a new Init or State.Load, since iteration %d was given up half-way", s.all.torn)}
}

// isNil reports whether a value is nil, or an interface that holds nil.
func isNil(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// CheckEpisodes returns an *EpisodesError if episodes is not a valid number of evaluation episodes per member.
func CheckEpisodes(episodes int) error {
	if episodes < 1 || episodes > MaxEpisodes {
		return &EpisodesError{episodes}
	}
	return nil
}
