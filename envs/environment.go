package envs

import "fmt"

// Environment is a Spec with the GLSL that runs it. It does not change and may be used by several goroutines.
type Environment struct {
	Spec
	glsl     string
	file     string // of the embedded tree, for a built-in environment; "" for one given at run time
	compiled compiled
	constant [optionConstants]float32 // of the options
	base     *Environment             // the one that With began from; nil: this one
}

// New makes an environment from GLSL source, for library users with environments of their own. The source defines
// STATE_SIZE, OBS_SIZE, ACTION_SIZE, DISCRETE, env_reset, env_step and env_observe as the files of shaders/envs do, and
// may include any file of the embedded tree ("engine/rng.glsl"). New reads only the sizes; the GLSL is compiled when the
// environment is first put on a device, which needs glslc or glslangValidator.
//
// The error says all that is wrong: a Spec that is incomplete or contradicts itself, a missing define, each size in
// which Spec and GLSL differ, and loops that Spec.Iterations does not count.
func New(spec Spec, glsl string) (*Environment, error) {
	return newEnvironment(spec, glsl, "")
}

func newEnvironment(spec Spec, glsl, file string) (*Environment, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	defines, err := definesOf(spec, glsl)
	if err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	if err := checkSizes(spec, defines); err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	if spec.Iterations, err = iterations(spec, glsl, defines); err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", spec.Name, err)
	}
	e := &Environment{Spec: spec, glsl: glsl, file: file}
	if spec.Options == nil {
		return e, nil
	}
	if e.constant, err = constants(spec.Options); err != nil {
		return nil, fmt.Errorf("envs: environment %q: options: %w", spec.Name, err)
	}
	return e, nil
}

// GLSL is the environment's source, includes unresolved.
func (e *Environment) GLSL() string { return e.glsl }

// IsBuiltIn says whether the environment is one of this package's, whose kernels are compiled ahead of time.
func (e *Environment) IsBuiltIn() bool { return e.file != "" }
