package problem

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// moments are the moments of observations in float64.
type moments struct{ count, mean, square []float64 }

func newMoments(features int) *moments {
	return &moments{make([]float64, features), make([]float64, features), make([]float64, features)}
}

// add adds one observation, by B. P. Welford, 1962.
func (m *moments) add(obs []float32) {
	for k, x := range obs {
		m.count[k]++
		d := float64(x) - m.mean[k]
		m.mean[k] += d / m.count[k]
		m.square[k] += d * (float64(x) - m.mean[k])
	}
}

// compare checks a member's normalizer [2, O].
func (m *moments) compare(t *testing.T, what string, values []float32) {
	t.Helper()
	for k := range m.mean {
		std := math.Sqrt(m.square[k] / m.count[k])
		if got := float64(values[k]); !(math.Abs(got-m.mean[k]) <= 2e-5*std) {
			t.Errorf("%s: mean of feature %d is %v; want %v", what, k, got, m.mean[k])
		}
		if got := float64(values[len(m.mean)+k]); !(math.Abs(got*std-1) <= 2e-5) {
			t.Errorf("%s: reciprocal deviation of feature %d is %v; want %v", what, k, got, 1/std)
		}
	}
}

// trajectory runs a rollout with the random numbers of a problem's scope and returns its observations [T, M, E, O]
// and flags [T, M, E].
func trajectory(t *testing.T, eng *engine.Engine, scope string, env *envs.Environment, cfg envs.RolloutConfig, count uint32,
	policy func(s *engine.State) *envs.Policy) (obs []float32, done []uint32) {
	t.Helper()
	ctx := t.Context()
	s := eng.NewState().Temporary("problem/" + scope)
	defer s.Close()
	clock := engine.NewClock(s)
	cfg.Trajectory, cfg.Begin = true, true
	ro, err := envs.NewRollout(ctx, s, env, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var act *envs.Policy
	if policy != nil {
		act = policy(s)
	}
	for _, f := range []func(context.Context) error{s.Zero, func(ctx context.Context) error { return clock.Tensor().WriteUint32(ctx, []uint32{0, count}) }} {
		if err := f(ctx); err != nil {
			t.Fatal(err)
		}
	}
	p, err := eng.Record("trajectory", func(r *engine.Recorder) { ro.Record(r, clock, act) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if obs, err = ro.Obs.ReadFloat32(ctx); err != nil {
		t.Fatal(err)
	}
	if done, err = ro.Done.ReadUint32(ctx); err != nil {
		t.Fatal(err)
	}
	return obs, done
}

// TestVirtualBatch: each member of a search normalizes by the moments of its own random steps, which are counted.
func TestVirtualBatch(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	const members, random = 2, 1300
	env := lookup(t, "CartPole-v1")
	network := DefaultNetwork()
	network.NormalizeObs, network.RandomSteps = VirtualBatch, random
	g := newGeneration(t, eng, Policy(env, envs.Options{}, network, DefaultPolicy()), members, 4)
	want := []*moments{newMoments(4), newMoments(4)}
	const environments, horizon = 3, 500 // whole episodes, at least as many steps as requested
	obs, _ := trajectory(t, eng, "virtual_batch", env, envs.RolloutConfig{Members: members, Environments: environments, Horizon: horizon}, 0, nil)
	for i := range len(obs) / 4 {
		want[i/environments%members].add(obs[4*i : 4*i+4])
	}
	values := g.floats(g.e.observations.values())
	for m, w := range want {
		w.compare(t, fmt.Sprint("member ", m), values[8*m:8*m+8])
	}
	if taken := g.words(g.e.taken); taken[0] != members*environments*horizon || taken[1] != 0 {
		t.Errorf("%d steps counted; want %d", taken, members*environments*horizon)
	}
	g.run()
	for i, v := range g.floats(g.e.observations.values()) {
		if v != values[i] {
			t.Errorf("value %d is %v after a generation; want %v still", i, v, values[i])
		}
	}
}

// TestRunningObservations: the moments are of all observations on which candidates acted, whatever the windows. A
// generation is normalized by the moments of the generations before it.
func TestRunningObservations(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(7))
	// Networks evaluated by single lanes, by several lanes together, and streamed.
	for _, hidden := range [][]int{{6}, {40, 40}, {6, 5, 4}} {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) { runningObservations(t, eng, hidden) })
	}
}

func runningObservations(t *testing.T, eng *engine.Engine, hidden []int) {
	const members, population, episodes, limit, generations = 2, 7, 3, 60, 3
	env := lookup(t, "CartPole-v1")
	network, cfg := DefaultNetwork(), DefaultPolicy()
	network.Hidden, network.NormalizeObs, network.ObsLimit, cfg.Episodes, cfg.Common = hidden, Running, 1.5, episodes, false
	p := Policy(env, envs.Options{TimeLimit: limit}, network, cfg).(*policy)
	p.memory = 3 * 4 * members * (p.Space(1).Row() + 3*(4+5) + 3*9) // three candidates per window; the last window overlaps
	g := newGeneration(t, eng, p, members, population)
	if g.e.Window() != 3 {
		t.Fatalf("windows of %d candidates; want 3", g.e.Window())
	}
	rng := rand.New(rand.NewPCG(1, 2))
	g.set(func(int, int) []float32 {
		row := make([]float32, g.row)
		for i := range p.model().Size() {
			row[i] = float32(rng.NormFloat64())
		}
		return row
	})
	all := []*moments{newMoments(4), newMoments(4)}
	steps := uint64(0)
	for i := range generations {
		before, params := g.floats(g.e.observations.values()), g.floats(g.candidates)
		g.run()
		var row, normalizer *engine.Tensor
		rollout := envs.RolloutConfig{
			Members: members * population, Environments: episodes, Horizon: limit, Options: envs.Options{TimeLimit: limit,
				AutoReset: envs.Disabled}, Mode: true,
			Window: &envs.Window{Population: population, Count: population},
		}
		s := eng.NewState()
		row = s.Tensor("params", engine.Float32, engine.Members(members*population), engine.Axis("parameter", g.row))
		normalizer = s.Tensor("normalizer", engine.Float32, engine.Members(members), engine.Axis("moment", 2), engine.Axis("feature", 4))
		g.must(s.Zero(t.Context()))
		g.must(row.WriteFloat32(t.Context(), params))
		g.must(normalizer.WriteFloat32(t.Context(), before))
		obs, done := trajectory(t, eng, "rollout", env, rollout, uint32(i*limit), func(*engine.State) *envs.Policy {
			return &envs.Policy{Weights: nn.Weights{Params: row}, Network: p.model(), Head: p.head(), Normalizer: normalizer, ObsLimit: 1.5}
		})
		g.must(s.Close())
		for j, d := range done {
			if d&4 == 0 { // a transition
				all[j/episodes/population%members].add(obs[4*j : 4*j+4])
				steps++
			}
		}
		values := g.floats(g.e.observations.values())
		for m, w := range all {
			w.compare(t, fmt.Sprint("generation ", i, ", member ", m), values[8*m:8*m+8])
		}
		if taken := g.words(g.e.taken); uint64(taken[0])|uint64(taken[1])<<32 != steps {
			t.Errorf("generation %d: %d steps counted; want %d", i, taken, steps)
		}
	}
	if steps == members*population*episodes*limit*generations {
		t.Error("no episode ended early")
	}
}
