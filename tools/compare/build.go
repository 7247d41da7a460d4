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
	"slices"
	"strings"
	"time"
)

// tested lists the packages whose tests run on the device, and the tests: those that compare kernels with float64 or recorded references.
var tested = []testedPackage{
	{pkg: "engine", run: "Math|Mean|Gather|Rank|Permute|RandomKernel|Metrics"},
	{pkg: "engine/nn", run: "Gemm|Network|Normalizer|Group"},
	{pkg: "engine/optim", run: "Optimizers"},
	{pkg: "envs", run: "OneStep|FreeRunning|Placements$|PlacementsAgree|RolloutNetworks|RolloutReplays|Sampling|Mode|Slices|RobotDiverges"},
	{pkg: "ec", run: "Noise$|Ranking|Shaping$|Updates|Eigen$|SortLikePymoo|Objectives|Memory"},
	{pkg: "rl", run: "GAE|Gradient|Update|Fused|Step$"},
	{pkg: "hybrid", run: "Exchange|Choosing|Fitness"},
	{pkg: "envs", run: "RobotStep", limit: time.Minute}, // every robot's kernels, which take the longest to compile
}

type testedPackage struct {
	pkg, run string
	limit    time.Duration // of tests that are a part of their own; 0: they share the tests' time
}

// testName returns the file name of a package's test binary.
func testName(pkg string) string { return strings.ReplaceAll(pkg, "/", "-") + ".test" }

// measureName is the program that measures evorl: its suites without the rest of evorl, which is four times as large.
const measureName = "measure"

// names returns the file names of the programs that are run.
func names(tests bool) []string {
	all := []string{measureName}
	for _, t := range tested {
		if name := testName(t.pkg); tests && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// build compiles the programs into a folder, without symbols to keep them small.
func build(ctx context.Context, folder string, tests bool, stderr io.Writer) error {
	for _, name := range names(tests) {
		args := []string{"build", "./tools/compare/measure"}
		if i := slices.IndexFunc(tested, func(t testedPackage) bool { return testName(t.pkg) == name }); i >= 0 {
			args = []string{"test", "-c", "./" + tested[i].pkg}
		}
		if err := compile(ctx, folder, name, stderr, args...); err != nil {
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

// buildPacked makes a folder for a machine without Go: this program, and the others packed. It says how much travels to that machine.
func buildPacked(ctx context.Context, folder string, tests bool, stderr io.Writer) (err error) {
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
	if err := build(ctx, built, tests, stderr); err != nil {
		return err
	}
	has, err := readSeed(kernels)
	if err != nil {
		return err
	}
	to, err := os.Create(filepath.Join(folder, packName))
	if err != nil {
		return err
	}
	if err := errors.Join(pack(to, built, names(tests), has), to.Close()); err != nil {
		return err
	}
	return sayTravels(ctx, folder, stderr)
}

// sayTravels says how large the repository and the folder of programs are, which travel together.
func sayTravels(ctx context.Context, folder string, stderr io.Writer) error {
	listed, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	size := func(names []string) (mebibytes float64) {
		for _, name := range names {
			if info, err := os.Lstat(name); err == nil { // else it was deleted and is not committed yet
				mebibytes += float64(info.Size()) / (1 << 20)
			}
		}
		return mebibytes
	}
	repository := size(strings.Split(string(listed), "\x00"))
	programs := size([]string{filepath.Join(folder, "compare"), filepath.Join(folder, packName)})
	_, err = fmt.Fprintf(stderr, "the repository has %.1f MiB, %s %.1f MiB, both together %.1f MiB\n", repository, folder, programs, repository+programs)
	return err
}

// complete returns an error if a pack lacks programs.
func complete(folder, pack string, tests bool) error {
	for _, name := range names(tests) {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("%s has no %s: it was built with -tests=false; want -tests=false here too, or a pack that was built without it", pack, name)
		}
	}
	return nil
}

// programs returns a temporary folder with the programs, which done removes: from the pack beside this program if there is one,
// else newly built.
func programs(ctx context.Context, tests bool, stderr io.Writer) (folder string, done func(), err error) {
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
		err = build(ctx, folder, tests, stderr)
	case err != nil:
		err = fmt.Errorf("%s: %w", beside, err)
	default:
		err = complete(folder, beside, tests)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return folder, done, nil
}
