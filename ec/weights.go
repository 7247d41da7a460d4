package ec

import (
	"math"

	"github.com/evorl/evorl/engine"
)

// logWeights returns the weights ln(from) − ln i of the best candidates, i = 1 to parents, normalised to sum to one;
// the others are zero.
func logWeights(population, parents int, from float64) []float32 {
	weights, sum := make([]float64, parents), 0.0
	for i := range weights {
		weights[i] = math.Log(from) - math.Log(float64(i+1))
		sum += weights[i]
	}
	out := make([]float32, population)
	for i, w := range weights {
		out[i] = float32(w / sum)
	}
	return out
}

// rankWeights makes the constant "utilities" [N]: weights of candidates by their rank.
func rankWeights(s *engine.State, weights []float32) *engine.Tensor {
	return engine.Constant(s, "utilities", func() []float32 { return weights }, candidates(len(weights)))
}

// selectionMass returns the variance effective selection mass of weights that sum to one (N. Hansen, 2016, equation
// 8).
func selectionMass(weights []float32) float64 {
	square := 0.0
	for _, w := range weights {
		square += float64(w) * float64(w)
	}
	return 1 / square
}

// defaultPopulation returns the population size of CMA-ES and natural evolution strategies: 4 + ⌊3 ln dim⌋ (N.
// Hansen, 2016, equation 48; D. Wierstra et al., 2014, table 1).
func defaultPopulation(dim int) int { return 4 + int(3*math.Log(float64(dim))) }
