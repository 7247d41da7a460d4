package nn

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

func window(channels, kernel, stride int, padding Padding, activation Activation) LayerConfig {
	return LayerConfig{Kind: Convolution, Channels: channels, Kernel: kernel, Stride: stride, Padding: padding, Activation: &activation}
}

func units(n int, activation Activation) LayerConfig {
	return LayerConfig{Units: n, Activation: &activation}
}

// convolutions are networks of sizes that are no multiples of what kernels take at once: several convolutions and dense layers, windows that overlap,
// touch and leave gaps, one pixel and all of an image, zeros on one side only, every activation.
var convolutions = []Sequential{
	{In: Shape{7, 6, 3}, Out: 5, Hidden: []LayerConfig{window(5, 3, 2, Same, ReLU), window(9, 2, 1, Valid, Swish), units(13, Tanh), units(7, GELU)}},
	{In: Shape{9, 8, 1}, Out: 3, Hidden: []LayerConfig{window(17, 3, 3, Valid, ELU), window(33, 2, 1, Same, GELU), units(12, ReLU), units(8, Swish)}},
	{In: Shape{5, 7, 2}, Out: 2, Hidden: []LayerConfig{window(4, 7, 3, Same, Tanh)}},
	{In: Shape{4, 4, 4}, Out: 1, Hidden: []LayerConfig{window(8, 1, 1, Valid, Linear), window(6, 4, 1, Valid, ReLU), units(5, Tanh)}},
	{In: Shape{6, 5, 2}, Out: 3, Hidden: []LayerConfig{window(7, 3, 1, Same, Tanh), window(6, 2, 2, Valid, Swish), units(11, ELU)}, LayerNorm: true},
	// Windows, images and borders of whole steps: gradients at images are convolutions (layered_turned.go).
	{In: Shape{8, 6, 2}, Out: 2, Hidden: []LayerConfig{window(5, 3, 1, Same, Swish), window(9, 4, 2, Valid, ReLU), units(6, Tanh)}},
	{In: Shape{9, 6, 1}, Out: 3, Hidden: []LayerConfig{window(8, 3, 1, Same, Tanh), window(7, 3, 3, Valid, GELU)}},
	{In: Shape{8, 6, 3}, Out: 2, Hidden: []LayerConfig{window(4, 1, 1, Valid, ELU), window(5, 6, 2, Same, ReLU)}},
}

// Convolutions, and dense layers after them, agree with float64 in outputs and all gradients, over several members with several networks each.
func TestConvolutions(t *testing.T) {
	for i, net := range convolutions {
		c := networkCase{net: net, members: 2, stack: 2, inner: 9, normalize: i%2 == 0, splits: 1 + i%3}
		t.Run(net.String(), c.run)
	}
}

// Gradients are computed where they are wanted only; batches of single inputs; as GPUs compute them, without padded rows.
func TestConvolutionGradients(t *testing.T) {
	t.Run("parameters", networkCase{net: convolutions[0], members: 3, inner: 5, without: []bool{true}}.run)
	t.Run("inputs", networkCase{net: convolutions[1], members: 1, inner: 3, withoutParams: true}.run)
	t.Run("one input", networkCase{net: convolutions[2], members: 2, inner: 1}.run)
	t.Run("as GPUs", networkCase{net: convolutions[4], layered: true, gpu: true, members: 1, stack: 2, inner: 7, splits: 2}.run)
	t.Run("as GPUs, whole steps", networkCase{net: convolutions[5], layered: true, gpu: true, members: 2, inner: 33}.run)
}

// Trajectories [T, M, E, …] in chunks smaller than the number of rows.
func TestConvolutionTrajectories(t *testing.T) {
	for _, normalize := range []bool{false, true} {
		c := networkCase{net: convolutions[0], members: 2, stack: 2, outer: 3, inner: 5, capacity: 4, normalize: normalize}
		t.Run(fmt.Sprint("normalize ", normalize), c.run)
	}
	t.Run("one block", networkCase{net: convolutions[1], members: 2, inner: 9, capacity: 4}.run)
}

// More images than a workgroup takes, and weights with products of more terms than a workgroup's loop.
func TestConvolutionManyRows(t *testing.T) {
	net := Sequential{In: Shape{5, 5, 1}, Out: 2, Hidden: []LayerConfig{window(3, 2, 1, Same, Tanh)}}
	networkCase{net: net, members: 1, inner: 701}.run(t)
	if testing.Short() {
		return
	}
	const rows = 4*65535/25 + 200 // more places than a loop of a software driver takes, and no panels: patches have 9 values
	networkCase{net: net, members: 1, inner: rows}.run(t)
}

