// Command pipelines compiles every pipeline of the repository for AMD GPUs without the hardware. Mesa's RADV provides null devices
// (RADV_FORCE_FAMILY), which cannot run anything but compile as real ones do and report registers and spills.
//
//	go run ./tools/pipelines                    every kernel with its defaults, and the hot kernels for [64, 64] networks
//	go run ./tools/pipelines -log DIR           also the pipelines logged with EVORL_PIPELINE_LOG=DIR (see vk.PipelineLog)
//	go run ./tools/pipelines -targets gfx1100/32 -kernel rl/ -v
//
// It prints a table and exits with 1 if a pipeline does not compile or a hot kernel spills. A driver may abort its process at
// operations that it does not support, so pipelines are compiled in child processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/evorl/evorl/vk"
)

func main() {
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its exit status: 0 success, 1 errors, 2 usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pipelines", flag.ContinueOnError)
	flags.SetOutput(stderr)
	log := flags.String("log", "", "a folder that vk.PipelineLog wrote: compile its pipelines too")
	names := flags.String("targets", defaultTargets, "family/width, …: RADV's names of GPU families, each with a subgroup size")
	icd := flags.String("icd", "", "RADV's manifest (default: radeon_icd*.json in the loader's folders)")
	parallel := flags.Int("parallel", 2, "child processes at once")
	kernel := flags.String("kernel", "", "only kernels whose name contains this")
	verbose := flags.Bool("v", false, "a line for every pipeline, not only the heaviest of each kernel")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || *parallel < 1 {
		fmt.Fprintln(stderr, "pipelines: no arguments are taken, and -parallel is at least 1")
		return 2
	}
	targets, err := parseTargets(*names)
	if err != nil {
		fmt.Fprintln(stderr, "pipelines:", err)
		return 2
	}
	if err := checkAll(ctx, stdout, targets, options{log: *log, icd: *icd, parallel: *parallel, kernel: *kernel, verbose: *verbose}); err != nil {
		fmt.Fprintln(stderr, "pipelines:", err)
		return 1
	}
	return 0
}

type options struct {
	log, icd, kernel string
	parallel         int
	verbose          bool
	once             string // kernels whose name contains it are compiled only for the last target; "": none
}

// checkAll compiles all pipelines for all targets, prints the table, and returns an error that lists the failures.
func checkAll(ctx context.Context, stdout io.Writer, targets []target, o options) error {
	all, err := treePipelines()
	if err != nil {
		return err
	}
	if o.log != "" {
		logged, err := vk.ReadPipelineLog(o.log)
		if err != nil {
			return err
		}
		if len(logged) == 0 {
			return fmt.Errorf("no pipelines are logged in %s", o.log)
		}
		for _, l := range logged {
			all = append(all, loggedPipeline(l))
		}
	}
	if o.icd == "" {
		if o.icd, err = findICD(); err != nil {
			return err
		}
	}
	var results []result
	for i, t := range targets {
		on := pipelinesOn(all, t, o.kernel)
		if o.once != "" && i < len(targets)-1 {
			on = slices.DeleteFunc(on, func(p pipeline) bool { return strings.Contains(p.Shader.Name, o.once) })
		}
		if len(on) == 0 {
			return fmt.Errorf("no kernel's name contains %q", o.kernel)
		}
		done, err := compileAll(ctx, on, t, o.icd, o.parallel)
		if err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
		results = append(results, done...)
	}
	printTable(stdout, results, o.verbose)
	return faults(results)
}

// faults returns an error that lists the failed pipelines, or nil.
func faults(results []result) error {
	var all []string
	for _, r := range results {
		switch {
		case r.Error != "":
			all = append(all, fmt.Sprintf("%v: %v does not compile: %s", r.target, r.pipeline, r.Error))
		case r.hot && (r.Stats.Spills != 0 || r.Stats.ScratchBytes != 0):
			all = append(all, fmt.Sprintf("%v: hot kernel %v spills %d registers, with %d bytes of scratch memory",
				r.target, r.pipeline, r.Stats.Spills, r.Stats.ScratchBytes))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d pipelines fail:\n%s", len(all), len(results), strings.Join(all, "\n"))
}
