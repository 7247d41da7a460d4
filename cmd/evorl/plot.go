package main

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/evorl/internal/plot"
)

// The values of the flags --x, --center and --band.
var (
	axes = map[string]plot.Axis{
		"env_steps": plot.EnvSteps, "evaluations": plot.Evaluations, "seconds": plot.Seconds, "iterations": plot.Iterations,
	}
	centers = map[string]plot.Center{"median": plot.Median, "mean": plot.Mean}
	bands   = map[string]plot.Band{"quartiles": plot.Quartiles, "range": plot.Range, "none": plot.NoBand}
)

// plotFlags are the flags of evorl plot.
type plotFlags struct {
	out, metric, x, center, band, title string
	labels                              []string
	total, front, lineage               bool
}

func newPlot() *cobra.Command {
	f := &plotFlags{}
	cmd := &cobra.Command{
		Use:   "plot [flags] RUN_DIR...",
		Short: "Draw learning curves",
		Long: paragraphs(
			"Draw learning curves with their spread, as SVG or PNG. Runs that differ only in their seed become one line, whose spread is "+
				"over the runs; a single run's is over its members. Steps and evaluations along the bottom are those of one member, or with "+
				"--total of all members together.",
			"With --front: what runs with several objectives have found, and the true front. With --lineage: who descends from whom in a run of "+
				"PBT, and the hyperparameters over the iterations, on logarithmic axes where their priors are logarithmic.",
		),
		Example: "  evorl plot runs/pbt-CartPole-v1-1\n  evorl plot -o compare.png --metric evaluation --x seconds runs/*\n" +
			"  evorl plot --label PPO --label OpenES runs/ppo-Hopper-v5-* runs/openes-Hopper-v5-*\n" +
			"  evorl plot --metric hyper/learning_rate runs/pbt-CartPole-v1-1\n  evorl plot --front runs/nsga-ii-zdt-1\n" +
			"  evorl plot --lineage runs/pbt-CartPole-v1-1",
		Args: between(1, math.MaxInt, "want at least one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			figure, err := f.draw(cmd, args)
			if err != nil {
				return err
			}
			if err := figure.Save(f.out); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), f.out)
			return err
		},
	}
	cmd.Flags().StringVarP(&f.out, "out", "o", "plot.svg", "`FILE` to write, .svg or .png")
	cmd.Flags().StringVar(&f.metric, "metric", "return", "draw `NAME`: return (evaluation where there is none), fitness, hyper/… or any other in metrics.jsonl")
	cmd.Flags().StringVar(&f.x, "x", "env_steps", "`AXIS` along the bottom: env_steps, evaluations (where there are no steps), seconds or iterations")
	cmd.Flags().BoolVar(&f.total, "total", false, "steps and evaluations of all members together")
	cmd.Flags().StringVar(&f.center, "center", "median", "the line is the `CENTER`: median or mean")
	cmd.Flags().StringVar(&f.band, "band", "quartiles", "`BAND` around it: quartiles, range or none")
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "`LABEL` of a line, once for each (default the names of the folders)")
	cmd.Flags().BoolVar(&f.front, "front", false, "draw the first two objectives of the newest checkpoint's solutions instead")
	cmd.Flags().BoolVar(&f.lineage, "lineage", false, "draw the descent of a run's members and their hyperparameters instead")
	cmd.Flags().StringVar(&f.title, "title", "", "`TITLE` (default the workflow and environment)")
	return cmd
}

// options checks the flags.
func (f *plotFlags) options() (o plot.Options, err error) {
	o = plot.Options{Metric: f.metric, Title: f.title, Total: f.total}
	if o.X, err = choose("--x", f.x, axes); err != nil {
		return o, err
	}
	if o.Center, err = choose("--center", f.center, centers); err != nil {
		return o, err
	}
	if o.Band, err = choose("--band", f.band, bands); err != nil {
		return o, err
	}
	if ext := strings.ToLower(filepath.Ext(f.out)); ext != ".svg" && ext != ".png" {
		return o, usagef("--out %s: want a name that ends in .svg or .png", f.out)
	}
	return o, nil
}

func (f *plotFlags) draw(cmd *cobra.Command, paths []string) (*plot.Figure, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	warning := func(format string, args ...any) { warn(cmd.ErrOrStderr(), format, args...) }
	switch {
	case f.front && f.lineage:
		return nil, usagef("--front and --lineage: want one of them")
	case f.front:
		return drawFronts(paths, o)
	case f.lineage && len(paths) > 1:
		return nil, usagef("--lineage: want one RUN_DIR, got %d", len(paths))
	case f.lineage:
		return drawLineage(paths[0], o, warning)
	}
	series, what, err := readSeries(paths, warning)
	if err != nil {
		return nil, err
	}
	if len(f.labels) > 0 {
		if len(f.labels) != len(series) {
			var names []string
			for _, s := range series {
				names = append(names, s.Label)
			}
			return nil, usagef("--label: %d labels for %d lines, which are: %s", len(f.labels), len(series), strings.Join(names, "; "))
		}
		for i := range series {
			series[i].Label = f.labels[i]
		}
	}
	if o.Title == "" {
		o.Title = what
	}
	if !cmd.Flags().Changed("metric") {
		o.Metric = shownMetric(series)
	}
	if !cmd.Flags().Changed("x") {
		o.X = shownAxis(series)
	}
	return plot.Draw(series, o)
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
