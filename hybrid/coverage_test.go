package hybrid

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestCoverage: with coverage as second objective, it is the mean number of states that episodes of sampled actions visit, and a member that visits more
// survives beside one with a greater return.
func TestCoverage(t *testing.T) {
	const members, episodes = 4, 3
	cfg := overPPO()
	cfg.Objective, cfg.Episodes, cfg.Top, cfg.Bottom = Coverage, episodes, 0.5, 0.5
	p := kinds[0].over(t, newPPO(t, 5, "FaultMaze-v0", small(members)), cfg)
	initialized(t, p)
	run(t, p, func(r *engine.Recorder) { p.ranking.recordFitness(r, p) })
	covered, coverage, fitness := values(t, p.ranking.covered), values(t, p.ranking.coverage), values(t, p.fitness)
	returns, objectives := values(t, p.ranking.returns), values(t, p.ranking.objectives)
	for m := range members {
		sum, paid := float32(0), float32(0)
		for e := range episodes {
			x := covered[m*episodes+e]
			if x < 2 || x > 726 || x != float32(int(x)) {
				t.Errorf("member %d, episode %d: a coverage of %g; want a number of states", m, e, x)
			}
			sum += x
			paid += returns[m*episodes+e]
		}
		near := func(a, b float32) bool { return a-b < 1e-4 && b-a < 1e-4 }
		if !near(coverage[m], sum/episodes) || !near(fitness[m], paid/episodes) || objectives[2*m] != fitness[m] || objectives[2*m+1] != coverage[m] {
			t.Errorf("member %d: coverage %g of %v, fitness %g, objectives %v", m, coverage[m], covered[m*episodes:][:episodes], fitness[m], objectives[2*m:][:2])
		}
	}
	// Chosen values: members 0 and 2 are not dominated.
	p.ranking.evaluateCoverage = func(r *engine.Recorder, returns, covered *engine.Tensor) {}
	write := func(to *engine.Tensor, of [members]float32) {
		var all []float32
		for _, v := range of {
			for range episodes {
				all = append(all, v)
			}
		}
		if err := to.WriteFloat32(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	write(p.ranking.returns, [members]float32{1.2, 1.1, 0, 0})
	write(p.ranking.covered, [members]float32{30, 20, 90, 80})
	run(t, p, func(r *engine.Recorder) {
		p.ranking.recordFitness(r, p)
		p.recordExchange(r)
	})
	for i, parent := range words(t, p.parent) {
		if survives := i%2 == 0; (int(parent) == i) != survives || parent%2 != 0 {
			t.Errorf("member %d is a copy of %d; want the members 0 and 2 to survive, and to be copied", i, parent)
		}
	}
}

// TestFoundByAgents: the states that agents have found are counted for each, and for all.
func TestFoundByAgents(t *testing.T) {
	const members = 3
	p := newPPO(t, 6, "FaultMaze-v0", small(members))
	initialized(t, p)
	var last engine.Report
	if err := engine.Learn(t.Context(), p, engine.Iterations(3), engine.OnReport(func(_ context.Context, r engine.Report) error {
		last = r
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	found := p.State().Lookup("rollout/found")
	if found == nil {
		t.Fatal("no tensor rollout/found")
	}
	all := make([]uint32, found.Size("word"))
	for m, row := range slices.Collect(slices.Chunk(words(t, found), len(all))) {
		states := 0
		for w, v := range row {
			if all[w] |= v; w > 0 {
				states += bits.OnesCount32(v)
			}
		}
		if got := last.Metrics["states/found"][m]; got != float32(states) || states < 5 {
			t.Errorf("member %d: %g states; want %d", m, got, states)
		}
	}
	union := 0
	for _, v := range all[1:] {
		union += bits.OnesCount32(v)
	}
	for m, got := range last.Metrics["states/found_by_any"] {
		if got != float32(union) {
			t.Errorf("member %d: %g states of all; want %d", m, got, union)
		}
	}
}

// TestCoverageNeedsARecord: an environment that records no visited states is refused.
func TestCoverageNeedsARecord(t *testing.T) {
	cfg := overPPO()
	cfg.Objective = Coverage
	ppo := newPPO(t, 5, "CartPole-v1", small(4))
	if _, err := NewPBT(t.Context(), ppo, cfg); err == nil || !strings.Contains(err.Error(), "records no visited states") {
		t.Errorf("coverage in CartPole-v1: %v; want an error", err)
	}
}
