package rl

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// sharedNetwork is a network whose layers actor and critic share, with settings for it.
type sharedNetwork struct {
	name   string
	change func(*NetworkConfig, *PPOConfig, *envs.Environment)
}

// sharedCases are dense networks, one that lanes would hold, convolutions, and cells with and without layers around them.
func sharedCases() []sharedNetwork {
	relu := nn.ReLU
	return []sharedNetwork{
		{"dense", func(n *NetworkConfig, _ *PPOConfig, _ *envs.Environment) {
			n.Hidden, n.NormalizeObs, n.ObsLimit = []int{7, 6}, true, 1.5
		}},
		{"gaussian", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			n.Hidden, n.Activation, c.ClipValue, e.Action = []int{9}, nn.Swish, false, envs.Symmetric(1, 1, 1)
		}},
		{"normalized", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			n.Hidden, n.LayerNorm, n.StateDependentStd, n.Squash, n.MinLogStd, n.MaxLogStd = []int{5, 6, 4}, true, true, true, -1, 0.5
			c.Members, c.MaxGradNorm, e.Action = 1, 0, envs.Symmetric(1, 1)
		}},
		{"image", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			e.Observation = envs.Image(4, 3, 2)
			n.Layers = []nn.LayerConfig{{Kind: nn.Convolution, Channels: 3, Kernel: 2, Padding: nn.Same, Activation: &relu}, {Units: 5}}
			c.Epochs = 1
		}},
		{"convolution alone", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			e.Observation = envs.Image(3, 3, 1)
			n.Layers, c.NormalizeAdvantage = []nn.LayerConfig{{Kind: nn.Convolution, Channels: 2, Kernel: 2}}, false
		}},
		{"gru", func(n *NetworkConfig, _ *PPOConfig, _ *envs.Environment) {
			n.Layers, n.NormalizeObs, n.ObsLimit = cells(nn.GRU, 3, 4), true, 1.5
		}},
		{"lstm", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			n.Layers, e.Action = cells(nn.LSTM, 3), envs.Symmetric(1, 1)
			c.Members, c.Environments, c.Minibatches = 1, 3, 1
		}},
		{"up to the gru", func(n *NetworkConfig, _ *PPOConfig, _ *envs.Environment) {
			n.Shared, n.Layers, n.NormalizeObs, n.ObsLimit = ShareCell, cells(nn.GRU, 3, 4), true, 1.5
		}},
		{"up to the lstm", func(n *NetworkConfig, c *PPOConfig, e *envs.Environment) {
			n.Shared, n.Layers, n.LayerNorm, e.Action = ShareCell, append(cells(nn.LSTM, 3, 5), nn.LayerConfig{Units: 4}), true, envs.Symmetric(1, 1)
			c.Members, c.Environments, c.Minibatches = 1, 3, 1
		}},
		{"up to a gru with no layers behind", func(n *NetworkConfig, c *PPOConfig, _ *envs.Environment) {
			n.Shared, n.Layers, c.Epochs = ShareCell, cells(nn.GRU, 4), 1
		}},
	}
}

// settings returns the settings of a case, and its environment.
func (c sharedNetwork) settings() (NetworkConfig, PPOConfig, *envs.Environment) {
	cfg, network, env := DefaultPPO(), DefaultNetwork(), spaces(4, envs.Discrete(3))
	cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 4, 2, 2
	cfg.OptimizerEpsilon, cfg.MaxGradNorm, network.Hidden, network.Shared = 1e-4, 0.3, nil, ShareAll
	c.change(&network, &cfg, env)
	return network, cfg, env
}

// TestSharedPPOUpdate compares parameters and losses after all updates of an iteration of PPO whose actor and critic share layers with the definitions in
// float64: values by the branch, one gradient of both losses, by difference quotients, one limit of its norm, one optimizer.
func TestSharedPPOUpdate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(1))
	for _, of := range sharedCases() {
		t.Run(of.name, func(t *testing.T) {
			network, cfg, env := of.settings()
			p := newLearner(t, eng, env, network, cfg)
			c, e := newPolicyCase(t, &p.onPolicy), p.estimates
			discount, lambda := c.draw(t, e.discount, c.uniform(0.8, 1)), c.draw(t, e.lambda, c.uniform(0.7, 1))
			clip := c.draw(t, p.actorLoss.Clip, c.uniform(0.1, 0.3))
			c.drawWeights(t)
			poison(t, p.actorLoss.Sums, p.criticLoss.Sums, p.actorLoss.Outputs, p.criticLoss.Outputs, e.value, e.nextValue, e.advantage, e.target)
			run(t, eng, func(r *engine.Recorder) {
				e.Record(r, p.agent, p.minibatches.Trajectory)
				p.recordUpdates(r)
			})
			c.compare(t, cfg.Epochs, cfg.Minibatches, c.surrogate(cfg, discount, lambda, clip))
		})
	}
}

