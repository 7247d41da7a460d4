package nn

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
)

// Orthogonal weights have orthonormal rows or columns, whichever are fewer, times the gain.
func TestInitOrthogonal(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 64}, {64, 64}, {64, 2}, {7, 3}} {
		in, out := size[0], size[1]
		const gain = 1.7
		w := make([]float32, in*out)
		Orthogonal.fill(w, in, out, gain, engine.NewRng(1, engine.Stream("init"), uint32(in), 0, 0))
		m := mat.NewDense(in, out, nil)
		for i, v := range w {
			m.Set(i/out, i%out, float64(v))
		}
		var product mat.Dense
		if in < out {
			product.Mul(m, m.T())
		} else {
			product.Mul(m.T(), m)
		}
		for i := range min(in, out) {
			for j := range min(in, out) {
				want := 0.0
				if i == j {
					want = gain * gain
				}
				if math.Abs(product.At(i, j)-want) > 1e-5 {
					t.Fatalf("%d × %d: the product of %d and %d is %v; want %v", in, out, i, j, product.At(i, j), want)
				}
			}
		}
	}
}

// Uniform weights cover their interval and stay inside it.
func TestInitBounds(t *testing.T) {
	for how, variance := range map[Initializer]float64{LecunUniform: 1, KaimingUniform: 2, FanInUniform: 1.0 / 3} {
		const in, out, gain = 64, 200, 0.5
		w := make([]float32, in*out)
		how.fill(w, in, out, gain, engine.NewRng(1, engine.Stream("init"), 0, 0, 0))
		bound := gain * math.Sqrt(3*variance/in)
		var mean, square, largest float64
		for _, v := range w {
			mean += float64(v) / float64(len(w))
			square += float64(v) * float64(v) / float64(len(w))
			largest = max(largest, math.Abs(float64(v)))
		}
		// The expected variance is gain^2 variance / in. The largest of n draws is within 10 / n of the bound, and
		// the means within five standard errors.
		want := gain * gain * variance / in
		n := float64(len(w))
		if largest > bound || largest < bound*(1-10/n) || math.Abs(mean) > 5*math.Sqrt(want/n) ||
			math.Abs(square/want-1) > 5*math.Sqrt(0.8/n) {
			t.Errorf("%v: mean %v, mean square %v (want %v), largest %v (bound %v)", how, mean, square, want, largest, bound)
		}
	}
}

// Init fills the whole row and nothing else: biases and shifts with 0, scales with 1, the weights of each layer with
// its gain.
func TestInitRow(t *testing.T) {
	for _, norm := range []bool{false, true} {
		net := MLP{In: 3, Out: 2, Hidden: []int{5, 4}, LayerNorm: norm}
		row := make([]float32, net.Size()+1)
		for i := range row {
			row[i] = poison
		}
		net.Init(row, LecunUniform, 1, 1e-4, engine.NewRng(1, engine.Stream("init"), 0, 0, 0))
		if !isPoison(row[net.Size()]) {
			t.Fatal("a float behind the row was written")
		}
		for i, l := range net.Layers() {
			size := 0.0
			for _, v := range row[l.Weight:l.Bias] {
				size = max(size, math.Abs(float64(v)))
			}
			if small := size < 1e-3; small == l.Hidden || !(size > 0) {
				t.Errorf("layer %d, hidden %v, has weights up to %v", i, l.Hidden, size)
			}
			for j := range l.Out {
				if row[l.Bias+j] != 0 || l.Norms && (row[l.Scale+j] != 1 || row[l.Shift+j] != 0) {
					t.Errorf("layer %d, unit %d: wrong initial bias, scale or shift", i, j)
				}
			}
		}
	}
}

// FanInUniform also draws biases, within the bound of their layer.
func TestInitBiases(t *testing.T) {
	net := MLP{In: 3, Out: 2, Hidden: []int{50, 40}}
	row := make([]float32, net.Size())
	net.Init(row, FanInUniform, 1, 0.01, engine.NewRng(1, engine.Stream("init"), 0, 0, 0))
	for i, l := range net.Layers() {
		bound, largest := 1/math.Sqrt(float64(l.In)), 0.0
		if !l.Hidden {
			bound *= 0.01
		}
		for _, v := range row[l.Bias : l.Bias+l.Out] {
			largest = max(largest, math.Abs(float64(v)))
		}
		if largest > bound || largest < bound/4 {
			t.Errorf("layer %d has biases up to %g; want up to %g", i, largest, bound)
		}
	}
}

func TestNames(t *testing.T) {
	for i := range activationNames {
		a := Activation(i)
		text, err := a.MarshalText()
		var back Activation
		if err != nil || back.UnmarshalText(text) != nil || back != a || string(text) != a.String() {
			t.Errorf("activation %d: %s, %v, %v", i, text, err, back)
		}
	}
	for i := range initializerNames {
		a := Initializer(i)
		text, err := a.MarshalText()
		var back Initializer
		if err != nil || back.UnmarshalText(text) != nil || back != a || string(text) != a.String() {
			t.Errorf("initializer %d: %s, %v, %v", i, text, err, back)
		}
	}
	var silu Activation
	if err := silu.UnmarshalText([]byte("silu")); err != nil || silu != Swish {
		t.Errorf("silu is %v (%v); want swish, its other name", silu, err)
	}
	for _, err := range []error{new(Activation).UnmarshalText([]byte("sine")), new(Initializer).UnmarshalText([]byte("zeros"))} {
		if err == nil {
			t.Error("an unknown name was accepted")
		}
	}
	if _, err := Activation(99).MarshalText(); err == nil {
		t.Error("activation 99 was written")
	}
	if _, err := Initializer(99).MarshalText(); err == nil {
		t.Error("initializer 99 was written")
	}
}

func TestCheck(t *testing.T) {
	for name, net := range map[string]MLP{
		"no inputs": {Out: 1}, "no outputs": {In: 1},
		"an empty layer": {In: 1, Out: 1, Hidden: []int{3, 0}}, "a wide layer": {In: 1, Out: 1, Hidden: []int{maxUnits + 1}},
		"many layers": {In: 1, Out: 1, Hidden: make([]int, MaxHidden+1)}, "activation": {In: 1, Out: 1, Activation: 99},
	} {
		if net.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	net := MLP{In: 4, Out: 2, Hidden: []int{64, 64}, Activation: Tanh, LayerNorm: true}
	if err := net.Check(); err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(net), "4-64-64-2 tanh layer-norm"; got != want {
		t.Errorf("String returns %q; want %q", got, want)
	}
}
