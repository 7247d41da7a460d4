package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestRecurrentLayers: parameters of published models (the GRU of PPO-RNN, EvoJAX's seq2seq), and no gap between layers.
func TestRecurrentLayers(t *testing.T) {
	cell := func(kind Kind, in, units int) int {
		m := Recurrent{In: in, Out: 1, Cell: kind, Units: units}
		return m.Size() - units - 1
	}
	if got := cell(GRU, 128, 128); got != 98_816 { // Flax's
		t.Errorf("a GRU of 128 inputs and units has %d parameters; want 98816", got)
	}
	// EvoJAX's encoder and decoder of 15 tokens, and dense 15.
	if got := 2*cell(LSTM, 15, 128) + 128*15 + 15; got != 149_391 {
		t.Errorf("seq2seq has %d parameters; want 149391", got)
	}
	m := Recurrent{In: 3, Out: 2, Before: []int{5}, Cell: GRU, Units: 7, After: []int{4, 3}, Activation: ReLU}
	covered := make([]int, m.Size())
	mark := func(at, n int) {
		for i := range n {
			covered[at+i]++
		}
	}
	for _, l := range m.Layers() {
		units := l.Kind.gates() * l.Out
		mark(l.Weight, l.In*units)
		mark(l.Bias, units)
		if l.Kind == GRU {
			mark(l.Recurrent, l.Out*units)
			mark(l.RecurrentBias, l.Out)
		}
	}
	for i, n := range covered {
		if n != 1 {
			t.Errorf("parameter %d belongs to %d layers", i, n)
		}
	}
	if got := m.String(); got != "3-5-gru7-4-3-2 relu" || m.Memory() != 7 || (Recurrent{Cell: LSTM, Units: 7}).Memory() != 14 {
		t.Errorf("%q carries %d floats", got, m.Memory())
	}
}

// TestRecurrentInit: the weights of every gate's state are orthogonal, the other ones by the initializer, and biases 0; with FanInUniform all are
// within PyTorch's bound.
func TestRecurrentInit(t *testing.T) {
	const units = 6
	m := Recurrent{In: 9, Out: 2, Cell: LSTM, Units: units}
	row := make([]float32, m.Size())
	for i := range row {
		row[i] = poison
	}
	cell := m.Layers()[0]
	rng := engine.NewRng(1, 2, 0, 0, 0)
	m.Init(row, Orthogonal, 1, 0.01, rng)
	product := func(at, in, gate, i, j int) (sum float64) {
		for k := range in {
			w := row[at+k*4*units+gate*units:]
			sum += float64(w[i]) * float64(w[j])
		}
		return sum
	}
	for _, w := range []struct{ at, in int }{{cell.Weight, m.In}, {cell.Recurrent, units}} {
		for gate := range 4 {
			for i := range units {
				for j := range units {
					want := 0.0
					if i == j {
						want = 1
					}
					if got := product(w.at, w.in, gate, i, j); math.Abs(got-want) > 1e-5 {
						t.Fatalf("gate %d: columns %d and %d have the product %v", gate, i, j, got)
					}
				}
			}
		}
	}
	for i := range 4 * units {
		if b := row[cell.Bias+i]; b != 0 {
			t.Errorf("bias %d is %v", i, b)
		}
	}
	m.Init(row, FanInUniform, 1, 1, rng)
	largest := 0.0
	for _, w := range row[cell.Weight : cell.Recurrent+4*units*units] {
		largest = max(largest, math.Abs(float64(w)))
	}
	if bound := 1 / math.Sqrt(units); !(largest <= bound && largest > 0.9*bound) {
		t.Errorf("the largest weight is %v; want at most %v", largest, bound)
	}
}

func TestRecurrentErrors(t *testing.T) {
	ok := Recurrent{In: 3, Out: 2, Cell: GRU, Units: 4}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
	dense, empty, deep := ok, ok, ok
	dense.Cell, empty.Units, deep.After = Dense, 0, make([]int, MaxHidden+1)
	for want, m := range map[string]Recurrent{"want gru or lstm": dense, "a cell of 0 units": empty, "hidden layers; want at most": deep} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if got, err := perceptron(ok); err == nil {
		t.Errorf("the layers of %v are those of %v; want an error", ok, got)
	}
	if _, _, _, err := cellOf(MLP{In: 1, Out: 1}); err == nil {
		t.Error("a perceptron has a cell")
	}
}
