package problem

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestBehaviour: descriptors are the means of the chosen observations over all steps on which a candidate acted,
// normalized or not, in overlapping windows.
func TestBehaviour(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(8))
	const members, population, episodes, limit = 2, 5, 3, 40
	env := lookup(t, "CartPole-v1")
	for _, normalization := range []Normalization{Unnormalized, Running} {
		network, cfg := DefaultNetwork(), DefaultPolicy()
		network.Hidden, network.NormalizeObs, network.ObsLimit, cfg.Episodes, cfg.Common = []int{6}, normalization, 1.5, episodes, false
		made, err := DescribedPolicy(env, envs.Options{TimeLimit: limit}, network, cfg, BehaviourConfig{
			Observations: []int{3, 0, 2}, Low: []float64{-2, -1, -0.1}, High: []float64{2, 1, 0.1},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := made.Space(1); !slices.Equal(s.DescriptorLow, []float32{-2, -1, -0.1}) || !slices.Equal(s.DescriptorHigh, []float32{2, 1, 0.1}) {
			t.Errorf("descriptors are bounded by %v and %v", s.DescriptorLow, s.DescriptorHigh)
		}
		p := made.(*policy)
		p.memory = 3 * 4 * members * (p.Space(1).Row() + 3*(4+5) + 3*9) // three candidates per window
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
		for i := range 2 {
			params, before := g.floats(g.candidates), []float32{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1}
			if values := g.e.observations.values(); values != nil {
				before = g.floats(values)
			}
			g.run()
			s := eng.NewState()
			row := s.Tensor("params", engine.Float32, engine.Members(members*population), engine.Axis("parameter", g.row))
			normalizer := s.Tensor("normalizer", engine.Float32, engine.Members(members), engine.Axis("moment", 2), engine.Axis("feature", 4))
			g.must(errors.Join(s.Zero(t.Context()), row.WriteFloat32(t.Context(), params), normalizer.WriteFloat32(t.Context(), before)))
			act := &envs.Policy{Weights: nn.Weights{Params: row}, Network: p.model(), Head: p.head()}
			if normalization == Running {
				act.Normalizer, act.ObsLimit = normalizer, 1.5
			}
			obs, done := trajectory(t, eng, "rollout", env, envs.RolloutConfig{
				Members: members * population, Environments: episodes, Horizon: limit, Options: envs.Options{TimeLimit: limit,
					AutoReset: envs.Disabled}, Mode: true,
				Window: &envs.Window{Population: population, Count: population},
			}, uint32(i*limit), func(*engine.State) *envs.Policy { return act })
			g.must(s.Close())
			all := make([]*moments, members*population)
			for j := range all {
				all[j] = newMoments(4)
			}
			for j, d := range done {
				if d&4 == 0 { // a transition
					all[j/episodes%len(all)].add(obs[4*j : 4*j+4])
				}
			}
			got := g.floats(g.described)
			for c, w := range all {
				for b, k := range []int{3, 0, 2} {
					if v := float64(got[3*c+b]); !(math.Abs(v-w.mean[k]) <= 2e-6) {
						t.Errorf("normalization %d, generation %d, candidate %d: descriptor %d is %g; want %g", normalization, i, c, b, v, w.mean[k])
					}
				}
			}
		}
	}
}

// TestStates: states are described by the chosen observations; nothing beyond the states is written.
func TestStates(t *testing.T) {
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	const count, most = 13, 14
	x, err := NewStates(s, lookup(t, "CartPole-v1"), BehaviourConfig{Observations: []int{3, 0, 2}, Low: []float64{-2, -1, -0.1}, High: []float64{2, 1, 0.1}}, most)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.Bounds(), []float32{-2, -1, -0.1, 2, 1, 0.1}) {
		t.Errorf("bounds %v", x.Bounds())
	}
	obs := s.Tensor("obs", engine.Float32, engine.Axis("state", count), engine.Axis("feature", 4))
	rng, values := rand.New(rand.NewPCG(3, 4)), make([]float32, 4*count)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	program, err := eng.Record("states", func(r *engine.Recorder) { x.Record(r, obs) })
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := errors.Join(s.Poison(t.Context()), obs.WriteFloat32(t.Context(), values), program.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	got, err := x.Descriptors().ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		switch {
		case i >= 3*count && v == v:
			t.Errorf("number %d is %g, of a state that there is not", i, v)
		case i < 3*count && v != values[i/3*4+[]int{3, 0, 2}[i%3]]:
			t.Errorf("descriptor %d of state %d is %g", i%3, i/3, v)
		}
	}
	if _, err := eng.Record("states", func(r *engine.Recorder) {
		x.Record(r, s.Tensor("many", engine.Float32, engine.Axis("state", most+1), engine.Axis("feature", 4)))
	}); err == nil || !strings.Contains(err.Error(), "room for all") {
		t.Errorf("error %v", err)
	}
}

