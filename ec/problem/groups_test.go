package problem

import (
	"errors"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestGroups: equal candidates have equal fitness within groups of policy.group, and another one in every other group and member.
func TestGroups(t *testing.T) {
	const members, population, group = 2, 6, 3
	for name, placement := range map[string]envs.Placement{"auto": envs.Automatic, "stepped": envs.PlacementStepped} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultPolicy()
			cfg.Group, cfg.Placement, cfg.Episodes = group, placement, 2
			p := Policy(lookup(t, "Pendulum-v1"), envs.Options{TimeLimit: 10}, DefaultNetwork(), cfg).(*policy)
			p.memory = 1 // groups are evaluated at once all the same
			eng := engine.New(open(t), engine.Seed(5))
			s := eng.NewState()
			defer func() { _ = s.Close() }()
			clock, hyper := engine.NewClock(s), engine.NewHyper(s, members)
			g, err := ec.NewGeneration(s, clock, hyper, lowRankES(population, 0, true), p.Space(members))
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.New(t.Context(), s.Sub("problem"), clock, members, population)
			if err != nil {
				t.Fatal(err)
			}
			if e.Window() != population {
				t.Fatalf("windows of %d candidates; want all %d", e.Window(), population)
			}
			e.Rows(engine.NewMetrics(eng.NewState(), members, 32))
			candidates, fitness := g.NewCandidates("candidates", population), g.NewFitness("fitness")
			one := p.Space(1).Pad(p.Start(1, 1, 1))
			for _, err := range []error{s.Zero(t.Context()), s.Poison(t.Context()), e.Init(t.Context()),
				candidates.WriteFloat32(t.Context(), slices.Repeat(one, members*population))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			program, err := eng.Record("groups", func(r *engine.Recorder) { e.Record(r, candidates, 0, fitness) })
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			if err := program.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := fitness.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen := map[float32]bool{}
			for of := range slices.Chunk(got, group) {
				if seen[of[0]] || slices.Min(of) != slices.Max(of) {
					t.Errorf("fitness %v; want the same in every group of %d, and another one in each", got, group)
				}
				seen[of[0]] = true
			}
		})
	}
}

// TestGroupErrors: groups that do not divide the population, or that have nothing in common.
func TestGroupErrors(t *testing.T) {
	cfg := DefaultPolicy()
	cfg.Group = 4
	var of *SettingError
	_, err := ec.NewSearch(t.Context(), engine.New(open(t)), lowRankES(6, 1, true), Policy(lookup(t, "CartPole-v1"), envs.Options{}, DefaultNetwork(), cfg), 1)
	if !errors.As(err, &of) || of.Key != "group" {
		t.Errorf("%v; want an error of policy.group", err)
	}
	if cfg.Common = false; cfg.Validate() == nil {
		t.Error("groups without common random numbers are accepted")
	}
}
