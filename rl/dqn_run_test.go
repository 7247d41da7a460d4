package rl

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// learning are settings by which DQN learns CartPole in 78,000 steps, close to RL Baselines3 Zoo's.
func learning() (DQNConfig, NetworkConfig, ReplayConfig) {
	cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
	cfg.Members, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts, cfg.AnnealSteps = 3, 256, 0.5, 1024, 78000
	cfg.LearningRate, cfg.TargetInterval, cfg.ExplorationEnd, cfg.ExplorationSteps = 2.3e-3, 128, 0.04, 16000
	network.Hidden = []int{64, 64}
	replay.Capacity, replay.Batch = 100000, 64
	return cfg, network, replay
}

func TestDQNLearnsCartPole(t *testing.T) {
	cfg, network, replay := learning()
	d, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	learnOffPolicy(t, d, 300, 300)
}

// runDQN runs iterations and returns the digest of the state after them.
func runDQN(t *testing.T, d *OffPolicy, from, to int) string {
	t.Helper()
	for i := from; i < to; i++ {
		ticket, err := d.Step(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	digest, err := d.State().Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestDQNResume: a run of every option that is saved half way and resumed in a fresh workflow ends with the same
// digest as one that went through.
func TestDQNResume(t *testing.T) {
	cases := dqnCases()
	for _, c := range []dqnCase{cases[0], cases[len(cases)-1]} {
		t.Run(c.name, func(t *testing.T) {
			through := runDQN(t, newDQNCase(t, c), 0, 6)
			half := newDQNCase(t, c)
			before := runDQN(t, half, 0, 3)
			dir := t.TempDir()
			m, err := half.State().Save(t.Context(), dir, 3)
			if err != nil {
				t.Fatal(err)
			}
			if m.Digest != before || m.Digest == through {
				t.Errorf("the checkpoint's digest is %s; the state's is %s, at the end %s", m.Digest, before, through)
			}
			fresh := newDQNCase(t, c)
			reload(t, fresh.State(), filepath.Join(dir, "00000003"))
			if resumed := runDQN(t, fresh, 3, 6); resumed != through {
				t.Errorf("the resumed run ends with the digest %s; want %s", resumed, through)
			}
		})
	}
}

// TestExploration: epsilon falls from the start to the end over the steps of a member, the warm-up's among
// them.
func TestExploration(t *testing.T) {
	o := newDQNCase(t, dqnCase{"exploration", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) {
		c.ExplorationStart, c.ExplorationEnd, c.ExplorationSteps = 0.9, 0.1, 200
	}})
	for i, want := range []float64{0.9 - 0.8*120/200, 0.9 - 0.8*140/200, 0.9 - 0.8*160/200, 0.9 - 0.8*180/200, 0.1, 0.1} {
		runDQN(t, o, i, i+1)
		rows, err := o.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		for m, got := range rows["exploration/epsilon"] {
			if d := float64(got) - want; !(d < 1e-6 && d > -1e-6) {
				t.Errorf("iteration %d: epsilon of member %d is %g; want %g", i, m, got, want)
			}
		}
		for name, values := range rows {
			if strings.HasPrefix(name, "loss") && !(values[0] > 0) {
				t.Errorf("iteration %d: %s is %g", i, name, values[0])
			}
		}
	}
}

// TestDQNRefused: settings that cannot be are one error each, which names the setting as TOML does, and nothing stays
// allocated.
func TestDQNRefused(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		env    string
		change func(c *DQNConfig, n *NetworkConfig, r *ReplayConfig)
		want   string
	}{
		{"Pendulum-v1", func(*DQNConfig, *NetworkConfig, *ReplayConfig) {}, `"env": dqn needs discrete actions`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Atoms = 1 }, `"atoms": a distribution of 1 atom`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Atoms, c.MaxValue = 5, -100 }, `"max_value": -100 is not above min_value`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Atoms, c.Huber = 5, 1 }, `"huber": the loss of distributions`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.TargetInterval = 0 }, `"target_interval" is 0: want at least 1`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.ExplorationSteps = 0 }, `"exploration_steps" is 0: want at least 1`},
		{"CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.UpdatesPerStep = 0.12 }, "the nearest is updates_per_step = 0.1"},
		{"CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.PriorityExponent = 2 }, `"priority_exponent" is 2: want at least 0 and at most 1`},
		{"CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.Prioritized, r.Batch = true, 9000 }, `"batch": 9000 prioritized transitions`},
		{"CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.InitialPriority = ErrorPriority }, `"initial_priority": td-error, and batches are`},
		{"CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) {
			r.Prioritized, r.Shared, r.InitialPriority = true, true, ErrorPriority
		}, `"initial_priority": td-error, and the members share one ring`},
		{"CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.Capacity = 19 }, `"replay.capacity": 19 transitions`},
		{"CartPole-v1", func(_ *DQNConfig, n *NetworkConfig, _ *ReplayConfig) { n.NormalizeReward = true }, `"network.normalize_reward"`},
	} {
		cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
		c.change(&cfg, &network, &replay)
		d, err := NewDQN(t.Context(), engine.New(dev), lookup(t, c.env), cfg, Network(network), Replays(replay), Environment(envs.Options{}))
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), `rl: dqn on "`) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one line with %q", err, c.want)
		}
		if m := dev.Memory(); m.Buffers != 0 {
			t.Errorf("%v: %d buffers are left", err, m.Buffers)
		}
	}
}
