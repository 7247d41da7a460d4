package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// shownMetric returns the metric drawn by default; searches for the solution of a problem have no returns.
func shownMetric(series []plot.Series) string {
	for _, metric := range []string{"return", "evaluation"} {
		if anyRecord(series, func(r metrics.Record) bool { _, ok := r.Values[metric+metrics.MedianSuffix]; return ok }) {
			return metric
		}
	}
	return "return"
}

// shownAxis returns the horizontal axis drawn by default.
func shownAxis(series []plot.Series) plot.Axis {
	switch {
	case anyRecord(series, func(r metrics.Record) bool { return r.EnvSteps > 0 }):
		return plot.EnvSteps
	case anyRecord(series, func(r metrics.Record) bool { return r.Values[plot.EvaluationsKey] > 0 }):
		return plot.Evaluations
	}
	return plot.Iterations
}

func anyRecord(series []plot.Series, is func(metrics.Record) bool) bool {
	for _, s := range series {
		for _, records := range s.Runs {
			if slices.ContainsFunc(records, is) {
				return true
			}
		}
	}
	return false
}

// group is a set of runs that differ only in their seed.
type group struct {
	cfg           *evorl.Config // nil: written by another version, whose configuration cannot be compared
	workflow, env string
	paths         []string
	runs          [][]metrics.Record
}

// readGroups reads runs and groups those that differ only in their seed.
func readGroups(known *evorl.Catalog, paths []string, warn func(string, ...any)) ([]*group, error) {
	paths, err := chooseRuns(known, paths, warn)
	if err != nil {
		return nil, err
	}
	var groups []*group
	var without error
	for i, path := range paths {
		same := func(of string) bool { return filepath.Clean(of) == filepath.Clean(path) }
		if slices.ContainsFunc(paths[:i], same) {
			warn("%s is named twice, and counts once", path)
			continue
		}
		g, err := readRun(known, path, warn)
		if errors.Is(err, errNoMetrics) && len(paths) > 1 {
			without = err
			warn("%v: left out", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(groups, func(of *group) bool { return onlySeedsDiffer(of.cfg, g.cfg) })
		if at < 0 {
			groups = append(groups, g)
			continue
		}
		groups[at].paths, groups[at].runs = append(groups[at].paths, path), append(groups[at].runs, g.runs...)
	}
	if len(groups) == 0 {
		return nil, without
	}
	return groups, nil
}

// seriesRead holds the lines to draw, in one panel per environment.
type seriesRead struct {
	panels []plot.Group
	what   string // what all have in common, for the title
	runs   int
}

// readSeries reads runs as lines, one per group. With repeated, every repetition counts as a run, see
// group.repetitions.
func readSeries(known *evorl.Catalog, paths []string, repeated bool, metric string, warn func(string, ...any)) (seriesRead, error) {
	groups, err := readGroups(known, paths, warn)
	if err != nil {
		return seriesRead{}, err
	}
	var out seriesRead
	for _, g := range groups {
		out.runs += len(g.paths)
	}
	byTask := map[string][]labelled{}
	var tasks []string
	for _, g := range labelGroups(groups) {
		byTask[g.task] = append(byTask[g.task], g)
		indexOf(&tasks, g.task)
	}
	for _, task := range tasks {
		panel := plot.Group{Title: task}
		for _, g := range byTask[task] {
			members := 1
			if g.cfg != nil {
				members = g.cfg.Members()
			}
			s := plot.Series{Label: g.method, Runs: g.runs, Members: members}
			if repeated {
				if s.Runs, err = g.repetitions(metric, warn); err != nil {
					return out, err
				}
			}
			panel.Series = append(panel.Series, s)
		}
		out.panels = append(out.panels, panel)
	}
	if len(tasks) == 1 {
		for i, label := range labelsOf(groups) {
			out.panels[0].Series[i].Label = label
		}
		if out.what = groups[0].env; out.what != "" && !slices.ContainsFunc(groups, func(g *group) bool { return g.workflow != groups[0].workflow }) {
			out.what = groups[0].workflow + " on " + out.what
		}
	}
	return out, nil
}

// all returns the lines of all panels.
func (r seriesRead) all() (series []plot.Series) {
	for _, p := range r.panels {
		series = append(series, p.Series...)
	}
	return series
}

// rename replaces the labels of lines, if labels are given; a line in several panels has one label.
func (r seriesRead) rename(labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	var names []string
	for _, s := range r.all() {
		indexOf(&names, s.Label)
	}
	if len(labels) != len(names) {
		return usagef("--label: %d labels for %s: %s", len(labels), plural(len(names), "line"), strings.Join(names, "; "))
	}
	for _, p := range r.panels {
		for i := range p.Series {
			p.Series[i].Label = labels[slices.Index(names, p.Series[i].Label)]
		}
	}
	return nil
}

// labelsOf labels groups: a single run by its folder, runs that differ in their seed by the common prefix of their
// folders' names, or else by the workflow.
func labelsOf(groups []*group) []string {
	labels := make([]string, len(groups))
	for i, g := range groups {
		names := make([]string, len(g.paths))
		for j, path := range g.paths {
			names[j] = filepath.Base(filepath.Clean(path))
		}
		if labels[i] = names[0]; len(names) == 1 {
			continue
		}
		common := names[0]
		for _, name := range names[1:] {
			for !strings.HasPrefix(name, common) {
				common = common[:len(common)-1]
			}
		}
		common = strings.TrimRight(common, "-_. 0123456789")
		if len(common) < 3 {
			common = g.workflow
		}
		labels[i] = fmt.Sprintf("%s, %d seeds", common, len(names))
		if slices.Contains(labels[:i], labels[i]) {
			labels[i] += " (" + names[0] + " …)"
		}
	}
	return labels
}

func readRun(known *evorl.Catalog, path string, warn func(string, ...any)) (*group, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	records, bad, err := metrics.ReadFile(dir.Metrics())
	if err != nil {
		return nil, err
	}
	if bad != nil {
		warn("%v: left out", bad)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoMetrics)
	}
	g := &group{paths: []string{path}, runs: [][]metrics.Record{records}}
	cfg, err := evorl.Stored(path, evorl.Use(known))
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
