package nn

import "fmt"

// residual is the kind of blocks that add to their inputs two products of them, each after an activation (K. He et al., "Identity Mappings in Deep
// Residual Networks", 2016), as in IMPALA's network: x + W2 f(W1 f(x) + b1) + b2. Over an image both are convolutions with its size and channels, else
// dense layers, the first one with the given units. With layer normalization it is before each activation.
type residual struct{}

func (residual) keys() []string { return []string{"kernel", "units", "activation"} }

func (residual) layers(c LayerConfig, m Sequential, in Shape) ([]Layer, error) {
	f, linear := c.activation(m.Activation), Linear
	first, second := LayerConfig{Kind: Dense, Units: c.Units, Activation: &f}, LayerConfig{Kind: Dense, Units: in.Size(), Activation: &linear}
	switch {
	case len(in) == 3 && c.Units != 0:
		return nil, fmt.Errorf("units of a residual block over an image, which has a kernel")
	case len(in) == 3:
		first = LayerConfig{Kind: Convolution, Channels: in[2], Kernel: c.Kernel, Padding: Same, Activation: &f}
		if c.Kernel == 0 {
			first.Kernel = 3
		}
		second = first
		second.Activation = &linear
	case c.Kernel != 0:
		return nil, fmt.Errorf("a kernel of a residual block over %d features, which has units", in.Size())
	case c.Units == 0:
		first.Units = in.Size()
	}
	block := LayerConfig{Kind: Activated, Activation: &f}
	var layers []Layer
	for _, part := range []LayerConfig{block, first, second} {
		l, err := kinds[part.Kind].layers(part, m, in)
		if err != nil {
			return nil, err
		}
		layers, in = append(layers, l...), l[0].shape()
	}
	layers[2].Norms, layers[2].Skip = false, len(layers)
	return layers, nil
}

func (residual) size(c LayerConfig) string {
	if c.Units > 0 {
		return fmt.Sprint(c.Units)
	}
	if c.Kernel > 0 {
		return c.windowSize(1)
	}
	return ""
}

func (residual) export(*exporter, Layer, string) string { return "" } // its layers are of other kinds

func (residual) evaluate([]float64, Layer, []float64, []float64) []float64 { return nil }
