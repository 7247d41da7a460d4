package envs

import (
	"errors"
	"fmt"
)

// Environment is a Spec with its GLSL, or one that the host steps (NewOutside). It is immutable and safe for concurrent use.
type Environment struct {
	Spec
	glsl       string
	file       string // in the embedded tree, for a built-in environment; "" for one given at run time
	source     string // name of run-time GLSL in compiler messages; "": the environment's name and .glsl
	compiled   compiled
	constant   [optionConstants]float32 // specialization constants of the options
	words      bool                     // its GLSL observes words, OBS_WORDS
	paints     bool                     // its GLSL paints these one by one, ENV_WORD
	stored     bool                     // its state stays in the buffer, STATE_IN_BUFFER
	scripted   bool                     // it has a script for the seats of several agents, ENV_SCRIPT
	shaped     bool                     // it pays learners besides the reward, ENV_SHAPED
	newStepper MakeStepper              // of one that the host steps, which has no GLSL
	base       *Environment             // the environment that With was first called on; nil: this one
}

// New makes a user-defined environment from GLSL source. Like the files of shaders/envs, the source must define
// STATE_SIZE, OBS_SIZE, ACTION_SIZE, DISCRETE, env_reset, env_step and env_observe; it may include any file of the
// embedded tree ("engine/rng.glsl"). New reads only the sizes; the GLSL is compiled at first use on a device, which
// needs glslc or glslangValidator. docs/own.md describes more that it may define.
//
// The error lists everything that is wrong: an incomplete or contradictory Spec, a missing define, sizes that differ
// between Spec and GLSL, and loops not covered by Spec.Iterations.
func New(spec Spec, glsl string) (*Environment, error) {
	return newEnvironment(spec, glsl, "")
}

func newEnvironment(spec Spec, glsl, file string) (*Environment, error) {
	wrong := spec.check()
	defines, err := definesOf(glsl)
	iterate := 0
	if err == nil {
		iterate, err = iterations(spec, glsl, defines)
		err = errors.Join(checkSizes(spec, defines), checkWords(spec, defines), checkStored(defines), err)
	}
	if err := errors.Join(wrong, checkFirstLine(spec, glsl), err); err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	spec.Iterations = iterate
	_, words := defines["OBS_WORDS"]
	_, paints := defines["ENV_WORD"]
	_, stored := defines["STATE_IN_BUFFER"]
	_, scripted := defines["ENV_SCRIPT"]
	_, shaped := defines["ENV_SHAPED"]
	if shaped && spec.Seats() == 1 && !stored {
		return nil, fmt.Errorf("envs: environment %q: the GLSL has #define ENV_SHAPED, which is for several agents (#define AGENTS)", spec.Name)
	}
	e := &Environment{Spec: spec, glsl: glsl, file: file, words: words, paints: paints, stored: stored, scripted: scripted, shaped: shaped}
	if spec.Options == nil {
		return e, nil
	}
	if e.constant, err = constants(spec.Options); err != nil {
		return nil, fmt.Errorf("envs: environment %q: options: %w", spec.Name, err)
	}
	return e, nil
}

// GLSL returns the environment's source with unresolved includes; "" if the host steps it.
func (e *Environment) GLSL() string { return e.glsl }

// shown returns the name of the GLSL in compiler messages.
func (e *Environment) shown() string {
	if e.source != "" {
		return e.source
	}
	return e.Name + ".glsl"
}

// IsBuiltIn reports whether the environment is one of this package's, with kernels compiled ahead of time.
func (e *Environment) IsBuiltIn() bool { return e.file != "" }
