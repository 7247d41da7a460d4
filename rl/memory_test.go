package rl

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestRecurrentPPOUpdate compares parameters and losses after all updates of an iteration of PPO with memory with the definitions in float64:
// trajectories that begin in the middle of episodes or with them, and with ends in the middle; values of final observations with the memory of that
// moment; minibatches of whole trajectories; gradients as difference quotients.
func TestRecurrentPPOUpdate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(1))
	for name, change := range map[string]func(*NetworkConfig, *PPOConfig) envs.Space{
		"gru": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Layers, n.NormalizeObs, n.ObsLimit = cells(nn.GRU, 3, 4), true, 1.5
			return envs.Discrete(3)
		},
		"lstm": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Layers = cells(nn.LSTM, 3)
			c.Members, c.Environments, c.Minibatches, c.NormalizeAdvantage, c.ClipValue = 1, 3, 1, false, false
			return envs.Symmetric(1, 1)
		},
		"a critic without memory": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Layers, n.CriticHidden = cells(nn.LSTM, 3), []int{5}
			return envs.Discrete(2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 4, 2, 2
			cfg.OptimizerEpsilon, cfg.MaxGradNorm, network.Hidden = 1e-4, 0.3, nil
			action := change(&network, &cfg)
			p := newLearner(t, eng, spaces(4, action), network, cfg)
			c := newPolicyCase(t, &p.onPolicy)
			e := p.estimates
			discount, lambda := c.draw(t, e.discount, c.uniform(0.8, 1)), c.draw(t, e.lambda, c.uniform(0.7, 1))
			clip := c.draw(t, p.actorLoss.Clip, c.uniform(0.1, 0.3))
			c.drawWeights(t)
			poison(t, p.actorLoss.Sums, p.criticLoss.Sums, p.actorLoss.Outputs, e.value, e.nextValue, e.advantage, e.target)
			run(t, eng, func(r *engine.Recorder) {
				e.Record(r, p.agent, p.minibatches.Trajectory)
				p.recordUpdates(r)
			})
			ends := 0
			for at, f := range c.flags {
				if last := len(c.flags) - cfg.Members*cfg.Environments; f != 0 && at < last {
					ends++
				}
			}
			if ends < 3 {
				t.Fatalf("%d ends in the middle of trajectories are too few to tell", ends)
			}
			c.compare(t, cfg.Epochs, cfg.Minibatches, c.surrogate(cfg, discount, lambda, clip))
		})
	}
}

// surrogate is PPO's loss; values and advantages are those of the parameters before all updates.
func (c *policyCase) surrogate(cfg PPOConfig, discount, lambda, clip []float64) lossOf {
	environments := c.of.common.Environments // of all seats
	all := cfg.Members * environments
	advantage, target, value := make([]float64, len(c.flags)), make([]float64, len(c.flags)), make([]float64, len(c.flags))
	for lane := range all {
		m := lane / environments
		a := 0.0
		for at := lane + (cfg.RolloutLength-1)*all; at >= 0; at -= all {
			done := envs.Done(c.flags[at])
			value[at] = c.critic(c.member(m), m, at, false)
			delta := c.reward[at] - value[at]
			if done&envs.Terminated == 0 {
				delta += discount[m] * c.critic(c.member(m), m, at, true)
			}
			if done.Over() {
				a = 0
			}
			a = delta + discount[m]*lambda[m]*a
			advantage[at], target[at] = a, a+value[at]
		}
	}
	return func(_ []float64, m int, parts []int) func(params []float64) losses {
		var of []int
		var advantages []float64
		for _, part := range parts {
			steps := 1
			if c.of.minibatches.Trajectories {
				steps = cfg.RolloutLength
			}
			for step := range steps {
				at := ((step+part/environments)*cfg.Members+m)*environments + part%environments
				of, advantages = append(of, at), append(advantages, advantage[at])
			}
		}
		mean, deviation := 0.0, 1.0
		if cfg.NormalizeAdvantage {
			mean, deviation = moments(advantages)
			deviation = math.Sqrt(deviation) + 1e-8
		}
		share := 1 / float64(len(of))
		return func(params []float64) (l losses) {
			for i, at := range of {
				logp, entropy := c.policy(params, m, at)
				ratio, a := math.Exp(logp-c.logProb[at]), (advantages[i]-mean)/deviation
				l.actor -= share * min(ratio*a, min(max(ratio, 1-clip[m]), 1+clip[m])*a)
				l.entropy += share * entropy
				l.divergence += share * (ratio - 1 - math.Log(ratio))
				if math.Abs(ratio-1) > clip[m] {
					l.clipped += share
				}
				v := c.critic(params, m, at, false)
				square := math.Pow(v-target[at], 2)
				if cfg.ClipValue {
					square = max(square, math.Pow(value[at]+min(max(v-value[at], -clip[m]), clip[m])-target[at], 2))
				}
				l.critic += share * square / 2
			}
			l.total = c.actorWeight[m]*l.actor + c.criticWeight[m]*l.critic - c.entropyWeight[m]*l.entropy
			return l
		}
	}
}

