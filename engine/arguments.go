package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// MaxEpisodes is the most episodes of a member that an evaluation may have.
const MaxEpisodes = 65536

// ErrLearning is the error of a Learn on a workflow on which another Learn is at work.
var ErrLearning = errors.New("engine: another Learn is at work on the workflow: a workflow is for one goroutine")

// NilError is the error of an argument that must not be nil.
type NilError struct {
	What string // the argument, such as "environment"
}

func (e *NilError) Error() string { return fmt.Sprintf("the %s is nil", e.What) }

// EpisodesError is the error of an evaluation of too few or too many episodes.
type EpisodesError struct {
	Episodes int
}

func (e *EpisodesError) Error() string {
	return fmt.Sprintf("%d evaluation episodes: want 1 to %d", e.Episodes, MaxEpisodes)
}

// IterationError is the error of an iteration that a workflow cannot be asked for.
type IterationError struct {
	Iteration int
	Want      string // in words
}

func (e *IterationError) Error() string {
	return fmt.Sprintf("engine: iteration %d: want %s", e.Iteration, e.Want)
}

// Require returns a *NilError for the first argument, by the names, that is nil or is an engine without a device.
func Require(arguments map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value := arguments[name]
		if isNil(value) {
			return &NilError{name}
		}
		if e, ok := value.(*Engine); ok && e.dev == nil {
			return &NilError{"device of the " + name}
		}
	}
	return nil
}

// Advance checks that an iteration is the next one of the state's workflow, whose Step calls it: the iterations follow each other from 0, or from
// that of the checkpoint that was loaded. Otherwise the error is an *IterationError.
func (s *State) Advance(iteration int) error {
	switch {
	case !s.all.begun:
		return &IterationError{iteration, "a state to begin with, by Init or State.Load"}
	case iteration != s.all.next:
		return &IterationError{iteration, fmt.Sprintf("%d, the next of the workflow", s.all.next)}
	}
	s.all.next++
	return nil
}

// isNil tells whether a value is nil, or an interface that holds nil.
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

// CheckEpisodes returns an *EpisodesError where an evaluation cannot have so many episodes of each member.
func CheckEpisodes(episodes int) error {
	if episodes < 1 || episodes > MaxEpisodes {
		return &EpisodesError{episodes}
	}
	return nil
}
