package cmd

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/progress"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/engine/scores"
	"github.com/evorl/evorl/vk"
)

// sweepFlags are the flags of evorl sweep, and those that it shares with evorl run --seeds.
type sweepFlags struct {
	known        *evorl.Catalog
	device, out  string
	resume, json bool
	loose        bool
	cluster      clusterFlags
	line         lineFlags
}

// resultsFile is the CSV table of a sweep.
const resultsFile = "results.csv"

func newSweep(known *evorl.Catalog) *cobra.Command {
	f := &sweepFlags{known: known}
	cmd := &cobra.Command{
		Use:   "sweep [flags] FILE.toml",
		Short: "Try settings of a configuration: grid, random, successive halving",
		Long: paragraphs(
			"Run a configuration with different settings, each in one or more seeds, and rank them. FILE.toml names the configuration, the keys and "+
				"their values:",
		) + sweepExample + paragraphs(
			"Trials that differ only in hyperparameters of members, such as ppo.learning_rate, are members of one run (batch = 1: they are not). Every run has a "+
				"run directory of its own in the folder of the sweep, so that evorl plot, compare and inspect show it. With method = \"halving\" all "+
				"trials begin with [halving] iterations, and the best of every eta go on for eta times as long.",
			"--device 0,1 or all runs as many runs side by side, one on each device, to the same results. With --cluster workers on other machines "+
				"take part: each does a run at a time, or all share every run if these have slices, as by set = [\"members.slice=8\"] of agents.",
			"--resume goes on after an interruption or a crash; runs that are done stay. The table is in results.csv, too.",
		),
		Example: "  evorl sweep learning-rates.toml\n  evorl sweep --device all --out runs/rates learning-rates.toml\n  evorl sweep --resume --out runs/rates",
		Args:    between(0, 1, "want one FILE.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(f.line.check(), f.cluster.check()); err != nil {
				return err
			}
			s, err := f.sweep(cmd.Context(), args, checking(cmd.ErrOrStderr(), f.line.quiet))
			if err != nil {
				return err
			}
			name := ""
			if f.out == "" {
				name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
			}
			return f.run(cmd, s, name)
		},
	}
	addSweepDevices(cmd, &f.device)
	cmd.Flags().BoolVar(&f.loose, "loose", false, "let different devices run the runs, whose results then depend on which device ran what")
	f.cluster.addRun(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "folder `DIR` of the sweep (default runs/FILE-N with the next N)")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "continue the sweep in --out, or else the newest of this FILE; begin it when there is none")
	f.line.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "end with one line of JSON on standard output: an array of trials, the best first")
	return cmd
}

// sweepExample is a file for evorl sweep.
const sweepExample = `

  config = "configs/ppo-cartpole.toml"
  method = "random"            # grid, random or halving
  trials = 20
  seeds = 3
  [keys."ppo.learning_rate"]
  prior = "log_uniform"
  low = 1e-4
  high = 1e-2
  [keys."ppo.epochs"]
  values = [2, 4, 8]           # other values, as --set takes them: choices = ["true", "false"]

`

// sweep reads the sweep.
func (f *sweepFlags) sweep(ctx context.Context, args []string, shown evorl.Option) (*evorl.Sweep, error) {
	switch {
	case len(args) == 1:
		s, err := evorl.ReadSweep(args[0], evorl.Use(f.known), evorl.Context(ctx), shown)
		var wrong *config.Error
		if err != nil && !errors.As(err, &wrong) {
			return nil, &configFileError{err}
		}
		return s, err
	case f.resume && f.out != "":
		return evorl.StoredSweep(f.out, evorl.Use(f.known), shown)
	case f.resume:
		return nil, usagef("want a FILE.toml, or --out with the folder of the sweep to resume")
	}
	return nil, usagef("want a FILE.toml; see evorl sweep --help for one")
}

// checking tells each second how many trials have been checked.
func checking(screen io.Writer, quiet bool) evorl.Option {
	told := time.Now()
	return evorl.Checking(func(done, all int) {
		if now := time.Now(); !quiet && now.Sub(told) >= time.Second {
			fmt.Fprintf(screen, "checked the configurations of %d of %d trials\n", done, all)
			told = now
		}
	})
}

// studyPath returns the folder of a new study of a name; with newest, that of the last existing one if there is any.
func studyPath(name string, newest bool) (string, error) {
	if newest {
		if path, err := rundir.NewestNumbered(runsFolder, name, evorl.SweepFile); path != "" || err != nil {
			return path, err
		}
	}
	return rundir.NewNumbered(runsFolder, name)
}

