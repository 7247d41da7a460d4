package rl

import (
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// learn runs a workflow for a number of environment steps of a member and returns the mean return of 20 evaluation episodes of each.
func learn(t *testing.T, p engine.Workflow, steps int) float64 {
	t.Helper()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	const episodes = 20
	before, err := p.Evaluate(t.Context(), episodes)
	if err != nil {
		t.Fatal(err)
	}
	what := p.Describe()
	iterations := steps / (what.StepsPerIter / what.Members)
	if err := engine.Learn(t.Context(), p, engine.Iterations(iterations)); err != nil {
		t.Fatal(err)
	}
	after, err := p.Evaluate(t.Context(), episodes)
	if err != nil {
		t.Fatal(err)
	}
	var means []float64
	sum := 0.0
	for m, returns := range after.Returns {
		if len(returns) != episodes || len(after.Lengths[m]) != episodes {
			t.Fatalf("%d returns and %d lengths of member %d; want %d", len(returns), len(after.Lengths[m]), m, episodes)
		}
		mean := 0.0
		for _, v := range returns {
			mean += float64(v) / episodes
		}
		means = append(means, mean)
		sum += mean / float64(len(after.Returns))
	}
	t.Logf("%s on %s, %d steps a member: mean return %.1f (before: member 0 had %.1f); members %.1f",
		what.Workflow, what.Environment, steps, sum, before.Returns[0][0], means)
	return sum
}

func smallNetwork() NetworkConfig {
	n := DefaultNetwork()
	n.Hidden = []int{32, 32}
	return n
}

// cartPolePPO returns settings by which PPO learns CartPole in 100,000 steps of a member.
func cartPolePPO() PPOConfig {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 4, 8, 32, 10, 1
	cfg.LearningRate, cfg.AnnealSteps, cfg.Discount, cfg.GAELambda, cfg.EntropyWeight = 2e-3, 100000, 0.98, 0.8, 0
	return cfg
}

func TestPPOLearnsCartPole(t *testing.T) {
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cartPolePPO(), Network(smallNetwork()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 100000); !(got >= 400) {
		t.Errorf("mean return %.1f; want at least 400 of 500", got)
	}
}

func TestPPOLearnsPendulum(t *testing.T) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 4, 8, 128, 10, 8
	cfg.LearningRate, cfg.AnnealSteps, cfg.Discount, cfg.EntropyWeight, cfg.ClipValue = 2e-3, 40000, 0.9, 0, false
	network := smallNetwork()
	network.Squash = true
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "Pendulum-v1"), cfg,
		Network(network), Environment(envs.Options{RewardScale: 0.1}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 40000); !(got >= -400) {
		t.Errorf("mean return %.1f; want at least -400, where hanging about has -1200 and standing upright -150", got)
	}
}

// The settings of configs/ppo-inverted-pendulum.toml and configs/ppo-inverted-double-pendulum.toml, with fewer steps.
func TestPPOLearnsInvertedPendulums(t *testing.T) {
	for _, c := range []struct {
		name           string
		rollout, steps int
		normalize      bool
		scale          float32
		want           float64
	}{
		{"InvertedPendulum-v5", 64, 81920, false, 1, 1000},
		{"InvertedDoublePendulum-v5", 128, 204800, true, 0.1, 9000},
	} {
		cfg := DefaultPPO()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 4, 16, c.rollout, 8, 4
		cfg.LearningRate, cfg.AnnealSteps, cfg.EntropyWeight, cfg.ClipValue = 2e-3, c.steps, 0, false
		network := smallNetwork()
		network.LogStd, network.NormalizeObs = -0.5, c.normalize
		p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(2)), lookup(t, c.name), cfg,
			Network(network), Environment(envs.Options{RewardScale: c.scale}))
		if err != nil {
			t.Fatal(err)
		}
		if got := learn(t, p, c.steps); !(got >= c.want) {
			t.Errorf("%s: mean return %.1f; want at least %g", c.name, got, c.want)
		}
		p.Close()
	}
}

// cartPoleA2C returns settings by which A2C learns CartPole in 150,000 steps of a member.
func cartPoleA2C() A2CConfig {
	cfg := DefaultA2C()
	cfg.Members, cfg.RolloutLength = 8, 8
	cfg.LearningRate, cfg.AnnealSteps, cfg.Discount, cfg.GAELambda, cfg.Optimizer = 5e-3, 150000, 0.98, 0.95, optim.Adam
	return cfg
}

func TestA2CLearnsCartPole(t *testing.T) {
	p, err := NewA2C(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cartPoleA2C(), Network(smallNetwork()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 150000); !(got >= 300) {
		t.Errorf("mean return %.1f; want at least 300 of 500", got)
	}
}

// cartPoleIMPALA returns the settings of configs/impala-cartpole.toml, with fewer steps: 100,000 of a member, and rewards
// scaled by 0.1.
func cartPoleIMPALA() IMPALAConfig {
	cfg := DefaultIMPALA()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 4, 16, 32, 2, 4
	cfg.LearningRate, cfg.AnnealSteps = 1e-3, 100000
	return cfg
}

func TestIMPALALearnsCartPole(t *testing.T) {
	p, err := NewIMPALA(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cartPoleIMPALA(),
		Network(smallNetwork()), Environment(envs.Options{RewardScale: 0.1}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 100000); !(got >= 450) {
		t.Errorf("mean return %.1f; want at least 450 of 500", got)
	}
}

func TestIMPALALearnsPendulum(t *testing.T) {
	cfg := DefaultIMPALA()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 4, 16, 64, 2, 8
	cfg.LearningRate, cfg.Discount, cfg.Lambda, cfg.EntropyWeight = 1e-3, 0.9, 0.8, 0.003
	network := smallNetwork()
	network.Squash = true
	p, err := NewIMPALA(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "Pendulum-v1"), cfg,
		Network(network), Environment(envs.Options{RewardScale: 0.02}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := learn(t, p, 300000); !(got >= -500) {
		t.Errorf("mean return %.1f; want at least -500, where hanging about has -1200 and standing upright -150", got)
	}
}

// TestNewRefuses: what cannot learn is refused with what would be right.
func TestNewRefuses(t *testing.T) {
	eng := engine.New(open(t))
	env := lookup(t, "CartPole-v1")
	for name, c := range map[string]func(*envs.Options, *NetworkConfig, *PPOConfig){
		"more minibatches than transitions": func(_ *envs.Options, _ *NetworkConfig, c *PPOConfig) { c.RolloutLength, c.Minibatches = 1, 5 },
		"a mode that loses transitions":     func(o *envs.Options, _ *NetworkConfig, _ *PPOConfig) { o.AutoReset = envs.Disabled },
		"an empty layer":                    func(_ *envs.Options, n *NetworkConfig, _ *PPOConfig) { n.Hidden = []int{0} },
		"no members":                        func(_ *envs.Options, _ *NetworkConfig, c *PPOConfig) { c.Members = 0 },
		"no environments":                   func(_ *envs.Options, _ *NetworkConfig, c *PPOConfig) { c.Environments = 0 },
		"an endless evaluation":             func(o *envs.Options, _ *NetworkConfig, _ *PPOConfig) { o.TimeLimit = envs.NoTimeLimit },
	} {
		options, network, cfg := envs.Options{}, DefaultNetwork(), DefaultPPO()
		c(&options, &network, &cfg)
		p, err := NewPPO(t.Context(), eng, env, cfg, Network(network), Environment(options))
		if err == nil {
			p.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		t.Logf("%s: %v", name, err)
	}
}
