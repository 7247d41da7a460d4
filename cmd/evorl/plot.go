package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/catalog"
	"github.com/evorl/evorl/cmd/session"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/plot"
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
	cmd := &cobra.Command{
		Use:   "plot [flags] RUN_DIR...",
		Short: "Draw learning curves",
		Long: "Draw learning curves with their spread, as SVG or PNG. Runs that differ only in their seed become one line, whose spread is over\n" +
			"the runs; a single run's is over its members.",
		Example: "  evorl plot runs/pbt-CartPole-v1-1\n  evorl plot -o compare.png --metric evaluation --x seconds runs/*\n" +
			"  evorl plot --metric hyper/learning_rate runs/pbt-CartPole-v1-1",
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
			if ext := strings.ToLower(filepath.Ext(out)); ext != ".svg" && ext != ".png" {
				return usagef("--output %s: want a name that ends in .svg or .png", out)
			}
			series, what, err := readSeries(args)
			if err != nil {
				return err
			}
			if o.Title == "" {
				o.Title = what
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
	cmd.Flags().StringVarP(&out, "output", "o", "plot.svg", "`FILE` to write, .svg or .png")
	cmd.Flags().StringVar(&metric, "metric", "return", "draw `NAME`: return, evaluation, fitness, hyper/… or any other in metrics.jsonl")
	cmd.Flags().StringVar(&x, "x", "env_steps", "`AXIS` along the bottom: env_steps, seconds or iterations")
	cmd.Flags().StringVar(&center, "center", "median", "the line is the `CENTER`: median or mean")
	cmd.Flags().StringVar(&band, "band", "quartiles", "`BAND` around it: quartiles, range or none")
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

// readSeries reads runs and puts those together that differ only in their seed. what is what all have in common, for a title.
func readSeries(paths []string) (series []plot.Series, what string, err error) {
	type group struct {
		cfg   *catalog.Config
		paths []string
		runs  [][]metrics.Record
	}
	var groups []*group
	for _, path := range paths {
		cfg, err := session.Config(path, nil)
		if err != nil {
			return nil, "", err
		}
		records, err := metrics.ReadFile(filepath.Join(path, rundir.MetricsFile))
		if err != nil {
			return nil, "", err
		}
		if len(records) == 0 {
			return nil, "", fmt.Errorf("%s: no metrics yet", path)
		}
		var of *group
		for _, g := range groups {
			if onlySeedsDiffer(g.cfg, cfg) {
				of = g
			}
		}
		if of == nil {
			of = &group{cfg: cfg}
			groups = append(groups, of)
		}
		of.paths, of.runs = append(of.paths, path), append(of.runs, records)
	}
	if len(groups) == 0 {
		return nil, "", errors.New("no runs")
	}
	env, workflow := groups[0].cfg.Run.Env, groups[0].cfg.Run.Workflow
	what = workflow + " on " + env
	for _, g := range groups[1:] {
		switch {
		case g.cfg.Run.Env != env:
			what, env = "", ""
		case g.cfg.Run.Workflow != workflow && what != "":
			what = env
		}
	}
	for _, g := range groups {
		label := filepath.Base(filepath.Clean(g.paths[0]))
		if len(g.runs) > 1 {
			label += fmt.Sprintf(" and %d more", len(g.runs)-1)
		}
		series = append(series, plot.Series{Label: label, Runs: g.runs})
	}
	return series, what, nil
}

func onlySeedsDiffer(a, b *catalog.Config) bool {
	for _, d := range a.Differences(b) {
		if d.Key != "seed" {
			return false
		}
	}
	return true
}
