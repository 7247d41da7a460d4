// Package indicator computes quality indicators of solution sets with several objectives. As everywhere in evorl, objectives
// are maximised: negate objectives that are to be minimised. Sets are [solutions][objectives]. Non-finite objectives are an
// error.
package indicator

import (
	"fmt"
	"math"
	"slices"
)

// GD is the generational distance of a set from the true front: the mean Euclidean distance from its solutions to the
// nearest point of the front (D. A. Van Veldhuizen, "Multiobjective Evolutionary Algorithms", 1999, with the mean instead
// of the root of the sum of squares divided by n). 0 is best.
func GD(set, front [][]float64) (float64, error) { return mean("GD", set, front, euclidean) }

// IGD is the inverted generational distance: the mean Euclidean distance from the points of the true front to the
// nearest solution (C. A. Coello Coello, M. Reyes Sierra, 2004). 0 is best.
func IGD(set, front [][]float64) (float64, error) {
	return mean("IGD", front, set, func(point, solution []float64) float64 { return euclidean(solution, point) })
}

// IGDPlus is the inverted generational distance that counts only the objectives in which the solution is worse
// than the point of the front (H. Ishibuchi et al., "Modified Distance Calculation in Generational Distance and
// Inverted Generational Distance", 2015, equations 10 and 18). It is weakly Pareto compliant: a dominated set never has the
// smaller value. 0 is best.
func IGDPlus(set, front [][]float64) (float64, error) {
	return mean("IGD+", front, set, func(point, solution []float64) float64 {
		sum := 0.0
		for k, p := range point {
			d := max(p-solution[k], 0)
			sum += d * d
		}
		return math.Sqrt(sum)
	})
}

// mean returns the mean distance from the points of from to their nearest point of to.
func mean(name string, from, to [][]float64, distance func(from, to []float64) float64) (float64, error) {
	if err := check(name, from, to); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, a := range from {
		nearest := math.Inf(1)
		for _, b := range to {
			nearest = min(nearest, distance(a, b))
		}
		sum += nearest
	}
	return sum / float64(len(from)), nil
}

func euclidean(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(sum)
}

// check validates sets.
func check(name string, sets ...[][]float64) error {
	for _, set := range sets {
		if len(set) == 0 || len(set[0]) == 0 {
			return fmt.Errorf("indicator: %s of an empty set; want solutions with objectives", name)
		}
		for i, point := range set {
			if len(point) != len(sets[0][0]) {
				return fmt.Errorf("indicator: %s of points with %d and with %d objectives; want the same number", name, len(sets[0][0]), len(point))
			}
			for k, v := range point {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("indicator: %s: objective %d of point %d is %g; want finite ones", name, k, i, v)
				}
			}
		}
	}
	return nil
}

// NonDominated returns the indices of the non-dominated solutions: no other solution is at least as good in all
// objectives and better in one.
func NonDominated(set [][]float64) []int {
	var out []int
	for i, a := range set {
		if !slices.ContainsFunc(set, func(b []float64) bool { return dominates(b, a) }) {
			out = append(out, i)
		}
	}
	return out
}

func dominates(a, b []float64) bool {
	better := false
	for k := range a {
		if a[k] < b[k] {
			return false
		}
		better = better || a[k] > b[k]
	}
	return better
}
