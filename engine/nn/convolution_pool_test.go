package nn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/evorl/evorl/vk"
)

// pooledTogether are networks whose convolutions software drivers compute together with the pool after them: by pixels of four channels or more, by lines
// of fewer, and whole windows of few; of odd images, whose last line or column no pool has, with borders and without; with groups of eight channels and of
// sixteen in each of the three, and a rest of four and of twelve.
var pooledTogether = []struct {
	net  Sequential
	want []bool // hidden layers that are computed with the next
}{
	{Sequential{In: Shape{9, 7, 1}, Out: 3, Hidden: []LayerConfig{
		window(8, 5, 1, Same, ReLU), pooling(MaxPool, 2, 0, Valid), window(12, 2, 1, Valid, Tanh), pooling(MaxPool, 2, 0, Valid),
	}}, []bool{true, false, true, false}},
	{Sequential{In: Shape{8, 11, 3}, Out: 2, Hidden: []LayerConfig{
		window(4, 4, 1, Valid, ELU), pooling(MaxPool, 2, 2, Valid), window(20, 3, 1, Same, Linear), pooling(MaxPool, 2, 0, Valid), units(9, Tanh),
	}}, []bool{true, false, true, false, false}},
	{Sequential{In: Shape{10, 5, 2}, Out: 5, Hidden: []LayerConfig{
		window(16, 3, 1, Same, ReLU), pooling(MaxPool, 2, 0, Valid), window(8, 2, 1, Same, ReLU), pooling(MaxPool, 2, 0, Valid),
	}}, []bool{true, false, true, false}},
	{Sequential{In: Shape{7, 10, 3}, Out: 2, Hidden: []LayerConfig{
		window(28, 4, 1, Same, Linear), pooling(MaxPool, 2, 0, Valid), window(4, 2, 1, Same, ReLU),
	}}, []bool{true, false, false}},
	{Sequential{In: Shape{9, 7, 1}, Out: 2, Hidden: []LayerConfig{
		window(16, 3, 1, Same, ReLU), pooling(MaxPool, 2, 0, Valid),
	}}, []bool{true, false}},
	{Sequential{In: Shape{9, 9, 4}, Out: 5, Hidden: []LayerConfig{ // none: an activation that falls, a border of the pool, a stride, channels, a mean
		window(8, 3, 1, Same, Swish), pooling(MaxPool, 2, 0, Valid), window(8, 2, 1, Valid, ReLU), pooling(MaxPool, 2, 0, Same),
		window(8, 2, 2, Same, ReLU), pooling(MaxPool, 2, 1, Same), window(6, 2, 1, Same, ReLU), pooling(AveragePool, 1, 0, Valid),
	}}, make([]bool, 8)},
}

// Convolutions that are computed with the pool after them agree with float64, and are those that can be.
func TestConvolutionPool(t *testing.T) {
	for i, pooled := range pooledTogether {
		t.Run(pooled.net.String(), func(t *testing.T) {
			s := testState(t)
			c := networkCase{net: pooled.net, members: 2, stack: 2, outer: 2, inner: 7, capacity: 5, normalize: i%2 == 0}
			f := c.fixture(t, s)
			l, ok := f.network.form.(*layered)
			if !ok {
				t.Fatalf("the network has the form %T", f.network.form)
			}
			b, err := f.network.batch(f.w, f.inputs, f.outputs)
			if err != nil {
				t.Fatal(err)
			}
			info := s.Engine().Device().Info()
			want := pooled.want
			if info.Type != vk.CPU || !info.Features.Has(vk.Int64) || info.SubgroupSize != 8 && info.SubgroupSize != 16 {
				want = make([]bool, len(want))
			}
			if got := l.passing(&b).pooled; !slices.Equal(got, want) {
				t.Errorf("layers that are computed with the next: %v; want %v", got, want)
			}
		})
		t.Run(fmt.Sprint(pooled.net, " values"), networkCase{
			net: pooled.net, members: 2, stack: 2, outer: 2, inner: 7, capacity: 5, normalize: i%2 == 0,
		}.run)
	}
	t.Run("many", networkCase{net: pooledTogether[0].net, members: 1, outer: 2, inner: 611}.run)
}
