package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	testKernel = "#version 450\n#include \"ENVIRONMENT\"\nlayout(local_size_x = 8) in;\n" +
		"layout(std430, binding = 0) writeonly buffer Out { float result[]; };\nlayout(push_constant) uniform Push { float x; };\n" +
		"void main() { result[0] = reward(x); }\n"
	testEnvironment = "// environment: Test-v0\nfloat reward(float x) { return x * 2.0; }\n"
)

// repository creates a small repository with the given files.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for file, content := range files {
		put(t, root, file, content)
	}
	return root
}

func put(t *testing.T, root, file, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tool runs the tool and returns its exit status and all it printed.
func tool(root string, args ...string) (int, string) {
	var out bytes.Buffer
	status := run(context.Background(), append([]string{"-root", root}, args...), &out, &out)
	return status, out.String()
}

// expect runs the tool and checks its exit status and output.
func expect(t *testing.T, root string, status int, args []string, texts ...string) {
	t.Helper()
	got, out := tool(root, args...)
	if got != status {
		t.Errorf("exit status %d, want %d: %s", got, status, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in the output:\n%s", text, out)
		}
	}
	if len(texts) == 0 && out != "" {
		t.Errorf("output where none is due:\n%s", out)
	}
}

var check, reproduce = []string{"-check"}, []string{"-reproduce"}

func TestBuildAndCheck(t *testing.T) {
	if _, err := exec.LookPath("glslc"); err != nil {
		t.Log("glslc is not installed: what needs it is tested where it is")
		return
	}
	root := repository(t, map[string]string{
		"shaders/envs/roll.comp": testKernel, "shaders/envs/test.glsl": testEnvironment,
		"mine/kernels_gen.go": "package mine // by hand\n", "old/kernels_gen.go": generatedBy + "shaders/old; DO NOT EDIT.\n",
	})
	const module = "shaders/spv/envs/roll.Test-v0.packed"
	expect(t, root, 1, check, "nothing was built yet")
	expect(t, root, 0, nil, "wrote "+module, "wrote envs/kernels_gen.go", "wrote "+manifestFile, "wrote "+versionFile, "removed old/kernels_gen.go")
	expect(t, root, 0, check)
	start := time.Now()
	expect(t, root, 0, nil)
	if took := time.Since(start); took > time.Second {
		t.Errorf("building nothing took %v", took)
	}

	// Each kind of difference is detected, with and without a compiler, and a build repairs it.
	version := filepath.Join(root, filepath.FromSlash(versionFile))
	built, err := os.ReadFile(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func()
		want   string
	}{
		{"edited source", func() {
			put(t, root, "shaders/envs/test.glsl", strings.Replace(testEnvironment, "2.0", "3.0", 1))
		}, module + ": stale"},
		{"edited module", func() { put(t, root, module, "other") }, module + ": stale"},
		{"removed module", func() { _ = os.Remove(filepath.Join(root, module)) }, module + ": missing"},
		{"edited Go", func() { put(t, root, "envs/kernels_gen.go", generatedBy+"me") }, "envs/kernels_gen.go: stale"},
		{"extra module", func() { put(t, root, "shaders/spv/gone/x.packed", "x") }, "shaders/spv/gone/x.packed: left over"},
		{"new environment", func() {
			put(t, root, "shaders/envs/new.glsl", strings.Replace(testEnvironment, "Test-v0", "New-v0", 1))
		}, "shaders/spv/envs/roll.New-v0.packed: missing"},
		{"removed environment", func() { _ = os.Remove(filepath.Join(root, "shaders/envs/new.glsl")) }, "shaders/spv/envs/roll.New-v0.packed: left over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.damage()
			expect(t, root, 1, check, c.want, "run go run ./tools/shaders")
			expect(t, root, 1, reproduce, c.want, "run go run ./tools/shaders")
			put(t, root, versionFile, "shaderc 1999\n")
			expect(t, root, 1, check, "built by glslc shaderc 1999; installed is ", c.want)
			put(t, root, versionFile, string(built))
			if status, out := tool(root); status != 0 {
				t.Fatalf("rebuild: %s", out)
			}
			expect(t, root, 0, check)
		})
	}
	if _, err := os.Stat(filepath.Join(root, "shaders/spv/gone")); !os.IsNotExist(err) {
		t.Errorf("the folder of a removed module is left: %v", err)
	}

	// The same bytes come from an empty cache, and the check works without a compiler.
	before, err := os.ReadFile(filepath.Join(root, module))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	expect(t, root, 0, nil)
	expect(t, root, 0, reproduce)
	if after, err := os.ReadFile(filepath.Join(root, module)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("compiled again, the module differs (%v)", err)
	}
	t.Setenv("PATH", t.TempDir())
	expect(t, root, 0, check, "none is installed: comparing digests")
	expect(t, root, 1, nil, "Debian package glslc")
}

func TestBuildErrors(t *testing.T) {
	if _, err := exec.LookPath("glslc"); err != nil {
		t.Log("glslc is not installed: what needs it is tested where it is")
		return
	}
	root := repository(t, map[string]string{
		"shaders/envs/roll.comp": testKernel,
		"shaders/envs/test.glsl": strings.Replace(testEnvironment, "x *", "y *", 1),
		"shaders/p/broken.comp":  "#version 450\nlayout(local_size_x = 1) in;\nvoid main() { z = 1; }\n",
	})
	// All kernels' errors are shown at once, at their line in their file, and nothing is written.
	expect(t, root, 1, nil, "shaders/envs/test.glsl:2: error: 'y'", "in module envs/roll.Test-v0", "shaders/p/broken.comp:3: error: 'z'")
	if _, err := os.Stat(filepath.Join(root, "shaders/spv")); !os.IsNotExist(err) {
		t.Errorf("output of a build that failed: %v", err)
	}
	put(t, root, "shaders/p/broken.comp", "#version 450\n#include \"none.glsl\"\n")
	expect(t, root, 1, nil, `shaders/p/broken.comp:2: #include "none.glsl": not found`)
	expect(t, root, 2, []string{"everything"}, `unexpected argument "everything"`)
	expect(t, root, 2, []string{"-nonsense"}, "-nonsense")
}
