package dmenvrpc

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// An action of doubles stays within bounds that float32 rounds up or down, one for all elements or one for each.
func TestBoundsOfDoubles(t *testing.T) {
	reward := TensorSpec{Name: "reward", Type: "double"}
	for _, c := range []struct {
		min, max, want []float64
	}{
		{[]float64{-0.3}, []float64{0.3}, []float64{-0.3, 0.3}}, {[]float64{-0.3, -1}, []float64{1, 0.3}, []float64{-0.3, 0.3}},
		{nil, nil, []float64{float64(float32(-0.3)), float64(float32(0.3))}},
	} {
		cfg := Default()
		specs := &Specs{
			Actions:      []TensorSpec{{Name: "a", Type: "double", Shape: []int{2}, Min: c.min, Max: c.max}},
			Observations: []TensorSpec{{Name: "o", Type: "float", Shape: []int{1}}, reward},
		}
		l, err := newLayout(specs, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := l.tensors([]float32{-0.3, 0.3}, map[string]uint64{"a": 1})[1].GetPayload().(*pb.Tensor_Doubles).Doubles.GetArray()
		if !slices.Equal(got, c.want) {
			t.Errorf("bounds %v, %v: %v; want %v", c.min, c.max, got, c.want)
		}
	}
}
