// Package plot draws learning curves: a metric against environment steps or time, with its spread over the members of a population
// or over several runs; clouds of points, such as fronts between objectives; and the descent of the members of a population.
package plot

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/scores"
)

// Series is one line of a figure: one run, or several that differ only in their seed.
type Series struct {
	Label   string
	Runs    [][]metrics.Record
	Members int // of each run, which environment steps and evaluations are divided by; 0: 1
}

// Axis is what runs along the bottom.
type Axis int

// The axes. The first is the default.
const (
	EnvSteps Axis = iota
	Seconds
	Iterations
	Evaluations // of candidates, by a search
)

// EvaluationsKey is the value of a record that counts evaluations.
const EvaluationsKey = "evaluations"

// Center is what the line shows of several values.
type Center int

// The centres. The first is the default.
const (
	Median Center = iota
	Mean
	IQM // the inter-quartile mean, of several runs
)

// Band is what the band shows around the line.
type Band int

// The bands. The first is the default.
const (
	Quartiles Band = iota // the middle half
	Range                 // smallest to largest
	Bootstrap             // the 95% bootstrap interval of the centre, of several runs
	NoBand
)

// Curve is a line and the band around it. Low and High are nil when there is no band; all have the length of X.
type Curve struct {
	X, Center, Low, High []float64
	Over                 string // what the band is over: "members" or "runs"
}

// Summarize makes the curve of a series. With one run the band is over its members, from the statistics that the run reports beside
// the metric. With several it is over the runs, on the stretch of the axis that all of them reach, each one interpolated linearly. Values that
// are not finite are left out.
func Summarize(s Series, o Options) (Curve, error) {
	if len(s.Runs) == 0 {
		return Curve{}, fmt.Errorf("plot: %s: no runs", s.Label)
	}
	lines := make([]line, len(s.Runs))
	for i, records := range s.Runs {
		name, err := o.pick(records)
		if err != nil {
			return Curve{}, fmt.Errorf("plot: %s: %w", s.Label, err)
		}
		if lines[i], err = extract(records, name, o.axis(s)); err != nil {
			return Curve{}, fmt.Errorf("plot: %s: %w", s.Label, err)
		}
		if len(lines[i].x) == 0 {
			return Curve{}, fmt.Errorf("plot: %s: metric %q is never finite", s.Label, name)
		}
		lines[i] = lines[i].smooth(o.Smooth)
	}
	if len(lines) == 1 {
		return overMembers(s, lines[0], o)
	}
	c, err := overRuns(s.Label, lines, o)
	if err != nil {
		return Curve{}, err
	}
	return c, c.estimate(lines, o)
}

// pick finds the name under which a run reports the metric of the options.
func (o Options) pick(records []metrics.Record) (string, error) {
	center := []string{metrics.MedianSuffix, metrics.MeanSuffix}
	if o.Center != Median {
		slices.Reverse(center)
	}
	for _, r := range records {
		for _, name := range []string{o.Metric, o.Metric + center[0], o.Metric + center[1]} {
			if _, ok := r.Values[name]; ok {
				return name, nil
			}
		}
	}
	known := metrics.Names(records)
	if len(known) == 0 {
		return "", fmt.Errorf("no metrics yet")
	}
	return "", fmt.Errorf("no metric %q; there are: %s", o.Metric, strings.Join(known, ", "))
}

// line is one metric of one run, its x ascending.
type line struct{ x, y []float64 }

// extract takes a metric out of records, against what x is of a record, by its name.
func extract(records []metrics.Record, name string, x func(metrics.Record) (string, float64)) (line, error) {
	var l line
	for _, r := range records {
		y, ok := r.Values[name]
		if !ok || math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		key, x := x(r)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return line{}, fmt.Errorf("%q is %v at iteration %d: want a finite number, or another --x", key, x, r.Iteration)
		}
		if n := len(l.x); n > 0 && x <= l.x[n-1] {
			if x == l.x[n-1] {
				l.y[n-1] = y // reported again: the last word holds
			}
			continue
		}
		l.x, l.y = append(l.x, x), append(l.y, y)
	}
	return l, nil
}

// smooth is the mean of each value and the values before it, n in all; 0 and 1 leave the line as it is.
func (l line) smooth(n int) line {
	if n < 2 {
		return l
	}
	out := line{l.x, make([]float64, len(l.y))}
	for i := range l.y {
		out.y[i] = metrics.Mean(l.y[max(0, i-n+1) : i+1])
	}
	return out
}