// TestRecurrentResume: runs with memory resume exactly, from the middle of episodes and at their beginnings: what policies and critics remember is saved.
func TestRecurrentResume(t *testing.T) {
	network := DefaultNetwork()
	network.Hidden, network.Layers, network.NormalizeObs = nil, cells(nn.GRU, 7, 5), true
	ppo := DefaultPPO()
	ppo.Members, ppo.Environments, ppo.RolloutLength, ppo.Epochs, ppo.Minibatches = 3, 4, 6, 2, 2
	impala := DefaultIMPALA()
	impala.Members, impala.Environments, impala.RolloutLength, impala.Epochs, impala.Minibatches = 1, 2, 7, 1, 1
	a2c := DefaultA2C()
	a2c.Members, a2c.Environments, a2c.RolloutLength = 2, 3, 4
	dqn, replay := DefaultDQN(), DefaultDQNReplay()
	dqn.Members, dqn.Environments, dqn.RolloutLength, dqn.UpdatesPerStep, dqn.LearningStarts = 2, 3, 4, 1.0/6, 60
	replay.Capacity, replay.Batch, replay.Save = 120, 7, true
	long := network
	long.Layers = cells(nn.LSTM, 5)
	for _, w := range []workflow{
		{"ppo", makes(NewPPO, "CartPole-v1", ppo, Network(network), Environment(envs.Options{TimeLimit: 13}))},
		{"a2c", makes(NewA2C, "CartPole-v1", a2c, Network(long), Environment(envs.Options{TimeLimit: 11}))},
		{"dqn", makes(NewDQN, "CartPole-v1", dqn, Network(network), Replays(replay), Sequences(SequenceConfig{BurnIn: 3, Steps: 5, Stored: true}),
			Environment(envs.Options{TimeLimit: 9}))},
		{"impala", makes(NewIMPALA, "Pendulum-v1", impala, Network(long), Environment(envs.Options{TimeLimit: 12}))},
	} {
		t.Run(w.name, func(t *testing.T) { w.resumes(t, open(t)) })
	}
}

// TestRecurrentPPOLearns: with memory PPO turns to the side that was shown at the maze's beginning; without, it cannot know. The settings of
// configs/ppo-rnn-tmaze.toml, by which most members learn it.
func TestRecurrentPPOLearns(t *testing.T) {
	cfg := DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 8, 64, 11, 4, 2
	cfg.LearningRate, cfg.EntropyWeight = 2e-3, 0.06
	reactive, memory := smallNetwork(), DefaultNetwork()
	memory.Hidden, memory.Layers = nil, cells(nn.GRU, 32)
	for _, c := range []struct {
		network   NetworkConfig
		low, high float64
	}{{memory, 0.75, 1.001}, {reactive, -1.001, 0.65}} {
		p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(2)), lookup(t, "TMaze-v0"), cfg, Network(c.network))
		if err != nil {
			t.Fatal(err)
		}
		if got := learn(t, p, 80*cfg.Environments*cfg.RolloutLength); !(got >= c.low && got <= c.high) {
			t.Errorf("mean return %.2f; want %g to %g: members have 1 with memory, 0.5 without", got, c.low, c.high)
		}
		p.Close()
	}
}
