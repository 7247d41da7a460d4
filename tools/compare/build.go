package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tested lists the packages whose tests run on the device, and the tests: those that compare kernels with float64 or recorded references.
var tested = []struct{ pkg, run string }{
	{"engine", "Math|Mean|Gather|Rank|Reduce|Permute|RandomKernel|Metrics"},
	{"engine/nn", "Gemm|Network|Normalizer|Group"},
	{"engine/optim", "Optimizers"},
	{"envs", "OneStep|RobotStep|FreeRunning|Placements$|PlacementsAgree|RolloutNetworks|RolloutReplays|Sampling|Mode|Slices|RobotDiverges"},
	{"ec", "Noise$|Ranking|Shaping$|Updates|Eigen$|SortLikePymoo|Objectives|Memory"},
	{"rl", "GAE|Gradient|Update|Fused|Step$"},
	{"hybrid", "Exchange|Choosing|Fitness"},
}

// testName returns the file name of a package's test binary.
func testName(pkg string) string { return strings.ReplaceAll(pkg, "/", "-") + ".test" }

// build compiles the programs for the device's machine into a folder, without symbols to keep them small.
func build(ctx context.Context, folder string, stderr io.Writer) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	flags := []string{"-trimpath", "-ldflags=-s -w", "-o"}
	steps := [][]string{
		append(append([]string{"build"}, flags...), filepath.Join(folder, "evorl"), "./cmd/evorl"),
		append(append([]string{"build"}, flags...), filepath.Join(folder, "compare"), "./tools/compare"),
	}
	for _, t := range tested {
		steps = append(steps, append(append([]string{"test", "-c"}, flags...), filepath.Join(folder, testName(t.pkg)), "./"+t.pkg))
	}
	for _, args := range steps {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Stdout, cmd.Stderr = stderr, stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// programs returns the folder of the built programs: the folder of this program if they are there too, else a temporary one, which
// done removes.
func programs(ctx context.Context, stderr io.Writer) (folder string, done func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(self), "evorl")); err == nil {
		return filepath.Dir(self), func() {}, nil
	}
	if folder, err = os.MkdirTemp("", "evorl-compare-"); err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(folder) }
	if err := build(ctx, folder, stderr); err != nil {
		done()
		return "", nil, err
	}
	return folder, done, nil
}
