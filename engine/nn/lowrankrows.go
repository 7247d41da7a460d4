package nn

import (
	"fmt"
	"runtime"

	"github.com/evorl/evorl/vk"
)

// RankRows is the layout in which a subgroup evaluates networks of low rank for rows of its own, at every step again (shaders/engine/nn/low_rank_network.glsl).
// Its fields are push and specialization constants of that file.
type RankRows struct {
	Layers uint32            // hidden layers
	Hidden [MaxHidden]uint32 // their units

	Rows   uint32 // of a workgroup
	Width  uint32 // floats of a row's activations
	Record uint32 // floats of a row: activations and projections
	Panels bool   // lanes hold panels of weights, and activations are in a buffer; else in shared memory

	Depth, Columns, Shallow uint32
	Activation              uint32
	Aligned                 bool
	Groups                  int // rows of a lane, where each has rows of its own
	Iterations              int // loop iterations of an invocation per evaluation
}

// Floats returns the floats of a workgroup's buffer.
func (of RankRows) Floats() int {
	if !of.Panels {
		return 0
	}
	return 2 * int(of.Rows*of.Record)
}

// RankRowsOf plans how subgroups of a device evaluate networks of low rank, for the given number of rows altogether. panels is for software drivers.
//
// Errors: a model that is not dense, has layer normalization, too many outputs, or products in another precision than float32; devices without 64-bit
// integers, or with too little shared memory.
func RankRowsOf(model Model, rank int, info vk.Info, rows int, panels bool) (RankRows, error) {
	m, err := perceptron(model)
	switch {
	case err != nil:
		return RankRows{}, err
	case m.LayerNorm:
		return RankRows{}, fmt.Errorf("nn: network %v has layer normalization; want a low-rank network without", m)
	case m.Precision != Float32:
		return RankRows{}, fmt.Errorf("nn: network %v has products in %v; want %v", m, m.Precision, Float32)
	case m.Out > mostRankOutputs:
		return RankRows{}, fmt.Errorf("nn: network %v has %d outputs; low-rank networks beside an environment have up to %d", m, m.Out, mostRankOutputs)
	case len(m.Hidden) > MaxHidden:
		return RankRows{}, fmt.Errorf("nn: network %v has %d hidden layers; want up to %d", m, len(m.Hidden), MaxHidden)
	case !info.Features.Has(vk.Int64):
		return RankRows{}, fmt.Errorf("nn: low-rank networks beside an environment need 64-bit integers, which the device lacks")
	}
	of := RankRows{
		Layers: uint32(len(m.Hidden)), Panels: panels, Activation: uint32(m.Activation), Aligned: m.aligned() && (len(m.Hidden) > 0 || m.In%4 == 0),
	}
	widest, inputs := m.In, m.In
	for i, n := range m.Hidden {
		of.Hidden[i], widest = uint32(n), max(widest, n)
		if i+1 < len(m.Hidden) {
			inputs = max(inputs, n) // of layers by panels
		}
	}
	if panels {
		of.panels(info, widest, inputs, m.In, rows)
	} else {
		of.Columns, of.Depth, of.Shallow, of.Groups = 4, 4, 4, 1
		of.Width = uint32(Align(widest))
	}
	of.Record = of.Width + uint32(rank+7)&^7
	if !panels {
		const most = 32 << 10 // bytes of a workgroup, so that several are on a compute unit
		for of.Rows = info.SubgroupSize; of.Rows > 4 && of.Rows/2 >= uint32(rows) || of.Rows*of.Record*8 > min(most, info.Limits.MaxSharedBytes); {
			of.Rows /= 2
		}
		if of.Rows < 4 {
			return RankRows{}, fmt.Errorf("nn: four rows of network %v need %d bytes of shared memory; want up to %d", m, 4*8*of.Record,
				min(most, info.Limits.MaxSharedBytes))
		}
	}
	of.iterations(m, int(info.SubgroupSize))
	return of, nil
}

// mostRankOutputs bounds the code of the last layer, which is unrolled.
const mostRankOutputs = 64

// panels sets the sizes of panels. widest counts units of a layer, inputs those of a layer that is multiplied by panels, first those of the first.
func (of *RankRows) panels(info vk.Info, widest, inputs, first, rows int) {
	const (
		deepest = 64 // as of products by panels (choosePanel)
		most    = 64 // rows
	)
	lanes := int(info.SubgroupSize)
	of.Columns = 8
	if lanes > 8 || widest <= 4*lanes {
		of.Columns = 4
	}
	of.Width = uint32(ceil(widest, lanes*int(of.Columns)) * lanes * int(of.Columns))
	of.Depth = uint32(Align(ceil(inputs, ceil(inputs, deepest))))
	of.Shallow = min(of.Depth, uint32(Align(first)))
	// Two workgroups for each processor, as long as each has rows for all its lanes.
	each := ceil(rows, 2*runtime.NumCPU())
	of.Groups = max(1, min(ceil(each, lanes), most/lanes))
	of.Rows = uint32(of.Groups * lanes)
}

// iterations counts loop iterations.
func (of *RankRows) iterations(m MLP, lanes int) {
	ins := m.In
	for _, outs := range m.Hidden {
		of.Iterations += 2 + of.Groups*(1+ceil(ins, 4))
		if of.Panels {
			of.Iterations += ceil(outs, lanes*int(of.Columns)) * (4 + ceil(ins, int(of.Depth))*(2+int(of.Rows)))
		} else {
			of.Iterations += ceil(outs, 4*lanes) * (1 + ceil(int(of.Rows), 4)*(1+ceil(ins, 4)))
		}
		ins = outs
	}
	of.Iterations += of.Groups * (2 + ceil(ins, 4))
}
