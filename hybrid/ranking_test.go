package hybrid

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestTwoObjectives: with steadiness as second objective, non-dominated members are copied, one without the best return, and the
// dominated ones replaced.
func TestTwoObjectives(t *testing.T) {
	const members = 4
	cfg := overPPO()
	cfg.Objective, cfg.Episodes, cfg.Top, cfg.Bottom = Steadiness, 2, 0.5, 0.5
	p := kinds[0].over(t, newPPO(t, 5, "CartPole-v1", small(members)), cfg)
	initialized(t, p)
	if err := p.ranking.returns.WriteFloat32(t.Context(), []float32{
		10, 50, // the best mean
		9, 51, // dominated by the first
		20, 20, // the steadiest
		14, 20, // dominated by the third
	}); err != nil {
		t.Fatal(err)
	}
	p.ranking.evaluate = func(*engine.Recorder, *engine.Tensor) {}
	run(t, p, func(r *engine.Recorder) {
		p.ranking.recordFitness(r, p)
		p.recordExchange(r)
		p.recordRows(r)
	})
	parents := words(t, p.parent)
	for i, survives := range []bool{true, false, true, false} {
		if (int(parents[i]) == i) != survives || parents[i]%2 != 0 {
			t.Fatalf("parents %v; want the members 0 and 2 to survive, and to be copied", parents)
		}
	}
	steadiness := values(t, p.ranking.steadiness)
	for i, want := range []float64{-20 * math.Sqrt2, -21 * math.Sqrt2, 0, -3 * math.Sqrt2} {
		if math.Abs(float64(steadiness[i])-want) > 1e-4 {
			t.Errorf("steadiness of member %d is %g; want %g", i, steadiness[i], want)
		}
	}
}
