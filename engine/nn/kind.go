package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Kind is what a layer does with its inputs. Only this package needs to know it.
type Kind uint32

// A new kind is a constant here, its line in kinds, and a file with all the rest.
const (
	Dense       Kind = iota // a matrix product with all of them
	LSTM                    // the same with its state too: see Recurrent
	GRU                     // likewise
	Convolution             // at every place of a window, a matrix product with the part of an image under it
	MaxPool                 // at every place of a window, the largest value of each channel
	AveragePool             // likewise, the mean
	Activated               // nothing: it has an activation alone
	LayerNorm               // nothing: it has a normalization, and may have an activation
	OneHot                  // a row of zeros with a one for each token
	Embedding               // a row of weights for each token
	Residual                // two products, each after an activation, added to its inputs
)

var kinds = [...]kind{
	Dense: denseKind{}, LSTM: recurrentCell{}, GRU: recurrentCell{}, Convolution: convolution{}, MaxPool: pool{largest: true}, AveragePool: pool{},
	Activated: identity{}, LayerNorm: identity{norms: true}, OneHot: oneHot{}, Embedding: embedding{}, Residual: residual{},
}

var kindNames = [len(kinds)]string{
	Dense: "dense", LSTM: "lstm", GRU: "gru", Convolution: "conv", MaxPool: "max_pool", AveragePool: "average_pool",
	Activated: "activation", LayerNorm: "layer_norm", OneHot: "one_hot", Embedding: "embedding", Residual: "residual",
}

// kind is what this package asks of a kind of layer.
type kind interface {
	// keys lists the settings that layers of the kind have, besides their type.
	keys() []string
	// layers returns what a description stands for in network m, over values of a shape: one layer, or several that follow each other.
	layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error)
	// size formats a description without its type and activation: "" if there is nothing to say.
	size(c LayerConfig) string
	// export adds the layer's map of a value to a graph, without normalization and activation.
	export(g *exporter, l Layer, x string) string
	// evaluate returns the layer's map of a value, without normalization and activation, in a slice of its own. A cell replaces the memory, of which the
	// first floats are its own.
	evaluate(row []float64, l Layer, x, memory []float64) []float64
}

// mapped is a kind with kernels of its own instead of a matrix product.
type mapped interface {
	// forward records the layer's affine outputs, which are its values where it is neither normalized nor has an activation.
	forward(r *engine.Recorder, l *layered, at mapping)
	// backward records the gradient at the layer's inputs.
	backward(r *engine.Recorder, l *layered, at mapping, dz, to Matrix, by slope)
}

// mapping is a layer that has kernels of its own, at work.
type mapping struct {
	Layer
	rows   int
	inputs Matrix         // a row for each input
	values Matrix         // forward: where the affine outputs go
	kept   *engine.Tensor // forward: what the activation's slope needs of them, laid out like values; nil: nothing
}

// String returns the kind's name in a configuration.
func (k Kind) String() string { return config.NameOf(k, kindNames[:]) }

// UnmarshalText parses a kind's name.
func (k *Kind) UnmarshalText(text []byte) error {
	return config.UnmarshalName(k, "type of layer", kindNames[:], text)
}

// MarshalText returns a kind's name.
func (k Kind) MarshalText() ([]byte, error) {
	return config.MarshalName(k, "type of layer", kindNames[:])
}

// mapped returns the kernels of a layer whose affine outputs are not a matrix product.
func (k Kind) mapped() (mapped, bool) {
	if int(k) >= len(kinds) {
		return nil, false
	}
	m, ok := kinds[k].(mapped)
	return m, ok
}

// layers checks a description of network m, over values of a shape, and returns the layers that it stands for.
func (c LayerConfig) layers(m Sequential, in Shape) ([]Layer, error) {
	if int(c.Kind) >= len(kinds) {
		return nil, fmt.Errorf("of kind %v; want one of %s", c.Kind, strings.Join(kindNames[:], ", "))
	}
	if a := c.activation(Linear); int(a) >= len(activationNames) {
		return nil, fmt.Errorf("activation %d; want 0 to %d", uint32(a), len(activationNames)-1)
	}
	k := kinds[c.Kind]
	for _, s := range c.given() {
		if !slices.Contains(k.keys(), s) {
			return nil, fmt.Errorf("%s of a %v layer, which has %s alone", s, c.Kind, strings.Join(k.keys(), ", "))
		}
	}
	return k.layers(c, m, in)
}

// given lists the settings that are not zero.
func (c LayerConfig) given() (keys []string) {
	for _, s := range []struct {
		key   string
		given bool
	}{
		{"units", c.Units != 0}, {"channels", c.Channels != 0}, {"kernel", c.Kernel != 0}, {"stride", c.Stride != 0},
		{"padding", c.Padding != Valid}, {"activation", c.Activation != nil},
		{"vocabulary", c.Vocabulary != 0},
	} {
		if s.given {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// describe formats a description without its activation, as in "128", "32(8x8/4)", "max_pool(2x2/2)" and "gru128".
func (c LayerConfig) describe() string {
	if int(c.Kind) >= len(kinds) {
		return c.Kind.String()
	}
	size := kinds[c.Kind].size(c)
	if c.Kind == Dense || c.Kind == Convolution {
		return size
	}
	return c.Kind.String() + size
}
