package hybrid

import (
	"errors"
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
}

// TestOverCEMRL: PBT over CEM-RL copies searches with their critics, which learn from then on with the hyperparameters
// of the copy, and a run that is resumed between two exchanges ends with the same digest.
func TestOverCEMRL(t *testing.T) {
	g, of := smallCEMRL("td3")
	g.members, of.Warmup = 4, 0
	fresh := func() *PBT {
		cfg := DefaultPBT()
		cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Bottom = 1, 2, 2, 0.5
		return kinds[0].over(t, g.openCEMRL(t, 3, of), cfg)
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
	run(t, through, func(r *engine.Recorder) {
		through.ranking.recordFitness(r, through)
		through.recordExchange(r)
	})
	copies := 0
	for m, parent := range words(t, through.parent) {
		if int(parent) == m {
			continue
		}
		copies++
		for _, name := range []string{"agent/actor/params", "agent/critics/params", "population/cem/mean", "population/cem/deviation"} {
			x := values(t, saved(t, through, name))
			row := len(x) / 4
			if !slices.Equal(x[m*row:][:row], x[int(parent)*row:][:row]) {
				t.Errorf("%s of member %d is not that of its parent %d", name, m, parent)
			}
		}
		rates := values(t, saved(t, through, "hyper/actor_learning_rate"))
		if rates[m] == rates[parent] {
			t.Errorf("member %d has the learning rate of its parent", m)
		}
	}
	if copies != 2 {
		t.Errorf("%d members of 4 are copies; want 2", copies)
	}
	steps(t, through, 4, 5)
	rates, each := values(t, saved(t, through, "hyper/actor_learning_rate")), through.inner.(*CEMRL).agents.Policy().Params
	if n := each.Size(engine.MemberAxis); n != 3*len(rates) {
		t.Errorf("%d actors of %d searches", n, len(rates))
	}
}

// TestRepeats: workflows with different iterations are refused.
func TestRepeats(t *testing.T) {
	for want, change := range map[string]func(*ERLConfig, *CEMRLConfig){
		"\"erl.warmup\"":     func(c *ERLConfig, _ *CEMRLConfig) { c.Warmup = 1 },
		"\"erl.injection\"":  func(c *ERLConfig, _ *CEMRLConfig) { c.Injection = 2 },
		"\"erl.updates\"":    func(c *ERLConfig, _ *CEMRLConfig) { c.Updates = PerRun },
		"\"erl.agents\"":     func(c *ERLConfig, _ *CEMRLConfig) { c.Agents = 2 },
		"\"cem-rl.warmup\"":  func(_ *ERLConfig, c *CEMRLConfig) { c.Warmup = 1 },
		"\"cem-rl.updates\"": func(_ *ERLConfig, c *CEMRLConfig) { c.Updates = PerIteration },
	} {
		erl, cemrl := DefaultERL(), DefaultCEMRL()
		erl.Warmup, cemrl.Warmup = 0, 0
		if err := errors.Join(erl.Repeats(), cemrl.Repeats()); err != nil {
			t.Fatal(err)
		}
		change(&erl, &cemrl)
		if err := errors.Join(erl.Repeats(), cemrl.Repeats()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one of %s", err, want)
		}
	}
	g := smallERL("td3", genetic()) // with injections at intervals
	p := kinds[0].over(t, g.open(t, 3), DefaultPBT())
	if err := p.Prepare(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "\"erl.injection\"") {
		t.Errorf("error %v of ERL with injections at intervals", err)
	}
}