// TestPatches compares the kernels of convolutions with what they are by definition: patches of images that several networks share, and the
// gradient at images as sums over patches, times the slope of an activation. Rows and networks lie apart, and what is between is not written.
func TestPatches(t *testing.T) {
	const rows, networks, shared = 5, 4, 2
	for _, c := range []struct {
		image          Shape
		kernel, stride int
		padding        Padding
	}{
		{Shape{7, 5, 3}, 3, 2, Same}, {Shape{6, 9, 1}, 2, 3, Valid}, {Shape{3, 3, 2}, 5, 1, Same}, {Shape{4, 6, 5}, 4, 1, Valid},
		{Shape{5, 7, 4}, 3, 2, Same}, {Shape{6, 5, 12}, 3, 1, Valid},
	} {
		apart := 3 // floats before the first image, and between images and networks
		if c.image[2]%4 == 0 {
			apart = 4 // four floats at once
		}
		net := Sequential{In: c.image, Out: 1, Hidden: []LayerConfig{window(2, c.kernel, c.stride, c.padding, Linear)}}
		s := testState(t)
		f := networkCase{net: net, members: networks, stack: 1}.network(t, s, rows).form.(*layered)
		layer, pixels := f.layers[0], c.image.Size()
		// eachPixel calls do for every float of every patch that lies inside the image: with its index among the patches, and the image's.
		m := f.patchesOf(layer)
		row := func(n, r, place int) int { return n*m.Stride + (r*layer.Window.places()+place)*m.Row }
		eachPixel := func(n, r int, do func(patch, pixel int)) {
			affine(layer, func(in, weight, out int) {
				if out%layer.Out == 0 {
					do(row(n, r, out/layer.Out)+weight/layer.Out, in)
				}
			})
		}
		same := func(what string, got []float32, want []float64, tolerance float64) {
			t.Helper()
			for i, v := range want {
				if math.IsNaN(v) != isPoison(got[i]) || math.Abs(float64(got[i])-v) > tolerance {
					t.Fatalf("%v: float %d of the %s is %v; want %v", net, i, what, got[i], v)
				}
			}
		}
		unwritten := func(n int) []float64 {
			all := make([]float64, n)
			for i := range all {
				all[i] = math.NaN()
			}
			return all
		}

		images := vector(t, s, "images", apart+networks/shared*rows*pixels, normals(apart+networks/shared*rows*pixels))
		fill(t, f.gathering(), nil)
		record(t, s, func(r *engine.Recorder) {
			f.gather(r, nil, layer, Matrix{Tensor: images, At: apart, Stride: rows * pixels, Row: pixels, Shared: shared}, rows)
		})
		from, want := read(t, images), unwritten(f.patches.Len())
		zeros := layer.In // outside the image, and behind patches up to a multiple of four
		if m.Row%4 == 0 {
			zeros = Align(layer.In)
		}
		for n := range networks / shared {
			for r := range rows {
				for p := range layer.Window.places() {
					clear(want[row(n, r, p):][:zeros])
				}
				eachPixel(n, r, func(patch, pixel int) { want[patch] = float64(from[apart+(n*rows+r)*pixels+pixel]) })
			}
		}
		same("patches", read(t, f.patches), want, 0)

		wide := pixels + apart
		stride := rows*wide + apart
		size := networks*stride - apart
		outputs, to := vector(t, s, "outputs", size, normals(size)), vector(t, s, "to", size, nil)
		fill(t, f.gathering(), normals(f.patches.Len()))
		record(t, s, func(r *engine.Recorder) {
			f.sum(r, layer, rows, Matrix{Tensor: to, Stride: stride, Row: wide}, slope{of: Tanh, outputs: outputs})
		})
		patches, h := read(t, f.patches), read(t, outputs)
		want = unwritten(size)
		for n := range networks {
			for r := range rows {
				begin := n*stride + r*wide
				sums := want[begin:][:pixels]
				clear(sums)
				eachPixel(n, r, func(patch, pixel int) { sums[pixel] += float64(patches[patch]) })
				for i := range sums {
					v := float64(h[begin+i])
					sums[i] *= 1 - v*v
				}
			}
		}
		same("gradient at the images", read(t, to), want, 1e-3) // slopes of up to 15, sums of up to 25 numbers
	}
}

