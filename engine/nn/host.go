package nn

import (
	"fmt"
	"math"
)

// Host evaluates a network on the host in float64, one input at a time, without a device. Policies act by it outside of evorl. It is safe for
// concurrent use.
type Host struct {
	layers []Layer
	row    []float64
	in     int
	memory int
}

// NewHost returns the evaluation of layers over inputs of a size, with parameters read from a row. It is an error if the layers do not fit each other or
// the row.
func NewHost(layers []Layer, row []float32, in int) (*Host, error) {
	h := &Host{layers: layers, in: in, row: make([]float64, len(row))}
	for i, v := range row {
		h.row[i] = float64(v)
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("nn: a network without layers")
	}
	size := in
	for i, l := range layers {
		if err := l.fits(size, len(row)); err != nil {
			return nil, fmt.Errorf("nn: layer %d of %d: %w", i, len(layers), err)
		}
		if l.Skip < 0 || l.Skip > i || l.Skip > 0 && layers[i-l.Skip].Units() != l.Units() {
			return nil, fmt.Errorf("nn: layer %d of %d adds the values of the layer %d before it; want one of as many values", i, len(layers), l.Skip)
		}
		size = l.Units()
		h.memory += l.Memory()
	}
	return h, nil
}

// fits checks a layer over so many inputs, with parameters in a row of so many floats.
func (l Layer) fits(in, row int) error {
	if int(l.Kind) >= len(kinds) || l.Out < 1 || l.Units() < 1 {
		return fmt.Errorf("a %v layer of %d values", l.Kind, l.Units())
	}
	for _, p := range l.Parameters() {
		if p.At < 0 || p.Len() < 0 || p.At+p.Len() > row {
			return fmt.Errorf("its %s is at %d to %d of a row of %d floats", p.Name, p.At, p.At+p.Len(), row)
		}
	}
	want := l.In
	switch w := l.Window; {
	case w.Kernel > 0:
		want = w.Height * w.Width * w.Channels
		if w.Stride < 1 || len(l.Shape) != 3 || l.Shape[0] != w.OutHeight || l.Shape[1] != w.OutWidth || l.Kind == Convolution && l.In != w.patch() ||
			l.Kind != Convolution && l.Out != w.Channels {
			return fmt.Errorf("its window %+v does not fit its shape %v", w, l.Shape)
		}
	case l.Kind == OneHot:
		want = l.places()
	case l.In == 0:
		want = l.Units()
	}
	if in != want {
		return fmt.Errorf("a %v layer of %d inputs after %d values", l.Kind, want, in)
	}
	return nil
}

// Inputs returns the number of the network's inputs.
func (h *Host) Inputs() int { return h.in }

// Outputs returns the number of the network's outputs.
func (h *Host) Outputs() int { return h.layers[len(h.layers)-1].Units() }

// Memory returns the number of floats carried from step to step; 0: none.
func (h *Host) Memory() int { return h.memory }

// Evaluate returns the outputs at an input, and replaces memory by that after the step. x has Inputs values and memory has Memory.
func (h *Host) Evaluate(x, memory []float64) []float64 {
	var all [][]float64
	for i, l := range h.layers {
		y := kinds[l.Kind].evaluate(h.row, l, x, memory)
		memory = memory[l.Memory():]
		if l.Skip > 0 {
			for j, v := range all[i-l.Skip] {
				y[j] += v
			}
		}
		if l.Norms {
			for at := 0; at < len(y); at += l.Out {
				normalize(y[at:at+l.Out], h.row[l.Scale:], h.row[l.Shift:])
			}
		}
		if l.Hidden {
			for j, v := range y {
				y[j] = l.Activation.of(v)
			}
		}
		all, x = append(all, y), y
	}
	return x
}

// normalize normalizes values to mean 0 and variance 1, then scales and shifts each.
func normalize(x, scale, shift []float64) {
	n, mean, variance := float64(len(x)), 0.0, 0.0
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	for j, v := range x {
		x[j] = (v-mean)/math.Sqrt(variance+normEpsilon)*scale[j] + shift[j]
	}
}

// product adds the product of x [n] with a matrix [n, len(to)] to values.
func product(to, x, matrix []float64) {
	for k, v := range x {
		for j, w := range matrix[k*len(to):][:len(to)] {
			to[j] += v * w
		}
	}
}

// of returns the activation of a value.
func (a Activation) of(x float64) float64 {
	switch a {
	case ReLU:
		return max(x, 0)
	case Tanh:
		return math.Tanh(x)
	case ELU:
		if x < 0 {
			return math.Expm1(x)
		}
	case Swish:
		return x * sigmoid(x)
	case GELU: // x (1 + tanh u) / 2 = x σ(2 u)
		return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
	}
	return x
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// over calls f for every pixel of the image that is under the window at a place: the pixel's number in the image, and its number under the window.
func (w Window) over(row, column int, f func(pixel, under int)) {
	for ky := range w.Kernel {
		y := row*w.Stride + ky - w.Top
		if y < 0 || y >= w.Height {
			continue
		}
		for kx := range w.Kernel {
			if x := column*w.Stride + kx - w.Left; x >= 0 && x < w.Width {
				f(y*w.Width+x, ky*w.Kernel+kx)
			}
		}
	}
}
