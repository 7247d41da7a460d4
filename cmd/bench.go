package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/bench"
	"github.com/evorl/evorl/vk"
)

// benchFlags are the flags of evorl bench.
type benchFlags struct {
	suite, device, only, out string
	seconds                  float64
	repetitions              int
	budget                   time.Duration
	json, profile            bool
}

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure how fast it computes",
		Long: paragraphs(
			"Measure the cases of a suite on a device, or on all of them, each beside the limit that the device sets to it: its peak of "+
				"products and sums, measured in the same run, divided by the operations that the networks take.",
			"--out writes the figures with device, driver, host, repetitions and their spread, for evorl bench compare, whose --markdown writes "+
				"tables to paste; it warns where other programs kept the machine busy. --suite score ends with one line to be shared.",
			"Suites:",
		) + suitesText(),
		Example: "  evorl bench --suite core\n  evorl bench --suite core --device all --out result.json\n  evorl bench compare a.json b.json\n" +
			"  evorl bench --only 'ppo/*' --seconds 5\n  evorl bench --suite ec --only openes/16x16/p2048 --profile\n  evorl bench --suite physics --budget 50s",
		Args: between(0, 0, "want no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			suite, o, err := f.options(cmd)
			if err != nil {
				return err
			}
			devices, err := f.devices()
			if err != nil {
				return err
			}
			var results []*bench.Result
			for _, d := range devices {
				r, err := f.measure(cmd, suite, d, o)
				if err != nil {
					return cause(cmd.Context(), err)
				}
				results = append(results, r)
			}
			if f.out == "" {
				return nil
			}
			return bench.WriteFile(f.out, results)
		},
	}
	cmd.Flags().StringVar(&f.suite, "suite", "core", "measure suite `NAME`: "+strings.Join(suiteNames(), ", "))
	cmd.Flags().StringVar(&f.device, "device", "", "device `N|NAME|all` (default $EVORL_DEVICE, else the first GPU, else the software driver)")
	cmd.Flags().StringVar(&f.only, "only", "", "only the cases that match `PATTERN` or begin with it, such as ppo/* or cartpole; several with commas "+
		"between them; on a software driver a case for GPUs needs its whole name")
	cmd.Flags().Float64Var(&f.seconds, "seconds", 2, "measure each case for `S` seconds")
	cmd.Flags().IntVar(&f.repetitions, "repetitions", 0, "measure the suite `N` times and report medians (default 1, with --out 5, of suite score 3)")
	cmd.Flags().DurationVar(&f.budget, "budget", 0, "measure the most important cases for `TIME`, such as 50s, on each device (default all cases)")
	cmd.Flags().BoolVar(&f.profile, "profile", false, "tell what each kernel of a case takes of the device's time")
	cmd.Flags().StringVar(&f.out, "out", "", "write the results to `FILE`, as JSON")
	writes(cmd, "out")
	cmd.Flags().BoolVar(&f.json, "json", false, "one line of JSON for each measurement")
	complete(cmd, "suite", suiteNames()...)
	completeBy(cmd, "only", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return caseNames(f.suite), noFiles
	})
	cmd.AddCommand(newBenchCompare())
	return cmd
}

// maxRepetitions keeps a typing error from measuring for days.
const maxRepetitions = 1000

