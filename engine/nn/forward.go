package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Weights is where the members' parameters of a network are: rows of a [P, row] tensor, the network beginning at Base in each.
type Weights struct {
	Params *engine.Tensor // [P, row]; row a multiple of four
	Base   int            // a multiple of four
}

// Row is the number of floats of a member's row.
func (w Weights) Row() int { return w.Params.Len() / w.Params.Size(engine.MemberAxis) }

// Forward records the outputs of every member's network for all its rows: inputs [..., P, ..., In] to outputs [..., P, ..., Out].
// normalizer [P, 2, In] holds mean and reciprocal deviation of the inputs, nil for none; normalized inputs are clipped to ±limit.
func (m MLP) Forward(r *engine.Recorder, w Weights, normalizer *engine.Tensor, limit float32, inputs, outputs *engine.Tensor) {
	lanes, err := m.Lanes(r.Engine().Device().Info())
	if err != nil {
		r.Fail(err)
		return
	}
	outer, members, inner, ok := inputs.Split(engine.MemberAxis)
	if !ok || inner%m.In != 0 || outputs.Len() != inputs.Len()/m.In*m.Out {
		r.Fail(fmt.Errorf("nn: network %v from %v to %v: the shapes do not agree", m, inputs, outputs))
		return
	}
	inner /= m.In
	k := forwardKernel{
		Params: w.Params.Range(), Params4: w.Params.Range(), Normalizer: w.Params.Range(), Input: inputs.Range(), Output: outputs.Range(),
		ParamsTexels: w.Params.Range(), InputsTexels: inputs.Range(),
		Outer: uint32(outer), Inner: uint32(inner), Row: uint32(w.Row()), Base: uint32(w.Base), ObsLimit: limit,
		Lanes: lanes.Lanes, Hidden1: lanes.Hidden1, Hidden2: lanes.Hidden2, Activation: lanes.Activation, LayerNorm: lanes.LayerNorm,
		In: uint32(m.In), Out: uint32(m.Out),
	}
	if normalizer != nil {
		k.Normalizer, k.Normalize = normalizer.Range(), 1
	}
	call := k.call(uint32(members), uint32(Splits(members, outer*inner)), 1)
	call.Subgroup = lanes.Lanes
	r.Dispatch(call)
}

// Splits is into how many workgroups the rows of one member are divided, so that even one member fills a device, loading the weights
// stays small beside using them, and no invocation loops for too long. It depends on sizes only, never on the device: sums split
// by it are the same everywhere.
func Splits(members, rows int) int {
	const (
		workgroups = 64
		least      = 64 // rows a workgroup
	)
	n := (workgroups + members - 1) / members
	return max(1, min(n, rows/least), (rows+mostRows-1)/mostRows)
}

// mostRows is how many rows an invocation may loop over; Mesa's software driver leaves loops after 65535 iterations in all.
const mostRows = 2048
