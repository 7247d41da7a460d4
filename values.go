package evorl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

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

// MemberMetric is the name under which members.jsonl has a metric of a member, such as return/3.
func MemberMetric(metric string, member int) string { return fmt.Sprintf("%s/%d", metric, member) }

// memberValues is what members.jsonl has of a report, under the names of MemberMetric: the mean return of the member's training episodes that
// ended, and of its evaluation. Members without a value (NaN) are left out.
func memberValues(r engine.Report) map[string]float64 {
	values := map[string]float64{}
	add := func(metric string, member int, x float64) {
		if !math.IsNaN(x) {
			values[MemberMetric(metric, member)] = x
		}
	}
	for member, x := range r.Metrics["episode/return"] {
		add("return", member, float64(x))
	}
	if r.Evaluation != nil {
		for member, x := range r.Evaluation.Means() {
			add("evaluation", member, x)
		}
	}
	return values
}

// StepsPerSecond is the metric of the speed of a session: environment steps of all members for each second since its first iteration, in which
// kernels are compiled.
const StepsPerSecond = "time/steps_per_second"

// pace measures the speed of a session.
type pace struct {
	began time.Time // the end of the first iteration; zero: not yet
	from  int64     // environment steps then
}

// rate is the number of steps for each second; ok is false in the first iteration and where there are no steps.
func (p *pace) rate(now time.Time, steps int64) (rate float64, ok bool) {
	if p.began.IsZero() {
		p.began, p.from = now, steps
		return 0, false
	}
	seconds := now.Sub(p.began).Seconds()
	return float64(steps-p.from) / seconds, steps > p.from && seconds > 0
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
