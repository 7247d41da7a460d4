package hybrid

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestOverERL: PBT over ERL copies agents with their populations, by the fitness of either side, and a run that is resumed between two exchanges ends
// with the same digest.
func TestOverERL(t *testing.T) {
	for _, side := range []Side{Agents, Population} {
		g := smallERL("td3", genetic())
		g.members, g.cfg.Warmup, g.cfg.Injection, g.cfg.Evaluate = 4, 0, 1, side
		fresh := func() *PBT {
			cfg := DefaultPBT()
			cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Bottom = 1, 2, 2, 0.5
			return kinds[0].over(t, g.open(t, 3), cfg)
		}
		through, dir := fresh(), t.TempDir()
		initialized(t, through)
		steps(t, through, 0, 2)
		if _, err := through.State().Save(t.Context(), dir, 2); err != nil {
			t.Fatal(err)
		}
		steps(t, through, 2, 4)
		resumed := fresh()
		if err := resumed.State().Poison(t.Context()); err != nil {
			t.Fatal(err)
		}
		load(t, resumed, dir, 2)
		steps(t, resumed, 2, 4)
		if got, want := digest(t, resumed), digest(t, through); got != want {
			t.Errorf("resumed: digest %s; want %s", got, want)
		}
		returns, err := through.Evaluate(t.Context(), 2)
		if err != nil || len(returns.Returns) != 4 {
			t.Fatalf("evaluation %v, %v; want four members", returns, err)
		}
		run(t, through, func(r *engine.Recorder) {
			through.ranking.recordFitness(r, through)
			through.recordExchange(r)
		})
		for m, mean := range returns.Means() {
			if got := values(t, through.fitness)[m]; !near([]float32{got}, []float32{float32(mean)}, 1e-2) {
				t.Errorf("side %d: fitness of member %d is %g; want that of its evaluation, %g", side, m, got, mean)
			}
		}
		copies := 0
		for m, parent := range words(t, through.parent) {
			if int(parent) == m {
				continue
			}
			copies++
			for _, name := range []string{"agent/actor/params", "population/ga/elites"} {
				x := values(t, saved(t, through, name))
				row := len(x) / 4
				if !slices.Equal(x[m*row:][:row], x[int(parent)*row:][:row]) {
					t.Errorf("%s of member %d is not that of its parent %d", name, m, parent)
				}
			}
		}
		if copies != 2 {
			t.Errorf("%d members of 4 are copies; want 2", copies)
		}
	}
	g := smallERL("td3", genetic()) // with a warm-up
	p := kinds[0].over(t, g.open(t, 3), DefaultPBT())
	if err := p.Prepare(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "ERL whose iterations differ cannot be trained; want warmup = 0") {
		t.Errorf("error %v of ERL with a warm-up", err)
	}
}
