package cmd

import (
	"slices"
	"strings"

	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/scores"
)

// profilePoints is the number of scores at which a profile is drawn.
const profilePoints = 121

// drawScores draws methods' statistics, probabilities of improvement or performance profiles.
func (f *plotFlags) drawScores(paths []string, o plot.Options, warn func(string, ...any)) (*plot.Figure, error) {
	f.comparison.labels = f.labels
	c, err := f.comparison.readComparison(paths, warn)
	if err != nil {
		return nil, err
	}
	if o.Title == "" {
		o.Title = c.tasks[0]
		if len(c.tasks) > 1 {
			o.Title = plural(len(c.tasks), "environment")
			if !f.improvement {
				o.Title += ", normalized scores"
			}
		}
	}
	b := scores.Bootstrap{}
	switch {
	case f.improvement:
		return c.drawImprovement(b, o)
	case f.profile:
		return c.drawProfiles(b, o)
	}
	of := c.scores // one task: in its own unit
	panels := []plot.IntervalPanel{{Title: "IQM"}, {Title: "Mean"}}
	statistics := []scores.Statistic{scores.IQM, scores.Mean}
	if len(c.tasks) > 1 {
		of = c.normalized
		panels = []plot.IntervalPanel{{Title: "Median"}, {Title: "IQM"}, {Title: "Mean"}, {Title: "Optimality gap"}}
		statistics = []scores.Statistic{scores.Median, scores.IQM, scores.Mean, scores.OptimalityGap(1)}
	}
	methods, of := c.complete(of)
	if len(methods) == 0 {
		return nil, c.incomplete("--scores")
	}
	for i := range panels {
		for _, s := range of {
			v, err := b.Of(s, statistics[i])
			if err != nil {
				return nil, err
			}
			panels[i].Values = append(panels[i].Values, v)
		}
	}
	return plot.Intervals(methods, panels, o)
}

// complete returns the methods that have runs on all tasks.
func (c *comparison) complete(of []scores.Scores) (methods []string, scored []scores.Scores) {
	missing := c.missing()
	for m, method := range c.methods {
		if missing[m] == nil {
			methods, scored = append(methods, method), append(scored, of[m])
		}
	}
	return methods, scored
}

// incomplete returns the error of a figure of methods that have runs on all tasks.
func (c *comparison) incomplete(flag string) error {
	return usagef("%s: no method has runs on all of %s: %s", flag, plural(len(c.tasks), "environment"), strings.Join(c.tasks, ", "))
}

func (c *comparison) drawImprovement(b scores.Bootstrap, o plot.Options) (*plot.Figure, error) {
	pairs, err := c.pairs(b)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, usagef("--improvement: want runs of two methods on the same environment; got %s", strings.Join(c.methods, " and "))
	}
	var labels []string
	panel := plot.IntervalPanel{Title: "Probability that a run scores higher"}
	for _, p := range pairs {
		labels, panel.Values = append(labels, p.Method+" over "+p.Over), append(panel.Values, scores.Interval(p.P))
	}
	return plot.Probabilities(labels, panel, o)
}

func (c *comparison) drawProfiles(b scores.Bootstrap, o plot.Options) (*plot.Figure, error) {
	of, label := c.scores, c.metric
	if len(c.tasks) > 1 {
		of, label = c.normalized, "normalized score"
	}
	methods, of := c.complete(of)
	var all []float64
	for _, s := range of {
		all = append(all, slices.Concat(s...)...)
	}
	if len(all) == 0 {
		return nil, c.incomplete("--profile")
	}
	low, high := slices.Min(all), slices.Max(all)
	room := 0.03 * (high - low)
	taus := make([]float64, profilePoints)
	for i := range taus {
		taus[i] = low - room + (high-low+2*room)*float64(i)/(profilePoints-1)
	}
	shares := make([][]scores.Interval, len(of))
	for m, s := range of {
		for _, tau := range taus {
			v, err := b.Of(s, scores.Profile(tau))
			if err != nil {
				return nil, err
			}
			shares[m] = append(shares[m], v)
		}
	}
	return plot.Profiles(methods, taus, shares, "Score: "+label, o)
}
