package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tested lists the packages whose tests run on the device, and the tests: those that compare kernels with float64 or recorded references.
var tested = []struct{ pkg, run string }{
	{"engine", "Math|Mean|Gather|Rank|Permute|RandomKernel|Metrics"},
	{"engine/nn", "Gemm|Network|Normalizer|Group"},
	{"engine/optim", "Optimizers"},
	{"envs", "OneStep|RobotStep|FreeRunning|Placements$|PlacementsAgree|RolloutNetworks|RolloutReplays|Sampling|Mode|Slices|RobotDiverges"},
	{"ec", "Noise$|Ranking|Shaping$|Updates|Eigen$|SortLikePymoo|Objectives|Memory"},
	{"rl", "GAE|Gradient|Update|Fused|Step$"},
	{"hybrid", "Exchange|Choosing|Fitness"},
}

// testName returns the file name of a package's test binary.
func testName(pkg string) string { return strings.ReplaceAll(pkg, "/", "-") + ".test" }

// names returns the file names of the programs that are run.
func names() []string {
	all := []string{"evorl"}
	for _, t := range tested {
		all = append(all, testName(t.pkg))
	}
	return all
}

// build compiles the programs into a folder, without symbols to keep them small.
func build(ctx context.Context, folder string, stderr io.Writer) error {
	if err := compile(ctx, folder, "evorl", stderr, "build", "./cmd/evorl"); err != nil {
		return err
	}
	for _, t := range tested {
		if err := compile(ctx, folder, testName(t.pkg), stderr, "test", "-c", "./"+t.pkg); err != nil {
			return err
		}
	}
	return nil
}

// compile runs a command of go that writes a program into a folder; the last argument is the package.
func compile(ctx context.Context, folder, name string, stderr io.Writer, args ...string) error {
	last := len(args) - 1
	args = append(args[:last:last], "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(folder, name), args[last])
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// buildPacked makes a folder for a machine without Go: this program, and the others packed.
func buildPacked(ctx context.Context, folder string, stderr io.Writer) (err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := compile(ctx, folder, "compare", stderr, "build", "./tools/compare"); err != nil {
		return err
	}
	built, err := os.MkdirTemp("", "evorl-compare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
	if err := build(ctx, built, stderr); err != nil {
		return err
	}
	to, err := os.Create(filepath.Join(folder, packName))
	if err != nil {
		return err
	}
	return errors.Join(pack(to, built, names()), to.Close())
}

// programs returns a temporary folder with the programs, which done removes: from the pack beside this program if there is one,
// else newly built.
func programs(ctx context.Context, stderr io.Writer) (folder string, done func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	if folder, err = os.MkdirTemp("", "evorl-compare-"); err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(folder) }
	beside := filepath.Join(filepath.Dir(self), packName)
	switch err = unpackFile(beside, folder); {
	case errors.Is(err, fs.ErrNotExist):
		err = build(ctx, folder, stderr)
	case err != nil:
		err = fmt.Errorf("%s: %w", beside, err)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return folder, done, nil
}