// TestSharedParts is TestGradientParts of networks whose layers actor and critic share, and of such gradients that have no parts.
func TestSharedParts(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(22))
	for parts := range 3 {
		cfg, network := DefaultPPO(), DefaultNetwork()
		cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2 // minibatches of 8 and 7 transitions
		cfg.GradientParts, network.Hidden, network.Shared = 1+parts, []int{9, 8}, ShareAll
		newGradientCase(t, eng, 5, []envs.Space{envs.Discrete(3), envs.Symmetric(0, 0)}[parts%2], network, cfg).check(t, 4)
	}
}

// TestSharedActs: the log-probabilities of a rollout and the values of its trajectory are those of the one network, evaluated in float64, with the weights
// of the output layers drawn by their own gains.
func TestSharedActs(t *testing.T) {
	cfg, network := DefaultPPO(), smallNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Minibatches = 2, 3, 20, 1
	network.Shared, network.ActorGain, network.CriticGain = ShareAll, 0.5, 2
	eng := engine.New(open(t), engine.Seed(4))
	p, err := NewPPO(t.Context(), eng, lookup(t, "CartPole-v1"), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.State().Lookup("agent/critic/params") != nil {
		t.Error("the critic has parameters of its own")
	}
	if of := p.agent.Networks(); len(of) != 1 || !slices.Equal(of[0].Layers, []int{0, 160, 1216, 1284}) {
		t.Errorf("rows %+v; want one, with the places of two hidden layers, 2 outputs and a value", of)
	}
	a, x := p.agent, p.collector.Trajectory()
	params, row := read(t, a.Actor()), rowOf(a.Actor())
	poison(t, p.estimates.value)
	run(t, eng, func(r *engine.Recorder) {
		p.collector.RecordHere(r)
		a.Values(r, x, p.estimates.value, p.estimates.nextValue)
	})
	obs, action, logProbs, values := read(t, x.Obs), read(t, x.Action), read(t, x.LogProb), read(t, p.estimates.value)
	for at := range values {
		m := at / cfg.Environments % cfg.Members
		of, in := params[m*row:], obs[at*4:at*4+4]
		want, _ := logProb(a.head, forward(a.actor.Model(), of, in), nil, action[at:at+1])
		if value := forward(a.critic.Model(), of, in)[0]; !(math.Abs(values[at]-value) <= 1e-5) || !(math.Abs(logProbs[at]-want) <= 1e-5) {
			t.Fatalf("step %d: value %g and log-probability %g; want %g and %g", at, values[at], logProbs[at], value, want)
		}
	}
	for name, of := range map[string]struct {
		model nn.Model
		gain  float64
	}{"actor": {a.actor.Model(), 0.5}, "critic": {a.critic.Model(), 2}} {
		layers := of.model.Layers()
		last, norm := layers[len(layers)-1], 0.0
		for i := range last.In {
			norm += math.Pow(params[last.Weight+i*last.Out], 2)
		}
		if norm = math.Sqrt(norm); !(math.Abs(norm-of.gain) <= 1e-5) {
			t.Errorf("the first column of the %s's output layer has norm %g; want %g", name, norm, of.gain)
		}
	}
}

// sharedWorkflows are workflows whose actors and critics share layers.
func sharedWorkflows() []workflow {
	network := DefaultNetwork()
	network.Hidden, network.NormalizeObs, network.NormalizeReward, network.Shared = []int{9, 7}, true, true, ShareAll
	memory := network
	memory.Hidden, memory.Layers = nil, cells(nn.GRU, 5, 4)
	behind := memory
	behind.Shared = ShareCell
	ppo := DefaultPPO()
	ppo.Members, ppo.Environments, ppo.RolloutLength, ppo.Epochs, ppo.Minibatches = 3, 4, 6, 2, 2
	clipUp := ppo
	clipUp.Members, clipUp.Optimizer, clipUp.GradientParts = 1, optim.ClipUp, 2
	a2c := DefaultA2C()
	a2c.Members, a2c.Environments = 2, 3
	impala := DefaultIMPALA()
	impala.Members, impala.Environments, impala.RolloutLength, impala.Epochs, impala.Minibatches = 2, 4, 7, 1, 2
	apart := impala
	apart.Actors, apart.Lag = 2, 2
	short := Environment(envs.Options{TimeLimit: 9})
	return []workflow{
		{"ppo", makes(NewPPO, "CartPole-v1", ppo, Network(network), short)},
		{"ppo by clipup", makes(NewPPO, "Pendulum-v1", clipUp, Network(network), short)},
		{"ppo with memory", makes(NewPPO, "CartPole-v1", ppo, Network(memory), short)},
		{"ppo with memory, up to the cell", makes(NewPPO, "CartPole-v1", ppo, Network(behind), short)},
		{"a2c", makes(NewA2C, "Pendulum-v1", a2c, Network(network), short)},
		{"impala whose actors lag behind", makes(NewIMPALA, "CartPole-v1", apart, Network(network), short)},
		{"impala with memory", makes(NewIMPALA, "Pendulum-v1", impala, Network(memory), short)},
	}
}

// TestSharedResume: runs whose actors and critics share layers resume exactly.
func TestSharedResume(t *testing.T) {
	for _, w := range sharedWorkflows() {
		t.Run(w.name, func(t *testing.T) { w.resumes(t, open(t)) })
	}
}

// TestSharedLearnsCartPole: PPO learns with one network, by settings that take few updates.
func TestSharedLearnsCartPole(t *testing.T) {
	cfg, network := cartPolePPO(), smallNetwork()
	cfg.RolloutLength, cfg.Epochs, cfg.LearningRate, network.Shared = 64, 6, 3e-3, ShareAll
	w := workflow{"ppo", makes(NewPPO, "CartPole-v1", cfg, Network(network))}
	if got := learn(t, w.open(t, open(t), 1), cfg.AnnealSteps); !(got >= 250) {
		t.Errorf("mean return %.1f; want at least 250 of 500", got)
	}
}

// TestSharedRefused: what cannot share layers is refused with what would be right.
func TestSharedRefused(t *testing.T) {
	network := DefaultNetwork()
	network.Shared = ShareAll
	own, none, cell := network, network, network
	own.CriticHidden, none.Hidden, cell.Shared = []int{8}, nil, ShareCell
	world := DefaultPPO()
	world.CriticInput = WorldState
	off, discrete := DefaultOffPolicyNetwork(), DefaultDQNNetwork()
	off.Shared, discrete.Shared = ShareAll, ShareAll
	soft := DefaultSACNetwork()
	soft.Shared = ShareAll
	for _, c := range []struct {
		algorithm interface{ Check(Parts) error }
		env       string
		network   NetworkConfig
		replay    ReplayConfig
		want      string
	}{
		{world, "SimpleSpread-v3", network, ReplayConfig{}, `"ppo.critic_input": a critic that sees the world shares no layers`},
		{DefaultPPO(), "CartPole-v1", none, ReplayConfig{}, `"network.shared": network 4-2 tanh has no layers before its outputs`},
		{DefaultIMPALA(), "CartPole-v1", none, ReplayConfig{}, `"network.shared": network 4-2 tanh has no layers`},
		{DefaultPPO(), "CartPole-v1", cell, ReplayConfig{}, `"network.shared": network 4-64-64-2 tanh has no recurrent cell; want "none", "all"`},
		{DefaultDQN(), "CartPole-v1", discrete, DefaultDQNReplay(), `"network.shared": actors and critics that learn from a replay`},
		{DefaultTD3(), "Pendulum-v1", off, DefaultReplay(), `"network.shared": actors and critics that learn from a replay`},
		{DefaultSAC(), "Pendulum-v1", soft, DefaultReplay(), `"network.shared": actors and critics that learn from a replay`},
	} {
		err := c.algorithm.Check(Parts{Env: lookup(t, c.env), Network: c.network, Replay: c.replay})
		if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%T on %s: error %v; want one with %s", c.algorithm, c.env, err, c.want)
		}
	}
	if err := own.Validate(); err == nil || !strings.Contains(err.Error(), `"critic_hidden": hidden layers [8] of the critic`) {
		t.Errorf("hidden layers of the critic: error %v", err)
	}
}
