package cmd

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// drawArchive draws the elites of a MAP-Elites run, coloured by fitness: as cells of a grid or of a Voronoi tessellation, else
// as points.
func drawArchive(known *evorl.Catalog, path string, o plot.Options) (*plot.Figure, error) {
	cfg, err := evorl.Stored(path, evorl.Use(known))
	if err != nil {
		return nil, err
	}
	elites, centroids, err := readElites(path)
	if err != nil {
		return nil, err
	}
	if o.Title == "" {
		o.Title = cfg.Run.Workflow + " on " + cfg.Run.Env
	}
	var area *[4]float64
	if low, high, cells := cfg.Archive(); len(low) == 2 {
		area = &[4]float64{low[0], high[0], low[1], high[1]}
		if cells != nil {
			for i := range elites {
				e := &elites[i]
				e.X, e.Width = snap(e.X, low[0], high[0], cells[0])
				e.Y, e.Height = snap(e.Y, low[1], high[1], cells[1])
			}
		} else if centroids != nil {
			tessellate(elites, centroids, low, high)
		}
	}
	of := make([]plot.Cell, len(elites))
	for i := range elites {
		of[i] = elites[i].Cell
	}
	return plot.Heat(of, area, "Fitness", o)
}

// tessellate gives elites the regions of their cells' centroids, which are in the unit square.
func tessellate(elites []elite, centroids [][2]float64, low, high []float64) {
	regions := plot.Voronoi(centroids)
	for i := range elites {
		for _, at := range regions[elites[i].cell] {
			elites[i].Corners = append(elites[i].Corners, [2]float64{low[0] + at[0]*(high[0]-low[0]), low[1] + at[1]*(high[1]-low[1])})
		}
	}
}

// elite is the elite of a cell of an archive.
type elite struct {
	plot.Cell
	cell int
}

// snap returns the middle and the width of a descriptor's cell; descriptors out of range are in the outermost cells.
func snap(x, low, high float64, cells int) (middle, width float64) {
	width = (high - low) / float64(cells)
	at := min(max(math.Floor((x-low)/width), 0), float64(cells-1))
	return low + (at+0.5)*width, width
}

// readElites reads the first member's elites of a run's newest checkpoint: fitness [M][K], NaN where a cell is empty, and descriptors [M][K][2]; and the
// centroids of a Voronoi tessellation [K], nil where there is none.
func readElites(path string) (elites []elite, centroids [][2]float64, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	var fitness, descriptors, tessellation []float32
	_, err = checkpoint.Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) error {
		fitness, descriptors, tessellation = nil, nil, nil
		return c.Load(func(t checkpoint.Tensor) error {
			var to *[]float32
			size := t.Shape
			switch name := t.Name[strings.LastIndexByte(t.Name, '/')+1:]; {
			case t.DType != checkpoint.F32:
			case name == "fitness" && len(t.Shape) == 2:
				to, size = &fitness, t.Shape[1:]
			case name == "centroids" && len(t.Shape) == 2:
				to = &tessellation
			case name == "descriptor" && len(t.Shape) == 3:
				if t.Shape[2] != 2 {
					return fmt.Errorf("%s: elites have %d descriptors: want two", path, t.Shape[2])
				}
				to, size = &descriptors, t.Shape[1:]
			}
			if to != nil {
				values := make([]float32, product(size))
				if err := binary.Read(t.Data, binary.LittleEndian, values); err != nil {
					return err
				}
				*to = values
			}
			_, err := io.Copy(io.Discard, t.Data)
			return err
		})
	})
	if err != nil {
		return nil, nil, err
	}
	if descriptors == nil || 2*len(fitness) != len(descriptors) {
		return nil, nil, fmt.Errorf("%s: no elites in its newest checkpoint: want a run of map-elites, cvt-map-elites or pga-me", path)
	}
	for k, f := range fitness {
		if !math.IsNaN(float64(f)) {
			elites = append(elites, elite{plot.Cell{X: float64(descriptors[2*k]), Y: float64(descriptors[2*k+1]), Value: float64(f)}, k})
		}
	}
	if bounds := 6; len(tessellation) == 2*len(fitness)+bounds { // behind the bounds of descriptors, three rows
		for i := bounds; i < len(tessellation); i += 2 {
			centroids = append(centroids, [2]float64{float64(tessellation[i]), float64(tessellation[i+1])})
		}
	}
	return elites, centroids, nil
}

func product[T ~int | ~int64](of []T) int {
	n := 1
	for _, x := range of {
		n *= int(x)
	}
	return n
}
