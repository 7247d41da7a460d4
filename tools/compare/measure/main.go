// Command measure is what tools/compare runs to measure evorl: the suites of evorl bench, without the rest of evorl, so that it is small.
//
//	measure device N|NAME   opens the device, or the default one of "", and describes it as JSON
//	measure bench [flags]   measures cases of a suite, a line of JSON each, on the device EVORL_DEVICE or the default one
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/evorl/evorl/cmd/bench"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "device":
		return describe(args[1])
	case len(args) > 0 && args[0] == "bench":
		return measure(ctx, args[1:])
	}
	return fmt.Errorf("%q: want device N|NAME, or bench [flags]", args)
}

// suits returns why evorl does not run on a device, or "".
func suits(d vk.Info) string {
	if !d.Type.GPU() {
		return ""
	}
	missing, err := engine.Missing(d)
	if err != nil {
		return err.Error()
	}
	return strings.Join(missing, "; ")
}

// describe describes the device that is named by its index or part of its name; "": the one that evorl takes.
func describe(name string) error {
	opts := []vk.Option{vk.Suits(suits)}
	if n, err := strconv.Atoi(name); err == nil {
		opts = append(opts, vk.Index(n))
	} else if name != "" {
		opts = append(opts, vk.Name(name))
	}
	dev, err := vk.Open(opts...)
	if err != nil {
		return err
	}
	defer dev.Close()
	d := dev.Info()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"index": d.Index, "name": d.Name, "vendor": d.Vendor, "type": d.Type.String(), "driver": d.Driver, "api": d.API.String(), "evorl": rundir.Version(),
	})
}

func measure(ctx context.Context, args []string) error {
	var name, only string
	o := bench.Options{Profile: true}
	flags := flag.NewFlagSet("measure bench", flag.ContinueOnError)
	flags.StringVar(&name, "suite", "core", "measure suite `NAME`")
	flags.StringVar(&only, "only", "", "only the cases that match `PATTERN` or begin with it; several with commas between them")
	flags.DurationVar(&o.Time, "time", time.Second, "measure each case for `TIME`")
	flags.DurationVar(&o.Budget, "budget", 0, "measure the most important cases for `TIME`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	suite, ok := bench.Lookup(name)
	if !ok || flags.NArg() > 0 {
		return fmt.Errorf("suite %q, arguments %q: want a suite of evorl bench and no arguments", name, flags.Args())
	}
	var err error
	if o.Match, err = bench.Matching(only); err != nil {
		return fmt.Errorf("-only %w", err)
	}
	o.Left = func(c bench.Case) { fmt.Fprintf(os.Stderr, "no time was left for %s\n", c.Name) }
	dev, err := vk.Open(vk.Suits(suits))
	if err != nil {
		return err
	}
	defer dev.Close()
	to := json.NewEncoder(os.Stdout)
	return suite.Run(ctx, dev, o, func(m bench.Measurement) error { return to.Encode(m) })
}
