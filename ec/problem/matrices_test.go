package problem

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/engine/nn"
)

// TestMatrices: weights have the number of their layer; biases, normalization and parameters outside the network have
// 0.
func TestMatrices(t *testing.T) {
	got := matrices(nn.MLP{In: 2, Hidden: []int{3}, Out: 1, LayerNorm: true}, 21)
	want := []uint32{1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("matrices %v; want %v", got, want)
	}
}
