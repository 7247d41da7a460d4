// Command validate runs tests under the Khronos validation layer and fails packages for which the layer reports messages.
//
//	go run ./tools/validate ./...                        core and synchronization validation
//	go run ./tools/validate -gpu ./engine/... ./rl       GPU-assisted validation: kernels that access memory beyond the end of a buffer
//	go run ./tools/validate -- -run Rollout -v ./envs    flags after -- are go test's
//
// It runs go test -exec with itself as the program that runs each package's test binary, so a message fails its package. The
// layer's log goes through a named pipe, since every process that a test starts would truncate a log file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

const layer = "VK_LAYER_KHRONOS_validation"

// wrapperEnv makes the program the wrapper with which go test runs test binaries. Its value is the mode of validation.
const wrapperEnv = "EVORL_VALIDATE_TESTS"

// The modes.
const (
	modeSync = "sync"
	modeGPU  = "gpu"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var code int
	if mode := os.Getenv(wrapperEnv); mode != "" {
		code = wrap(ctx, mode, os.Args[1:], os.Stdout, os.Stderr)
	} else {
		code = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// run is main with its exit status: go test's, or 2 for usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("validate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	gpu := flags.Bool("gpu", false, "GPU-assisted validation instead of synchronization validation")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, "validate: no packages given; ./... are all")
		return 2
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(stderr, "validate:", err)
		return 1
	}
	mode := modeSync
	if *gpu {
		mode = modeGPU
	}
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-exec", self}, flags.Args()...)...)
	test.Env = append(os.Environ(), wrapperEnv+"="+mode)
	test.Stdin, test.Stdout, test.Stderr = os.Stdin, stdout, stderr
	return exitStatus(test.Run(), stderr)
}

// exitStatus returns the exit status of a command that was run.
func exitStatus(err error, stderr io.Writer) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(stderr, "validate:", err)
	return 1
}
