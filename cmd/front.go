package cmd

import (
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// drawFronts draws the first two objectives of the solutions in the newest checkpoints of runs: of every member, the
// non-dominated ones. The true front of the first run's problem is drawn beneath.
func drawFronts(known *evorl.Catalog, paths []string, o plot.Options) (*plot.Figure, error) {
	var clouds []plot.Cloud
	for i, path := range paths {
		cfg, err := evorl.Stored(path, evorl.Use(known))
		if err != nil {
			return nil, err
		}
		found, err := readFronts(path)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if o.Title == "" {
				o.Title = cfg.Run.Workflow + " on " + cfg.Run.Env
			}
			if front := cfg.Front(2000); front != nil {
				clouds = append(clouds, cloudOf("true front", [][][]float64{front}))
				clouds[0].Small = true
			}
		}
		clouds = append(clouds, cloudOf(filepath.Base(filepath.Clean(path)), found))
	}
	o.YLabel = "Objective 2, maximised"
	return plot.Scatter(clouds, "Objective 1, maximised", o)
}

// cloudOf returns the first two objectives of the non-dominated solutions of each set.
func cloudOf(label string, sets [][][]float64) plot.Cloud {
	c := plot.Cloud{Label: label}
	for _, set := range sets {
		for _, i := range indicator.NonDominated(set) {
			c.X, c.Y = append(c.X, set[i][0]), append(c.Y, set[i][1])
		}
	}
	return c
}

// readFronts reads the objectives [M][N][K] of a run's newest checkpoint.
func readFronts(path string) (found [][][]float64, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	_, err = checkpoint.Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) error {
		found = nil
		return c.Load(func(t checkpoint.Tensor) error {
			if !strings.HasSuffix(t.Name, "/objectives") || t.DType != checkpoint.F32 || len(t.Shape) != 3 || t.Shape[2] < 2 {
				_, err := io.Copy(io.Discard, t.Data)
				return err
			}
			for range t.Shape[0] {
				var set [][]float64
				for range t.Shape[1] {
					values := make([]float32, t.Shape[2])
					if err := binary.Read(t.Data, binary.LittleEndian, values); err != nil {
						return err
					}
					point := make([]float64, len(values))
					for k, v := range values {
						point[k] = float64(v)
					}
					set = append(set, point)
				}
				found = append(found, set)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("%s: no objectives in its newest checkpoint: want a run with several, such as one of nsga-ii", path)
	}
	return found, nil
}