// TestBehaviourErrors: an invalid setting gives one error that names it.
func TestBehaviourErrors(t *testing.T) {
	for _, c := range []struct {
		env       string
		behaviour BehaviourConfig
		want      string
	}{
		{"CartPole-v1", BehaviourConfig{Observations: []int{4}}, "behaviour.observations: observation 4 of \"CartPole-v1\"; want 0 to 3"},
		{"CartPole-v1", BehaviourConfig{Observations: []int{1}}, "behaviour.low: observation 1"},
		{"CartPole-v1", BehaviourConfig{Low: []float64{1}}, "behaviour.low: 1 numbers for 2 observations"},
		{"CartPole-v1", BehaviourConfig{High: []float64{1, 2, 3}}, "behaviour.high: 3 numbers for 2 observations"},
		{"CartPole-v1", BehaviourConfig{Low: []float64{1, 1}, High: []float64{0, 2}}, "from 1 to 0; want a finite number below"},
		{"CartPole-v1", BehaviourConfig{Low: []float64{math.NaN(), 0}}, "NaN"},
		{"CartPole-v1", BehaviourConfig{Observations: []int{-1}}, "observations"},
		{"Swimmer-v5", BehaviourConfig{Feet: true}, "behaviour.feet: \"Swimmer-v5\" has no feet"},
		{"Walker2d-v5", BehaviourConfig{Feet: true, Observations: []int{1}}, "behaviour.feet: the shares of 2 feet"},
		{"Hopper-v5", BehaviourConfig{}, "bounds none of its 11 observations"},
		{"Walker2d-v5", BehaviourConfig{}, "give low and high, or set feet = true"},
	} {
		_, err := DescribedPolicy(lookup(t, c.env), envs.Options{}, DefaultNetwork(), DefaultPolicy(), c.behaviour)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: error %v; want %q in it", c.env, c.behaviour, err, c.want)
		}
	}
	if p, err := DescribedPolicy(lookup(t, "Pendulum-v1"), envs.Options{}, DefaultNetwork(), DefaultPolicy(), BehaviourConfig{}); err != nil {
		t.Error(err)
	} else if s := p.Space(1); !slices.Equal(s.DescriptorLow, []float32{-1, -1}) || !slices.Equal(s.DescriptorHigh, []float32{1, 1}) {
		t.Errorf("by default described between %v and %v; want the first two observations", s.DescriptorLow, s.DescriptorHigh)
	}
}

// TestElitesOfPolicies: the archive finds policies that balance the pole at all mean positions of the cart.
func TestElitesOfPolicies(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	network, policy, algo := DefaultNetwork(), DefaultPolicy(), ec.DefaultMAPElites()
	network.Hidden, policy.Episodes = []int{8}, 2
	algo.Cells, algo.InitialStd, algo.MutationStd = []int{12, 6}, 0.5, 0.1
	p, err := DescribedPolicy(lookup(t, "CartPole-v1"), envs.Options{TimeLimit: 200}, network, policy, BehaviourConfig{Low: []float64{-2.4,
		-0.2}, High: []float64{2.4, 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ec.NewSearch(t.Context(), eng, algo, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := engine.Learn(t.Context(), s, engine.Iterations(80)); err != nil {
		t.Fatal(err)
	}
	archive := s.Generation().Strategy().(ec.Archiver).Archive()
	fitness, err := archive.Fitness.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m := range 2 {
		held, good, columns := 0, 0, map[int]bool{}
		for cell, f := range fitness[m*72:][:72] {
			if f == f {
				held++
			}
			if f >= 150 {
				good++
				columns[cell/6] = true
			}
		}
		t.Logf("member %d: %d of 72 cells are held, %d by policies of 150 steps or more, in %d places of the cart", m, held, good, len(columns))
		if held < 15 || len(columns) < 4 {
			t.Errorf("member %d: %d cells are held, good ones in %d places; want at least 15 and 4", m, held, len(columns))
		}
	}
}

// TestFeet: MAP-Elites of walkers is told the fractions of steps after which their feet touch the ground, window by
// window, and finds several ways to stand. Candidates that fall immediately touch the ground with neither foot in
// some steps.
func TestFeet(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	network, cfg := DefaultNetwork(), DefaultPolicy()
	network.Hidden, cfg.Episodes, cfg.Common = []int{8}, 2, true
	options := envs.Options{TimeLimit: 30}
	described := func(memory int) ec.Problem {
		p, err := DescribedPolicy(lookup(t, "Walker2d-v5"), options, network, cfg, BehaviourConfig{Feet: true})
		if err != nil {
			t.Fatal(err)
		}
		p.(*policy).memory = memory
		return p
	}
	algo := ec.DefaultMAPElites()
	algo.Population, algo.Cells, algo.MutationStd = 7, []int{5}, 0.3
	var digests []string
	for _, memory := range []int{windowBytes, 3 * 4 * 2 * 30 * 2 * 50} { // whole, and in windows of a few
		s, err := ec.NewSearch(t.Context(), eng, algo, described(memory), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if whole := s.Describe().StepsPerIter; whole != 2*7*2*30 {
			t.Errorf("%d steps an iteration", whole)
		}
		if err := engine.Learn(t.Context(), s, engine.Iterations(4)); err != nil {
			t.Fatal(err)
		}
		digest, err := s.State().Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
		archive := s.Generation().Strategy().(ec.Archiver).Archive()
		fitness, err := archive.Fitness.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shares, err := archive.Descriptor.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held := [2]int{}
		for i, f := range fitness {
			if f != f {
				continue
			}
			held[i/25]++
			for k, cell := range []int{i % 25 / 5, i % 5} {
				if v := shares[2*i+k]; !(v >= 0 && v <= 1) || min(int(5*v), 4) != cell {
					t.Errorf("cell %d holds an elite with shares %v", i, shares[2*i:][:2])
				}
			}
		}
		if held[0] < 3 || held[1] < 3 {
			t.Errorf("%v cells are held; want at least 3 of each search", held)
		}
	}
	if digests[0] != digests[1] {
		t.Error("windows change the search")
	}
}
