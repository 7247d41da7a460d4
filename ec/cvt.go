package ec

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// CVTMAPElitesConfig are the settings of CVT-MAP-Elites.
type CVTMAPElitesConfig struct {
	ArchiveConfig
	Centroids int `min:"1" max:"16384" doc:"Cells, K: one around each centroid."`
	Samples   int `min:"1" max:"262144" doc:"Random descriptors that the centroids are found from."`
}

// DefaultCVTMAPElites has QDax's 1024 centroids (F. Chalumeau et al., 2023) and the samples of the paper (section III-B).
func DefaultCVTMAPElites() CVTMAPElitesConfig {
	return CVTMAPElitesConfig{ArchiveConfig: defaultArchive(), Centroids: 1024, Samples: 25000}
}

// Validate says what the fields cannot say alone.
func (c CVTMAPElitesConfig) Validate() error {
	if c.Samples < c.Centroids {
		return config.Invalid("samples", "%d samples for %d centroids; want at least as many", c.Samples, c.Centroids)
	}
	return c.validate()
}

// Name implements Algorithm.
func (c CVTMAPElitesConfig) Name() string { return "cvt-map-elites" }

// cvt is MAP-Elites whose cells are those of a centroidal Voronoi tessellation: V. Vassiliades, K. Chatzilygeroudis, J.-B. Mouret, "Using
// Centroidal Voronoi Tessellations to Scale Up the Multidimensional Archive of Phenotypic Elites Algorithm", 2018.
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

// Init implements Strategy: the centroids are found once and saved.
func (c *cvt) Init(ctx context.Context, start []float32) error {
	space := c.bounds.space
	grid := append(append(append([]float32(nil), space.DescriptorLow...), space.DescriptorHigh...), make([]float32, c.descriptor)...)
	grid = append(grid, centroids(c.descriptor, c.cells, c.samples, c.bounds.eng.Seed())...)
	return errors.Join(c.archive.Init(ctx, start), c.grid.WriteFloat32(ctx, grid))
}

// lloydIterations is how often centroids move at most: the gain of later ones is small.
const lloydIterations = 30

// centroids are k points [k, b] of a centroidal Voronoi tessellation of the unit box, by the method of S. Lloyd on random samples (algorithm 1).
func centroids(b, k, samples int, seed uint32) []float32 {
	rng := engine.NewRng(seed, engine.Stream("ec/centroids"), 0, 0, 0)
	points := make([]float32, samples*b)
	for i := range points {
		points[i] = rng.Uniform()
	}
	centers := append([]float32(nil), points[:k*b]...)
	nearest := make([]int, samples)
	sums, counts := make([]float64, k*b), make([]int, k)
	for range lloydIterations {
		clear(sums)
		clear(counts)
		moved := false
		for s := range samples {
			p := points[s*b : (s+1)*b]
			at := nearestOf(centers, p)
			moved = moved || at != nearest[s]
			nearest[s] = at
			counts[at]++
			for i, x := range p {
				sums[at*b+i] += float64(x)
			}
		}
		for c, n := range counts {
			for i := range b {
				if n > 0 {
					centers[c*b+i] = float32(sums[c*b+i] / float64(n))
				}
			}
		}
		if !moved {
			break
		}
	}
	return centers
}

// nearestOf is the first of the centers [k, len(p)] that is nearest to p.
func nearestOf(centers, p []float32) int {
	at, least := 0, float32(-1)
	for c := 0; c*len(p) < len(centers); c++ {
		var far float32
		for i, x := range p {
			d := x - centers[c*len(p)+i]
			far += d * d
		}
		if least < 0 || far < least {
			at, least = c, far
		}
	}
	return at
}
