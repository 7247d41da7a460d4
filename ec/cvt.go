package ec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// CVTMAPElitesConfig are the settings of CVT-MAP-Elites.
type CVTMAPElitesConfig struct {
	ArchiveConfig
	Centroids int `min:"1" max:"16384" doc:"Cells, K: one around each centroid."`
	Samples   int `min:"1" max:"262144" doc:"Number of random descriptors from which the centroids are computed."`
}

// DefaultCVTMAPElites has QDax's 1024 centroids (F. Chalumeau et al., 2023) and the paper's number of samples
// (section III-B).
func DefaultCVTMAPElites() CVTMAPElitesConfig {
	return CVTMAPElitesConfig{ArchiveConfig: defaultArchive(), Centroids: 1024, Samples: 25000}
}

// Validate checks constraints across fields.
func (c CVTMAPElitesConfig) Validate() error {
	if c.Samples < c.Centroids {
		return config.Invalid("samples", "%d samples for %d centroids; want at least as many", c.Samples, c.Centroids)
	}
	return c.validate()
}

// Name implements Algorithm.
func (c CVTMAPElitesConfig) Name() string { return "cvt-map-elites" }

// cvt is MAP-Elites with the cells of a centroidal Voronoi tessellation: V. Vassiliades, K. Chatzilygeroudis, J.-B.
// Mouret, "Using Centroidal Voronoi Tessellations to Scale Up the Multidimensional Archive of Phenotypic Elites
// Algorithm", 2018.
type cvt struct {
	*archive
	samples int
}

// New implements Algorithm.
func (c CVTMAPElitesConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	b := len(space.DescriptorLow)
	if err := described(b); err != nil {
		return nil, err
	}
	if most := int(s.Engine().Device().Info().Limits.MaxLoopIterations); most > 0 && (c.Centroids+2)*(b+1) > most {
		return nil, fmt.Errorf("ec: %d centroids of %d descriptors; this device can compare a candidate with at most %d", c.Centroids, b, most/(b+1)-2)
	}
	a := newArchive(c.ArchiveConfig, s, clock, hyper, space, c.Centroids)
	a.grid, a.centroids = s.Tensor("centroids", engine.Float32, engine.Axis("cell", 3+c.Centroids), engine.Axis("descriptor", b)), true
	return &cvt{archive: a, samples: c.Samples}, s.Err()
}

// Init implements Strategy: the centroids are computed once and saved.
func (c *cvt) Init(ctx context.Context, start []float32) error {
	space := c.bounds.space
	found, err := centroids(ctx, c.descriptor, c.cells, c.samples, engine.NewRng(c.bounds.scope.Engine().Seed(), c.bounds.scope.Stream("centroids"), 0, 0, 0))
	if err != nil {
		return err
	}
	grid := append(append(append([]float32(nil), space.DescriptorLow...), space.DescriptorHigh...), make([]float32, c.descriptor)...)
	return errors.Join(c.archive.Init(ctx, start), c.grid.WriteFloat32(ctx, append(grid, found...)))
}

// lloydIterations bounds the iterations of Lloyd's method; later ones improve little.
const lloydIterations = 30

// centroids returns k points [k, b] of a centroidal Voronoi tessellation of the unit box, found by Lloyd's method on
// random samples (algorithm 1).
func centroids(ctx context.Context, b, k, samples int, rng *engine.Rng) ([]float32, error) {
	points := make([]float32, samples*b)
	for i := range points {
		points[i] = rng.Uniform()
	}
	all := append([]float32(nil), points[:k*b]...)
	centers := make([][]float32, k)
	for c := range centers {
		centers[c] = all[c*b : (c+1)*b]
	}
	nearest := make([]int, samples)
	sums, counts := make([]float64, k*b), make([]int, k)
	for range lloydIterations {
		slices.SortStableFunc(centers, func(x, y []float32) int { return cmp.Compare(x[0], y[0]) })
		clear(sums)
		clear(counts)
		for s := range samples {
			if s%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p := points[s*b : (s+1)*b]
			at := nearestOf(centers, p, nearest[s])
			nearest[s] = at
			counts[at]++
			for i, x := range p {
				sums[at*b+i] += float64(x)
			}
		}
		moved := false
		for c, n := range counts {
			for i := range b {
				if n == 0 {
					continue
				}
				mean := float32(sums[c*b+i] / float64(n))
				moved = moved || mean != centers[c][i]
				centers[c][i] = mean
			}
		}
		if !moved {
			break
		}
	}
	return all, nil
}

// nearestOf returns the index of the center [k][len(p)] that is nearest to p. The centers must be sorted by their
// first coordinate. The search moves away from the guess along that coordinate until no other center can be nearer; a
// better guess ends it sooner.
func nearestOf(centers [][]float32, p []float32, guess int) int {
	at, least := guess, distance(centers[guess], p)
	from, _ := slices.BinarySearchFunc(centers, p[0], func(c []float32, x float32) int { return cmp.Compare(c[0], x) })
	for c := from; c < len(centers); c++ {
		if d := centers[c][0] - p[0]; d*d > least {
			break
		}
		if far := distance(centers[c], p); far < least {
			at, least = c, far
		}
	}
	for c := from - 1; c >= 0; c-- {
		if d := p[0] - centers[c][0]; d*d > least {
			break
		}
		if far := distance(centers[c], p); far < least {
			at, least = c, far
		}
	}
	return at
}

// distance returns the squared Euclidean distance.
func distance(x, y []float32) float32 {
	var far float32
	for i, v := range x {
		d := v - y[i]
		far += d * d
	}
	return far
}
