// Command pipelines compiles the pipelines that configurations choose on GPUs, without the hardware: the real compilers of Mesa's RADV (null devices,
// RADV_FORCE_FAMILY) and ANV (over tools/mesa.sh's shim) report registers and spills, though nothing can run.
//
//	go run ./tools/pipelines                    all configurations of configs, networks of [32, 32] to [512, 512] in every kind of learning,
//	                                            and all other kernels with their default constants
//	go run ./tools/pipelines -sample            a part of them, as make test does, compared with tools/pipelines/table.txt
//	go run ./tools/pipelines -sample -write     the same, and renews the table by it
//	go run ./tools/pipelines FILE.toml …        these configurations
//	go run ./tools/pipelines -targets gfx1100/32 -kernel rl/ -v   kernels with this in their names, of the configurations that can use them
//
// Each configuration is built on a device that imitates the target (vk.Imitate), so that the forms are those that it would choose there. The exit status
// is 1 if a pipeline does not compile, if one spills more than a few registers without excuse (result.excused), or if a kernel of the
// sample takes clearly more than the table says. A driver may abort its process, so pipelines are compiled in child processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
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

// tableFile is the table's path in the repository's root.
const tableFile = "tools/pipelines/table.txt"

// run is main with its exit status: 0 success, 1 errors, 2 usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pipelines", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("targets", defaultTargets, "family/width, …: RADV's names of GPU families, or tgl for ANV, each with a subgroup size")
	parallel := flags.Int("parallel", 2, "child processes at once")
	kernel := flags.String("kernel", "", "only kernels whose name contains this")
	verbose := flags.Bool("v", false, "a line for every pipeline when it is compiled")
	part := flags.Bool("sample", false, "only what make test compiles, compared with "+tableFile)
	write := flags.Bool("write", false, "with -sample: write the targets' columns of "+tableFile)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	o := options{kernel: *kernel, parallel: *parallel, done: func(r result) {
		if *verbose {
			fmt.Fprintln(stdout, r)
		}
	}}
	for _, file := range flags.Args() {
		o.choices = append(o.choices, choice{file: file})
	}
	if *part {
		o.choices = append(o.choices, sample("configs")...)
	}
	if *parallel < 1 || *part && (flags.NArg() > 0 || *kernel != "") || *write && !*part {
		fmt.Fprintln(stderr, "pipelines: -parallel is at least 1, -sample takes no files and all kernels, and -write the sample")
		return 2
	}
	targets, err := parseTargets(*names)
	if err == nil && o.choices == nil {
		o.tree = true
		o.choices, err = shipped("configs")
		o.choices = append(o.choices, grid("configs")...)
	}
	if err != nil {
		fmt.Fprintln(stderr, "pipelines:", err)
		return 2
	}
	results, err := compileChoices(ctx, targets, o)
	if err != nil {
		fmt.Fprintln(stderr, "pipelines:", err)
		return 1
	}
	made := tableOf(targets, results)
	fmt.Fprint(stdout, made)
	err = faults(results)
	if *part {
		err = errors.Join(err, made.check(*write))
	}
	if err != nil {
		fmt.Fprintln(stderr, "pipelines:", err)
		return 1
	}
	return 0
}

// check compares a table of the sample with the committed one, or renews its columns.
func (t table) check(write bool) error {
	raw, err := os.ReadFile(tableFile)
	if err != nil && !(write && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	committed, err := parseTable(string(raw))
	switch {
	case write && raw == nil:
		return os.WriteFile(tableFile, []byte(t.String()), 0o644)
	case err != nil:
		return err
	case write:
		return os.WriteFile(tableFile, []byte(committed.with(t).String()), 0o644)
	}
	return t.compare(committed)
}

type options struct {
	choices  []choice
	kernel   string
	parallel int
	done     func(result) // is told of each pipeline
	tree     bool         // also the kernels that the configurations do not choose
}

// compileChoices compiles the pipelines that the configurations choose on each target.
func compileChoices(ctx context.Context, targets []target, o options) ([]result, error) {
	of, err := newFilter(o.kernel)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, t := range targets {
		info, err := t.info(ctx)
		if err != nil {
			return nil, err
		}
		here := slices.DeleteFunc(slices.Clone(o.choices), func(c choice) bool { return c.only != "" && c.only != t.String() })
		all, err := chosen(ctx, info, here, of)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		if o.tree {
			rest, err := unchosen(all, info, of)
			if err != nil {
				return nil, err
			}
			all = append(all, rest...)
		}
		if o.kernel == "" {
			all = onceOnly(all, t)
		}
		done, err := compileAll(ctx, all, t, o.parallel, o.done)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		results = append(results, done...)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no configuration chooses a kernel whose name contains %q", o.kernel)
	}
	return results, nil
}

// onceOnly leaves of the largest robot's kernels, which take minutes each to compile, one configuration's on one target, unless they are asked for by name.
func onceOnly(all []pipeline, t target) []pipeline {
	const robot, target = "Humanoid", "navi21/64"
	var of string
	return slices.DeleteFunc(all, func(p pipeline) bool {
		if !strings.Contains(p.Shader.Name, robot) {
			return false
		}
		if of == "" {
			of = p.of.String()
		}
		return t.String() != target || p.of.String() != of
	})
}

// fewSpills is the most registers that a kernel without excuse may spill.
const fewSpills = 12

// faults returns an error that lists the failed pipelines, or nil.
func faults(results []result) error {
	var all []string
	for _, r := range results {
		switch {
		case r.Error != "":
			all = append(all, fmt.Sprintf("%v: %v of %v does not compile: %s", r.target, r.pipeline, r.of, r.Error))
		case r.Stats.Spills > fewSpills && !r.excused():
			all = append(all, fmt.Sprintf("%v: %v of %v spills %d registers", r.target, r.pipeline, r.of, r.Stats.Spills))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d pipelines fail:\n%s", len(all), len(results), strings.Join(all, "\n"))
}
