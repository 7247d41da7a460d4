package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/evorl/evorl/engine"
)

// The explained variance agrees with float64, also of targets far from 0; targets that are all equal have none.
func TestExplainedVariance(t *testing.T) {
	eng := engine.New(open(t))
	for _, size := range [][3]int{{2, 1, 1}, {7, 3, 5}, {33, 2, 67}, {129, 4, 13}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := eng.NewState()
			defer s.Close()
			e := newEstimates(s, nil, nil, ofSizes(size[1], size[2], size[0]))
			out := s.Scratch("explained", engine.Float32, engine.Members(size[1]))
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			dice := rand.New(rand.NewPCG(2, uint64(size[0])))
			values, targets := make([]float64, e.value.Len()), make([]float64, e.value.Len())
			member := func(i int) int { return i / size[2] % size[1] }
			for i := range values {
				targets[i] = float64(float32(1000*float64(member(i)) + dice.NormFloat64()))
				values[i] = float64(float32(targets[i] + 7 + 0.4*dice.NormFloat64()))
				if size[1] > 1 && member(i) == size[1]-1 {
					targets[i] = 5
				}
			}
			write(t, e.value, values)
			write(t, e.target, targets)
			poison(t, out)
			run(t, eng, func(r *engine.Recorder) { e.explained(r, out) })
			got := read(t, out)
			for m := range size[1] {
				var of, errors []float64
				for i := range values {
					if member(i) == m {
						of, errors = append(of, targets[i]), append(errors, targets[i]-values[i])
					}
				}
				want := 1 - stat.PopVariance(errors, nil)/stat.PopVariance(of, nil)
				if size[1] > 1 && m == size[1]-1 {
					want = math.NaN()
				}
				// Targets of 3000 are rounded to 2e-4, and errors of a deviation of 0.4 with them.
				if x := got[m]; !(math.Abs(x-want) < 2e-4*max(1, math.Abs(want))) && !(math.IsNaN(x) && math.IsNaN(want)) {
					t.Errorf("member %d: %v; want %v", m, x, want)
				}
			}
		})
	}
}
