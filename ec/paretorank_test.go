package ec

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestFronts compares ranks by two and by five objectives with sorting in Go; some objectives are equal, some the
// lowest float.
func TestFronts(t *testing.T) {
	for _, k := range []int{2, 5} {
		for _, n := range []int{1, 2, 7, 67} {
			t.Run(fmt.Sprintf("%d by %d", n, k), func(t *testing.T) {
				s := engine.New(open(t)).NewState()
				defer s.Close()
				f, err := NewFronts(s, n, k)
				if err != nil {
					t.Fatal(err)
				}
				objectives := s.Tensor("objectives", engine.Float32, engine.Axis("population", 1), candidates(n), engine.Axis("objective", k))
				rank := s.Tensor("rank", engine.Uint32, engine.Members(n))
				if err := s.Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(uint64(n), uint64(k)))
				flat := make([]float32, n*k)
				for i := range flat {
					flat[i] = float32(math.Round(4 * rng.NormFloat64()))
					if i/k%11 == 5 {
						flat[i] = -math.MaxFloat32
					}
				}
				if err := objectives.WriteFloat32(t.Context(), flat); err != nil {
					t.Fatal(err)
				}
				if err := rank.WriteUint32(t.Context(), slices.Repeat([]uint32{math.MaxUint32}, n)); err != nil {
					t.Fatal(err)
				}
				program, err := s.Engine().Record("rank", func(r *engine.Recorder) { f.Rank(r, objectives, rank) })
				if err != nil {
					t.Fatal(err)
				}
				defer program.Free()
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := rank.ReadUint32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all := finiteObjectives(flat, k)
				front := frontsOf(all, true)
				distance := crowdingOf(all, front)
				order := make([]int, n)
				for i := range order {
					order[i] = -1
				}
				for i, at := range got {
					if int(at) >= n || order[at] >= 0 {
						t.Fatalf("ranks %v; want each number below %d once", got, n)
					}
					order[at] = i
				}
				for at := 1; at < n; at++ {
					a, b := order[at-1], order[at]
					if c := cmp.Compare(front[a], front[b]); c > 0 || c == 0 && distance[a] < distance[b]-1e-5 {
						t.Errorf("rank %d: front %d, crowding distance %g; rank %d: front %d, crowding distance %g", at-1, front[a], distance[a], at, front[b], distance[b])
					}
				}
			})
		}
	}
}