// axis is what runs along the bottom, and its name in records.
func (o Options) axis(s Series) func(metrics.Record) (string, float64) {
	share := float64(max(s.Members, 1))
	if o.Total {
		share = 1
	}
	switch o.X {
	case Seconds:
		return func(r metrics.Record) (string, float64) { return "seconds", r.Seconds }
	case Iterations:
		return func(r metrics.Record) (string, float64) { return "iteration", float64(r.Iteration) }
	case Evaluations:
		return func(r metrics.Record) (string, float64) {
			n, ok := r.Values[EvaluationsKey]
			if !ok {
				n = math.NaN()
			}
			return EvaluationsKey, n / share
		}
	}
	return func(r metrics.Record) (string, float64) { return "env_steps", float64(r.EnvSteps) / share }
}

// at interpolates linearly; x lies within the line.
func (l line) at(x float64) float64 {
	i := sort.SearchFloat64s(l.x, x)
	switch {
	case i == len(l.x):
		return l.y[i-1]
	case i == 0 || l.x[i] == x:
		return l.y[i]
	}
	t := (x - l.x[i-1]) / (l.x[i] - l.x[i-1])
	return l.y[i-1] + t*(l.y[i]-l.y[i-1])
}

func overMembers(s Series, l line, o Options) (Curve, error) {
	c := Curve{X: l.x, Center: l.y}
	names := map[Band][2]string{Quartiles: {metrics.LowerQuartileSuffix, metrics.UpperQuartileSuffix}, Range: {metrics.MinSuffix, metrics.MaxSuffix}}[o.Band]
	if o.Band == NoBand || o.Band == Bootstrap {
		return c, nil
	}
	base := o.Metric
	for _, suffix := range []string{metrics.MeanSuffix, metrics.MedianSuffix} { // q25 and the like have no band
		if without, ok := strings.CutSuffix(base, suffix); ok && without != "" {
			base = without
		}
	}
	low, err := extract(s.Runs[0], base+names[0], o.axis(s))
	if err != nil {
		return c, err
	}
	high, err := extract(s.Runs[0], base+names[1], o.axis(s))
	if err != nil || len(low.x) == 0 || len(high.x) == 0 {
		return c, err
	}
	c.Over = "members"
	low, high = low.smooth(o.Smooth), high.smooth(o.Smooth)
	for _, x := range c.X {
		c.Low, c.High = append(c.Low, low.at(x)), append(c.High, high.at(x))
	}
	return c, nil
}

// gridPoints bounds the points of a curve over several runs: more cannot be seen.
const gridPoints = 1000

func overRuns(label string, lines []line, o Options) (Curve, error) {
	from, to := math.Inf(-1), math.Inf(1)
	for _, l := range lines {
		from, to = max(from, l.x[0]), min(to, l.x[len(l.x)-1])
	}
	if from > to {
		return Curve{}, fmt.Errorf("plot: %s: the runs share no stretch of the axis", label)
	}
	var grid []float64
	for _, l := range lines {
		for _, x := range l.x {
			if x >= from && x <= to {
				grid = append(grid, x)
			}
		}
	}
	slices.Sort(grid)
	grid = slices.Compact(grid)
	if len(grid) > gridPoints {
		thin := make([]float64, gridPoints)
		for i := range thin {
			thin[i] = grid[i*(len(grid)-1)/(gridPoints-1)]
		}
		grid = thin
	}
	return Curve{X: grid, Over: "runs"}, nil
}

// statistics are the centres of the values of runs.
var statistics = map[Center]scores.Statistic{
	Median: func(s scores.Scores) float64 { return metrics.Quantile(slices.Sorted(slices.Values(s[0])), 0.5) },
	Mean:   scores.Mean,
	IQM:    scores.IQM,
}

// bootstrapDraws suffice for a band that is a few points high.
const bootstrapDraws = 500

// estimate fills in the centre and the band over runs.
func (c *Curve) estimate(lines []line, o Options) error {
	for _, x := range c.X {
		values := make([]float64, len(lines))
		for i, l := range lines {
			values[i] = l.at(x)
		}
		slices.Sort(values)
		c.Center = append(c.Center, statistics[o.Center](scores.Scores{values}))
		switch o.Band {
		case Quartiles:
			c.Low, c.High = append(c.Low, metrics.Quantile(values, 0.25)), append(c.High, metrics.Quantile(values, 0.75))
		case Range:
			c.Low, c.High = append(c.Low, values[0]), append(c.High, values[len(values)-1])
		case Bootstrap:
			b, err := scores.Bootstrap{Draws: bootstrapDraws}.Of(scores.Scores{values}, statistics[o.Center])
			if err != nil {
				return err
			}
			c.Low, c.High = append(c.Low, b.Low), append(c.High, b.High)
		}
	}
	return nil
}