func TestSequentialErrors(t *testing.T) {
	image := Shape{6, 5, 2}
	for want, net := range map[string]Sequential{
		"shape [6 5]":                            {In: Shape{6, 5}, Out: 1},
		"shape [0]":                              {In: Shape{0}, Out: 1},
		"shape [4096 4096 2]":                    {In: Shape{4096, 4096, 2}, Out: 1},
		"0 outputs":                              {In: image},
		"17 layers":                              {In: image, Out: 1, Hidden: make([]LayerConfig, 17)},
		"layer 1: 0 units":                       {In: image, Out: 1, Hidden: []LayerConfig{units(0, ReLU)}},
		"layer 2: a convolution over 7":          {In: image, Out: 1, Hidden: []LayerConfig{units(7, ReLU), window(3, 1, 1, Valid, ReLU)}},
		"a kernel of 6 × 6 over an image of 6":   {In: image, Out: 1, Hidden: []LayerConfig{window(3, 6, 1, Valid, ReLU)}},
		"over an image of 2 × 2":                 {In: image, Out: 1, Hidden: []LayerConfig{window(3, 2, 3, Valid, ReLU), window(3, 3, 1, Valid, ReLU)}},
		"0 channels":                             {In: image, Out: 1, Hidden: []LayerConfig{window(0, 3, 1, Valid, ReLU)}},
		"kernel of 65":                           {In: image, Out: 1, Hidden: []LayerConfig{window(3, 65, 1, Same, ReLU)}},
		"stride of -1":                           {In: image, Out: 1, Hidden: []LayerConfig{window(3, 3, -1, Valid, ReLU)}},
		"padding Padding(2)":                     {In: image, Out: 1, Hidden: []LayerConfig{window(3, 3, 1, 2, ReLU)}},
		"activation 6":                           {In: image, Out: 1, Hidden: []LayerConfig{units(3, 6)}},
		"kind Kind(99); want one of dense, lstm": {In: image, Out: 1, Hidden: []LayerConfig{{Kind: 99}}},
		"units of a conv layer":                  {In: image, Out: 1, Hidden: []LayerConfig{{Kind: Convolution, Units: 3, Channels: 3, Kernel: 1}}},
		"kernel of a dense layer, which has units, activation alone": {In: image, Out: 1, Hidden: []LayerConfig{{Units: 3, Kernel: 1}}},
		"at most 2097152": {In: Shape{512, 512, 1}, Out: 1, Hidden: []LayerConfig{window(3, 3, 1, Same, ReLU)}},
	} {
		net.Size() // whatever it is
		if err := net.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("network %v: error %v; want one with %q", net, err, want)
		}
	}
	if got, err := perceptron(convolutions[0]); err == nil {
		t.Errorf("convolutions are of perceptron %v; want an error", got)
	}
	s := testState(t)
	n := networkCase{net: Sequential{In: Shape{2, 2, 1}, Out: 1, Hidden: []LayerConfig{window(2, 2, 1, Valid, ReLU)}}, members: 1, stack: 1}.network(t, s, 3)
	half := func(name string) *engine.Tensor {
		return s.Tensor(name, engine.Float32, engine.Members(1), engine.Axis("row", 3), engine.Axis("in", 2))
	}
	a, b := half("a"), half("b")
	y := s.Tensor("y", engine.Float32, engine.Members(1), engine.Axis("row", 3), engine.Axis("out", 1))
	w := Weights{Params: s.Tensor("w", engine.Float32, engine.Members(1), engine.Axis("parameter", 16))}
	_, err := s.Engine().Record("parts", func(r *engine.Recorder) { n.Evaluate(r, w, Inputs{Parts: []*engine.Tensor{a, b}}, y) })
	if err == nil || !strings.Contains(err.Error(), "no image") {
		t.Errorf("an image of two parts: error %v", err)
	}
}

// Dense layers alone are the perceptron, with the same places of its parameters and the same initial ones.
func TestSequentialOfDense(t *testing.T) {
	want := MLP{In: 6, Out: 3, Hidden: []int{8, 5}, Activation: Tanh, LayerNorm: true}
	net := Sequential{In: Shape{6}, Out: 3, Hidden: []LayerConfig{{Units: 8}, units(5, Tanh)}, Activation: Tanh, LayerNorm: true}
	if got, err := perceptron(net); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("dense layers are of %v, %v; want %v", got, err, want)
	}
	if !reflect.DeepEqual(net.Layers(), want.Layers()) || net.String() != want.String() {
		t.Errorf("layers of %v differ from those of %v", net, want)
	}
}

// Orthogonal initial weights of a convolution are orthogonal over the floats under its window; fans count those too.
func TestConvolutionInit(t *testing.T) {
	net := Sequential{In: Shape{5, 5, 2}, Out: 1, Hidden: []LayerConfig{window(6, 3, 1, Valid, ReLU)}}
	row := make([]float32, net.Size())
	net.Init(row, Orthogonal, 2, 1, engine.NewRng(1, 2, 3, 4, 5))
	l := net.Layers()[0]
	if l.In != 18 || l.Out != 6 || l.Units() != 54 {
		t.Fatalf("layer %+v", l)
	}
	for a := range l.Out {
		for b := range l.Out {
			dot, want := 0.0, 0.0
			for k := range l.In {
				dot += float64(row[k*l.Out+a]) * float64(row[k*l.Out+b])
			}
			if a == b {
				want = 4
			}
			if math.Abs(dot-want) > 1e-5 {
				t.Errorf("channels %d and %d: product %v; want %v", a, b, dot, want)
			}
		}
	}
	net.Init(row, FanInUniform, 1, 1, engine.NewRng(1, 2, 3, 4, 5))
	bound := float32(1 / math.Sqrt(18))
	largest := float32(0)
	for _, w := range row[:l.Bias+l.Out] {
		largest = max(largest, w, -w)
	}
	if largest > bound || largest < 0.9*bound {
		t.Errorf("the largest initial weight is %v; want almost %v", largest, bound)
	}
}