// options checks the flags.
func (f *benchFlags) options(cmd *cobra.Command) (bench.Suite, bench.Options, error) {
	fail := func(format string, args ...any) (bench.Suite, bench.Options, error) {
		return bench.Suite{}, bench.Options{}, usagef(format, args...)
	}
	suite, ok := bench.Lookup(f.suite)
	if !ok {
		return fail("--suite %q: want one of %s", f.suite, strings.Join(suiteNames(), ", "))
	}
	if !(f.seconds > 0 && f.seconds <= 3600) {
		return fail("--seconds %g: want more than 0 and at most 3600", f.seconds)
	}
	if cmd.Flags().Changed("budget") && f.budget <= 0 {
		return fail("--budget %v: want more than 0, such as 50s", f.budget)
	}
	switch changed := cmd.Flags().Changed("repetitions"); {
	case changed && (f.repetitions < 1 || f.repetitions > maxRepetitions):
		return fail("--repetitions %d: want 1 to %d", f.repetitions, maxRepetitions)
	case changed && f.repetitions > 1 && f.budget > 0:
		return fail("--repetitions %d with --budget: want one repetition, or no budget", f.repetitions)
	case changed:
	case f.budget > 0:
		f.repetitions = 1
	case f.suite == "score":
		f.repetitions = 3
	case f.out != "":
		f.repetitions = 5
	}
	if folder := filepath.Dir(f.out); f.out != "" && (!isFolder(folder) || isFolder(f.out)) { // before minutes of measuring
		return fail("--out %s: want a file in a folder that exists", f.out)
	}
	match, err := bench.Matching(f.only)
	if err != nil {
		return fail("--only %v", err)
	}
	if !slices.ContainsFunc(suite.Cases(), match) {
		return fail("--only %q: suite %s has no such case: %s", f.only, suite.Name, elsewhere(suite, match))
	}
	return suite, bench.Options{
		Time: time.Duration(f.seconds * float64(time.Second)), Budget: f.budget, Profile: f.profile, Match: match, Named: bench.Named(f.only),
		Repetitions: f.repetitions,
	}, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// devices returns the devices that --device names.
func (f *benchFlags) devices() (devices []string, err error) {
	if f.device != "all" {
		return []string{f.device}, nil
	}
	found, err := vk.Devices()
	for _, d := range found {
		devices = append(devices, strconv.Itoa(d.Index))
	}
	return devices, err
}

// measure measures a device, and prints each measurement as it is made.
func (f *benchFlags) measure(cmd *cobra.Command, suite bench.Suite, device string, o bench.Options) (*bench.Result, error) {
	dev, err := openDevice(device)
	if err != nil {
		return nil, err
	}
	r, err := f.measureOn(cmd, suite, dev, o)
	return r, closing(cmd.ErrOrStderr(), err, dev.Close)
}

func (f *benchFlags) measureOn(cmd *cobra.Command, suite bench.Suite, dev *vk.Device, o bench.Options) (*bench.Result, error) {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if !f.json {
		fmt.Fprintln(out, dev.Info().Name)
	}
	var left, unfit []string
	o.Left = func(c bench.Case) { left = append(left, c.Name) }
	if f.only != "" {
		o.Unfit = func(c bench.Case) { unfit = append(unfit, c.Name) }
	}
	begun := 0
	o.Began = func(_ bench.Case, repetition int) {
		if repetition == begun && o.Repetitions > 1 {
			begun++
			fmt.Fprintf(notes, "  repetition %d of %d\n", begun, o.Repetitions)
		}
	}
	r, err := suite.Measure(cmd.Context(), dev, o, func(m bench.Measurement) error {
		if f.json {
			return json.NewEncoder(out).Encode(m)
		}
		_, err := fmt.Fprintln(out, measurementText(m))
		return err
	})
	if err != nil {
		return nil, err
	}
	if left != nil {
		fmt.Fprintf(notes, "  no time was left for %d of the cases: %s\n", len(left), strings.Join(left, ", "))
	}
	if unfit != nil {
		fmt.Fprintf(notes, "  left out on a software driver, where they take minutes; --only measures one by its whole name: %s\n", strings.Join(unfit, ", "))
	}
	for _, w := range r.Warnings {
		warn(notes, "%s", w)
	}
	if score, err := r.Score(); err == nil && !f.json {
		_, err = fmt.Fprintf(out, "score %s env steps/s: %s\n", bench.Figure(score), r.Title())
		return r, err
	}
	return r, nil
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

// caseNames returns the cases of a suite with their descriptions.
func caseNames(suite string) (names []cobra.Completion) {
	for _, s := range bench.Suites() {
		if s.Name != suite {
			continue
		}
		for _, c := range s.Cases() {
			names = append(names, cobra.CompletionWithDesc(c.Name, c.Summary))
		}
	}
	return names
}

// measurementText formats a measurement as one line, and its kernels as one line each.
func measurementText(m bench.Measurement) string {
	text := fmt.Sprintf("  %-24s %12s %-12s", m.Case, bench.Figure(m.Value), m.Unit)
	if len(m.Samples) > 1 {
		text += fmt.Sprintf(" %s to %s", bench.Figure(m.Min), bench.Figure(m.Max))
	}
	if m.Limit != nil {
		text += fmt.Sprintf(" %5.1f%% of %s", 100**m.Fraction, bench.Figure(*m.Limit))
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

// elsewhere tells which suites have cases that match or, if none has, what a suite's cases are, those with the same beginning once.
func elsewhere(suite bench.Suite, match func(bench.Case) bool) string {
	var has []string
	for _, other := range bench.Suites() {
		if slices.ContainsFunc(other.Cases(), match) {
			has = append(has, "--suite "+other.Name)
		}
	}
	if len(has) > 0 {
		return "want " + strings.Join(has, " or ")
	}
	var names []string
	for _, c := range suite.Cases() {
		name, _, more := strings.Cut(c.Name, "/")
		if more {
			name += "/*"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "there are " + strings.Join(names, ", ")
}
