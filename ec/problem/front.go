package problem

import (
	"math"

	"github.com/evorl/evorl/ec/indicator"
)

const quarterTurn = math.Pi / 2

// uniform returns n evenly spaced numbers from low to high, both included.
func uniform(n int, low, high float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(max(n-1, 1))
	}
	return out
}

// best returns the non-dominated points; objectives are minimised.
func best(points [][]float64) [][]float64 {
	negative := make([][]float64, len(points))
	for i, p := range points {
		for _, v := range p {
			negative[i] = append(negative[i], -v)
		}
	}
	var out [][]float64
	for _, i := range indicator.NonDominated(negative) {
		out = append(out, points[i])
	}
	return out
}
