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
// compilation takes longer than a minute.
const maxForwardWeights = 2048

// Lanes returns the layout of the network in a subgroup of the device. Networks that do not have one or two hidden
// layers, that have more weights than lanes can hold, or more than 48 outputs are errors.
func (m MLP) Lanes(info vk.Info) (Lanes, error) {
	if m.Out > maxLaneOutputs {
		return Lanes{}, fmt.Errorf("nn: network %v has %d outputs; networks held in lanes can learn with at most %d: %w", m, m.Out, maxLaneOutputs, ErrNoRoom)
	}
	return m.lanes(info, maxLaneWeights)
}

// ErrNoRoom is wrapped by the errors of networks that are too large for this layout.
var ErrNoRoom = errors.New("no room")

// laneRegisters is the largest number of registers of a GPU's lane.
const laneRegisters = 255

// LanesForward is Lanes for kernels that evaluate the network without learning. On software drivers they may hold more
// weights. On GPUs, which have other ways to hold a network (MLP.Group), the number of registers is the limit: of
// CartPole swing-up's rollout with [128, 128] RADV spills 139 registers in subgroups of 64 lanes, 1160 in subgroups of
// 32.
func (m MLP) LanesForward(info vk.Info) (Lanes, error) {
	if info.Type.GPU() {
		return m.lanes(info, laneRegisters)
	}
	return m.lanes(info, maxForwardWeights)
}

func (m MLP) lanes(info vk.Info, most int) (Lanes, error) {
	width := int(info.SubgroupSize)
	if n := len(m.Hidden); n < 1 || n > 2 {
		return Lanes{}, fmt.Errorf("nn: network %v has %d hidden layers; one subgroup holds one or two", m, n)
	}
	l := Lanes{Lanes: uint32(width), Hidden1: uint32(m.Hidden[0]), Activation: uint32(m.Activation), LayerNorm: m.LayerNorm}
	units := func(n int) int { return (n + width - 1) / width }
	weights := m.In * units(m.Hidden[0])
	if len(m.Hidden) == 2 {
		l.Hidden2 = uint32(m.Hidden[1])
		weights = max(weights, units(m.Hidden[0])*width*units(m.Hidden[1]))
	}
	weights = max(weights, m.Out*units(m.Hidden[len(m.Hidden)-1]))
	if weights > most {
		return Lanes{}, fmt.Errorf("nn: network %v needs %d weights per lane of a subgroup of %d; a lane holds at most %d: %w", m, weights, width, most, ErrNoRoom)
	}
	return l, nil
}
