package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/evorl/internal/plot"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// drawArchive draws the elites of a MAP-Elites run, coloured by fitness, as cells of a grid or as points.
func drawArchive(path string, o plot.Options) (*plot.Figure, error) {
	cfg, err := evorl.Stored(path)
	if err != nil {
		return nil, err
	}
	elites, err := readElites(path)
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
		}
	}
	return plot.Heat(elites, area, "Fitness", o)
}

// snap returns the middle and the width of a descriptor's cell; descriptors out of range are in the outermost cells.
func snap(x, low, high float64, cells int) (middle, width float64) {
	width = (high - low) / float64(cells)
	at := min(max(math.Floor((x-low)/width), 0), float64(cells-1))
	return low + (at+0.5)*width, width
}

// readElites reads the first member's elites of a run's newest checkpoint: fitness [M][K], NaN where a cell is empty, and descriptors [M][K][2].
func readElites(path string) (elites []plot.Cell, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	var fitness, descriptors []float32
	_, err = checkpoint.Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) error {
		fitness, descriptors = nil, nil
		return c.Load(func(t checkpoint.Tensor) error {
			var to *[]float32
			switch name := t.Name[strings.LastIndexByte(t.Name, '/')+1:]; {
			case t.DType != checkpoint.F32:
			case name == "fitness" && len(t.Shape) == 2:
				to = &fitness
			case name == "descriptor" && len(t.Shape) == 3:
				if t.Shape[2] != 2 {
					return fmt.Errorf("%s: elites have %d descriptors: want two", path, t.Shape[2])
				}
				to = &descriptors
			}
			if to != nil {
				values := make([]float32, product(t.Shape[1:]))
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
		return nil, err
	}
	if descriptors == nil || 2*len(fitness) != len(descriptors) {
		return nil, fmt.Errorf("%s: no elites in its newest checkpoint: want a run of map-elites, cvt-map-elites or pga-me", path)
	}
	for k, f := range fitness {
		if !math.IsNaN(float64(f)) {
			elites = append(elites, plot.Cell{X: float64(descriptors[2*k]), Y: float64(descriptors[2*k+1]), Value: float64(f)})
		}
	}
	return elites, nil
}

func product[T ~int | ~int64](of []T) int {
	n := 1
	for _, x := range of {
		n *= int(x)
	}
	return n
}
