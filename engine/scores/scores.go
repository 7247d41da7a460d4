// Package scores compares methods by the scores of a few runs each, with the statistics and intervals of R. Agarwal, M. Schwarzer,
// P. S. Castro, A. Courville, M. G. Bellemare, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", 2021. Definitions are
// as in the authors' package rliable.
package scores

import (
	"math"
	"slices"

	"github.com/evorl/evorl/engine/metrics"
)

// Scores are the scores of a method: one slice per task, with the score of each run. Higher is better. Tasks may have
// different numbers of runs; statistics of a method without runs are NaN.
type Scores [][]float64

// Statistic summarises the scores of a method by one number.
type Statistic func(Scores) float64

// pool lists the scores of all tasks.
func (s Scores) pool() []float64 { return slices.Concat(s...) }

// taskMeans returns the mean over the runs of each task that has runs.
func (s Scores) taskMeans() []float64 {
	var means []float64
	for _, runs := range s {
		if len(runs) > 0 {
			means = append(means, metrics.Mean(runs))
		}
	}
	return means
}

// Mean returns the mean over the tasks of the means over their runs.
func Mean(s Scores) float64 { return metrics.Mean(s.taskMeans()) }

// Median returns the median over the tasks of the means over their runs. For one task it is the mean.
func Median(s Scores) float64 {
	means := s.taskMeans()
	if len(means) == 0 {
		return math.NaN()
	}
	slices.Sort(means)
	return metrics.Quantile(means, 0.5)
}

// IQM returns the inter-quartile mean: the mean of all runs on all tasks without the lowest and the highest quarter.
// The number of runs removed at each end is rounded down, so that fewer than four runs lose none.
func IQM(s Scores) float64 {
	all := s.pool()
	slices.Sort(all)
	cut := len(all) / 4
	return metrics.Mean(all[cut : len(all)-cut])
}

// OptimalityGap returns the mean amount by which runs on all tasks fall short of the target score. Scores above the
// target count as the target. Lower is better.
func OptimalityGap(target float64) Statistic {
	return func(s Scores) float64 {
		all := s.pool()
		for i, x := range all {
			all[i] = min(x, target)
		}
		return target - metrics.Mean(all)
	}
}

// Profile returns the performance profile: the fraction of runs on all tasks with a score above tau.
func Profile(tau float64) Statistic {
	return func(s Scores) float64 {
		all, above := s.pool(), 0
		for _, x := range all {
			if x > tau {
				above++
			}
		}
		return float64(above) / float64(len(all))
	}
}

// Improvement returns the probability of improvement of x over y: that a run of x scores higher than a run of y on
// the same task, ties counting half, averaged over the tasks. It is the Mann-Whitney U statistic divided by the
// number of pairs. Tasks on which one of them has no runs are excluded.
func Improvement(x, y Scores) float64 {
	sum, tasks := 0.0, 0
	for task := range min(len(x), len(y)) {
		pairs := len(x[task]) * len(y[task])
		if pairs == 0 {
			continue
		}
		wins := 0.0
		for _, a := range x[task] {
			for _, b := range y[task] {
				switch {
				case a > b:
					wins++
				case a == b:
					wins += 0.5
				}
			}
		}
		sum, tasks = sum+wins/float64(pairs), tasks+1
	}
	return sum / float64(tasks)
}

// Normalize maps scores of each task linearly, so that low[task] becomes 0 and high[task] 1. If both are equal,
// scores become 0.5.
func Normalize(s Scores, low, high []float64) Scores {
	out := make(Scores, len(s))
	for task, runs := range s {
		out[task] = make([]float64, len(runs))
		for i, x := range runs {
			if out[task][i] = 0.5; high[task] != low[task] {
				out[task][i] = (x - low[task]) / (high[task] - low[task])
			}
		}
	}
	return out
}
