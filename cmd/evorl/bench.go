package main

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/bench"
	"github.com/evorl/evorl/vk"
)

func newBench() *cobra.Command {
	var name, device, only string
	var seconds float64
	var budget time.Duration
	var asJSON, profile bool
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure how fast it computes",
		Long: paragraphs(
			"Measure the cases of a suite on a device, or on all of them, each beside the limit that the device sets to it: its peak of "+
				"products and sums, measured in the same run, divided by the operations that the networks take.",
			"Suites:",
		) + suitesText(),
		Example: "  evorl bench --suite core\n  evorl bench --suite core --device all --json\n  evorl bench --only 'ppo/*' --seconds 5\n" +
			"  evorl bench --suite ec --only openes/16x16/p2048 --profile\n  evorl bench --suite physics --budget 50s",
		Args: between(0, 0, "want no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			suite, ok := bench.Lookup(name)
			if !ok {
				return usagef("--suite %q: want one of %s", name, strings.Join(suiteNames(), ", "))
			}
			if !(seconds > 0 && seconds <= 3600) {
				return usagef("--seconds %g: want more than 0 and at most 3600", seconds)
			}
			if cmd.Flags().Changed("budget") && budget <= 0 {
				return usagef("--budget %v: want more than 0, such as 50s", budget)
			}
			o := bench.Options{Time: time.Duration(seconds * float64(time.Second)), Budget: budget, Profile: profile, Match: func(c bench.Case) bool {
				return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(pattern string) bool {
					ok, _ := path.Match(pattern, c.Name)
					return ok || strings.HasPrefix(c.Name, pattern)
				})
			}}
			for pattern := range strings.SplitSeq(only, ",") {
				if _, err := path.Match(pattern, ""); err != nil || only != "" && pattern == "" {
					return usagef("--only %q: want patterns with commas between them, such as ppo/*,cartpole", only)
				}
			}
			if !slices.ContainsFunc(suite.Cases(), o.Match) {
				var cases []string
				for _, c := range suite.Cases() {
					cases = append(cases, c.Name)
				}
				return usagef("--only %q: suite %s has no such case; there are: %s", only, suite.Name, strings.Join(cases, ", "))
			}
			devices := []string{device}
			if device == "all" {
				found, err := vk.Devices()
				if err != nil {
					return err
				}
				devices = nil
				for _, d := range found {
					devices = append(devices, strconv.Itoa(d.Index))
				}
			}
			report := func(m bench.Measurement) error {
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(m)
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), measurementText(m))
				return err
			}
			var left []string
			o.Left = func(c bench.Case) { left = append(left, c.Name) }
			for _, d := range devices {
				left = nil
				dev, err := openDevice(d)
				if err != nil {
					return err
				}
				if !asJSON {
					fmt.Fprintln(cmd.OutOrStdout(), dev.Info().Name)
				}
				err = suite.Run(cmd.Context(), dev, o, report)
				if e := dev.Close(); err == nil {
					err = e
				}
				if err != nil {
					return cause(cmd.Context(), err)
				}
				if left != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "  no time was left for %d of the cases: %s\n", len(left), strings.Join(left, ", "))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "suite", "core", "measure suite `NAME`: "+strings.Join(suiteNames(), ", "))
	cmd.Flags().StringVar(&device, "device", "", "device `N|NAME|all` (default $EVORL_DEVICE, else the first GPU, else the software driver)")
	cmd.Flags().StringVar(&only, "only", "", "only the cases that match `PATTERN` or begin with it, such as ppo/* or cartpole; several with commas between them")
	cmd.Flags().Float64Var(&seconds, "seconds", 2, "measure each case for `S` seconds")
	cmd.Flags().DurationVar(&budget, "budget", 0, "measure the most important cases for `TIME`, such as 50s, on each device (default all cases)")
	cmd.Flags().BoolVar(&profile, "profile", false, "tell what each kernel of a case takes of the device's time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON for each measurement")
	return cmd
}

func suitesText() (text string) {
	for _, s := range bench.Suites() {
		text += fmt.Sprintf("\n  %-9s %s", s.Name, s.Summary)
	}
	return text
}

func suiteNames() (names []string) {
	for _, s := range bench.Suites() {
		names = append(names, s.Name)
	}
	return names
}

func measurementText(m bench.Measurement) string {
	text := fmt.Sprintf("  %-24s %12s %-12s", m.Case, figureText(m.Value), m.Unit)
	if m.Limit != nil {
		text += fmt.Sprintf(" %5.1f%% of %s", 100**m.Fraction, figureText(*m.Limit))
	}
	text = strings.TrimRight(text, " ")
	all := 0.0
	for _, k := range m.Kernels {
		all += k.Seconds
	}
	for _, k := range m.Kernels {
		text += fmt.Sprintf("\n    %-36s %5d × %9.1f µs %5.1f%%", k.Label, k.Calls, 1e6*k.Seconds/float64(k.Calls), 100*k.Seconds/all)
	}
	return text
}

// figureText writes a figure with three or four digits and, where it is large, a unit of thousands.
func figureText(x float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if x >= u.size {
			unit := u.size
			if u.name == "k" {
				unit = 1e3
			}
			return strconv.FormatFloat(x/unit, 'f', 2, 64) + u.name
		}
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
