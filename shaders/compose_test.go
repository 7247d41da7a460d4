package shaders

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func files(pairs ...string) fs.FS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func TestComposeFlattens(t *testing.T) {
	tree := files(
		"p/k.comp", "// what it does\n#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n"+
			"#include \"a.glsl\"\n  # include \"p/b.glsl\" // again\n/* #include \"not.glsl\"\n#include \"nor.glsl\" */\nvoid main() {}\n",
		"a.glsl", "#extension GL_GOOGLE_include_directive : require\n#extension GL_EXT_control_flow_attributes : require\n#include \"p/b.glsl\"\nint a;\n",
		"p/b.glsl", "int b;", // without a newline at its end
	)
	got, err := ComposeFrom(tree, "p/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `#version 450
#extension GL_GOOGLE_cpp_style_line_directive : require
#line 3 "shaders/p/k.comp"
#extension GL_KHR_shader_subgroup_basic : require
#line 2 "shaders/a.glsl"
#extension GL_EXT_control_flow_attributes : require
#line 1 "shaders/p/k.comp"
// what it does


#line 1 "shaders/a.glsl"


#line 1 "shaders/p/b.glsl"
int b;
#line 4 "shaders/a.glsl"
int a;
#line 5 "shaders/p/k.comp"
#line 6 "shaders/p/k.comp"
/* #include "not.glsl"
#include "nor.glsl" */
void main() {}
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestComposeEnvironment(t *testing.T) {
	tree := files(
		"envs/roll.comp", "#version 450\n#include \"envs/wrap.glsl\"\n",
		"envs/wrap.glsl", "#include \"ENVIRONMENT\"\nint w;\n",
		"envs/seats.comp", "#version 450\n#include \"ENVIRONMENT\"\n#include \"envs/seats.glsl\"\n",
		"envs/seats.glsl", "int seats;\n",
		"envs/pole.glsl", "// environment: Pole-v1\n#include \"envs/shared.glsl\"\nint pole;\n",
		"envs/shared.glsl", "int shared_one;\n",
		"envs/other.glsl", "// environment: Car-v0\nint car;\n",
		"p/plain.comp", "#version 450\n",
	)
	all, err := Environments(tree)
	if err != nil || len(all) != 2 || all[0].Name != "Car-v0" || all[1].Name != "Pole-v1" || all[1].File != "shaders/envs/pole.glsl" {
		t.Fatalf("environments: %+v, %v", all, err)
	}
	for kernel, want := range map[string]bool{"envs/roll": true, "p/plain": false} {
		if takes, err := TakesEnvironment(tree, kernel); err != nil || takes != want {
			t.Errorf("TakesEnvironment(%s) = %v, %v", kernel, takes, err)
		}
	}
	got, err := ComposeFrom(tree, "envs/roll", &all[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"int pole;", "int shared_one;", "int w;", "#line 1 \"shaders/envs/pole.glsl\"\n// environment"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if _, err := ComposeFrom(tree, "envs/roll", nil); err == nil || !strings.Contains(err.Error(), "shaders/envs/wrap.glsl:1: the kernel needs an environment") {
		t.Errorf("without an environment: %v", err)
	}
	tag := &Environment{Name: "Tag-v0", File: "tag.glsl", Text: "#define AGENTS 3\n"}
	for kernel, want := range map[string]bool{"envs/roll": false, "envs/seats": true, "p/plain": false} {
		if takes, err := Takes(tree, kernel, tag); err != nil || takes != want {
			t.Errorf("Takes(%s, three agents) = %v, %v", kernel, takes, err)
		}
		if takes, err := Takes(tree, kernel, &all[0]); err != nil || takes != (kernel == "envs/roll") {
			t.Errorf("Takes(%s, one agent) = %v, %v", kernel, takes, err)
		}
	}
	if _, err := ComposeFrom(tree, "envs/roll", tag); err == nil || !strings.Contains(err.Error(), "environments of 3 agents") {
		t.Errorf("a kernel for one agent with an environment of three: %v", err)
	}
	if _, err := ComposeFrom(tree, "p/plain", &all[0]); err == nil || !strings.Contains(err.Error(), "takes no environment") {
		t.Errorf("with an environment too many: %v", err)
	}
}

func TestComposeErrors(t *testing.T) {
	tree := files(
		"missing.comp", "#version 450\n\n#include \"no.glsl\"\n",
		"deep.comp", "#version 450\n#include \"mid.glsl\"\n",
		"mid.glsl", "\n#include \"no.glsl\"\n",
		"cycle.comp", "#version 450\n#include \"c1.glsl\"\n",
		"c1.glsl", "#include \"c2.glsl\"\n",
		"c2.glsl", "#include \"c1.glsl\"\n",
		"if.comp", "#version 450\n#ifdef X\n#include \"ok.glsl\"\n#endif\n",
		"ok.glsl", "int x;\n",
		"version.comp", "void main() {}\n",
		"second.comp", "#version 450\n#include \"v.glsl\"\n",
		"v.glsl", "#version 450\n",
		"bare.comp", "#version 450\n#include <ok.glsl>\n",
		"outside.comp", "#version 450\n#include \"../ok.glsl\"\n",
	)
	for kernel, want := range map[string]string{
		"none":    `kernel "none" (shaders/none.comp): not found`,
		"missing": `shaders/missing.comp:3: #include "no.glsl": not found`,
		"deep":    "shaders/mid.glsl:2: #include \"no.glsl\": not found (paths count from the root of the shaders)\n\tincluded from shaders/deep.comp:2",
		"cycle":   "includes form a cycle: shaders/c1.glsl → shaders/c2.glsl → shaders/c1.glsl\n\tincluded from shaders/c2.glsl:1\n\tincluded from shaders/c1.glsl:1",
		"if":      "shaders/if.comp:3: #include inside #if",
		"version": "shaders/version.comp:1: the kernel does not begin with #version",
		"second":  "shaders/v.glsl:1: only kernels declare a #version",
		"bare":    "shaders/bare.comp:2: #include <ok.glsl>: want a quoted path",
		"outside": `shaders/outside.comp:2: #include "../ok.glsl": not found`,
	} {
		if _, err := ComposeFrom(tree, kernel, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", kernel, err, want)
		} else if strings.Contains(want, "not found") && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v is no ErrNotFound", kernel, err)
		}
	}
	if _, err := Environments(files("envs/a.glsl", "// environment: X\n", "envs/b.glsl", "// environment: X\n")); err == nil ||
		err.Error() != `shaders/envs/b.glsl:1: environment "X" is declared in shaders/envs/a.glsl too` {
		t.Errorf("one name twice: %v", err)
	}
	for _, name := range []string{"a/b", "a b", ".hidden", "ü"} {
		if _, err := Environments(files("envs/a.glsl", "// environment: "+name+"\n")); err == nil || !strings.Contains(err.Error(), "shaders/envs/a.glsl:1") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if _, err := Compose("engine/random", "Nowhere-v0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown environment: %v", err)
	}
}

// The modules of every kernel of the embedded tree are embedded too.
func TestEmbeddedTree(t *testing.T) {
	kernels, err := Kernels(Files())
	if err != nil || len(kernels) == 0 {
		t.Fatalf("kernels: %v, %v", kernels, err)
	}
	environments, err := Environments(Files())
	if err != nil {
		t.Fatal(err)
	}
	for _, kernel := range kernels {
		names := []string{kernel}
		if takes, err := TakesEnvironment(Files(), kernel); err != nil {
			t.Errorf("%s: %v", kernel, err)
		} else if takes {
			names = nil
			for _, e := range environments {
				if takes, err := Takes(Files(), kernel, &e); err != nil || !takes {
					continue
				}
				names = append(names, kernel+"."+e.Name)
				if _, err := Compose(kernel, e.Name); err != nil {
					t.Errorf("%s: %v", kernel, err)
				}
			}
		}
		for _, name := range names {
			if code, err := SPIRV(name); err != nil || len(code) == 0 || len(Code(name)()) != len(code) {
				t.Errorf("%s: %d bytes, %v", name, len(code), err)
			}
		}
	}
	if _, err := SPIRV("engine/none"); !errors.Is(err, ErrNotFound) || Code("engine/none")() != nil {
		t.Errorf("a module there is not: %v", err)
	}
}

// Compilers may leave out isnan and isinf (engine/finite.glsl), so no kernel uses them.
func TestNoNaNBuiltins(t *testing.T) {
	builtin := regexp.MustCompile(`\bis(nan|inf) *\(`)
	err := fs.WalkDir(Files(), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".glsl" && path.Ext(file) != ".comp" {
			return err
		}
		source, err := fs.ReadFile(Files(), file)
		if at := builtin.FindIndex(source); at != nil {
			t.Errorf("%s:%d: %s; want m_isnan or m_isfinite of engine/finite.glsl", file, 1+bytes.Count(source[:at[0]], []byte("\n")), source[at[0]:at[1]])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
