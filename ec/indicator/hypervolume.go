package indicator

import (
	"cmp"
	"fmt"
	"slices"
)

// Hypervolume is the volume dominated by a set with two or three objectives, bounded by a reference point that is
// worse than all solutions of interest (E. Zitzler, L. Thiele, 1998). It is exact; for three objectives it sweeps the third
// (n² steps). Larger is better. Solutions that are not better than the reference point in every objective contribute
// nothing.
func Hypervolume(set [][]float64, reference []float64) (float64, error) {
	if err := check("hypervolume", [][]float64{reference}, set); err != nil {
		return 0, err
	}
	var better [][]float64
	for _, point := range set {
		gain := make([]float64, len(point))
		for k, v := range point {
			gain[k] = v - reference[k]
		}
		if slices.Min(gain) > 0 {
			better = append(better, gain)
		}
	}
	switch len(reference) {
	case 2:
		return area(better), nil
	case 3:
		return volume(better), nil
	}
	return 0, fmt.Errorf("indicator: hypervolume with %d objectives; want 2 or 3", len(reference))
}

// area returns the area of the union of boxes from the origin to each point.
func area(points [][]float64) float64 {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b []float64) int { return cmp.Compare(b[0], a[0]) })
	sum, height := 0.0, 0.0
	for _, p := range points { // in decreasing width: each adds the part above the others
		if p[1] > height {
			sum += p[0] * (p[1] - height)
			height = p[1]
		}
	}
	return sum
}

// volume returns the volume of the union of boxes from the origin to each point.
func volume(points [][]float64) float64 {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b []float64) int { return cmp.Compare(b[2], a[2]) })
	sum := 0.0
	var base [][]float64 // the non-dominated points that reach the current height, in decreasing width
	for i, p := range points {
		base = insert(base, p)
		below := 0.0
		if i+1 < len(points) {
			below = points[i+1][2]
		}
		if p[2] > below {
			sum += (p[2] - below) * staircase(base)
		}
	}
	return sum
}

// insert adds a point to a staircase, which uses the first two coordinates.
func insert(stairs [][]float64, p []float64) [][]float64 {
	out := make([][]float64, 0, len(stairs)+1)
	for _, s := range stairs {
		if s[0] >= p[0] && s[1] >= p[1] {
			return stairs
		}
		if !(p[0] >= s[0] && p[1] >= s[1]) {
			out = append(out, s)
		}
	}
	at, _ := slices.BinarySearchFunc(out, p, func(s, p []float64) int { return cmp.Compare(p[0], s[0]) })
	return slices.Insert(out, at, p)
}

// staircase returns the area under a staircase.
func staircase(stairs [][]float64) float64 {
	sum, height := 0.0, 0.0
	for _, s := range stairs {
		sum += s[0] * (s[1] - height)
		height = s[1]
	}
	return sum
}
