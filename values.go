package evorl

import (
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
)

// valuesOf is what a run keeps of a report. Returns of training episodes, fitness, evaluation returns and hyperparameters are kept as
// statistics over the members (return/mean, median, min, max, q25, q75, and so on), other metrics as their mean, under the metric's own
// name. Members without a value (NaN) do not count; a metric that no member has is left out.
func valuesOf(r engine.Report) map[string]float64 {
	values := map[string]float64{}
	for name, of := range r.Metrics {
		switch {
		case name == "episode/return":
			metrics.AddStatistics(values, "return", numbers(of))
		case name == "pbt/fitness":
			metrics.AddStatistics(values, "fitness", numbers(of))
		case strings.HasPrefix(name, "hyper/"):
			metrics.AddStatistics(values, name, numbers(of))
		case name == "pbt/parent":
			// numbers of members have no mean; lineage.jsonl has them
		default:
			if x := numbers(of); len(x) > 0 {
				values[name] = metrics.Mean(x)
			}
		}
	}
	if r.Evaluation != nil {
		metrics.AddStatistics(values, "evaluation", returns(r.Evaluation))
	}
	return values
}

// returns are the members' mean returns, without those that have none.
func returns(e *engine.Evaluation) []float64 {
	var out []float64
	for _, episodes := range e.Returns {
		if x := metrics.Mean(widen(episodes)); !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}

// numbers are the values that are not NaN.
func numbers(of []float32) []float64 {
	return slices.DeleteFunc(widen(of), math.IsNaN)
}

func widen(of []float32) []float64 {
	x := make([]float64, len(of))
	for i, v := range of {
		x[i] = float64(v)
	}
	return x
}

// largest is the index of the largest value, the first where several are; NaN is below every number.
func largest(x []float64) int {
	at := 0
	for i, v := range x {
		if v > x[at] || math.IsNaN(x[at]) && !math.IsNaN(v) {
			at = i
		}
	}
	return at
}

// deviation is the standard deviation of a population.
func deviation(x []float64) float64 {
	m, sum := metrics.Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)))
}
