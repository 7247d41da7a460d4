package main

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/evorl/internal/plot"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// The values of the flags --x, --center and --band.
var (
	axes    = map[string]plot.Axis{"env_steps": plot.EnvSteps, "seconds": plot.Seconds, "iterations": plot.Iterations}
	centers = map[string]plot.Center{"median": plot.Median, "mean": plot.Mean}
	bands   = map[string]plot.Band{"quartiles": plot.Quartiles, "range": plot.Range, "none": plot.NoBand}
)

func newPlot() *cobra.Command {
	var out, metric, x, center, band, title string
	var front bool
	cmd := &cobra.Command{
		Use:   "plot [flags] RUN_DIR...",
		Short: "Draw learning curves",
		Long: paragraphs(
			"Draw learning curves with their spread, as SVG or PNG. Runs that differ only in their seed become one line, whose spread is " +
				"over the runs; a single run's is over its members. With --front: what runs with several objectives have found, and the true " +
				"front.",
		),
		Example: "  evorl plot runs/pbt-CartPole-v1-1\n  evorl plot -o compare.png --metric evaluation --x seconds runs/*\n" +
			"  evorl plot --metric hyper/learning_rate runs/pbt-CartPole-v1-1\n  evorl plot --front runs/nsga-ii-zdt-1",
		Args: between(1, math.MaxInt, "want at least one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := plot.Options{Metric: metric, Title: title}
			var err error
			if o.X, err = choose("--x", x, axes); err != nil {
				return err
			}
			if o.Center, err = choose("--center", center, centers); err != nil {
				return err
			}
			if o.Band, err = choose("--band", band, bands); err != nil {
				return err
			}
			if front {
				o.Metric = ""
			}
			if ext := strings.ToLower(filepath.Ext(out)); ext != ".svg" && ext != ".png" {
				return usagef("--out %s: want a name that ends in .svg or .png", out)
			}
			if front {
				figure, err := drawFronts(args, o)
				if err != nil {
					return err
				}
				if err := figure.Save(out); err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
				return err
			}
			series, what, err := readSeries(args, func(err error) { warn(cmd.ErrOrStderr(), "%v: left out", err) })
			if err != nil {
				return err
			}
			if o.Title == "" {
				o.Title = what
			}
			if !cmd.Flags().Changed("metric") {
				o.Metric = shownMetric(series)
			}
			if !cmd.Flags().Changed("x") && !stepsCount(series) {
				o.X = plot.Iterations
			}
			figure, err := plot.Draw(series, o)
			if err != nil {
				return err
			}
			if err := figure.Save(out); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "plot.svg", "`FILE` to write, .svg or .png")
	cmd.Flags().StringVar(&metric, "metric", "return", "draw `NAME`: return (evaluation where there is none), fitness, hyper/… or any other in metrics.jsonl")
	cmd.Flags().StringVar(&x, "x", "env_steps", "`AXIS` along the bottom: env_steps (iterations where there are none), seconds or iterations")
	cmd.Flags().StringVar(&center, "center", "median", "the line is the `CENTER`: median or mean")
	cmd.Flags().StringVar(&band, "band", "quartiles", "`BAND` around it: quartiles, range or none")
	cmd.Flags().BoolVar(&front, "front", false, "draw the first two objectives of the newest checkpoint's solutions instead")
	cmd.Flags().StringVar(&title, "title", "", "`TITLE` (default the workflow and environment)")
	return cmd
}

// choose finds the value of a flag among those it can have.
func choose[T any](flag, name string, of map[string]T) (T, error) {
	value, ok := of[name]
	if !ok {
		names := slices.Sorted(maps.Keys(of))
		return value, usagef("%s %q: want one of %s", flag, name, strings.Join(names, ", "))
	}
	return value, nil
}

// shownMetric is what is drawn of runs unless a flag says otherwise: searches for the solution of a problem have no returns.
func shownMetric(series []plot.Series) string {
	for _, metric := range []string{"return", "evaluation"} {
		for _, s := range series {
			for _, records := range s.Runs {
				for _, r := range records {
					if _, ok := r.Values[metric+metrics.MedianSuffix]; ok {
						return metric
					}
				}
			}
		}
	}
	return "return"
}

// stepsCount says whether any run takes environment steps.
func stepsCount(series []plot.Series) bool {
	for _, s := range series {
		for _, records := range s.Runs {
			if len(records) > 0 && records[len(records)-1].EnvSteps > 0 {
				return true
			}
		}
	}
	return false
}

// group is runs that differ only in their seed.
type group struct {
	cfg           *evorl.Config // nil: of another version of the program, whose configuration cannot be compared
	workflow, env string
	paths         []string
	runs          [][]metrics.Record
}

// readSeries reads runs and puts those together that differ only in their seed. what is what all have in common, for a title.
func readSeries(paths []string, warn func(error)) (series []plot.Series, what string, err error) {
	var groups []*group
	for _, path := range paths {
		g, err := readRun(path, warn)
		if err != nil {
			return nil, "", err
		}
		at := slices.IndexFunc(groups, func(of *group) bool { return onlySeedsDiffer(of.cfg, g.cfg) })
		if at < 0 {
			groups = append(groups, g)
			continue
		}
		groups[at].paths, groups[at].runs = append(groups[at].paths, path), append(groups[at].runs, g.runs...)
	}
	env, workflow := groups[0].env, groups[0].workflow
	for _, g := range groups {
		if g.env != env {
			env = ""
		}
		if g.workflow != workflow {
			workflow = ""
		}
		label := filepath.Base(filepath.Clean(g.paths[0]))
		if len(g.runs) > 1 {
			label += fmt.Sprintf(" and %d more", len(g.runs)-1)
		}
		series = append(series, plot.Series{Label: label, Runs: g.runs})
	}
	what = env
	if env != "" && workflow != "" {
		what = workflow + " on " + env
	}
	return series, what, nil
}

func readRun(path string, warn func(error)) (*group, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	records, bad, err := metrics.ReadFile(dir.Metrics())
	if err != nil {
		return nil, err
	}
	if bad != nil {
		warn(bad)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: no metrics yet", path)
	}
	g := &group{paths: []string{path}, runs: [][]metrics.Record{records}}
	cfg, err := evorl.Stored(path)
	if err == nil {
		g.cfg, g.workflow, g.env = cfg, cfg.Run.Workflow, cfg.Run.Env
		return g, nil
	}
	p, err := dir.ReadProvenance()
	g.workflow, g.env = p.Workflow, p.Environment
	return g, err
}

func onlySeedsDiffer(a, b *evorl.Config) bool {
	if a == nil || b == nil {
		return false
	}
	for _, d := range a.Differences(b) {
		if d.Key != "seed" {
			return false
		}
	}
	return true
}
