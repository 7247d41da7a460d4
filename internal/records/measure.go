package records

import (
	"context"
	"math"
	"slices"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/hybrid"
)

// Evaluations returns the number of candidates that a search evaluated in the given number of iterations, over all
// members; 0 without a search.
func Evaluations(w engine.Workflow, iterations int) int64 {
	return int64(iterations) * int64(w.Describe().Members) * int64(PopulationOf(w))
}

// PopulationOf returns the number of candidates that each member of a search evaluates in an iteration; 0 without a search.
func PopulationOf(w engine.Workflow) int {
	if s, ok := hybrid.Innermost(w).(*ec.Search); ok {
		return s.Generation().Population()
	}
	return 0
}

// FrontPoints is the number of points of the true front from which the reference point is computed.
const FrontPoints = 200

// Hypervolumes returns the members' hypervolumes; front is the problem's true front; nil without one, or if there are not two or three
// objectives. In each objective, the reference point is worse than the worst value of the true front by a tenth of
// the front's range.
func Hypervolumes(ctx context.Context, w engine.Workflow, front [][]float64) ([]float64, error) {
	s, ok := w.(*ec.Search)
	if !ok || front == nil || len(front[0]) > 3 {
		return nil, nil
	}
	_, objectives := s.Generation().Front()
	if objectives == nil {
		return nil, nil
	}
	values, err := objectives.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	reference := make([]float64, len(front[0]))
	for k := range reference {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range front {
			low, high = min(low, p[k]), max(high, p[k])
		}
		reference[k] = low - 0.1*(high-low)
	}
	var out []float64
	for member := range slices.Chunk(values, len(values)/s.Describe().Members) {
		var set [][]float64
		for solution := range slices.Chunk(member, len(reference)) {
			if point := Numbers(solution); len(point) == len(reference) {
				set = append(set, point)
			}
		}
		volume, err := indicator.Hypervolume(set, reference)
		if err != nil {
			return nil, err
		}
		out = append(out, volume)
	}
	return out, nil
}
