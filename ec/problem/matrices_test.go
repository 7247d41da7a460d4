package problem

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/engine/nn"
)

// TestNeurons: a neuron has the weights that end in it, and every vector of biases or of normalization numbers of its own.
func TestNeurons(t *testing.T) {
	got := neurons(nn.MLP{In: 2, Hidden: []int{3}, Out: 1, LayerNorm: true}, 21)
	var want []uint32
	for i, length := range []int{6, 3, 3, 3, 3, 1, 2} {
		for k := range length {
			row, vector := uint32(k), uint32(1)
			switch i {
			case 0:
				row, vector = uint32(k%3), 0
			case 4:
				row, vector = 0, 0
			}
			want = append(want, uint32(i+1)<<17|vector<<16|row)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("neurons %x; want %x", got, want)
	}
}

// TestMatrices: weights have the number of their layer; biases, normalization and parameters outside the network have
// 0.
func TestMatrices(t *testing.T) {
	got := matrices(nn.MLP{In: 2, Hidden: []int{3}, Out: 1, LayerNorm: true}, 21)
	want := []uint32{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("matrices %v; want %v", got, want)
	}
}
