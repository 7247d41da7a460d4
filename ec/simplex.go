package ec

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine/config"
)

// ReferenceConfig chooses points on the simplex of the objectives: the reference points of NSGA-III, the weights of
// MOEA/D.
type ReferenceConfig struct {
	Population int   `min:"1" max:"16384" doc:"Candidates per generation, N."`
	Partitions []int `min:"1" max:"1000" doc:"Partitions per objective, in one layer or outer and inner. None: the most with no more points than candidates."`
}

// points returns the points [points][objectives].
func (c ReferenceConfig) points(objectives int) ([][]float64, error) {
	if objectives < 2 {
		return nil, fmt.Errorf("ec: reference points for a space of %d objectives; want at least 2", objectives)
	}
	partitions := c.Partitions
	if len(partitions) == 0 {
		p := 1
		for simplexSize(objectives, p+1) <= c.Population {
			p++
		}
		partitions = []int{p}
	}
	size := 0
	for _, p := range partitions {
		size += simplexSize(objectives, p)
	}
	if least := simplexSize(objectives, 1); c.Population < least {
		return nil, config.Invalid("population", "a population of %d for %d objectives; want at least %d, one for each", c.Population, objectives, least)
	}
	if size > c.Population {
		return nil, config.Invalid("partitions",
			"%v give %d points for %d objectives and a population of %d; want no more points than candidates", partitions, size, objectives, c.Population)
	}
	return DasDennis(objectives, partitions...)
}

// Check checks the settings against a space of candidates. It needs no device.
func (c ReferenceConfig) Check(space Space) error {
	_, err := c.points(space.Objectives)
	return err
}

// validate checks constraints across fields.
func (c ReferenceConfig) validate() error {
	if n := len(c.Partitions); n > 2 {
		return config.Invalid("partitions", "%d layers; want at most 2", n)
	}
	return nil
}

// DasDennis returns points [points][objectives] spread evenly over the simplex of non-negative numbers with the sum
// 1: all coordinates are multiples of 1 / partitions (I. Das, J. E. Dennis, "Normal-Boundary Intersection",
// 1998). The points of a second layer are moved halfway to the centre (K. Deb, H. Jain, 2014, section V), where a
// coarse first layer has none.
func DasDennis(objectives int, partitions ...int) ([][]float64, error) {
	if objectives < 1 || objectives > maxPoints || len(partitions) < 1 || len(partitions) > 2 {
		return nil, fmt.Errorf("ec: points for %d objectives in %d layers; want 1 to %d objectives and 1 or 2 layers", objectives, len(partitions), maxPoints)
	}
	var points [][]float64
	for layer, p := range partitions {
		size := simplexSize(objectives, p)
		if p < 1 || size > maxPoints || size*objectives > maxCoordinates {
			return nil, fmt.Errorf("ec: %d partitions of %d objectives; want at least 1, and at most %d points of %d coordinates together",
				p, objectives, maxPoints, maxCoordinates)
		}
		for _, point := range simplex(make([]int, 0, objectives), objectives, p, make([][]int, 0, size)) {
			x := make([]float64, objectives)
			for k, parts := range point {
				x[k] = float64(parts) / float64(p)
				if layer == 1 {
					x[k] = (x[k] + 1/float64(objectives)) / 2
				}
			}
			points = append(points, x)
		}
	}
	return points, nil
}

// maxPoints is the maximum number of points, maxCoordinates of their coordinates.
const (
	maxPoints      = 1 << 20
	maxCoordinates = 1 << 24
)

// simplexSize returns the number of points, (p + k - 1 choose p), or a number above maxPoints.
func simplexSize(objectives, p int) int {
	n := 1.0
	for i := 1; i < objectives; i++ {
		n = n * (float64(p) + float64(i)) / float64(i)
	}
	return int(min(math.Round(n), math.MaxInt32))
}

// simplex appends all ways to divide parts among objectives, in ascending order of the first objective's parts.
func simplex(head []int, objectives, parts int, all [][]int) [][]int {
	if len(head) == objectives-1 {
		return append(all, append(append(make([]int, 0, objectives), head...), parts))
	}
	for i := 0; i <= parts; i++ {
		all = simplex(append(head, i), objectives, parts-i, all)
	}
	return all
}

// pad4 pads each point with zeros to a multiple of four, as kernels read them.
func pad4(points [][]float64) []float32 {
	width := (len(points[0]) + 3) / 4 * 4
	out := make([]float32, len(points)*width)
	for i, point := range points {
		for k, v := range point {
			out[i*width+k] = float32(v)
		}
	}
	return out
}
