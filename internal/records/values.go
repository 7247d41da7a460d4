// Package records has what a run stores of its iterations: the values of reports and of members, the files that have them, and what is read back from
// these files: scores of repetitions, and the lineage of members.
package records

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/hybrid"
)

// ValuesOf returns what a run stores of a report. Training returns, PBT's fitness, evaluation returns and hyperparameters
// are stored as statistics over the members (return/mean, median, min, max, q25, q75, and so on), other metrics as
// their mean, under the metric's own name. Members without a value (NaN) are excluded; a metric that no member has is
// omitted. Two metrics of one name are an error, since the order of Report.Metrics would choose between them.
func ValuesOf(r engine.Report) (map[string]float64, error) {
	values, count := map[string]float64{}, 0
	add := func(more map[string]float64) {
		maps.Copy(values, more)
		count += len(more)
	}
	statistics := func(name string, of []float64) {
		more := map[string]float64{}
		metrics.AddStatistics(more, name, of)
		add(more)
	}
	for name, of := range r.Metrics {
		switch {
		case name == engine.ReturnMetric:
			statistics("return", Numbers(of))
		case name == hybrid.FitnessMetric || name == hybrid.MovesMetric || strings.HasPrefix(name, "hyper/"):
			statistics(name, Numbers(of))
		case name == "pbt/parent":
			// member indices have no mean; lineage.jsonl has them
		default:
			if x := Numbers(of); len(x) > 0 {
				add(map[string]float64{name: metrics.Mean(x)})
			}
		}
	}
	if r.Evaluation != nil {
		statistics("evaluation", slices.DeleteFunc(r.Evaluation.Means(), math.IsNaN))
	}
	if count > len(values) {
		return nil, fmt.Errorf("metrics of iteration %d: %d values have the names of others, among %s: want a name for each metric", r.Iteration, count-len(values),
			strings.Join(slices.Sorted(maps.Keys(values)), ", "))
	}
	return values, nil
}

// Metrics of a generation, stored for each member: see MemberValues.
const (
	LearnedMetric = "best/learned" // whether the best candidate came from gradient descent
	FitnessMetric = "fitness/best" // the best candidate's fitness
)

// MemberMetric returns the name under which members.jsonl stores a metric of a member, such as return/3.
func MemberMetric(metric string, member int) string { return fmt.Sprintf("%s/%d", metric, member) }

// MemberValues returns what members.jsonl stores of a report, by the names of MemberMetric: the mean returns of each
// member's finished training episodes and of its evaluation; of hybrids of agents and a search also the fitness of the
// generation's best candidate and its side. Members without a value (NaN) are omitted.
func MemberValues(r engine.Report) map[string]float64 {
	values := map[string]float64{}
	add := func(metric string, member int, x float64) {
		if !math.IsNaN(x) {
			values[MemberMetric(metric, member)] = x
		}
	}
	for member, x := range r.Metrics[engine.ReturnMetric] {
		add("return", member, float64(x))
	}
	if _, ok := r.Metrics[LearnedMetric]; ok {
		for _, metric := range []string{LearnedMetric, FitnessMetric} {
			for member, x := range r.Metrics[metric] {
				add(metric, member, float64(x))
			}
		}
	}
	if r.Evaluation != nil {
		for member, x := range r.Evaluation.Means() {
			add("evaluation", member, x)
		}
	}
	return values
}

// StepsPerSecond is the speed of a session: environment steps of all members per second since its first iteration, in
// which kernels are compiled.
const StepsPerSecond = "time/steps_per_second"

// Pace measures the speed of a session.
type Pace struct {
	began time.Time // the end of the first iteration; zero: not yet
	from  int64     // environment steps then
}

// Rate returns the number of steps per second; ok is false in the first iteration and if there are no steps.
func (p *Pace) Rate(now time.Time, steps int64) (rate float64, ok bool) {
	if p.began.IsZero() {
		p.began, p.from = now, steps
		return 0, false
	}
	seconds := now.Sub(p.began).Seconds()
	return float64(steps-p.from) / seconds, steps > p.from && seconds > 0
}

// Numbers lists the values that are not NaN.
func Numbers(of []float32) []float64 {
	return slices.DeleteFunc(Widen(of), math.IsNaN)
}

// Widen converts values to float64.
func Widen(of []float32) []float64 {
	x := make([]float64, len(of))
	for i, v := range of {
		x[i] = float64(v)
	}
	return x
}

// Largest returns the index of the largest value, the first among equals; NaN is below every number.
func Largest(x []float64) int {
	at := 0
	for i, v := range x {
		if v > x[at] || math.IsNaN(x[at]) && !math.IsNaN(v) {
			at = i
		}
	}
	return at
}

// Deviation returns the population standard deviation.
func Deviation(x []float64) float64 {
	m, sum := metrics.Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)))
}
