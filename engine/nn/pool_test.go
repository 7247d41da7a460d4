package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func init() {
	for _, kind := range []Kind{MaxPool, AveragePool} {
		referenceMaps[kind] = func(l Layer, x []float64) ([]float64, func(d []float64) []float64) { return pooled(l, x) }
	}
}

// pooled computes a pool by its definition. Every value is a weighted sum of the inputs under its window: of the first largest one, or of all.
func pooled(l Layer, x []float64) ([]float64, func(d []float64) []float64) {
	w, y := l.Window, make([]float64, l.Units())
	weights := make([]map[int]float64, len(y)) // of inputs
	for i := range y {
		channel, column, row := i%w.Channels, i/w.Channels%w.OutWidth, i/(w.Channels*w.OutWidth)
		var under []int
		for a := range w.Height {
			for b := range w.Width {
				if ky, kx := a+w.Top-row*w.Stride, b+w.Left-column*w.Stride; ky >= 0 && ky < w.Kernel && kx >= 0 && kx < w.Kernel {
					under = append(under, (a*w.Width+b)*w.Channels+channel)
				}
			}
		}
		weights[i] = map[int]float64{}
		largest := under[0]
		for _, at := range under {
			if x[at] > x[largest] {
				largest = at
			}
		}
		for _, at := range under {
			switch {
			case l.Kind == AveragePool:
				weights[i][at] = 1 / float64(len(under))
			case at == largest:
				weights[i][at] = 1
			}
		}
		for at, weight := range weights[i] {
			y[i] += weight * x[at]
		}
	}
	return y, func(d []float64) []float64 {
		below := make([]float64, len(x))
		for i, of := range weights {
			for at, weight := range of {
				below[at] += weight * d[i]
			}
		}
		return below
	}
}

func pooling(kind Kind, kernel, stride int, padding Padding) LayerConfig {
	return LayerConfig{Kind: kind, Kernel: kernel, Stride: stride, Padding: padding}
}

// pools are networks with windows that overlap, touch and leave gaps, one pixel and all of an image, zeros on one side only, pools first, last and in a
// row, after every activation, and beside normalized layers.
var pools = []Sequential{
	{In: Shape{7, 6, 3}, Out: 5, Hidden: []LayerConfig{
		window(5, 3, 1, Same, ReLU), pooling(MaxPool, 3, 2, Same), window(9, 2, 1, Valid, Swish), units(13, Tanh),
	}},
	{In: Shape{9, 8, 1}, Out: 3, Hidden: []LayerConfig{
		pooling(AveragePool, 2, 0, Valid), window(5, 2, 1, Valid, ELU), pooling(AveragePool, 3, 2, Same), units(8, GELU),
	}},
	{In: Shape{11, 5, 3}, Out: 4, Hidden: []LayerConfig{
		pooling(MaxPool, 2, 3, Valid), pooling(AveragePool, 1, 1, Valid), pooling(MaxPool, 3, 1, Same),
	}},
	{In: Shape{6, 5, 2}, Out: 3, Hidden: []LayerConfig{
		window(7, 3, 1, Same, Tanh), pooling(MaxPool, 2, 0, Same), window(6, 2, 1, Valid, Swish), units(11, ELU),
	}, LayerNorm: true},
	{In: Shape{7, 5, 4}, Out: 3, Hidden: []LayerConfig{ // four channels at once
		pooling(MaxPool, 3, 2, Same), window(8, 2, 1, Same, Tanh), pooling(AveragePool, 2, 1, Same), pooling(MaxPool, 2, 3, Valid),
	}},
}

// Networks with pools agree with float64 in outputs and all gradients, over several members with several networks each.
func TestPools(t *testing.T) {
	for i, net := range pools {
		c := networkCase{net: net, members: 2, stack: 2, inner: 9, normalize: i%2 == 0, splits: 1 + i%3}
		t.Run(net.String(), c.run)
	}
	t.Run("parameters", networkCase{net: pools[0], members: 3, inner: 5, without: []bool{true}}.run)
	t.Run("inputs", networkCase{net: pools[2], members: 1, inner: 3, withoutParams: true}.run)
	t.Run("as GPUs", networkCase{net: pools[3], layered: true, gpu: true, members: 1, stack: 2, inner: 7, splits: 2}.run)
	t.Run("four channels as GPUs", networkCase{net: pools[4], layered: true, gpu: true, members: 1, stack: 2, inner: 7, splits: 2}.run)
	t.Run("chunks", networkCase{net: pools[3], members: 2, stack: 2, outer: 3, inner: 5, capacity: 4, normalize: true}.run)
	t.Run("many", networkCase{net: Sequential{In: Shape{3, 3, 1}, Out: 2, Hidden: []LayerConfig{pooling(MaxPool, 2, 1, Same)}}, members: 1, inner: 701}.run)
}

// The gradient at a largest value goes to the first of equal ones.
func TestMaxPoolTies(t *testing.T) {
	s := testState(t)
	net := Sequential{In: Shape{2, 3, 1}, Out: 1, Hidden: []LayerConfig{pooling(MaxPool, 2, 1, Valid)}}
	f := networkCase{net: net, members: 1, inner: 1}.fixture(t, s)
	x := []float32{1, 2, 2, 2, 0, 2}
	f.xv[0] = x
	fill(t, f.inputs.Parts[0], x)
	pass, err := f.network.NewPass(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, f.step(pass))
	f.check(t, true)
	for i, d := range read(t, f.gradients.Inputs[0]) {
		if (d != 0) != (i == 1) {
			t.Errorf("the gradient at pixel %d of %v is %v", i, x, d)
		}
	}
}

func TestPoolErrors(t *testing.T) {
	image := Shape{9, 9, 2}
	for want, c := range map[string]LayerConfig{
		"channels of a max_pool layer":           {Kind: MaxPool, Kernel: 2, Channels: 3},
		"activation of a average_pool layer":     {Kind: AveragePool, Kernel: 2, Activation: new(Activation)},
		"a kernel of 0 × 0":                      {Kind: MaxPool},
		"a kernel of 10 × 10 over an image of 9": {Kind: MaxPool, Kernel: 10},
		"a stride of 65":                         {Kind: MaxPool, Kernel: 2, Stride: 65},
		"a stride of -1":                         {Kind: MaxPool, Kernel: 2, Stride: -1},
		"steps a pixel":                          pooling(MaxPool, 20, 1, Same),
	} {
		net := Sequential{In: image, Out: 1, Hidden: []LayerConfig{c}}
		net.Size() // whatever it is
		if err := net.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("network %v: error %v; want one with %q", net, err, want)
		}
	}
	if got, want := fmt.Sprint(pools[0]), "7x6x3-5(3x3 same) relu-max_pool(3x3/2 same)-9(2x2) swish-13 tanh-5 linear"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if n := (pool{largest: true}).iterations(windowOver(Shape{64, 64, 1}, 15, 1, Valid)); n > maxPoolIterations || n < math.MaxUint16/2 {
		t.Errorf("a window of 15 × 15 at every pixel takes %d steps", n)
	}
}
