package nn

import "testing"

func init() {
	for _, kind := range []Kind{Activated, LayerNorm} {
		referenceMaps[kind] = func(_ Layer, x []float64) ([]float64, func(d []float64) []float64) {
			return append([]float64(nil), x...), func(d []float64) []float64 { return d }
		}
	}
}

func of(kind Kind, activation Activation) LayerConfig {
	return LayerConfig{Kind: kind, Activation: &activation}
}

// Layers that normalize or have an activation alone agree with float64: over images and vectors, first and last, one after the other.
func TestIdentity(t *testing.T) {
	for _, c := range []networkCase{
		// Normalizations are over many channels: over few, the slope is large where they are nearly equal.
		{net: Sequential{In: Shape{5, 3, 13}, Out: 2, Hidden: []LayerConfig{
			of(LayerNorm, ELU), window(11, 2, 1, Valid, Linear), of(Activated, Swish), of(LayerNorm, Linear), units(9, Linear), of(LayerNorm, Tanh),
		}}, members: 2, stack: 2, inner: 9, normalize: true, splits: 2},
		{net: Sequential{In: Shape{7}, Out: 3, Hidden: []LayerConfig{of(Activated, GELU), units(13, ELU), of(Activated, ELU)}}, members: 3, inner: 11},
		{net: Sequential{In: Shape{7}, Out: 3, Hidden: []LayerConfig{of(Activated, Tanh), units(6, ELU)}, LayerNorm: true}, members: 3, inner: 5, first: 4},
		{net: Sequential{In: Shape{7}, Out: 1, Hidden: []LayerConfig{of(Activated, Tanh), units(6, ReLU)}}, members: 2, inner: 5, first: 3, without: []bool{true}},
		{net: Sequential{In: Shape{7}, Out: 2, Hidden: []LayerConfig{of(LayerNorm, Tanh), units(6, ReLU)}}, members: 2, outer: 3, inner: 5, capacity: 4, first: 3},
	} {
		c.layered = true
		t.Run(c.net.String(), c.run)
	}
}
