package problem

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// ZDT is one of the six two-objective functions of E. Zitzler, K. Deb, L. Thiele, "Comparison of Multiobjective
// Evolutionary Algorithms: Empirical Results", 2000, with dim variables. dim 0: the paper's number, 30 for ZDT1 to
// ZDT3 and 10 for ZDT4 and ZDT6. ZDT5 is a function of 80 bits: a coordinate of 1/2 or more is a one.
func ZDT(number, dim int) (*Function, error) {
	if number < 1 || number > 6 {
		return nil, fmt.Errorf("problem: ZDT%d; want ZDT1 to ZDT6", number)
	}
	usual := []int{30, 30, 30, 10, 80, 10}[number-1]
	if dim == 0 {
		dim = usual
	}
	if dim < 2 || dim > maxDim || number == 5 && dim != usual {
		return nil, fmt.Errorf("problem: ZDT%d with %d dimensions; want 0 for the paper's %d or, except for ZDT5, 2 to %d", number, dim, usual, maxDim)
	}
	p := &Function{name: fmt.Sprintf("zdt%d", number), objectives: 2, front: func(points int) ([][]float64, error) { return zdtFront(number, points), nil }}
	p.space = box(dim, 0, 1)
	if number == 4 {
		p.space = box(dim, -5, 5)
		p.space.Low[0], p.space.High[0] = 0, 1
	}
	p.call = func(r *engine.Recorder, k functionOf) vk.Call {
		groups, size := k.shared(r)
		return zdtKernel{
			Candidates: k.candidates, Objectives: k.objectives, Members: k.members, Window: k.window, Dim: k.dim, Row: k.row,
			Population: k.population, First: k.first, Objective: k.objective, Function: uint32(number), LocalSizeX: size,
		}.call(groups, 1, 1)
	}
	return p, nil
}

// zdtFront returns the true front, where g has its minimum: 1, or 10 for ZDT5.
func zdtFront(number, points int) [][]float64 {
	var out [][]float64
	switch number {
	case 5:
		for ones := range 31 {
			out = append(out, []float64{1 + float64(ones), 10 / (1 + float64(ones))})
		}
		return out
	case 3:
		// The non-dominated parts of a curve, about a quarter of it.
		for _, x := range uniform(4*points, 0, 0.8518328654) {
			out = append(out, []float64{x, 1 - math.Sqrt(x) - x*math.Sin(10*math.Pi*x)})
		}
		return best(out)
	}
	low := 0.0
	if number == 6 {
		low = zdt6Least
	}
	for _, x := range uniform(points, low, 1) {
		y := 1 - math.Sqrt(x)
		if number == 2 || number == 6 {
			y = 1 - x*x
		}
		out = append(out, []float64{x, y})
	}
	return out
}

// zdt6Least is the minimum of 1 − exp(−4 x) sin⁶(6 π x), at x = atan(9 π) / 6 π.
var zdt6Least = func() float64 {
	x := math.Atan(9*math.Pi) / (6 * math.Pi)
	return 1 - math.Exp(-4*x)*math.Pow(math.Sin(6*math.Pi*x), 6)
}()
