package problem

import (
	"errors"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// threeSeats pays each agent its action and ten times the next agent's.
const threeSeats = `
//! max_steps = 4
//! iterations = 30
#include "engine/rng.glsl"
#define AGENTS 3
#define STATE_SIZE 1
#define OBS_SIZE 2
#define ACTION_SIZE 5
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = 0.0; }
void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    for (uint a = 0u; a < AGENTS; a++) reward[a] = float(action[a]) + 10.0 * float(action[(a + 1u) % AGENTS]);
    terminated = false;
}
void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { obs = float[](1.0, float(seat)); }
`

// coevolving is a policy without hidden layers in the world of three seats, whose candidates play one each.
func coevolving(t *testing.T) *policy {
	t.Helper()
	env, err := envs.FromGLSL("three.glsl", []byte("// environment: Three-v0"+threeSeats))
	if err != nil {
		t.Fatal(err)
	}
	network, cfg := DefaultNetwork(), DefaultPolicy()
	network.Hidden, network.NormalizeObs, cfg.Episodes, cfg.Coevolution = nil, Running, 2, true
	return Policy(env, envs.Options{}, network, cfg).(*policy)
}

// TestCoevolution: consecutive candidates play each other, each has the fitness and the steps of its own seat, and the observations of all are counted; in
// windows, in slices of which the last one ends with the population, and for several searches.
func TestCoevolution(t *testing.T) {
	const members, population, seats, episodes, length = 2, 18, 3, 2, 4
	for name, slice := range map[string]int{"windows": 0, "slices": 12} {
		t.Run(name, func(t *testing.T) {
			p := coevolving(t)
			p.memory, p.slice = 1, slice
			eng := engine.New(open(t), engine.Seed(5))
			s := eng.NewState()
			defer func() { _ = s.Close() }()
			clock, hyper := engine.NewClock(s), engine.NewHyper(s, members)
			g, err := ec.NewGeneration(s, clock, hyper, lowRankES(population, 0, true), p.Space(members))
			if err != nil {
				t.Fatal(err)
			}
			made, err := p.New(t.Context(), s.Sub("problem"), clock, members, population)
			if err != nil {
				t.Fatal(err)
			}
			e := made.(*rollouts)
			if want := max(slice, seats); e.Window() != want {
				t.Fatalf("windows of %d candidates; want %d", e.Window(), want)
			}
			e.Rows(engine.NewMetrics(eng.NewState(), members, 32))
			candidates, fitness := g.NewCandidates("candidates", e.Window()), g.NewFitness("fitness")
			for _, err := range []error{s.Zero(t.Context()), s.Poison(t.Context()), e.Init(t.Context())} {
				if err != nil {
					t.Fatal(err)
				}
			}
			choice := func(member, candidate int) int { return (7*member + candidate*candidate) % 5 }
			bias := p.model().Layers()[0].Bias
			for first := 0; first < population; first += e.Window() {
				first = min(first, population-e.Window())
				var rows []float32
				for m := range members {
					for c := range e.Window() {
						row := make([]float32, p.Space(1).Row())
						row[bias+choice(m, first+c)] = 1
						rows = append(rows, row...)
					}
				}
				if err := candidates.WriteFloat32(t.Context(), rows); err != nil {
					t.Fatal(err)
				}
				program, err := eng.Record("window", func(r *engine.Recorder) { e.Record(r, candidates, first, fitness) })
				if err != nil {
					t.Fatal(err)
				}
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				program.Free()
			}
			got, err := fitness.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			steps, err := e.steps.ReadUint32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sums, err := e.observations.sums.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for m := range members {
				for c := range population {
					next := c/seats*seats + (c+1)%seats
					want := float32(length * (choice(m, c) + 10*choice(m, next)))
					if at := m*population + c; got[at] != want || steps[at] != episodes*length {
						t.Errorf("search %d, candidate %d: fitness %v in %d steps; want %v in %d", m, c, got[at], steps[at], want, episodes*length)
					}
				}
				if n := sums[m*len(sums)/members]; n != population*episodes*length {
					t.Errorf("search %d: %v observations; want %d", m, n, population*episodes*length)
				}
			}
		})
	}
}

// TestCoevolutionErrors: what different candidates cannot play together.
func TestCoevolutionErrors(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		change func(*policy)
		want   string
	}{
		{func(p *policy) { p.env = lookup(t, "CartPole-v1") }, "has one agent"},
		{func(p *policy) { p.cfg.Cap = true }, "policy.cap"},
		{func(p *policy) { p.cfg.Group = 2 }, "policy.group"},
		{func(p *policy) { p.cfg.Placement = envs.PlacementLanes }, "policy.placement lanes"},
		{func(p *policy) { p.network.VirtualBatchNorm = 8; p.network.NormalizeObs = Unnormalized }, "virtual_batch_norm"},
		{func(p *policy) { p.network.Layers = []nn.LayerConfig{{Kind: nn.GRU, Units: 4}} }, "memory"},
		{func(*policy) {}, "16 candidates"},
	} {
		p := coevolving(t)
		c.change(p)
		var of *SettingError
		_, err := ec.NewSearch(t.Context(), engine.New(dev), lowRankES(16, 0, true), p, 1)
		if !errors.As(err, &of) || of.Key != "coevolution" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want an error of policy.coevolution with %q", err, c.want)
		}
	}
	if err := coevolving(t).CheckLowRank(); err == nil || !strings.Contains(err.Error(), "policy.coevolution") {
		t.Errorf("of low rank: %v", err)
	}
}
