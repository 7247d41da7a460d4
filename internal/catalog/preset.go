package catalog

import (
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// checkPreset returns an error if a network is a preset, whose activations are its own, and the activation is not the default.
func checkPreset(network, defaults nn.Config) error {
	if network.Preset != nn.NoPreset && network.Activation != defaults.Activation {
		return config.Invalid("network.activation", "%v beside a preset, %v, which has its own activations; want the default, %v",
			network.Activation, network.Preset, defaults.Activation)
	}
	return nil
}
