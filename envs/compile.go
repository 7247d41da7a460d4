package envs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// compiled holds the compiled kernels of an environment given as GLSL, by name.
type compiled struct {
	sync.Mutex
	shaders map[string]*vk.Shader
}

// shader returns a kernel, e.g. "envs/step", for the environment and the form m, Lane or Cooperative. builtIn is the
// kernel's generated table: it holds the shader of a built-in environment. For an environment given as GLSL it holds
// the interface, and the kernel is compiled at the first call.
func (e *Environment) shader(ctx context.Context, kernel string, m Mapping, builtIn map[string]*vk.Shader) (*vk.Shader, error) {
	if err := e.refuseOutside("kernel " + kernel); err != nil {
		return nil, err
	}
	name := e.Name
	if m == Cooperative {
		name += cooperativeName
	}
	if e.IsBuiltIn() {
		s, ok := builtIn[name]
		if !ok || len(s.SPIRV()) == 0 {
			return nil, fmt.Errorf("envs: kernel %s of %q is not embedded (go run ./tools/shaders builds it): %w", kernel, name, shaders.ErrNotFound)
		}
		return s, nil
	}
	e.compiled.Lock()
	defer e.compiled.Unlock()
	key := kernel + "." + name
	if s, ok := e.compiled.shaders[key]; ok {
		return s, nil
	}
	source, err := shaders.ComposeEnvironment(kernel, shaders.Environment{Name: e.Name, File: e.shown(), Text: e.glsl, Cooperative: m == Cooperative})
	if err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", e.Name, err)
	}
	if e.compiled.shaders == nil {
		err = e.checkLoops(ctx, source)
	}
	var code []byte
	if err == nil {
		code, err = shaders.Compile(ctx, source)
	}
	var mistake *shaders.CompileError
	if errors.As(err, &mistake) {
		mistake.Want(e.shown(), e.functions()...)
	}
	if err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", e.Name, err)
	}
	declared := cartPole().Name
	switch {
	case e.seated():
		declared = seatsSample
	case kernel == "envs/paint":
		declared = pongImage().Name
	case e.bits():
		declared = minAtarBreakout().Name
	}
	s, err := builtIn[declared].With(key, code)
	if err != nil {
		return nil, fmt.Errorf("envs: environment %q: %w", e.Name, err)
	}
	if e.compiled.shaders == nil {
		e.compiled.shaders = map[string]*vk.Shader{}
	}
	e.compiled.shaders[key] = s
	return s, nil
}

// functions returns the declarations of the functions that the GLSL must define.
func (e *Environment) functions() []string {
	if e.seated() {
		return e.seatFunctions()
	}
	if e.bits() {
		return bitFunctions(e.paints)
	}
	action := "const float action[ACTION_SIZE]"
	if e.Action.IsDiscrete() {
		action = "uint action"
	}
	return []string{
		"void env_reset(out float s[STATE_SIZE], inout Rng rng)",
		"void env_step(inout float s[STATE_SIZE], " + action + ", inout Rng rng, out float reward, out bool terminated)",
		"void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE])",
	}
}
