package cmd

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/metrics"
)

// The values of the flags --x, --center and --band.
var (
	axes = map[string]plot.Axis{
		"env_steps": plot.EnvSteps, "evaluations": plot.Evaluations, "seconds": plot.Seconds, "iterations": plot.Iterations,
	}
	centers = map[string]plot.Center{"median": plot.Median, "mean": plot.Mean, "iqm": plot.IQM}
	logs    = map[string][2]bool{"": {}, "x": {true, false}, "y": {false, true}, "xy": {true, true}}
	bands   = map[string]plot.Band{"quartiles": plot.Quartiles, "range": plot.Range, "bootstrap": plot.Bootstrap, "none": plot.NoBand}
)

// plotFlags are the flags of evorl plot.
type plotFlags struct {
	out, metric, x, center, band, title string
	log, xLabel, yLabel                 string
	smooth                              int
	labels                              []string
	total                               bool

	front, lineage, scores, improvement, profile, archive, ratings bool // figures other than curves

	comparison comparisonFlags
}

func newPlot(known *evorl.Catalog) *cobra.Command {
	f := &plotFlags{comparison: comparisonFlags{known: known}}
	cmd := &cobra.Command{
		Use:   "plot [flags] RUN_DIR...",
		Short: "Draw learning curves, scores, fronts or lineages",
		Long: paragraphs(
			"Draw learning curves with their spread, as SVG or PNG. Runs that differ only in their seed become one line, whose spread is "+
				"over the runs; a single run's is over its members. Steps and evaluations along the bottom are those of one member, or with "+
				"--total of all members together. Several environments get panels of their own. Under the curve of one run of PBT is who descends "+
				"from whom, under that of a hybrid of agents and a search which side made the best candidates.",
			"With --band bootstrap or --center iqm every member of an agent or a search counts as a run. --scores, --improvement and --profile draw what evorl "+
				"compare tells: statistics, probabilities of improvement and performance profiles of methods, with 95% bootstrap intervals.",
			"With --front: what runs with several objectives have found, and the true front. With --lineage: who descends from whom in a run of "+
				"PBT, and the hyperparameters over the iterations, on logarithmic axes where their priors are logarithmic. With --ratings: the ratings "+
				"of the opponents that a run of self-play has in its pools, when they entered.",
		),
		Example: "  evorl plot runs/pbt-CartPole-v1-1\n  evorl plot -o compare.png --metric evaluation --x seconds runs/*\n" +
			"  evorl plot --label PPO --label OpenES runs/ppo-Hopper-v5-* runs/openes-Hopper-v5-*\n" +
			"  evorl plot --metric hyper/learning_rate runs/pbt-CartPole-v1-1\n  evorl plot --center iqm --band bootstrap --smooth 5 runs/*\n" +
			"  evorl plot --scores runs/*\n  evorl plot --front runs/nsga-ii-zdt-1\n" +
			"  evorl plot --lineage runs/pbt-CartPole-v1-1\n  evorl plot --ratings runs/self-play-PongDuel-v0-1",
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
	writes(cmd, "out")
	cmd.Flags().StringVar(&f.metric, "metric", "return", "draw `NAME`: return (evaluation where there is none), hyper/… or any other in metrics.jsonl")
	cmd.Flags().StringVar(&f.x, "x", "env_steps", "`AXIS` along the bottom: env_steps, evaluations (where there are no steps), seconds or iterations")
	cmd.Flags().BoolVar(&f.total, "total", false, "steps and evaluations of all members together")
	cmd.Flags().StringVar(&f.center, "center", "median", "the line is the `CENTER`: median, mean or iqm (inter-quartile mean)")
	cmd.Flags().StringVar(&f.band, "band", "quartiles", "`BAND` around it: quartiles, range, bootstrap (95% interval of the center) or none")
	cmd.Flags().IntVar(&f.smooth, "smooth", 1, "running mean over `N` values of each run")
	cmd.Flags().StringVar(&f.log, "log", "", "logarithmic `AXES`: x, y or xy")
	cmd.Flags().StringVar(&f.xLabel, "xlabel", "", "`LABEL` along the bottom")
	cmd.Flags().StringVar(&f.yLabel, "ylabel", "", "`LABEL` upwards")
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "`LABEL` of a line, once for each (default the names of the folders)")
	cmd.Flags().BoolVar(&f.front, "front", false, "draw the first two objectives of the newest checkpoint's solutions instead")
	cmd.Flags().BoolVar(&f.lineage, "lineage", false, "draw the descent of a run's members and their hyperparameters instead")
	complete(cmd, "x", slices.Sorted(maps.Keys(axes))...)
	complete(cmd, "center", slices.Sorted(maps.Keys(centers))...)
	complete(cmd, "band", slices.Sorted(maps.Keys(bands))...)
	complete(cmd, "log", "x", "y", "xy")
	cmd.Flags().BoolVar(&f.archive, "archive", false, "draw the map of elites of a run of MAP-Elites, coloured by fitness, instead")
	cmd.Flags().BoolVar(&f.ratings, "ratings", false, "draw the ratings of a run's opponents in self-play over their entry instead")
	cmd.Flags().BoolVar(&f.scores, "scores", false, "draw statistics of methods instead")
	cmd.Flags().BoolVar(&f.improvement, "improvement", false, "draw the probabilities that a run of a method scores higher than one of another instead")
	cmd.Flags().BoolVar(&f.profile, "profile", false, "draw the share of runs above each score instead")
	f.comparison.add(cmd)
	cmd.Flags().StringVar(&f.title, "title", "", "`TITLE` (default the workflow and environment)")
	return cmd
}