// run runs the remaining trials of a sweep and shows its table. Without --out its folder has a name with the next number.
func (f *sweepFlags) run(cmd *cobra.Command, s *evorl.Sweep, name string) error {
	if _, err := os.Stat(filepath.Join(f.out, evorl.SweepFile)); f.out != "" && err == nil && !f.resume {
		return usagef("--out %s has a sweep: want --resume, or another folder", f.out)
	}
	if f.cluster.address != "" {
		if err := s.CheckClustered(f.cluster.config()); err != nil {
			return usagef("--cluster %s: %v", f.cluster.address, err)
		}
	}
	if f.out == "" {
		var err error
		if f.out, err = studyPath(name, f.resume); err != nil {
			return err
		}
	}
	if err := s.CreateSweep(f.out); err != nil {
		return err
	}
	screen := cmd.ErrOrStderr()
	teller := f.line.newTeller(screen)
	for _, text := range s.Base.Warnings() {
		teller.warn(text)
	}
	return withDevices(cmd.Context(), screen, f.device, func(ctx context.Context, devices []*vk.Device) error {
		defer holdSignals(ctx)()
		options := []evorl.RunOption{evorl.Beside(devices[1:]...)}
		if f.loose {
			options = append(options, evorl.Loose())
		}
		if f.cluster.address != "" {
			options = append(options, evorl.Clustered(f.cluster.config()))
		}
		to := &sharedWriter{Writer: screen}
		options = append(options, evorl.Listening(func(address, key string) { f.line.newTeller(to).tellWorkers(cmd, address, key) }),
			evorl.Told(func(text string) {
				if !f.line.quiet {
					f.line.newTeller(to).tell("worker", text, progress.Fact{Name: "text", Value: text})
				}
			}))
		results, err := s.Run(ctx, devices[0], f.out, f.shown(to, s, devices), func(evorl.TrialResult) {}, options...)
		if err != nil {
			if ctx.Err() != nil {
				fmt.Fprintf(screen, "evorl: %v; go on with: %s sweep --resume --out %s\n", context.Cause(ctx), cmd.Root().Name(), f.out)
			}
			return cause(ctx, err)
		}
		if err := writeResults(filepath.Join(f.out, resultsFile), results); err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(results)
		}
		text, err := sweepText(s, results, f.out)
		if err != nil {
			return err
		}
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return err
	})
}

// shown returns what runs a run of a sweep and shows its progress. Runs side by side write a line each, with their names.
func (f *sweepFlags) shown(shared *sharedWriter, s *evorl.Sweep, devices []*vk.Device) evorl.LearnFunc {
	screen, several := shared.Writer, len(devices) > 1
	if f.cluster.address != "" {
		several = !s.Divided()
	}
	to := screen
	if several {
		to = shared
	}
	return func(ctx context.Context, cfg *evorl.Config, run *evorl.Run, of []evorl.Trial) error {
		name := ""
		if several {
			name = filepath.Base(run.Path())
		}
		if !f.line.quiet && !formats[f.line.format] && len(of[0].Settings) > 0 {
			text := announcement(of, len(s.Trials))
			if several {
				text = name + ": " + text
			}
			fmt.Fprint(to, text)
		}
		on := devices
		if several {
			on = []*vk.Device{run.Device()}
		}
		line := f.line.newLine(to, name, cfg, on, run.Path())
		defer line.end()
		err := learnShown(ctx, screen, run, line)
		if several && evorl.DeviceLost(err) && ctx.Err() == nil {
			line.warn(fmt.Sprintf("%s: the device takes part no more: %v", name, err))
		}
		return err
	}
}

// sharedWriter is written to by several goroutines.
type sharedWriter struct {
	mu sync.Mutex
	io.Writer
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(p)
}

// announcement tells which trials a run has.
func announcement(of []evorl.Trial, all int) string {
	if len(of) > 1 {
		return fmt.Sprintf("%d of %d trials as members of one run: %s …\n", len(of), all, settingsText(of[0]))
	}
	return fmt.Sprintf("trial %d (%d in all): %s\n", of[0].Number, all, settingsText(of[0]))
}

func settingsText(t evorl.Trial) string {
	var parts []string
	for _, s := range t.Settings {
		parts = append(parts, s.Key+"="+s.Value)
	}
	return strings.Join(parts, " ")
}

// sweepText formats the table of trials.
func sweepText(s *evorl.Sweep, results []evorl.TrialResult, folder string) (string, error) {
	header := []string{"", "trial"}
	for _, set := range results[0].Settings {
		header = append(header, set.Key)
	}
	rows := [][]string{append(header, "iterations", "seeds", s.Config.Metric, "95%")}
	for i, r := range results {
		row := []string{strconv.Itoa(i + 1), strconv.Itoa(r.Number)}
		for _, set := range r.Settings {
			row = append(row, set.Value)
		}
		mean, err := scores.Bootstrap{}.Of(scores.Scores{r.Scores}, scores.Mean)
		if err != nil {
			return "", err
		}
		rows = append(rows, append(append(row, strconv.Itoa(r.Iterations), strconv.Itoa(len(r.Scores))), interval(mean).cells(short)...))
	}
	var b strings.Builder
	writeColumns(&b, rows)
	fmt.Fprintf(&b, "\nsweep   %s\n", folder)
	return b.String(), nil
}

// writeResults writes the table as CSV.
func writeResults(path string, results []evorl.TrialResult) error {
	return writeFile(path, func(w io.Writer) error {
		out := csv.NewWriter(w)
		for i, r := range results {
			row := []string{strconv.Itoa(r.Number)}
			header := []string{"trial"}
			for _, set := range r.Settings {
				header, row = append(header, set.Key), append(row, set.Value)
			}
			header = append(header, "iterations", "seeds", "mean", "scores", "run_dirs", "members")
			if i == 0 {
				if err := out.Write(header); err != nil {
					return err
				}
			}
			var all []string
			for _, x := range r.Scores {
				all = append(all, strconv.FormatFloat(x, 'g', -1, 64))
			}
			mean := ""
			if len(r.Scores) > 0 {
				mean = strconv.FormatFloat(float64(r.Mean), 'g', -1, 64)
			}
			row = append(row, strconv.Itoa(r.Iterations), strconv.Itoa(len(r.Scores)), mean, strings.Join(all, " "), strings.Join(r.Folders, " "),
				strings.Trim(fmt.Sprint(r.Members), "[]"))
			if err := out.Write(row); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
}
