package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/shaders"
)

const scaledText = `#version 450
#include "engine/load.glsl"
layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 1) const bool NEGATIVE = false;
layout(constant_id = 2) const float OFFSET = 0.25;
layout(std430, set = 0, binding = 0) readonly buffer InValues { float in_values[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer in_values_texels;
layout(std430, set = 0, binding = 2) readonly buffer Index { uint index[]; };
layout(std430, set = 0, binding = 3) writeonly buffer OutValues { float out_values[]; };
layout(push_constant) uniform Push { uint count; int shift; float scale; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    float v = OFFSET + scale * LOAD(in_values, in_values_texels, index[i]) + float(shift);
    out_values[i] = NEGATIVE ? -v : v;
}
`

// TestKernel: a kernel given as text at run time computes with arguments by name, on an odd number of elements.
func TestKernel(t *testing.T) {
	e := New(testDevice(t))
	k, err := CompileKernel(t.Context(), "test/scaled", scaledText)
	if err != nil {
		t.Fatal(err)
	}
	const n = 13
	s := e.NewState()
	defer s.Close()
	in, out, index := s.Scratch("in", Float32, Axis("value", n)), s.Scratch("out", Float32, Axis("value", n)), s.Scratch("index", Uint32, Axis("value", n))
	values, order := make([]float32, n), make([]uint32, n)
	for i := range values {
		values[i], order[i] = float32(math.Sin(float64(i))), uint32(i*5%n)
	}
	for _, err := range []error{s.Poison(t.Context()), in.WriteFloat32(t.Context(), values), index.WriteUint32(t.Context(), order)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	args := Args{"InValues": in, "Index": index, "OutValues": out, "count": uint32(n), "shift": -3, "scale": 2.5, "NEGATIVE": true, "LOCAL_SIZE_X": 4}
	p, err := e.Record("scaled", func(r *Recorder) { k.Record(r, 4, 1, 1, args) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := out.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := -(0.25 + 2.5*float64(values[order[i]]) - 3); !(math.Abs(float64(v)-want) <= 1e-6) {
			t.Errorf("value %d is %g; want %g", i, v, want)
		}
	}
	for what, c := range map[string]struct {
		name  string
		value any
	}{
		"unknown argument Outvalues":  {"Outvalues", out},
		"buffer Index":                {"Index", in},
		"buffer InValues":             {"InValues", nil},
		"constant scale":              {"scale", 3},
		"constant count":              {"count", -1},
		"constant shift":              {"shift", nil},
		"constant NEGATIVE":           {"NEGATIVE", 1},
		"unknown argument in_values_": {"in_values_texels", in},
	} {
		wrong := Args{}
		for name, v := range args {
			wrong[name] = v
		}
		wrong[c.name] = c.value
		_, err := e.Record("wrong", func(r *Recorder) { k.Record(r, 1, 1, 1, wrong) })
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "test/scaled") {
			t.Errorf("%s given %v: error %v; want %q in it", c.name, c.value, err, what)
		}
	}
}

// TestCompileKernelErrors: a mistake in the text has its place, and interfaces that arguments cannot fill are refused.
func TestCompileKernelErrors(t *testing.T) {
	const head = "#version 450\nlayout(local_size_x = 1) in;\n"
	_, err := CompileKernel(t.Context(), "my/kernel", head+"void main() { nothing = 1; }\n")
	var mistake *shaders.CompileError
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "shaders/my/kernel.comp:3") {
		t.Errorf("error %v; want a *shaders.CompileError at shaders/my/kernel.comp:3", err)
	}
	for want, text := range map[string]string{
		"not found":           head + "#include \"engine/nothing.glsl\"\nvoid main() {}\n",
		"does not begin with": "void main() {}\n",
		"want float, uint":    head + "layout(std430, set = 0, binding = 0) buffer B { ivec4 b[]; };\nvoid main() { b[0] = ivec4(1); }\n",
		"a vector or an array": head + "layout(push_constant) uniform Push { vec4 v; };\n" +
			"layout(std430, set = 0, binding = 0) writeonly buffer B { vec4 b[]; };\nvoid main() { b[0] = v; }\n",
		"views none of the storage b": head + "layout(std430, set = 0, binding = 0) writeonly buffer B { vec4 b[]; };\n" +
			"layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer c_texels;\nvoid main() { b[0] = imageLoad(c_texels, 0); }\n",
	} {
		_, err := CompileKernel(t.Context(), "my/kernel", text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "my/kernel") {
			t.Errorf("error %v; want %q in it", err, want)
		}
	}
}
