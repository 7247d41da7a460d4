package rl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// fastSettings are small settings of TD3 of many environments (Y. Seo et al., "FastTD3", 2025).
func fastSettings() (TD3Config, NetworkConfig, ReplayConfig) {
	cfg, network := DefaultTD3(), DefaultOffPolicyNetwork()
	common, replay := smallOffPolicy()
	common.Environments, common.UpdatesPerStep = 12, 0.1111111111
	cfg.OffPolicyConfig, cfg.Atoms, cfg.MinValue, cfg.MaxValue = common, 11, -3, 1
	cfg.TargetActor, cfg.ExplorationNoise, cfg.ExplorationNoiseMax, cfg.ExplorationLevels, cfg.WeightDecay = false, 0.05, 0.8, 4, 0.1
	network.Hidden, network.NormalizeObs, network.LayerNorm = []int{8}, true, true
	replay.Capacity, replay.Observations = 500, Float16
	return cfg, network, replay
}

// TestSpread: copies of the policies have their parameters, and levels of exploration evenly from the first to the last of their member, or by powers.
func TestSpread(t *testing.T) {
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	p := engine.Members(3)
	params := s.Scratch("params", engine.Float32, p, engine.Axis("parameter", 44))
	first, last := s.Scratch("first", engine.Float32, p), s.Scratch("last", engine.Float32, p)
	for _, by := range []spacing{evenly, byPowers} {
		y := newSpread(s.Sub(fmt.Sprintf("spread_%t", by)), 5, by, first, last, params)
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		values, low, high := make([]float64, 3*44), []float64{0.1, 0, 0.3}, []float64{0.5, 1, 0.3}
		for i := range values {
			values[i] = float64(float32(math.Sin(float64(i))))
		}
		write(t, params, values)
		write(t, first, low)
		write(t, last, high)
		poison(t, y.params, y.noise)
		run(t, eng, func(r *engine.Recorder) { y.record(r, params) })
		for i, v := range read(t, y.params) {
			if want := values[i/44/5*44+i%44]; v != want {
				t.Fatalf("parameter %d of copy %d is %g; want %g", i%44, i/44, v, want)
			}
		}
		for i, v := range read(t, y.noise) {
			want := low[i/5] + (high[i/5]-low[i/5])*float64(i%5)/4
			if by == byPowers {
				want = math.Pow(low[i/5], 1+high[i/5]*float64(i%5)/4)
			}
			if !(math.Abs(v-want) < 1e-6) {
				t.Errorf("copy %d explores by %g; want %g", i, v, want)
			}
		}
	}
}

// TestEpsilonLevels: each share of a member's environments acts at random with its power of epsilon, also where actors have parts of them.
func TestEpsilonLevels(t *testing.T) {
	cfg, replay := DefaultDQN(), DefaultDQNReplay()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 2, 24, 500, 1.0/12000, 0
	cfg.ExplorationStart, cfg.ExplorationEnd, cfg.ExplorationLevels, cfg.ExplorationExponent, cfg.Actors = 0.5, 0.5, 4, 3, 2
	replay.Capacity = 24000
	network := DefaultDQNNetwork()
	network.Hidden = []int{8}
	o, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(5)), lookup(t, "CartPole-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	q := begun(t, o).learner.(*qLearner)
	run(t, o.State().Engine(), func(r *engine.Recorder) {
		q.explore(r)
		o.collector.Record(r)
	})
	tr, params := o.collector.Trajectory(), read(t, q.network.params())
	obs, action, row := read(t, tr.Obs), read(t, tr.Action), len(params)/2
	var other, count [2][4]float64
	for i, a := range action {
		member, environment := i/24%2, i%24
		level := environment % 12 / 3 // of the part of one of two actors
		values := forward(q.network.Model(), params[member*row:], obs[i*4:i*4+4])
		if best := values[1] > values[0]; best != (a == 1) {
			other[member][level]++
		}
		count[member][level]++
	}
	for member := range other {
		for level, n := range other[member] {
			got, want := n/count[member][level], math.Pow(0.5, 1+float64(level))/2
			if t.Logf("member %d, level %d: %.4f", member, level, got); math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/count[member][level]) {
				t.Errorf("member %d: environments of level %d take another action than the best with %g; want %g", member, level, got, want)
			}
		}
	}
}

// TestMixedExploration: each share of a member's environments adds noise of its deviation to what the actor does.
func TestMixedExploration(t *testing.T) {
	cfg, network, replay := fastSettings()
	cfg.Members, cfg.RolloutLength, cfg.LearningStarts, cfg.ExplorationNoiseMax, network.NormalizeObs = 2, 100, 0, 0.35, false
	cfg.UpdatesPerStep, replay.Capacity, network.ActorGain = 1.0/1200, 2400, 0.01
	o, err := NewTD3(t.Context(), engine.New(open(t), engine.Seed(5)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	d := begun(t, o).learner.(*td3)
	run(t, o.State().Engine(), func(r *engine.Recorder) {
		d.explore(r)
		o.collector.Record(r)
	})
	tr, params := o.collector.Trajectory(), read(t, d.actor.params())
	obs, action, row := read(t, tr.Obs), read(t, tr.Action), len(params)/2
	var squares, count [2][4]float64
	for i, a := range action {
		member, level := i/12%2, i%12/3
		noise := a - math.Tanh(forward(d.actor.Model(), params[member*row:], obs[i*3:i*3+3])[0])
		squares[member][level] += noise * noise
		count[member][level]++
	}
	for member := range squares {
		for level, sum := range squares[member] {
			got, want := math.Sqrt(sum/count[member][level]), 0.05+0.1*float64(level)
			if t.Logf("member %d, level %d: deviation %.4f", member, level, got); math.Abs(got-want) > 0.15*want {
				t.Errorf("member %d: environments of level %d explore by %g; want %g", member, level, got, want)
			}
		}
	}
}

// TestFastTD3Learns: TD3 of many environments and few updates of large batches swings a pendulum up.
func TestFastTD3Learns(t *testing.T) {
	cfg, network, replay := fastSettings()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 2, 32, 4, 0.0625, 1280
	cfg.Discount, cfg.Atoms, cfg.MinValue, cfg.MaxValue, cfg.Tau = 0.95, 31, -25, 0, 0.05
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.WeightDecay = 2e-3, 2e-3, 1e-3
	network.Hidden, network.NormalizeObs = []int{32, 32}, false
	replay.Capacity, replay.Batch = 40000, 256
	o, err := NewTD3(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	learnOffPolicy(t, o, 200, -300)
}

// TestFastTD3Refused: settings that cannot be are errors that name the setting.
func TestFastTD3Refused(t *testing.T) {
	dev := open(t)
	for want, change := range map[string]func(*TD3Config){
		`"exploration_levels": 5 levels for 12 environments`: func(c *TD3Config) { c.ExplorationLevels = 5 },
		`"atoms": a distribution of 1 atom`:                  func(c *TD3Config) { c.Atoms = 1 },
		`"max_value": -3 is not above min_value`:             func(c *TD3Config) { c.MaxValue = -3 },
		`"clipped_double"`:                                   func(c *TD3Config) { c.Atoms, c.ClippedDouble = 0, false },
	} {
		cfg, network, replay := fastSettings()
		change(&cfg)
		o, err := NewTD3(t.Context(), engine.New(dev), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
		if err == nil {
			o.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %s", err, want)
		}
	}
}
