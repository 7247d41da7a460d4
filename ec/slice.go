package ec

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// MaxSlice is the most candidates of a slice.
const MaxSlice = 1 << 20

// SlicedProblem is a Problem whose evaluations can be divided into slices: windows of a given number of candidates, which does not depend on the device.
// The kernels of an evaluation then do not either, so that several devices can share it.
type SlicedProblem interface {
	Problem
	// Sliced returns the problem with windows of the given number of candidates, or of the population if that is smaller. Its evaluations are
	// a SlicedEvaluation.
	Sliced(candidates int) Problem
}

// SlicedEvaluation is an Evaluation whose windows are slices. Each may be recorded in a program of its own, in any order and on different devices.
type SlicedEvaluation interface {
	Evaluation
	// Slices is called before the first recording, if slices are recorded by themselves. It returns what Record then writes of a slice, besides fitness
	// and descriptors: rows [M, N, …] of its candidates, and sums [M, …] over those of its candidates that no slice before has. Finish expects the rows
	// of all, and sums that were added in the order of slices.
	Slices() (rows, sums []*engine.Tensor)
}

// Slice returns a problem whose candidates are evaluated in slices of the given number. 0 returns the problem unchanged.
//
// Errors: a number out of range, a problem that is not a SlicedProblem.
func Slice(problem Problem, candidates int) (Problem, error) {
	if err := engine.Require(map[string]any{"problem": problem}); err != nil {
		return nil, fmt.Errorf("ec: slices: %w", err)
	}
	if candidates < 0 || candidates > MaxSlice {
		return nil, fmt.Errorf("ec: slices of %d candidates; want 0 (none) to %d", candidates, MaxSlice)
	}
	if candidates == 0 {
		return problem, nil
	}
	of, ok := problem.(SlicedProblem)
	if !ok {
		return nil, fmt.Errorf("ec: %s is not evaluated in slices: want 0", problem.Name())
	}
	return of.Sliced(candidates), nil
}

// errNotSliced: an engine shares a search that cannot be shared.
var errNotSliced = errors.New("several devices share the search: want a problem in slices (Slice)")
