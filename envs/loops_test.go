package envs

import (
	"strings"
	"testing"
)

// TestLoopsAreCounted: GLSL with uncounted loops is rejected with the line; generated dynamics bring their own count.
func TestLoopsAreCounted(t *testing.T) {
	const dynamics = "#define TIME_STEP_ITERATIONS 109\n#define DYNAMICS_LOOPS 1\nvoid forward() { for (uint i = 0u; i < 109u; i++) { } }\n"
	const skip = "const uint FRAME_SKIP = 4u;\n"
	const loop = "void mine() { for (int i = 0; i < 9; i++) { } }\n"
	for _, c := range []struct {
		name, glsl string
		declared   int
		want       int
		refused    string
	}{
		{"no loop", "", 0, 0, ""},
		{"no loop, counted", "", 7, 7, ""},
		{"an unrolled loop", "void mine() { [[unroll]] for (int i = 0; i < 9; i++) { } }", 0, 0, ""},
		{"a loop in comments", "// for (;;)\n/* while (true)\n */", 0, 0, ""},
		{"a loop", "\n" + loop, 0, 0, "Iterations is 0, and line 15 of the GLSL has a loop"},
		{"a while loop", "void mine() { int i = 0; while (i < 9) i++; }", 0, 0, "has a loop"},
		{"a do loop", "void mine() { int i = 0; do i++; while (i < 9); }", 0, 0, "has a loop"},
		{"a loop, counted", loop, 9, 9, ""},
		{"dynamics", dynamics + skip, 0, 436, ""},
		{"dynamics, counted too low", dynamics + skip, 435, 0, "the dynamics alone take 436"},
		{"dynamics, counted higher", dynamics + skip, 500, 500, ""},
		{"dynamics and a loop", dynamics + skip + loop, 0, 0, "the dynamics' 436 among them"},
		{"dynamics and a loop that is not counted", dynamics + skip + loop, 436, 0, "the dynamics' 436 among them"},
		{"dynamics and a loop, counted", dynamics + skip + loop, 445, 445, ""},
		{"dynamics without time steps", dynamics, 0, 0, "no FRAME_SKIP"},
		{"dynamics without a count of time steps", dynamics + "const uint FRAME_SKIP = STEPS;\n", 0, 0, `FRAME_SKIP "STEPS"; want a whole number`},
		{"dynamics of too many time steps", dynamics + "const uint FRAME_SKIP = 1000u;\n", 0, 0, "want at most 60000: a lower FRAME_SKIP"},
		{"dynamics of very many time steps", dynamics + "const uint FRAME_SKIP = 9000000000000000000u;\n", 0, 0, "a lower FRAME_SKIP"},
	} {
		spec := walkSpec()
		spec.Iterations = c.declared
		env, err := New(spec, walkGLSL+c.glsl)
		switch {
		case c.refused == "" && (err != nil || env.Iterations != c.want):
			t.Errorf("%s: %v; want %d iterations", c.name, err, c.want)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v; want %q in it", c.name, err, c.refused)
		}
	}
}

// A macro, a pasted token and a line that continues hide no loop from the check of an environment that is compiled.
func TestHiddenLoops(t *testing.T) {
	for name, c := range map[string]struct {
		glsl     string
		declared int
		want     string
	}{
		"macro":    {"#define W while\nvoid mine() { int i = 0; W (i < 9) i++; }\n", 0, "Walk-v0.glsl:15 has a loop"},
		"pasted":   {"#define J(a, b) a##b\nvoid mine() { int i = 0; J(wh, ile) (i < 9) i++; }\n", 0, "Walk-v0.glsl:15 has a loop"},
		"lines":    {"void mine() { int i = 0; whi\\\nle (i < 9) i++; }\n", 0, "Walk-v0.glsl:15 has a loop"},
		"counted":  {"#define W while\nvoid mine() { int i = 0; W (i < 9) i++; }\n", 9, ""},
		"unrolled": {"#define FEW [[unroll]] for\nvoid mine() { FEW (int i = 0; i < 9; i++) { } }\n", 0, ""},
	} {
		spec := walkSpec()
		spec.Iterations = c.declared
		env, err := New(spec, walkGLSL+c.glsl)
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.shader(t.Context(), "envs/step", Lane, stepShader)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", name, err, c.want)
		}
	}
}

// A step with as many loop iterations as a header may state runs, with its action kept for one step.
func TestOptionsOfLongSteps(t *testing.T) {
	spec := walkSpec()
	spec.Iterations = maxIterations
	env, err := New(spec, walkGLSL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Options{ActionRepeat: 1}).resolved(env.Spec); err != nil {
		t.Errorf("error %v; want none", err)
	}
	_, err = (Options{ActionRepeat: 2}).resolved(env.Spec)
	if err == nil || !strings.Contains(err.Error(), "ActionRepeat is 2; want at most 1 for a step of so much work") {
		t.Errorf("error %v", err)
	}
}
