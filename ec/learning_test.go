package ec_test

import (
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
)

// TestCurvedValley: algorithms that adapt a covariance matrix, or directions of it, follow Rosenbrock's valley in ten
// dimensions to the optimum. A few searches end in the other optimum, of about −4.
func TestCurvedValley(t *testing.T) {
	dev := open(t)
	const members = 5
	for _, c := range []struct {
		algorithm   ec.Algorithm
		generations int
		want        float32
	}{
		{ec.CMAESConfig{InitStd: 0.5}, 900, -1e-6},
		{ec.XNESConfig{LearningRate: 1, Population: 20, InitStd: 0.5}, 1500, -1e-6},
		{ec.CRFMNESConfig{Population: 20, InitStd: 0.5}, 1500, -1e-6},
		{ec.LMMAESConfig{Population: 20, InitStd: 0.5}, 2000, -1e-6},
	} {
		t.Run(c.algorithm.Name(), func(t *testing.T) {
			s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(3)), c.algorithm, problem.Rosenbrock(10), members)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := engine.Learn(t.Context(), s, engine.Iterations(c.generations)); err != nil {
				t.Fatal(err)
			}
			fitness, _ := s.Generation().Best()
			best, err := fitness.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("best of %d generations: %g", c.generations, best)
			there := 0
			for _, f := range best {
				if f >= c.want {
					there++
				} else if f < -5 {
					t.Errorf("fitness %g; want at least that of the other optimum", f)
				}
			}
			if there < members-1 {
				t.Errorf("%d of %d searches came to %g; want all but one", there, members, c.want)
			}
		})
	}
}
