// Package envs holds the environments that agents learn in: their registry, spaces and options, and batches of them stepped
// on the device.
//
// An environment is a GLSL file (state, reset, step, observation, termination; see shaders/envs) and a Spec; the episode around
// it (time limit, action repeat, reward scale, sparse reward, auto-reset) is the same for all, see Options.
package envs

import (
	"errors"
	"fmt"
)

// Spec describes an environment: what its GLSL does not contain, and what must agree with it.
type Spec struct {
	// Name is what configurations and Lookup call the environment, by custom with a version: "CartPole-v1". It is the name in
	// the first line of the GLSL, "// environment: CartPole-v1".
	Name string
	// Summary says in a line what is to be done.
	Summary string
	// Source is where dynamics and constants come from.
	Source string

	Observation Space // a box, of OBS_SIZE dimensions
	Action      Space // discrete with ACTION_SIZE actions, or a box of ACTION_SIZE dimensions

	// State names the elements of the internal state, STATE_SIZE of them.
	State []string

	// MaxSteps is the default time limit: after so many environment steps the episode is truncated. 0: no limit.
	MaxSteps int
	// RewardThreshold is the mean return at which the environment counts as solved; nil where the source states none.
	RewardThreshold *float64

	// Iterations is how many iterations the GLSL's loops take in one environment step at most, those unrolled not counted.
	// 0 where the GLSL has no loops, or none but those of dynamics that tools/mjcf wrote, which count themselves; else it
	// includes theirs. Mesa's software driver leaves all loops of an invocation after 65,535 of them, so dispatches are
	// kept short of that.
	Iterations int

	// Options is a struct with what a user may choose about the environment, weights of its reward for example, and their defaults; nil: nothing. Its fields are
	// numbers (float32), conditions (bool: 1 or 0) and ranges ([2]float32); in this order they are the specialization constants OPTION_0, OPTION_1 … that the GLSL
	// has, a range being two of them. Tags are those of package config. A field with the tag define:"NAME" is a bool that instead of a constant
	// is #define NAME, 0 at its default and else 1, and adds as many observations as its tag adds:"…" says. See Environment.With.
	Options any

	feet        *feet        // nil: it has none
	cooperative *cooperative // the form in which lanes compute an environment together; nil: there is none

	// Geometry is what a viewer shows; nil: there is nothing to be seen.
	Geometry *Geometry
}

// StateSize is the number of floats of the internal state.
func (s Spec) StateSize() int { return len(s.State) }

// ObsSize is the number of floats of an observation.
func (s Spec) ObsSize() int { return s.Observation.Size() }

// ActionWords is the number of 32-bit words of one action: 1 for a discrete space, the dimensions of a box.
func (s Spec) ActionWords() int {
	if s.Action.IsDiscrete() {
		return 1
	}
	return s.Action.Size()
}

// Solved makes a RewardThreshold.
func Solved(meanReturn float64) *float64 { return &meanReturn }

// check says everything that is wrong with a Spec by itself.
func (s Spec) check() error {
	var errs []error
	if s.Name == "" {
		errs = append(errs, errors.New("no name"))
	}
	if len(s.State) == 0 {
		errs = append(errs, errors.New("an empty state; want the name of each of its elements"))
	}
	if err := s.Observation.check(); err != nil {
		errs = append(errs, fmt.Errorf("the observation space is %w", err))
	} else if s.Observation.IsDiscrete() {
		errs = append(errs, fmt.Errorf("the observation space is %v; want a box", s.Observation))
	}
	if err := s.Action.check(); err != nil {
		errs = append(errs, fmt.Errorf("the action space is %w", err))
	}
	if s.MaxSteps < 0 || s.MaxSteps > maxEpisodeSteps {
		errs = append(errs, fmt.Errorf("the Spec has %d MaxSteps; want 0 (no limit) to %d", s.MaxSteps, maxEpisodeSteps))
	}
	if s.Iterations < 0 || s.Iterations > maxIterations {
		errs = append(errs, fmt.Errorf("the Spec has %d Iterations; want 0 to %d", s.Iterations, maxIterations))
	}
	return errors.Join(errs...)
}

// maxIterations is how many iterations of loops one dispatch may take, with some left for what is counted roughly.
const maxIterations = 60000

// maxEpisodeSteps is what the packed element of the tensor episode_step counts to (shaders/envs/wrapper.glsl).
const maxEpisodeSteps = 1<<30 - 1
