package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
)

// A whole tensor in a checkpoint is loaded however it and the state divide it: here 13 rows of 2 rings.
func TestLoadParts(t *testing.T) {
	ctx := t.Context()
	const rings, width = 2, 3
	build := func(sizes []int) (*State, []*Tensor) {
		s := memberState(t)
		floats(t, s, "before", []float32{1, 2}, Axis("feature", 2))
		var parts []*Tensor
		first := 0
		for i, size := range sizes {
			name := "ring/obs"
			if len(sizes) > 1 {
				name = fmt.Sprintf("%s/%d", name, i)
			}
			var values []float32
			for ring := range rings {
				for row := first; row < first+size; row++ {
					for k := range width {
						values = append(values, float32(1000*ring+10*row+k))
					}
				}
			}
			parts = append(parts, floats(t, s, name, values, Members(rings), Axis("row", size), Axis("feature", width)).Part("row"))
			first += size
		}
		floats(t, s, "ring/obs_count", []float32{5}, Axis("count", 1))
		return s, parts
	}
	many := slices.Repeat([]int{1}, 13) // names by order of text are not by number: obs/10 before obs/2
	for i, from := range [][]int{{13}, {8, 5}, {3, 3, 3, 4}, many} {
		of, _ := build(from)
		dir := t.TempDir()
		if _, err := of.Save(ctx, dir, i); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(checkpoint.Path(dir, int64(i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range [][]int{{13}, {8, 5}, {5, 8}, {6, 7}, {4, 4, 5}, many} {
			s, parts := build(to)
			var want [][]float32
			for _, p := range parts {
				x, err := p.ReadFloat32(ctx)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, x)
				if err := p.Fill(ctx, -1); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Load(ctx, c); err != nil {
				t.Errorf("%v into %v: %v", from, to, err)
				continue
			}
			for k, p := range parts {
				if got, err := p.ReadFloat32(ctx); err != nil || !slices.Equal(got, want[k]) {
					t.Errorf("%v into %v: part %d is %v, %v; want %v", from, to, k, got, err, want[k])
				}
			}
		}
		for _, to := range [][]int{{12}, {7, 5}, {8, 6}} { // another whole
			s, _ := build(to)
			if err := s.Load(ctx, c); err == nil || !strings.Contains(err.Error(), "is of another configuration") {
				t.Errorf("%v into %v: %v; want it refused", from, to, err)
			}
		}
	}
}
