package nn

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Stream is the layout of a network with weights that a subgroup streams from memory. Its fields are push and
// specialization constants of shaders/engine/nn/mlp_stream.glsl.
type Stream struct {
	Layers uint32            // hidden layers
	Hidden [MaxHidden]uint32 // their units

	Rows, Quads, Activation     uint32
	OneTurn, Aligned, LayerNorm bool
	Iterations                  int // loop iterations of an invocation per evaluation
}

// streamLong is the largest number of inputs with an unrolled loop (shaders/engine/nn/mlp_stream.glsl, STREAM_LONG).
const streamLong = 128

// StreamOf plans how a subgroup of the device streams a dense model while it evaluates the given number of inputs at a
// time. The model's parameters must begin at a multiple of four floats.
func StreamOf(model Model, info vk.Info, inputs int) (Stream, error) {
	m, err := perceptron(model)
	if err != nil {
		return Stream{}, err
	}
	s := Stream{Layers: uint32(len(m.Hidden)), Activation: uint32(m.Activation), Aligned: m.aligned(), LayerNorm: m.LayerNorm}
	if len(m.Hidden) > len(s.Hidden) {
		return Stream{}, fmt.Errorf("nn: network %v has %d hidden layers; a stream has room for %d", m, len(m.Hidden), len(s.Hidden))
	}
	// Inputs evaluated together share the loads of weights; each needs registers for its sums, activations and outputs.
	const most = 16
	lanes := int(info.SubgroupSize)
	s.Rows = 1
	for s.Rows < uint32(min(lanes, most, inputs)) && workingRegisters+m.Out+2*int(s.Rows)*max(rowRegisters, m.Out) <= Registers(info) {
		s.Rows *= 2
	}
	batches := (min(lanes, inputs) + int(s.Rows) - 1) / int(s.Rows)
	s.OneTurn = batches == 1
	quads := func(units int) int { return (units + 4*lanes - 1) / (4 * lanes) }
	units := (m.In + lanes - 1) / lanes // per lane
	s.Quads = uint32((units + 3) / 4)
	iterations := 1
	for i, width := range m.Hidden {
		s.Hidden[i] = uint32(width)
		s.Quads = max(s.Quads, uint32(quads(width)))
		iterations += 1 + quads(width)*(1+units)
		units = 4 * quads(width)
		if m.LayerNorm {
			iterations += 3 * units
		}
	}
	if m.In > streamLong {
		iterations += units
	}
	s.Iterations = batches * (iterations + units)
	return s, nil
}

// aligned reports whether the parameters of every hidden layer, and their rows, begin at multiples of four floats.
func (m MLP) aligned() bool {
	for _, l := range m.Layers() {
		if l.Hidden && (l.Out%4 != 0 || l.Weight%4 != 0) {
			return false
		}
	}
	return true
}
