// Command compare measures evorl and its peers on one device and writes a table: evorl's tests and benchmarks on the device, then the
// same work by the peers in tools/peers: PPO and OpenES in JAX, MJX, and MuJoCo's own rollout.
//
//	go run ./tools/compare                          on the first GPU, at most nine minutes
//	go run ./tools/compare -quick                   small sizes, a few minutes
//	go run ./tools/compare -only 'mjx' -minutes 20  only matching parts, added to the results in the folder
//
// Run it in the root of the repository. The peers need a Python that has them (-python, tools/peers/requirements-mjx.txt). Missing or
// failing parts are reported, and the rest continues. On a machine without Go, use programs built elsewhere (-tests=false makes them smaller):
//
//	go run ./tools/compare -build bin/compare       on a machine with Go
//	bin/compare/compare                             on the other machine, in the root of a copy of the repository
//
// The folder -out receives report.md, rewritten after each part, with a section for each device and driver; results.jsonl, every figure with
// its origin; and log.txt, the programs' output. What matters most is printed after the tests, after the first comparison of each
// kind, and at the end, also of a run that Ctrl-C or SIGTERM stops.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signals()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// signals returns a context that ends when the process is told to end.
func signals() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// options are the values of the flags.
type options struct {
	device, out, python, build string
	minutes                    float64
	quick, tests               bool
	only                       *regexp.Regexp
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.device, "device", os.Getenv("EVORL_DEVICE"),
		"`N|NAME` of evorl devices (default $EVORL_DEVICE, else the first GPU, else the software driver)")
	flags.StringVar(&o.out, "out", "comparison", "`FOLDER` for the results; those that are there stay")
	flags.StringVar(&o.python, "python", "python3", "Python `PROGRAM` that has the peers")
	flags.StringVar(&o.build, "build", "", "build the programs into `FOLDER` and measure nothing")
	flags.Float64Var(&o.minutes, "minutes", 9, "take at most `M` minutes; parts that find no time are left out")
	flags.BoolVar(&o.quick, "quick", false, "small sizes, a few minutes")
	flags.BoolVar(&o.tests, "tests", true, "also evorl's tests; -tests=false with -build leaves their programs out")
	flags.StringVar(&only, "only", "", "only the parts whose names match `REGEXP`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || !(o.minutes > 0) {
		return o, fmt.Errorf("want no arguments besides flags, and more than 0 minutes")
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	return o, nil
}

// selected returns the parts that match -only.
func (o options) selected(bin string, on device) []part {
	return slices.DeleteFunc(parts(o, bin, on), func(p part) bool { return !o.only.MatchString(p.name) })
}

// checkOnly returns an error that lists the parts if -only matches none.
func (o options) checkOnly() error {
	if len(o.selected("", device{})) > 0 {
		return nil
	}
	var names []string
	for _, p := range parts(o, "", device{}) {
		names = append(names, p.name)
	}
	return fmt.Errorf("-only %q matches no part; there are: %s", o.only, strings.Join(names, ", "))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if _, err := os.Stat("tools/peers"); err != nil {
		return fmt.Errorf("run it in the root of evorl's repository: %w", err)
	}
	if o.build != "" {
		return buildPacked(ctx, o.build, o.tests, stderr)
	}
	if err := o.checkOnly(); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
	bin, done, err := programs(ctx, o.tests, stderr)
	if err != nil {
		return err
	}
	defer done()
	chosen, err := findDevice(ctx, []string{filepath.Join(bin, measureName), "device", o.device}, findTime)
	if err != nil {
		return err
	}
	r, err := openResults(o.out)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.add(record{Machine: describe(chosen)}); err != nil {
		return err
	}
	if err := r.measure(ctx, o.selected(bin, chosen), deadline, o.out, stdout, stderr); err != nil {
		return err
	}
	return ctx.Err()
}

// stage tells parts apart after which there is something new to say: tests, what must start, and the rest.
func (p part) stage() string {
	switch {
	case p.kind == testKind:
		return "tests"
	case p.first:
		return "first"
	}
	return "rest"
}

// measure runs parts, writes the page after each, and prints it at the end, and what matters most after each stage.
func (r *results) measure(ctx context.Context, all []part, deadline time.Time, folder string, stdout, stderr io.Writer) error {
	times := newTimes(all, deadline)
	for i, p := range all {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(stderr, "%-24s ", p.name)
		out := p.run(ctx, times.limit(all[i:], time.Now()), r)
		fmt.Fprintf(stderr, "%5.1f s  %s\n", out.Seconds, out.Said)
		if err := r.add(record{Part: p.name, Outcome: &out}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "report.md"), []byte(report(r.records)), 0o644); err != nil {
			return err
		}
		if i+1 < len(all) && p.stage() != all[i+1].stage() {
			if _, err := io.WriteString(stdout, brief(r.records)); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(stdout, report(r.records)+brief(r.records))
	return err
}
