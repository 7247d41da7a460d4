package problem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// GLSLSpec describes a function defined in GLSL.
type GLSLSpec struct {
	Name       string    // shown in reports and errors
	Space      ec.Space  // dimensions and bounds; the other fields are ignored
	Objectives int       // 0: one
	Start      []float32 // [dim]; nil: drawn uniformly in the bounds or, without bounds, 0
	Iterations int       // most iterations that all loops take for a candidate, but for unrolled ones, up to shaders.MaxIterations; 0: there are none
	File       string    // name of the text in compiler messages; "": a name made from Name
}

// GLSL makes a problem of a function in GLSL, evaluated on the device. The text defines
//
//	void evaluate(inout float f[OBJECTIVES])
//
// which sets f, initially zero, to the fitness or the objectives of one candidate; they are maximised. x(i) is
// coordinate i of the candidate, of DIM. The functions of shaders/engine/math.glsl, such as m_sin or m_exp, are
// available; they are the same on every device. Mesa's software driver silently leaves all loops of a candidate's
// evaluation after 65,535 iterations in total, so that Spec.Iterations must say how many they take.
//
// Errors: a mistake in the text is a *shaders.CompileError with line and column; without a GLSL compiler on the
// machine it is shaders.ErrNoCompiler.
func GLSL(ctx context.Context, spec GLSLSpec, text string) (*Function, error) {
	f, err := uncompiled(spec, text)
	if err == nil {
		err = f.compile(ctx)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// uncompiled is GLSL without compiling, which follows when the function is first evaluated.
func uncompiled(spec GLSLSpec, text string) (*Function, error) {
	k := max(1, spec.Objectives)
	space := spec.Space
	space.Members, space.Objectives, space.DescriptorLow, space.DescriptorHigh = 1, 0, nil, nil
	if err := space.Check(); err != nil {
		return nil, fmt.Errorf("problem: %s: %w", spec.Name, err)
	}
	if k > 16 {
		return nil, fmt.Errorf("problem: %s: %d objectives; want at most 16", spec.Name, k)
	}
	if spec.Start != nil && len(spec.Start) != space.Dim {
		return nil, fmt.Errorf("problem: %s: a start of %d numbers; want %d", spec.Name, len(spec.Start), space.Dim)
	}
	for i, x := range spec.Start {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || space.Bounded() && (x < space.Low[i] || x > space.High[i]) {
			return nil, fmt.Errorf("problem: %s: the start has %g in dimension %d; want a finite number within the bounds", spec.Name, x, i)
		}
	}
	if spec.Iterations < 0 || spec.Iterations > shaders.MaxIterations {
		return nil, fmt.Errorf("problem: %s: %d iterations of loops for a candidate; want 0 to %d", spec.Name, spec.Iterations, shaders.MaxIterations)
	}
	if lines := shaders.LoopLines(text); len(lines) > 0 && spec.Iterations == 0 {
		return nil, spec.undeclaredLoop(fmt.Sprintf("%s:%d", spec.shown(), lines[0]))
	}
	f := &Function{name: spec.Name, objectives: k, space: space}
	if spec.Start != nil || !space.Bounded() {
		start := append(slices.Clone(spec.Start), make([]float32, space.Dim-len(spec.Start))...)
		f.start = func(*engine.Rng, int) []float32 { return start }
	}
	var compiled struct {
		sync.Mutex
		shader *vk.Shader
	}
	f.compile = func(ctx context.Context) (err error) {
		compiled.Lock()
		defer compiled.Unlock()
		if compiled.shader == nil {
			if compiled.shader, err = spec.shader(ctx, text, space.Dim, k); err != nil {
				return fmt.Errorf("problem: %s: %w", spec.Name, err)
			}
		}
		return nil
	}
	f.call = func(r *engine.Recorder, of functionOf) vk.Call {
		size, groups := r.Invocations(of.count()) // one candidate each: nothing is known of the text's loops
		call := givenKernel{
			Candidates: of.candidates, Objectives: of.objectives, Members: of.members, Window: of.window, Dim: of.dim, Row: of.row,
			Population: of.population, First: of.first, Objective: of.objective, LocalSizeX: size,
		}.call(groups, 1, 1)
		call.Shader = compiled.shader
		return call
	}
	return f, nil
}

// shader returns the kernel that contains the text.
func (spec GLSLSpec) shader(ctx context.Context, text string, dim, objectives int) (*vk.Shader, error) {
	const kernel = "ec/problem/given"
	whole, err := fs.ReadFile(shaders.Files(), kernel+".comp")
	if err != nil {
		return nil, err
	}
	file := spec.included()
	made := strings.NewReplacer(
		"#define DIM 1u", fmt.Sprintf("#define DIM %du", dim), "#define OBJECTIVES 1u", fmt.Sprintf("#define OBJECTIVES %du", objectives),
		`"`+kernel+`.glsl"`, `"`+file+`"`,
	).Replace(string(whole))
	source, err := shaders.ComposeFrom(shaders.Overlay{Texts: map[string]string{kernel + ".comp": made, file: text}}, kernel, nil)
	if err != nil {
		return nil, err
	}
	source = strings.ReplaceAll(source, `"shaders/`+file+`"`, `"`+spec.shown()+`"`)
	if spec.Iterations == 0 {
		places, err := shaders.Loops(ctx, source)
		if err != nil {
			return nil, err
		}
		if len(places) > 0 {
			return nil, &shaders.CompileError{Compiler: "loops", Messages: spec.undeclaredLoop(places[0]).Error()}
		}
	}
	code, err := shaders.Compile(ctx, source)
	var mistake *shaders.CompileError
	if errors.As(err, &mistake) {
		mistake.Want(spec.shown(), "void evaluate(inout float f[OBJECTIVES])")
	}
	if err != nil {
		return nil, err
	}
	return givenShader.With(kernel+"."+spec.Name, code)
}

// included is the name of the text as a file that the kernel includes.
func (spec GLSLSpec) included() string { return "given/" + strings.Map(plain, spec.Name) + ".glsl" }

// shown is the name of the text in messages.
func (spec GLSLSpec) shown() string { return cmp.Or(spec.File, spec.included()) }

// undeclaredLoop is the error of a loop at a place whose iterations are not declared.
func (spec GLSLSpec) undeclaredLoop(place string) error {
	return fmt.Errorf("%s: a loop, and iterations is 0; want the most iterations that all loops take for a candidate, at most %d "+
		"(in a file's header //! iterations = 1000), or [[unroll]] before the loop", place, shaders.MaxIterations)
}

// plain replaces characters that the name of a file included by GLSL cannot contain.
func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
		return r
	}
	return '_'
}
