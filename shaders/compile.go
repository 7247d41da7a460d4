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

	"github.com/evorl/evorl/internal/diskcache"
)

// ErrNoCompiler is wrapped by the error of Compile if no GLSL compiler is installed.
var ErrNoCompiler = errors.New("no GLSL compiler found")

// CompileError is the error of a source that does not compile.
type CompileError struct {
	Compiler string // "glslc" or "glslangValidator"; "loops" if loops are not counted
	Messages string // as the compiler printed them, with file names and line numbers of the original sources
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("shaders: %s: %s", e.Compiler, e.Messages)
}

// Want adds a line for each of the declared functions that the kernel calls and that a text of the user's, file, does not define, or defines with other
// parameters: the compiler names the line of the call, in a file of the kernel.
func (e *CompileError) Want(file string, declarations ...string) {
	var missing []string
	for _, d := range declarations {
		name, _, _ := strings.Cut(d, "(")
		name = name[strings.LastIndexByte(name, ' ')+1:]
		if strings.Contains(e.Messages, "'"+name+"' : no matching overloaded function found") {
			missing = append(missing, fmt.Sprintf("%s: no function %s with the parameters of its call; want %s", file, name, d))
		}
	}
	e.Messages = strings.Join(append(missing, e.Messages), "\n")
}

// Compile translates a composed compute shader to SPIR-V for Vulkan 1.1 with glslc or, failing that, glslangValidator, as
// found on PATH. The error is a *CompileError if the source does not compile, wraps ErrNoCompiler if neither compiler is
// installed, and is ctx's error if ctx ended first.
//
// Modules are kept in the user's cache folder: optimisation takes seconds for an environment.
func Compile(ctx context.Context, glsl string) ([]byte, error) {
	if compiler, err := exec.LookPath("glslc"); err == nil {
		return kept(ctx, compiler, glsl, func() ([]byte, error) { return Glslc(ctx, compiler, glsl, "-O") })
	}
	if compiler, err := exec.LookPath("glslangValidator"); err == nil {
		return glslang(ctx, compiler, glsl)
	}
	return nil, noCompiler()
}

// kept is compile, or its result of before. Another compiler at the same path has another size or time.
func kept(ctx context.Context, compiler, glsl string, compile func() ([]byte, error)) ([]byte, error) {
	file, err := os.Stat(compiler)
	if err != nil || ctx.Err() != nil {
		return compile()
	}
	cache, key := diskcache.Open("glsl"), diskcache.Key(compiler, fmt.Sprint(file.Size(), file.ModTime().UnixNano()), glsl)
	if code, ok := cache.Get(key); ok {
		return code, nil
	}
	code, err := compile()
	if err == nil {
		cache.Put(key, code)
	}
	return code, err
}

func noCompiler() error {
	return fmt.Errorf("shaders: %w: need glslc (Debian package glslc) or glslangValidator (Debian package glslang-tools) on PATH", ErrNoCompiler)
}

// CompileNamed is Compile without optimisation, which would remove the names that package spirv reads.
func CompileNamed(ctx context.Context, glsl string) ([]byte, error) {
	if compiler, err := exec.LookPath("glslc"); err == nil {
		return Glslc(ctx, compiler, glsl, "-O0")
	}
	return Compile(ctx, glsl) // glslangValidator keeps names
}

// Glslc translates a composed compute shader with the glslc at the path compiler, with further flags such as "-O" or "-O0".
func Glslc(ctx context.Context, compiler, glsl string, flags ...string) ([]byte, error) {
	args := append([]string{"-fshader-stage=compute", "--target-env=vulkan1.1"}, flags...)
	code, messages, err := pipe(ctx, glsl, compiler, append(args, "-o", "-", "-")...)
	if err != nil {
		return nil, compileError(ctx, "glslc", messages, err)
	}
	return code, nil
}

// glslang translates with glslangValidator, which writes only to files and mixes messages into its output.
func glslang(ctx context.Context, compiler, glsl string) (code []byte, err error) {
	dir, err := os.MkdirTemp("", "evorl-shader-")
	if err != nil {
		return nil, fmt.Errorf("shaders: a folder for glslangValidator's output: %w", err)
	}
	defer func() {
		if e := os.RemoveAll(dir); e != nil && err == nil {
			code, err = nil, fmt.Errorf("shaders: remove glslangValidator's output: %w", e)
		}
	}()
	out := filepath.Join(dir, "kernel.spv")
	said, messages, err := pipe(ctx, glsl, compiler, "--stdin", "-S", "comp", "-V", "--target-env", "vulkan1.1", "-o", out)
	if err != nil {
		var kept []string
		for _, line := range lines(string(said) + messages) {
			if line != "" && line != "stdin" {
				kept = append(kept, line)
			}
		}
		return nil, compileError(ctx, "glslangValidator", strings.Join(kept, "\n"), err)
	}
	code, err = os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("shaders: glslangValidator left no output: %w", err)
	}
	return code, nil
}

func pipe(ctx context.Context, input, program string, args ...string) (output []byte, messages string, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err = cmd.Run()
	return stdout.Bytes(), stderr.String(), err
}

func compileError(ctx context.Context, compiler, messages string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("shaders: %s: %w", compiler, ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && strings.TrimSpace(messages) != "" {
		return &CompileError{Compiler: compiler, Messages: strings.TrimSpace(messages)}
	}
	return fmt.Errorf("shaders: run %s: %w", compiler, err)
}
