package problem

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// TestGLSL: a user-defined function gives the same values as in Go, for several members, in a window that begins in
// the middle of the population.
func TestGLSL(t *testing.T) {
	eng := engine.New(open(t))
	const dim, members, population, first, window = 7, 2, 11, 3, 5
	start := slices.Repeat([]float32{2}, dim)
	f, err := GLSL(t.Context(), GLSLSpec{Name: "my own/function", Space: ec.Space{Dim: dim}, Objectives: 2, Start: start, Iterations: dim}, `
void evaluate(inout float f[OBJECTIVES]) {
    for (uint i = 0u; i < DIM; i++) {
        f[0] += float(i) * x(i);
        f[1] -= m_exp(x(i));
    }
}`)
	if err != nil {
		t.Fatal(err)
	}
	if start := f.Start(1, 0, 2); !slices.Equal(start, slices.Repeat([]float32{2}, 2*dim)) || f.Objectives() != 2 || f.Name() != "my own/function" {
		t.Errorf("%s has %d objectives and begins at %v", f.Name(), f.Objectives(), start)
	}
	if _, err := f.Front(10); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("its front: error %v", err)
	}
	s := eng.NewState()
	defer s.Close()
	e, err := f.New(t.Context(), s, engine.NewClock(s), members, population)
	if err != nil {
		t.Fatal(err)
	}
	row := f.Space(members).Row()
	candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
	objectives := s.Scratch("objectives", engine.Float32, engine.Members(members), engine.Axis("candidate", population), engine.Axis("objective", 2))
	if err := s.Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	rng := engine.NewRng(3, 0, 0, 0, 0)
	values := make([]float32, candidates.Len())
	for i := range values {
		values[i] = rng.UniformIn(-2, 2)
	}
	if err := candidates.WriteFloat32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	program, err := eng.Record("functions", func(r *engine.Recorder) { e.Record(r, candidates, first, objectives) })
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := objectives.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range members * population {
		at := i%population - first
		if at < 0 || at >= window {
			if got[2*i] == got[2*i] || got[2*i+1] == got[2*i+1] {
				t.Errorf("candidate %d, outside of the window, was written", i)
			}
			continue
		}
		var want [2]float64
		for j, v := range values[(i/population*window+at)*row:][:dim] {
			want[0] += float64(j) * float64(v)
			want[1] -= math.Exp(float64(v))
		}
		for k, w := range want {
			if d := math.Abs(float64(got[2*i+k]) - w); !(d <= 1e-5) {
				t.Errorf("candidate %d, objective %d: %g; want %g", i, k, got[2*i+k], w)
			}
		}
	}
}

// TestGLSLOfLongLoops: a loop of many iterations is not cut short by other candidates' loops, on Mesa's software driver.
func TestGLSLOfLongLoops(t *testing.T) {
	f, err := GLSL(t.Context(), GLSLSpec{Name: "long", Space: ec.Space{Dim: 1}, Iterations: 60000}, `
void evaluate(inout float f[OBJECTIVES]) {
    float s = x(0u);
    [[dont_unroll]] for (uint i = 0u; i < 60000u; i++) s = 0.5 * s + 1.0;
    f[0] = s + 2.0 * x(0u);
}`)
	if err != nil {
		t.Fatal(err)
	}
	points := make([][]float64, 1300)
	for i := range points {
		points[i] = []float64{float64(i)}
	}
	for i, v := range valuesOf(t, engine.New(open(t)), f, [][][]float64{points}, false, false)[0] {
		if want := 2 + 2*float64(i); v != want {
			t.Fatalf("candidate %d has %g; want %g", i, v, want)
		}
	}
}

// TestGLSLOfUncountedLoops: a loop that nobody counted is refused, at its place, however it is written.
func TestGLSLOfUncountedLoops(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a loop":         {"void evaluate(inout float f[OBJECTIVES]) {\n    for (int i = 0; i < 70000; i++) f[0] += x(0u);\n}", "loops.glsl:2: a loop"},
		"of a macro":     {"#define W while\nvoid evaluate(inout float f[OBJECTIVES]) {\n    int i = 0;\n    W (i < 70000) i++;\n}", "loops.glsl:4: a loop"},
		"of two lines":   {"void evaluate(inout float f[OBJECTIVES]) {\n    int i = 0;\n    whi\\\nle (i < 70000) i++;\n}", "loops.glsl:4: a loop"},
		"of two tokens":  {"#define J(a, b) a##b\nvoid evaluate(inout float f[OBJECTIVES]) {\n    int i = 0;\n    J(wh, ile) (i < 9);\n}", "loops.glsl:4: a loop"},
		"unrolled":       {"void evaluate(inout float f[OBJECTIVES]) {\n    [[unroll]] for (int i = 0; i < 7; i++) f[0] += x(0u);\n}", ""},
		"too many times": {"", "60001 iterations of loops for a candidate; want 0 to 60000"},
	} {
		spec := GLSLSpec{Name: "loops", Space: ec.Space{Dim: 1}, File: "shaders/loops.glsl"}
		if c.text == "" {
			spec.Iterations = 60001
		}
		if _, err := GLSL(t.Context(), spec, c.text); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", name, err, c.want)
		}
	}
}

// TestGLSLErrors: a mistake in the text is located, and an invalid specification gives one error.
func TestGLSLErrors(t *testing.T) {
	_, err := GLSL(t.Context(), GLSLSpec{Name: "typo", Space: ec.Space{Dim: 2}}, "void evaluate(inout float f[OBJECTIVES]) {\n    f[0] = y(0u);\n}\n")
	var of *shaders.CompileError
	if !errors.As(err, &of) || !strings.Contains(err.Error(), "given/typo.glsl:2") {
		t.Errorf("error %v; want one of compilation that says given/typo.glsl:2", err)
	}
	const good = "void evaluate(inout float f[OBJECTIVES]) { f[0] = x(0u); }"
	for text, spec := range map[string]GLSLSpec{
		"at least 1 of each":               {Name: "empty"},
		"17 objectives; want":              {Name: "many", Space: ec.Space{Dim: 1}, Objectives: 17},
		"the start has NaN in dimension 1": {Name: "start", Space: ec.Space{Dim: 2}, Start: []float32{1, float32(math.NaN())}},
		"the start has 3 in dimension 0":   {Name: "start", Space: ec.Space{Dim: 1, Low: []float32{1}, High: []float32{2}}, Start: []float32{3}},
		"a start of 3 numbers; want 2":     {Name: "start", Space: ec.Space{Dim: 2}, Start: []float32{1, 2, 3}},
		"below a finite upper one":         {Name: "bounds", Space: ec.Space{Dim: 1, Low: []float32{1}, High: []float32{0}}},
	} {
		if _, err := GLSL(t.Context(), spec, good); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), spec.Name) {
			t.Errorf("%+v: error %v; want %q in it", spec, err, text)
		}
	}
}
