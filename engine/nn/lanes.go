package nn

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Lanes is the layout of a network in the lanes' registers of a subgroup (shaders/engine/nn/mlp.glsl), as
// specialization constants.
type Lanes struct {
	Lanes                        uint32 // the subgroup size
	Hidden1, Hidden2, Activation uint32
	LayerNorm                    bool
}

// maxLaneWeights is the largest number of weights of the second layer per lane: 1024 floats are 32 KiB of first-level
// cache for a software driver's eight lanes.
const maxLaneWeights = 1024

// maxLaneOutputs is the largest number of outputs of networks that learn: forward and backward pass of 93 outputs
// compile for 20 and 63 seconds, layer by layer for 2 and 4.
const maxLaneOutputs = 48

// maxForwardWeights replaces maxLaneWeights in kernels that only evaluate the network: a software driver's
// second-level cache is nearly as fast, while streaming a network of [128, 128] takes three times as long. Above it,
// compilation takes longer than a minute. On GPUs registers are the bound.
const maxForwardWeights = 2048

// LanesOf returns the layout of a model in a subgroup of the device, for kernels in which it learns.
//
// Errors: models that are not dense with one or two hidden layers of float32, that lanes cannot hold with their
// gradients, or that have more than 48 outputs.
func LanesOf(model Model, info vk.Info) (Lanes, error) {
	m, err := perceptron(model)
	if err != nil {
		return Lanes{}, err
	}
	if m.Precision != Float32 {
		return Lanes{}, fmt.Errorf("nn: network %v in %v; lanes learn in %v", m, m.Precision, Float32)
	}
	if m.Out > maxLaneOutputs {
		return Lanes{}, fmt.Errorf("nn: network %v has %d outputs; networks held in lanes can learn with at most %d: %w", m, m.Out, maxLaneOutputs, ErrNoRoom)
	}
	return m.lanes(info, maxLaneWeights, func(l laneFloats) int { return 36 + 2*l.weights + l.units })
}

// ErrNoRoom is wrapped by the errors of networks that are too large for this layout.
var ErrNoRoom = errors.New("no room")

// LanesForwardOf is LanesOf for kernels that only evaluate the model. A lane needs floats registers for other values,
// such as an environment's state. Software drivers may hold more weights than in learning. The precision makes no
// difference.
func LanesForwardOf(model Model, info vk.Info, floats int) (Lanes, error) {
	m, err := perceptron(model)
	if err != nil {
		return Lanes{}, err
	}
	return m.lanes(info, maxForwardWeights, func(l laneFloats) int { return 20 + l.weights + l.units + floats })
}

// laneFloats are the parts of a network that a lane holds.
type laneFloats struct {
	largest int // weights of the largest layer
	weights int // of all layers, with biases, and with layer normalization its scales and shifts
	units   int // of the hidden layers
}

// lanes returns the layout if the largest layer has at most most weights per lane and if a lane has the registers that
// the form takes. Both estimates of registers were fitted to RADV's figures for networks of [64] to [128, 64] in
// subgroups of 32 and 64 lanes: weights, in learning their gradients too, activations and temporaries.
func (m MLP) lanes(info vk.Info, most int, takes func(laneFloats) int) (Lanes, error) {
	if n := len(m.Hidden); n < 1 || n > 2 {
		return Lanes{}, fmt.Errorf("nn: network %v has %d hidden layers; one subgroup holds one or two", m, n)
	}
	l := Lanes{Lanes: info.SubgroupSize, Hidden1: uint32(m.Hidden[0]), Activation: uint32(m.Activation), LayerNorm: m.LayerNorm}
	if len(m.Hidden) == 2 {
		l.Hidden2 = uint32(m.Hidden[1])
	}
	held := m.laneFloats(int(info.SubgroupSize))
	if held.largest > most {
		return Lanes{}, fmt.Errorf("nn: network %v needs %d weights per lane of a subgroup of %d; a lane holds at most %d: %w",
			m, held.largest, l.Lanes, most, ErrNoRoom)
	}
	if has := Registers(info); takes(held) > has {
		return Lanes{}, fmt.Errorf("nn: network %v needs about %d registers per lane of a subgroup of %d; the device has %d: %w",
			m, takes(held), l.Lanes, has, ErrNoRoom)
	}
	return l, nil
}

func (m MLP) laneFloats(width int) laneFloats {
	units := func(n int) int { return (n + width - 1) / width }
	first := units(m.Hidden[0])
	l := laneFloats{largest: m.In * first, weights: m.In * first, units: first}
	last := first
	if len(m.Hidden) == 2 {
		last = units(m.Hidden[1])
		second := first * width * last
		l.largest, l.weights, l.units = max(l.largest, second), l.weights+second, l.units+last
	}
	l.largest, l.weights = max(l.largest, m.Out*last), l.weights+m.Out*last
	l.weights += l.units + m.Out
	if m.LayerNorm {
		l.weights += 2 * l.units
	}
	return l
}
