package plot

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestVoronoi: random places belong to the cell of their nearest point, and the cells fill the square.
func TestVoronoi(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 37, 500} {
		points := make([][2]float64, n)
		for i := range points {
			points[i] = [2]float64{rng.Float64(), rng.Float64()}
		}
		cells := Voronoi(points)
		area := 0.0
		for _, c := range cells {
			for k, p := range c {
				q := c[(k+1)%len(c)]
				area += (p[0]*q[1] - q[0]*p[1]) / 2
			}
		}
		if math.Abs(area-1) > 1e-9 {
			t.Errorf("%d cells have the area %g; want 1", n, area)
		}
		for range 300 {
			x := [2]float64{rng.Float64(), rng.Float64()}
			best := 0
			for i := range points {
				if reach(x, points[i:i+1]) < reach(x, points[best:best+1]) {
					best = i
				}
			}
			for i, c := range cells {
				if in := inside(c, x); in != (i == best) {
					t.Fatalf("%d points: %v within cell %d: %v; the nearest point is %d", n, x, i, in, best)
				}
			}
		}
	}
	same := Voronoi([][2]float64{{0.5, 0.5}, {0.5, 0.5}, {0.2, 0.5}})
	if len(same[0]) != 4 || same[1] != nil || len(same[2]) != 4 {
		t.Errorf("equal points: %v", same)
	}
}

// inside reports whether a place is within a convex polygon with its corners counterclockwise.
func inside(polygon [][2]float64, x [2]float64) bool {
	for k, p := range polygon {
		q := polygon[(k+1)%len(polygon)]
		if (q[0]-p[0])*(x[1]-p[1])-(q[1]-p[1])*(x[0]-p[0]) < 0 {
			return false
		}
	}
	return len(polygon) > 0
}
