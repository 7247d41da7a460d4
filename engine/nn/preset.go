package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// Preset is a published network, without its output.
type Preset uint32

// The presets, with the parameters that they have with the inputs and outputs of their papers.
const (
	// NoPreset: a network is described by its layers.
	NoPreset Preset = iota
	// Nature is DQN's network (V. Mnih et al., "Human-level control through deep reinforcement learning", Nature, 2015): 1,687,206 parameters with
	// images of 84 × 84 × 4 and 6 actions.
	Nature
	// A3C is the network without memory of A3C (V. Mnih et al., 2016), and of evolution strategies on Atari (T. Salimans et al., 2017), where its
	// layers have virtual batch normalization: 677,686 parameters with 84 × 84 × 4 and 6 actions.
	A3C
	// Impala is IMPALA's deep network without memory (L. Espeholt et al., 2018): 1,090,774 parameters with 84 × 84 × 4 and 6 actions.
	Impala
	// MinAtar is the network of MinAtar's DQN (K. Young, T. Tian, 2019): 132,566 parameters with 10 × 10 × 4 and 6 actions.
	MinAtar
	// EvoJAXMNIST is EvoJAX's network for digits (Y. Tang et al., 2022): 11,274 parameters with 28 × 28 × 1 and 10 classes.
	EvoJAXMNIST
	// PPORNN is the actor of PureJaxRL's recurrent PPO (C. Lu et al., 2022): a dense layer, a GRU and a dense layer of 128 each. PureJaxRL's
	// critic shares the first two: see Branch.
	PPORNN
)

var presetNames = [...]string{"none", "nature", "a3c", "impala", "minatar", "evojax-mnist", "ppo-rnn"}

// String returns the preset's name in a configuration.
func (p Preset) String() string {
	if int(p) < len(presetNames) {
		return presetNames[p]
	}
	return fmt.Sprintf("Preset(%d)", uint32(p))
}

// UnmarshalText parses a preset's name.
func (p *Preset) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "preset", presetNames[:], text)
}

// MarshalText returns a preset's name.
func (p Preset) MarshalText() ([]byte, error) { return config.MarshalName(p, "preset", presetNames[:]) }

// Layers returns the layers before the output, nil of NoPreset.
func (p Preset) Layers() []LayerConfig {
	linear, relu := Linear, ReLU
	conv := func(channels, kernel, stride int, padding Padding) LayerConfig {
		return LayerConfig{Kind: Convolution, Channels: channels, Kernel: kernel, Stride: stride, Padding: padding, Activation: &relu}
	}
	dense := func(units int) LayerConfig { return LayerConfig{Kind: Dense, Units: units, Activation: &relu} }
	pool := func(kernel, stride int) LayerConfig {
		return LayerConfig{Kind: MaxPool, Kernel: kernel, Stride: stride, Padding: Same}
	}
	switch p {
	case Nature:
		return []LayerConfig{conv(32, 8, 4, Valid), conv(64, 4, 2, Valid), conv(64, 3, 1, Valid), dense(512)}
	case A3C:
		return []LayerConfig{conv(16, 8, 4, Valid), conv(32, 4, 2, Valid), dense(256)}
	case Impala:
		var layers []LayerConfig
		for _, channels := range []int{16, 32, 32} {
			first, block := conv(channels, 3, 1, Same), LayerConfig{Kind: Residual, Kernel: 3, Activation: &relu}
			first.Activation = &linear
			layers = append(layers, first, pool(3, 2), block, block)
		}
		return append(layers, LayerConfig{Kind: Activated, Activation: &relu}, dense(256))
	case MinAtar:
		return []LayerConfig{conv(16, 3, 1, Valid), dense(128)}
	case EvoJAXMNIST:
		return []LayerConfig{conv(8, 5, 1, Same), pool(2, 2), conv(16, 5, 1, Same), pool(2, 2)}
	case PPORNN:
		return []LayerConfig{dense(128), {Kind: GRU, Units: 128}, dense(128)}
	}
	return nil
}
