package session

import (
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
)

// Values are what a run keeps of a report. For the return of training episodes, fitness, evaluation returns and hyperparameters these
// are statistics over the members, under the names return/mean, median, min, max, q25 and q75, and so on; of the other metrics it is the
// mean under the metric's own name. Members without a value (NaN) do not count; a metric that no member has is left out.
func Values(r engine.Report) map[string]float64 {
	values := map[string]float64{}
	for name, of := range r.Metrics {
		switch {
		case name == "episode/return":
			addStatistics(values, "return", numbers(of))
		case name == "pbt/fitness":
			addStatistics(values, "fitness", numbers(of))
		case strings.HasPrefix(name, "hyper/"):
			addStatistics(values, name, numbers(of))
		default:
			if x := numbers(of); len(x) > 0 {
				values[name] = mean(x)
			}
		}
	}
	if r.Evaluation != nil {
		addStatistics(values, "evaluation", returns(r.Evaluation))
	}
	return values
}

// Score is the return to show of a report: the mean over the members; NaN when no episode ended.
func Score(r engine.Report) float64 { return mean(numbers(r.Metrics["episode/return"])) }

// returns are the members' mean returns, without those that have none.
func returns(e *engine.Evaluation) []float64 {
	var out []float64
	for _, episodes := range e.Returns {
		if x := mean(widen(episodes)); !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}

func addStatistics(values map[string]float64, name string, x []float64) {
	if len(x) == 0 {
		return
	}
	slices.Sort(x)
	values[name+"/mean"], values[name+"/median"] = mean(x), quantile(x, 0.5)
	values[name+"/min"], values[name+"/max"] = x[0], x[len(x)-1]
	values[name+"/q25"], values[name+"/q75"] = quantile(x, 0.25), quantile(x, 0.75)
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

// mean is NaN of nothing.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// deviation is the standard deviation of a population.
func deviation(x []float64) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// quantile interpolates linearly between the two nearest of the sorted values (type 7 of Hyndman and Fan, 1996, as NumPy's default).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
