package nn

import (
	"math"
	"slices"
	"testing"
)

// TestActivationsFar compares every activation and its derivative with float64, from small inputs to inputs with squares and
// exponentials that overflow.
func TestActivationsFar(t *testing.T) {
	var z []float32
	for _, size := range []float32{0, 1e-20, 0.1, 0.7, 1, 2, 3, 5, 8, 10.3, 11, 20, 100, 1e10, 1e20, 1e38} {
		z = append(z, size, -size)
	}
	for a := range Activation(len(activationNames)) {
		s := testState(t)
		one := func(name string, values []float32) Matrix {
			return Matrix{Tensor: vector(t, s, name, len(values), values), Row: len(values)}
		}
		g := Gemm{
			Members: 1, M: 1, N: len(z), K: 1, A: one("a", []float32{1}), B: one("b", z), Activation: a,
			C: one("c", make([]float32, len(z))),
		}
		record(t, s, g.Record)
		h := read(t, g.C.Tensor)
		back := g
		back.Activation, back.Slope = Linear, a
		back.B = one("ones", slices.Repeat([]float32{1}, len(z)))
		back.Inputs, back.Outputs, back.C = g.B.Tensor, g.C.Tensor, one("slopes", make([]float32, len(z)))
		record(t, s, back.Record)
		slopes := read(t, back.C.Tensor)
		for i, x := range z {
			value, slope := activate(a, float64(x))
			if !(math.Abs(float64(h[i])-value) <= 1e-6*(1+math.Abs(value))) {
				t.Errorf("%v of %v: %v, want %v", a, x, h[i], value)
			}
			if !(math.Abs(float64(slopes[i])-slope) <= 1e-6*(1+math.Abs(slope))) {
				t.Errorf("slope of %v at %v: %v, want %v", a, x, slopes[i], slope)
			}
		}
	}
}
