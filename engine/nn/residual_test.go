package nn

import (
	"strings"
	"testing"
)

// Residual blocks agree with float64: over images and vectors, first, last and in a row, after pools, with and without layer normalization.
func TestResidual(t *testing.T) {
	block, wide := of(Residual, ELU), of(Residual, Swish) // neither ReLU nor max pools: inputs are random, and float32 may be on the other side of a kink
	wide.Units = 5
	for _, c := range []networkCase{
		{net: Sequential{In: Shape{6, 5, 2}, Out: 3, Hidden: []LayerConfig{
			window(5, 3, 1, Same, Linear), pooling(AveragePool, 3, 2, Same), block, block, of(Activated, ELU), units(9, ELU),
		}}, members: 2, stack: 2, inner: 9, normalize: true, splits: 2},
		{net: Sequential{In: Shape{7}, Out: 2, Hidden: []LayerConfig{wide, units(13, Tanh), of(Residual, GELU), wide}}, members: 3, inner: 11},
		// A normalization over two channels has a slope of thousands where they are nearly equal.
		{net: Sequential{In: Shape{3, 4, 7}, Out: 2, Hidden: []LayerConfig{
			of(Residual, Tanh), units(9, ELU), wide, units(5, Tanh),
		}, LayerNorm: true}, members: 2, inner: 7},
		{net: Sequential{In: Shape{7}, Out: 2, Hidden: []LayerConfig{units(6, ReLU), wide, wide}, LayerNorm: true}, members: 2, outer: 3, inner: 5, capacity: 4},
		{net: Sequential{In: Shape{7}, Out: 1, Hidden: []LayerConfig{wide}}, members: 2, inner: 5, first: 3},
	} {
		c.layered = true
		t.Run(c.net.String(), c.run)
	}
}

func TestResidualErrors(t *testing.T) {
	for want, c := range map[string]LayerConfig{
		"units of a residual block over an image": {Kind: Residual, Units: 3},
		"a kernel of 65":             {Kind: Residual, Kernel: 65},
		"stride of a residual layer": {Kind: Residual, Stride: 2},
	} {
		net := Sequential{In: Shape{9, 9, 2}, Out: 1, Hidden: []LayerConfig{c}}
		if err := net.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("network %v: error %v; want one with %q", net, err, want)
		}
	}
}
