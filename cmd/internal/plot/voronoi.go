package plot

import (
	"cmp"
	"math"
	"slices"
)

// Voronoi returns the cells of points in the unit square: for each the corners of the region that is nearer to it than to
// every other one, in order around it. A point that equals an earlier one has no cell.
func Voronoi(points [][2]float64) [][][2]float64 {
	order := make([]int, len(points)) // by the first coordinate
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(points[a][0], points[b][0]) })
	cells := make([][][2]float64, len(points))
	for at, i := range order {
		cell := [][2]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
		for step := 1; step < len(order) && len(cell) > 0; step++ {
			near := false // one of the next points to both sides may cut the cell: it is nearer than twice the farthest corner
			for _, k := range []int{at - step, at + step} {
				if k < 0 || k >= len(order) {
					continue
				}
				other := order[k]
				if math.Abs(points[other][0]-points[i][0]) > 2*reach(points[i], cell) {
					continue
				}
				near = true
				if points[other] == points[i] {
					if other < i {
						cell = nil
					}
					continue
				}
				cell = clip(cell, points[i], points[other])
			}
			if !near {
				break
			}
		}
		cells[i] = cell
	}
	return cells
}

// reach returns the distance from a point to the farthest corner.
func reach(p [2]float64, cell [][2]float64) float64 {
	far := 0.0
	for _, c := range cell {
		far = max(far, math.Hypot(c[0]-p[0], c[1]-p[1]))
	}
	return far
}

// clip returns the part of a convex polygon that is nearer to a than to b.
func clip(polygon [][2]float64, a, b [2]float64) (out [][2]float64) {
	normal, middle := [2]float64{b[0] - a[0], b[1] - a[1]}, [2]float64{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	beyond := func(p [2]float64) float64 { return (p[0]-middle[0])*normal[0] + (p[1]-middle[1])*normal[1] }
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		at, next := beyond(p), beyond(q)
		if at <= 0 {
			out = append(out, p)
		}
		if at < 0 && next > 0 || at > 0 && next < 0 {
			share := at / (at - next)
			out = append(out, [2]float64{p[0] + share*(q[0]-p[0]), p[1] + share*(q[1]-p[1])})
		}
	}
	return out
}
