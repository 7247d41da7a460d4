package scores

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evorl/evorl/engine/metrics"
)

// Bootstrap estimates intervals by the stratified bootstrap: runs are resampled with replacement, within each task of
// each method, and the interval is between percentiles of the resampled statistic. The zero value is a 95% interval
// from 2000 draws.
type Bootstrap struct {
	Draws      int     // default 2000
	Confidence float64 // fraction of the draws in the interval, above 0 and below 1; default 0.95
	Seed       uint64  // of the draws: the same seed gives the same interval
}

// Interval is an estimate with its interval. Low and High are NaN if no task has two runs.
type Interval struct {
	Value, Low, High float64
}

// Of returns a statistic of a method with its interval.
func (b Bootstrap) Of(s Scores, statistic Statistic) (Interval, error) {
	return b.interval(func(of ...Scores) float64 { return statistic(of[0]) }, s)
}

// Improvement returns the probability of improvement of x over y with its interval. Runs of both are resampled.
func (b Bootstrap) Improvement(x, y Scores) (Interval, error) {
	return b.interval(func(of ...Scores) float64 { return Improvement(of[0], of[1]) }, x, y)
}

func (b Bootstrap) interval(statistic func(...Scores) float64, samples ...Scores) (Interval, error) {
	if b.Draws == 0 {
		b.Draws = 2000
	}
	if b.Confidence == 0 {
		b.Confidence = 0.95
	}
	if b.Draws < 2 || !(b.Confidence > 0 && b.Confidence < 1) {
		return Interval{}, fmt.Errorf("scores: %d draws and confidence %v: want at least 2, and above 0 and below 1", b.Draws, b.Confidence)
	}
	out := Interval{statistic(samples...), math.NaN(), math.NaN()}
	several := func(s Scores) bool {
		return slices.ContainsFunc(s, func(runs []float64) bool { return len(runs) > 1 })
	}
	if !slices.ContainsFunc(samples, several) || math.IsNaN(out.Value) {
		return out, nil
	}
	rng := rand.New(rand.NewPCG(b.Seed, 0))
	drawn := make([]Scores, len(samples))
	for i, s := range samples {
		drawn[i] = make(Scores, len(s))
		for task, runs := range s {
			drawn[i][task] = make([]float64, len(runs))
		}
	}
	values := make([]float64, b.Draws)
	for k := range values {
		for i, s := range samples {
			for task, runs := range s {
				for j := range runs {
					drawn[i][task][j] = runs[rng.IntN(len(runs))]
				}
			}
		}
		values[k] = statistic(drawn...)
	}
	slices.Sort(values)
	tail := (1 - b.Confidence) / 2
	out.Low, out.High = metrics.Quantile(values, tail), metrics.Quantile(values, 1-tail)
	return out, nil
}
