package nn

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Lanes is the shape of a network that a subgroup holds in its lanes' registers (shaders/engine/nn/mlp.glsl), in the form its
// specialization constants take.
type Lanes struct {
	Lanes                        uint32 // the subgroup size
	Hidden1, Hidden2, Activation uint32
	LayerNorm                    bool
}

// maxLaneWeights bounds the weights of the second layer that a lane keeps: 1024 floats are 32 KiB of first-level cache for a software
// driver's eight lanes.
const maxLaneWeights = 1024

// maxLaneOutputs bounds the outputs of networks that learn: forward and backward pass of 93 outputs compile for 20 and 63 seconds, layer by layer
// for 2 and 4.
const maxLaneOutputs = 48

// maxForwardWeights is that of kernels which only evaluate the network: the second-level cache feeds a software driver nearly as fast, where
// streaming a network of [128, 128] takes three times as long. Beyond, compilation takes longer than a minute.
const maxForwardWeights = 2048

// Lanes says how a subgroup of the device holds the network. It is an error for a network of no or more than two hidden layers, of
// more weights than lanes can keep, or of more than 48 outputs.
func (m MLP) Lanes(info vk.Info) (Lanes, error) {
	if m.Out > maxLaneOutputs {
		return Lanes{}, fmt.Errorf("nn: network %v has %d outputs; the lanes of a subgroup learn those of at most %d: %w", m, m.Out, maxLaneOutputs, ErrNoRoom)
	}
	return m.lanes(info, maxLaneWeights)
}

// ErrNoRoom is wrapped by the errors of networks that are too large to be held so.
var ErrNoRoom = errors.New("no room")

// laneRegisters is how many registers a lane of a GPU has at most.
const laneRegisters = 255

// LanesForward is Lanes for kernels that evaluate the network and learn nothing. On software drivers those have room for more; on GPUs, for
// which there are other ways to hold a network (MLP.Group), no more than there are registers: of CartPole swing-up's rollout with [128, 128] RADV
// spills 139 registers in subgroups of 64 lanes, 1160 in subgroups of 32.
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
		return Lanes{}, fmt.Errorf("nn: network %v needs %d weights a lane of a subgroup of %d; each has room for %d: %w", m, weights, width, most, ErrNoRoom)
	}
	return l, nil
}
