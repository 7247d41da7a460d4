package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestNormalizer: after several batches, mean and deviation are of all finite observations together, for each
// member and feature. With flags they are without steps that are no transitions.
func TestNormalizer(t *testing.T) {
	for i, size := range [][4]int{{1, 1, 1, 1}, {5, 3, 7, 4}, {33, 2, 65, 3}, {3, 1, 9000, 2}, {5, 3, 7, 4}, {33, 2, 65, 3}, {3, 1, 9000, 2}} {
		flags := i >= 4
		t.Run(fmt.Sprint(size, flags), func(t *testing.T) {
			horizon, members, environments, features := size[0], size[1], size[2], size[3]
			s := testState(t)
			obs := s.Scratch("obs", engine.Float32, engine.Time(horizon), engine.Members(members), engine.Environments(environments), engine.Axis("feature", features))
			var done *engine.Tensor
			if flags {
				done = s.Scratch("done", engine.Uint32, engine.Time(horizon), engine.Members(members), engine.Environments(environments))
			}
			n := NewNormalizer(s, members, features)
			if err := s.Zero(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := n.Init(t.Context()); err != nil {
				t.Fatal(err)
			}
			values, err := n.Values().ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				if want := float32(i / features % 2); v != want {
					t.Fatalf("element %d begins as %g; want %g", i, v, want)
				}
			}
			program, err := s.Engine().Record("normalizer", func(r *engine.Recorder) { n.RecordTransitions(r, obs, done) })
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()

			dice := rand.New(rand.NewPCG(1, uint64(environments)))
			seen := make([][]float64, members*features)
			for batch := range 4 {
				data, leftOut := make([]float32, obs.Len()), make([]float32, members*features)
				void := make([]uint32, len(data)/features)
				for i := range void {
					if flags && dice.IntN(4) == 0 && batch > 0 {
						void[i] = 4 // envs.Void
					}
					void[i] |= dice.Uint32N(4)
				}
				for i := range data {
					f, m := i%features, i/features/environments%members
					// Far from zero and drifting, like the observations of a learning agent. The last of several
					// features is constant.
					data[i] = float32(100*float64(m) + 10*float64(f) + float64(batch) + (0.1+float64(m))*dice.NormFloat64())
					if f == features-1 && features > 1 {
						data[i] = 3
					}
					if dice.IntN(9) == 0 && batch > 0 { // one batch is wholly finite, so that every feature has values
						data[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[dice.IntN(3)]
						leftOut[m*features+f]++
						continue
					}
					if void[i/features]&4 != 0 {
						data[i] = 1e4
						continue
					}
					seen[m*features+f] = append(seen[m*features+f], float64(data[i]))
				}
				if err := obs.WriteFloat32(t.Context(), data); err != nil {
					t.Fatal(err)
				}
				if flags {
					if err := done.WriteUint32(t.Context(), void); err != nil {
						t.Fatal(err)
					}
				}
				fill(t, n.LeftOut(), nil)
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := read(t, n.LeftOut()); !slices.Equal(got, leftOut) {
					t.Errorf("batch %d: %v values left out; want %v", batch, got, leftOut)
				}
			}
			if values, err = n.Values().ReadFloat32(t.Context()); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for m := range members {
				for f := range features {
					mean, square := 0.0, 0.0
					all := seen[m*features+f]
					for _, x := range all {
						mean += x / float64(len(all))
					}
					for _, x := range all {
						square += (x - mean) * (x - mean) / float64(len(all))
					}
					reciprocal := 1 / max(math.Sqrt(square), 1e-6)
					gotMean, got := float64(values[2*m*features+f]), float64(values[(2*m+1)*features+f])
					d := max(math.Abs(gotMean-mean)/math.Abs(mean), math.Abs(got-reciprocal)/reciprocal)
					worst = max(worst, d)
					if !(d <= 1e-5) {
						t.Errorf("member %d, feature %d: mean %g and reciprocal deviation %g; want %g and %g", m, f, gotMean, got, mean, reciprocal)
					}
				}
			}
			t.Logf("largest deviation %.1e", worst)
		})
	}
}
