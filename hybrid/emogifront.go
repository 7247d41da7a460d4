package hybrid

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
)

// Metrics of EMOGI's front after the last selection; NaN before the first. All members share them.
const (
	frontSizeRow   = "front/size"          // non-dominated parents
	frontVolumeRow = "front/hypervolume"   // of styles, from 0 and 0 on
	frontFirstRow  = "front/spread_first"  // greatest less smallest first objective
	frontSecondRow = "front/spread_second" // and second
)

// front measures the non-dominated parents.
type front struct {
	area     *engine.Tensor    // [M]
	measures [4]*engine.Tensor // [1] each: size, hypervolume, spread of the first and of the second objective
}

// newFront makes the measures, and their rows of metrics.
func newFront(p *PBT, s *engine.State) *front {
	n := p.fitness.Len()
	f := &front{area: s.Scratch("area", engine.Float32, engine.Members(n))}
	shared := p.inner.Metrics().Sub("", n)
	for i, name := range []string{frontSizeRow, frontVolumeRow, frontFirstRow, frontSecondRow} {
		f.measures[i] = s.Tensor(name, engine.Float32, engine.Axis("population", 1))
		if name != frontVolumeRow || p.cfg.Objective == Styles {
			p.rows = append(p.rows, row{shared.Row(name), f.measures[i]})
		}
	}
	return f
}

func (f *front) init(ctx context.Context) (err error) {
	for _, t := range f.measures {
		err = errors.Join(err, t.Fill(ctx, float32(math.NaN())))
	}
	return err
}

// record records measuring the front of objectives [M, 2].
func (f *front) record(r *engine.Recorder, objectives *engine.Tensor) {
	n := uint32(f.area.Len())
	r.Dispatch(emogiFrontKernel{Objectives: objectives.Range(), Area: f.area.Range(), Members: n}.call((n+7)/8, 1, 1))
	r.Dispatch(emogiMeasureKernel{
		Objectives: objectives.Range(), Area: f.area.Range(), Size: f.measures[0].Range(), Volume: f.measures[1].Range(),
		First: f.measures[2].Range(), Second: f.measures[3].Range(), Members: n,
	}.call(1, 1, 1))
}
