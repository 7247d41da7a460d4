package nn

import "github.com/evorl/evorl/engine/config"

// Config describes the hidden part of a network, as a section of a configuration that embeds it; inputs and outputs come from where it is used.
type Config struct {
	Hidden      []int         `min:"1" max:"8192" doc:"Units per hidden layer; at most 8 layers."`
	Layers      []LayerConfig `replaces:"hidden" doc:"Layers before the output, in order, instead of hidden; at most 16."`
	Preset      Preset        `replaces:"hidden" doc:"Published layers and activations instead of hidden: nature, a3c, impala, minatar, evojax-mnist, ppo-rnn."`
	Activation  Activation    `doc:"Nonlinearity of hidden layers: linear, relu, tanh, elu, swish (or silu), gelu."`
	LayerNorm   bool          `doc:"Layer normalization before each activation."`
	Initializer Initializer   `doc:"Initial weights: orthogonal, lecun_uniform, kaiming_uniform, fan_in_uniform."`
	HiddenGain  float64       `min:"0" doc:"Factor of the initial weights of hidden layers."`
}

// Validate checks constraints across fields.
func (c Config) Validate() error {
	switch {
	case len(c.Hidden) > MaxHidden:
		return config.Invalid("hidden", "%d hidden layers; want at most %d", len(c.Hidden), MaxHidden)
	case len(c.Layers) > maxLayers:
		return config.Invalid("layers", "%d layers before the output; want at most %d", len(c.Layers), maxLayers)
	case c.Preset != NoPreset && len(c.Layers) > 0:
		return config.Invalid("preset", "%v is a network, and layers lists one too; want one of both", c.Preset)
	case len(c.Hidden) > 0 && len(c.Layers) > 0:
		return config.Invalid("layers", "hidden lists layers too, %v; want one of both", c.Hidden)
	}
	return nil
}

// Key returns the setting that lists the hidden layers: "preset", "layers" or "hidden".
func (c Config) Key() string {
	switch {
	case c.Preset != NoPreset:
		return "preset"
	case len(c.Layers) > 0:
		return "layers"
	}
	return "hidden"
}

// Model returns the model: a perceptron over the features of the input or, with Layers or a Preset, a Sequential over its shape.
func (c Config) Model(in Shape, out int, precision Precision) Model {
	if c.Preset != NoPreset {
		c.Layers = c.Preset.Layers()
	}
	if len(c.Layers) == 0 {
		return MLP{In: in.Size(), Out: out, Hidden: c.Hidden, Activation: c.Activation, LayerNorm: c.LayerNorm, Precision: precision}
	}
	return Sequential{In: in, Hidden: c.Layers, Out: out, Activation: c.Activation, LayerNorm: c.LayerNorm, Precision: precision}
}
