package problem

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// DTLZ is one of the functions DTLZ1 to DTLZ7 of K. Deb, L. Thiele, M. Laumanns, E. Zitzler, "Scalable Test Problems
// for Evolutionary Multi-Objective Optimization", 2001, with 2 to 16 objectives and dim variables in [0, 1]. dim 0:
// the paper's number, objectives − 1 plus 5 for DTLZ1, 20 for DTLZ7 and 10 for the others.
func DTLZ(number, objectives, dim int) (*Function, error) {
	if number < 1 || number > 7 || objectives < 2 || objectives > 16 {
		return nil, fmt.Errorf("problem: DTLZ%d of %d objectives; want DTLZ1 to DTLZ7 of 2 to 16", number, objectives)
	}
	if dim == 0 {
		dim = objectives - 1 + []int{5, 10, 10, 10, 10, 10, 20}[number-1]
	}
	if dim < objectives || dim > maxDim {
		return nil, fmt.Errorf("problem: DTLZ%d of %d objectives and %d dimensions; want at least as many dimensions as objectives, and at most %d",
			number, objectives, dim, maxDim)
	}
	p := &Function{
		name: fmt.Sprintf("dtlz%d", number), objectives: objectives,
		front: func(points int) ([][]float64, error) { return dtlzFront(number, objectives, points) },
	}
	p.space = box(dim, 0, 1)
	p.call = func(r *engine.Recorder, k functionOf) vk.Call {
		groups, size := k.shared(r)
		return dtlzKernel{
			Candidates: k.candidates, Objectives: k.objectives, Members: k.members, Window: k.window, Dim: k.dim, Row: k.row,
			Population: k.population, First: k.first, Objective: k.objective, Function: uint32(number), LocalSizeX: size,
		}.call(groups, 1, 1)
	}
	return p, nil
}

// dtlzFront returns the true front, where g has its minimum.
func dtlzFront(number, objectives, points int) ([][]float64, error) {
	switch number {
	case 5, 6:
		// With more objectives there are solutions outside the curve that no solution on it dominates (S. Huband et
		// al., 2006).
		if objectives > 3 {
			return nil, fmt.Errorf("problem: the front of DTLZ%d with %d objectives is not known; want 2 or 3", number, objectives)
		}
		var out [][]float64
		for _, a := range uniform(points, 0, quarterTurn) {
			point := []float64{math.Cos(a), math.Sin(a)}
			if objectives == 3 {
				point = []float64{math.Cos(a) * math.Sqrt2 / 2, math.Cos(a) * math.Sqrt2 / 2, math.Sin(a)}
			}
			out = append(out, point)
		}
		return out, nil
	case 7:
		if objectives > 5 {
			return nil, fmt.Errorf("problem: the front of DTLZ7 with %d objectives is found on a grid, which would be too large; want at most 5", objectives)
		}
		return dtlz7Front(objectives, points), nil
	}
	// DTLZ1: the simplex of sum 1/2; DTLZ2 to DTLZ4: the part of the unit sphere with non-negative coordinates.
	partitions := 1
	for {
		next, err := ec.DasDennis(objectives, partitions+1)
		if err != nil || len(next) > points {
			break
		}
		partitions++
	}
	out, err := ec.DasDennis(objectives, partitions)
	for _, point := range out {
		scale := 0.5
		if number != 1 {
			square := 0.0
			for _, v := range point {
				square += v * v
			}
			scale = 1 / math.Sqrt(square)
		}
		for k := range point {
			point[k] *= scale
		}
	}
	return out, err
}

// dtlz7Front returns the non-dominated points of a grid over all objectives but the last.
func dtlz7Front(objectives, points int) [][]float64 {
	axes := objectives - 1
	// Along each axis about half of the grid is dominated.
	side := max(2, int(math.Ceil(2*math.Pow(float64(points), 1/float64(axes)))))
	grid := [][]float64{nil}
	for range axes {
		var longer [][]float64
		for _, point := range grid {
			for _, x := range uniform(side, 0, 1) {
				longer = append(longer, append(append([]float64(nil), point...), x))
			}
		}
		grid = longer
	}
	for i, point := range grid {
		h := float64(objectives)
		for _, f := range point {
			h -= f / 2 * (1 + math.Sin(3*math.Pi*f))
		}
		grid[i] = append(point, 2*h)
	}
	return best(grid)
}
