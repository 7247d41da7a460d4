package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

var errNoGlslc = errors.New("glslc (Debian package glslc) is not on PATH")

// compiler is the installed glslc.
type compiler struct {
	path    string
	version string // of glslc and the libraries in it, one a line
}

// findGlslc finds glslc. The error wraps errNoGlslc if there is none.
func findGlslc(ctx context.Context) (compiler, error) {
	path, err := exec.LookPath("glslc")
	if err != nil {
		return compiler{}, fmt.Errorf("shaders: building needs %w", errNoGlslc)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return compiler{}, fmt.Errorf("shaders: %s --version: %w", path, err)
	}
	version, _, _ := strings.Cut(string(out), "\n\n") // what follows is the default target, which is not used
	return compiler{path: path, version: strings.TrimSpace(version) + "\n"}, nil
}

// validate runs spirv-val.
func (c compiler) validate(ctx context.Context, code []byte) error {
	path, err := exec.LookPath("spirv-val")
	if err != nil {
		return errors.New("validation needs spirv-val (Debian package spirv-tools) on PATH")
	}
	cmd := exec.CommandContext(ctx, path, "--target-env", "vulkan1.1", "-")
	cmd.Stdin = bytes.NewReader(code)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("spirv-val: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
