package hybrid

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestBestLearned: from which side the best candidate came, for populations of sizes that are not multiples of a subgroup's, with fitness that is not a
// number, with equal fitness, and where none has a fitness, against a loop over all.
func TestBestLearned(t *testing.T) {
	const members = 5
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for _, n := range []int{1, 2, 7, 33, 1000, 70001} {
		count := 1 + rng.IntN(min(n, 40))
		s := engine.New(open(t)).NewState()
		fitness := s.Tensor("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", n))
		index := s.Tensor("index", engine.Uint32, engine.Members(members), engine.Axis("learner", count))
		learned := s.Tensor("learned", engine.Float32, engine.Members(members))
		if err := s.Allocate(); err != nil {
			t.Fatal(err)
		}
		values, indices, want := make([]float32, members*n), []uint32{}, make([]float32, members)
		for i := range values {
			if values[i] = float32(rng.IntN(4 * n)); rng.IntN(5) == 0 {
				values[i] = float32(math.NaN())
			}
		}
		for m := range members {
			of, best := values[m*n:][:n], math.Inf(-1)
			value := func(i int) float64 {
				if of[i] != of[i] {
					return math.Inf(-1)
				}
				return float64(of[i])
			}
			chosen := rng.Perm(n)[:count]
			if m%2 == 0 { // the best learns
				of[chosen[count-1]] = float32(4 * n)
			}
			for i := range of {
				best = max(best, value(i))
			}
			for _, i := range chosen {
				indices = append(indices, uint32(i))
				if value(i) == best {
					want[m] = 1
				}
			}
			if m == 3 { // nothing is best
				for i := range of {
					of[i] = float32([]float64{math.NaN(), math.Inf(-1)}[rng.IntN(2)])
				}
				want[m] = float32(math.NaN())
			}
			seen[fmt.Sprint(want[m])]++
		}
		program, err := s.Engine().Record("learned", func(r *engine.Recorder) { recordLearned(r, fitness, index, learned) })
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if err := errors.Join(
			s.Poison(ctx), learned.Fill(ctx, -7), fitness.WriteFloat32(ctx, values), index.WriteUint32(ctx, indices), program.Run(ctx),
		); err != nil {
			t.Fatal(err)
		}
		got, err := learned.ReadFloat32(ctx)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d of %d candidates: %v, %v; want %v", count, n, got, err, want)
		}
		program.Free()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if seen["0"] == 0 || seen["1"] == 0 || seen["NaN"] == 0 {
		t.Errorf("the best learned how often: %v", seen)
	}
}
