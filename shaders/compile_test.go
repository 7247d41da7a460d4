package shaders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	goodSource = "#version 450\n#extension GL_GOOGLE_cpp_style_line_directive : require\n#line 1 \"shaders/p/k.comp\"\n" +
		"layout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { float b[]; };\nvoid main() { b[0] = 1.0; }\n"
	badSource = "#version 450\n#extension GL_GOOGLE_cpp_style_line_directive : require\n#line 41 \"shaders/p/k.comp\"\nvoid main() { nothing = 1; }\n"
)

// only sets PATH to a folder that contains one program.
func only(t *testing.T, name, target string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

// Each installed compiler translates, and its messages have the file and line of the source.
func TestCompileByEach(t *testing.T) {
	for _, compiler := range []string{"glslc", "glslangValidator"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			t.Logf("%s is not installed", compiler)
			continue
		}
		t.Run(compiler, func(t *testing.T) {
			only(t, compiler, path)
			code, err := Compile(context.Background(), goodSource)
			if err != nil || !bytes.HasPrefix(code, []byte{0x03, 0x02, 0x23, 0x07}) {
				t.Errorf("good source: %d bytes, %v", len(code), err)
			}
			_, err = Compile(context.Background(), badSource)
			var refused *CompileError
			if !errors.As(err, &refused) || refused.Compiler != compiler || !strings.Contains(refused.Messages, "shaders/p/k.comp:41: ") {
				t.Errorf("bad source: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := Compile(ctx, goodSource); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

func TestCompileWithoutCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Compile(context.Background(), goodSource)
	if !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "Debian package glslc") || !strings.Contains(err.Error(), "glslang-tools") {
		t.Errorf("got %v", err)
	}
}

// A compiler that hangs ends with the context. One that fails without a message gives no CompileError.
func TestCompileByBrokenCompiler(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "glslc")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec /bin/sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Compile(ctx, goodSource); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a compiler that hangs: %v", err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var refused *CompileError
	if _, err := Compile(context.Background(), goodSource); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a compiler that fails silently: %v", err)
	}
}

// A source is compiled once: not again by the same compiler, again by another and after a failure.
func TestCompileKeeps(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
	t.Setenv("PATH", folder)
	script := filepath.Join(folder, "glslc")
	compiles := func(word string, status int, want string) {
		t.Helper()
		text := fmt.Sprintf("#!/bin/sh\necho >> %s/runs\n/bin/cat > %s/source\necho %s\nexit %d\n", folder, folder, word, status)
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if code, err := Compile(context.Background(), goodSource); string(code) != want || (err == nil) != (status == 0) {
				t.Errorf("%s: %q, %v; want %q", word, code, err, want)
			}
		}
	}
	compiles("failed", 3, "")
	compiles("first", 0, "first\n")
	compiles("another", 0, "another\n")
	if runs, err := os.ReadFile(filepath.Join(folder, "runs")); err != nil || len(runs) != 4 {
		t.Errorf("%d compilations, %v; want 4: two that failed and one by each compiler", len(runs), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compile(ctx, goodSource); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, of a kept module: %v", err)
	}
}