// options checks the flags.
func (f *plotFlags) options() (o plot.Options, err error) {
	o = plot.Options{Metric: f.metric, Title: f.title, Total: f.total, XLabel: f.xLabel, YLabel: f.yLabel, Smooth: f.smooth}
	if f.smooth < 1 {
		return o, usagef("--smooth %d: want at least 1", f.smooth)
	}
	logarithmic, err := choose("--log", f.log, logs)
	if err != nil {
		return o, err
	}
	o.LogX, o.LogY = logarithmic[0], logarithmic[1]
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
	figures := 0
	for _, chosen := range []bool{f.front, f.lineage, f.scores, f.improvement, f.profile, f.archive, f.ratings} {
		if chosen {
			figures++
		}
	}
	switch {
	case figures > 1:
		return nil, usagef("want at most one of --front, --lineage, --archive, --ratings, --scores, --improvement and --profile")
	case f.front:
		return drawFronts(f.comparison.known, paths, o)
	case (f.lineage || f.archive || f.ratings) && len(paths) > 1:
		return nil, usagef("--lineage, --archive and --ratings: want one RUN_DIR, got %d", len(paths))
	case f.ratings:
		return drawRatings(f.comparison.known, paths[0], o, warning)
	case f.archive:
		return drawArchive(f.comparison.known, paths[0], o)
	case f.lineage:
		cfg, err := evorl.Stored(paths[0], evorl.Use(f.comparison.known))
		if err != nil {
			return nil, err
		}
		return drawLineage(cfg, paths[0], o, warning)
	case figures == 1:
		if cmd.Flags().Changed("metric") {
			f.comparison.metric = f.metric
		}
		return f.drawScores(paths, o, warning)
	}
	return f.drawCurves(cmd, paths, o, warning)
}

// drawCurves draws learning curves.
func (f *plotFlags) drawCurves(cmd *cobra.Command, paths []string, o plot.Options, warn func(string, ...any)) (*plot.Figure, error) {
	repeated := o.Center == plot.IQM || o.Band == plot.Bootstrap
	read, err := readSeries(f.comparison.known, paths, repeated, f.metric, warn)
	if err != nil {
		return nil, err
	}
	if err := read.rename(f.labels); err != nil {
		return nil, err
	}
	if o.Title == "" {
		o.Title = read.what
	}
	if !cmd.Flags().Changed("metric") {
		o.Metric = shownMetric(read.all())
	}
	if !cmd.Flags().Changed("x") {
		o.X = shownAxis(read.all())
	}
	if len(read.panels) > 1 {
		return plot.DrawPanels(read.panels, o)
	}
	series := read.panels[0].Series
	figure, err := plot.Draw(series, o)
	if err == nil && len(paths) == 1 && read.runs == 1 && !repeated && !cmd.Flags().Changed("metric") {
		err = addOrigin(figure, paths[0], series[0], warn)
	}
	return figure, err
}

// addOrigin adds a panel to the curve of a run: the lineage of PBT, or the side of a hybrid's best candidates. Other runs have none.
func addOrigin(figure *plot.Figure, path string, run plot.Series, warn func(string, ...any)) error {
	generations, err := readLineage(path, warn)
	if err != nil {
		warn("no lineage: %v", err)
		return nil
	}
	if len(generations) > 0 {
		return figure.AddLineage(generations, run)
	}
	if anyRecord([]plot.Series{run}, func(r metrics.Record) bool { _, ok := r.Values[learnedMetric]; return ok }) {
		figure.AddShare(learnedMetric, "Best candidates of the generations: orange, made by learning; blue, by evolution", "Share of searches", run)
	}
	return nil
}

// learnedMetric is the share of searches whose best candidate of a generation learned.
const learnedMetric = "best/learned"

// choose returns the value that a flag's argument selects.
func choose[T any](flag, name string, of map[string]T) (T, error) {
	value, ok := of[name]
	if !ok {
		names := slices.Sorted(maps.Keys(of))
		return value, usagef("%s %q: want one of %s", flag, name, strings.Join(names, ", "))
	}
	return value, nil
}
