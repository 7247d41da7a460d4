package rl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// TestWorldStateUpdate compares parameters and losses after all updates of an iteration with the definitions in float64, with critics in lanes and
// computed layer by layer. The values of final observations, and of those after the last step, are of the world, too. Gradients are difference quotients.
func TestWorldStateUpdate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(1))
	for name, change := range map[string]func(*NetworkConfig, *PPOConfig) *envs.Environment{
		"lanes": func(n *NetworkConfig, c *PPOConfig) *envs.Environment {
			n.Hidden, n.NormalizeObs, n.ObsLimit = []int{7, 6}, true, 1.5
			return seatSpaces(3, 4, envs.Discrete(3))
		},
		"layers": func(n *NetworkConfig, c *PPOConfig) *envs.Environment {
			n.Hidden, n.NormalizeObs, n.ObsLimit = []int{5, 4, 3}, true, 1.5
			return seatSpaces(3, 4, envs.Discrete(3))
		},
		"a critic in layers": func(n *NetworkConfig, c *PPOConfig) *envs.Environment {
			n.Hidden, n.CriticHidden = []int{6}, []int{5, 4, 3}
			c.Members, c.Minibatches, c.NormalizeAdvantage, c.ClipValue = 1, 1, false, false
			return seatSpaces(2, 3, envs.Symmetric(1, 1))
		},
		"an actor in layers": func(n *NetworkConfig, c *PPOConfig) *envs.Environment {
			n.Hidden, n.CriticHidden = []int{5, 4, 3}, []int{6}
			return seatSpaces(2, 5, envs.Discrete(2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 2, 2, 4
			cfg.OptimizerEpsilon, cfg.MaxGradNorm, cfg.CriticInput = 1e-4, 0.3, WorldState
			env := change(&network, &cfg)
			p := newLearner(t, eng, env, network, cfg)
			if in := p.agent.critic.Model().Inputs().Size(); in != env.Seats()*env.ObsSize() {
				t.Fatalf("critics of %d inputs; want %d × %d", in, env.Seats(), env.ObsSize())
			}
			c, e := newPolicyCase(t, &p.onPolicy), p.estimates
			discount, lambda := c.draw(t, e.discount, c.uniform(0.8, 1)), c.draw(t, e.lambda, c.uniform(0.7, 1))
			clip := c.draw(t, p.actorLoss.Clip, c.uniform(0.1, 0.3))
			c.drawWeights(t)
			poison(t, p.actorLoss.Sums, p.criticLoss.Sums, p.agent.world.states, e.value, e.nextValue, e.advantage, e.target)
			if rows := p.minibatches.StateRows; rows != nil {
				poison(t, rows)
			}
			run(t, eng, func(r *engine.Recorder) {
				e.Record(r, p.agent, p.minibatches.Trajectory)
				p.recordUpdates(r)
			})
			c.compare(t, cfg.Epochs, cfg.Minibatches, c.surrogate(cfg, discount, lambda, clip))
		})
	}
}

// worldPPO returns small settings of PPO with critics that see the world, with as many transitions as the joint form of updates needs.
func worldPPO() (PPOConfig, NetworkConfig) {
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.CriticInput = 16, 5, 9, 2, 2, WorldState
	network.Hidden, network.Activation, network.NormalizeObs = []int{7}, nn.Swish, true
	return cfg, network
}

// TestWorldStateResume: a run that is cut has the bits of one that is not, and nothing that is not saved has a part in it: with agents that leave, with a
// critic computed layer by layer, and with opponents of a pool in one of the seats.
func TestWorldStateResume(t *testing.T) {
	cfg, network := worldPPO()
	layers := network
	layers.NormalizeObs, layers.CriticHidden = false, []int{6, 5, 4}
	for _, w := range []struct {
		name    string
		network NetworkConfig
		options []Option
	}{{"lanes", network, nil}, {"layers", layers, nil}, {"a pool", network, []Option{Pool(PoolConfig{Opponents: 2, Alone: 0.5})}}} {
		t.Run(w.name, func(t *testing.T) {
			of := workflow{"ppo", func(t testing.TB, eng *engine.Engine) (counted, error) {
				return NewPPO(t.Context(), eng, race(t), cfg, append(w.options, Network(w.network))...)
			}}
			of.resumes(t, open(t))
			of.poisoned(t, open(t))
		})
	}
}

// signals is a world of two agents. Each sees a bit of its own, and is paid for repeating it, and more for the other's.
const signals = `// environment: Signals-v0
//! max_steps = 8
//! iterations = 8
#include "engine/rng.glsl"
#define AGENTS 2
#define STATE_SIZE 2
#define OBS_SIZE 1
#define ACTION_SIZE 2
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    for (uint i = 0u; i < AGENTS; i++) s[i] = rng_uniform(rng, 0.0, 1.0) < 0.5 ? 0.0 : 1.0;
}
void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    for (uint a = 0u; a < AGENTS; a++) reward[a] = (float(action[a]) == s[a] ? 1.0 : 0.0) + 3.0 * s[1u - a];
    env_reset(s, rng);
    terminated = false;
}
void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { obs[0] = s[seat]; }
`

// TestWorldStateLearns: a critic that sees the world predicts what the other's bit pays; one that sees its own bit cannot. Actions at random return 16, the
// best 20.
func TestWorldStateLearns(t *testing.T) {
	env, err := envs.FromGLSL("signals.glsl", []byte(signals))
	if err != nil {
		t.Fatal(err)
	}
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningRate, cfg.Discount, cfg.EntropyWeight, cfg.ClipValue = 2, 32, 16, 1e-2, 0, 0, false
	network.Hidden = []int{16}
	for _, input := range []CriticInput{OwnObservation, WorldState} {
		cfg.CriticInput = input
		p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), env, cfg, Network(network))
		if err != nil {
			t.Fatal(err)
		}
		if got := learn(t, p, 30*1024); !(got >= 18) {
			t.Errorf("%v: mean return %.2f; want at least 18", input, got)
		}
		rows, err := p.Metrics().Read(29)
		if err != nil {
			t.Fatal(err)
		}
		explained := rows["critic/explained_variance"]
		t.Logf("%v: explained variance %.3f", input, explained)
		for m, v := range explained {
			if good := v > 0.9; good != (input == WorldState) {
				t.Errorf("%v: the critic of member %d explains %.3f of the variance; want above 0.9 if it sees the world, else not", input, m, v)
			}
		}
		p.Close()
	}
}

// TestWorldStateRefuses: what cannot be is refused with what would be right. The updates of a critic that sees more than the actor are separate.
func TestWorldStateRefuses(t *testing.T) {
	cfg, network := worldPPO()
	image := seatSpaces(2, 1, envs.Discrete(2))
	image.Observation = envs.Image(5, 5, 2)
	for _, c := range []struct {
		env    *envs.Environment
		change func(*NetworkConfig)
		want   string
	}{
		{lookup(t, "CartPole-v1"), func(*NetworkConfig) {}, `"ppo.critic_input": "world" in "CartPole-v1", a world of one agent`},
		{race(t), func(n *NetworkConfig) { n.Hidden, n.Layers = nil, cells(nn.GRU, 5) }, "has memory"},
		{image, func(n *NetworkConfig) {
			n.Hidden, n.Layers = nil, []nn.LayerConfig{{Kind: nn.Convolution, Channels: 4, Kernel: 3}}
		}, "or critic_hidden"},
	} {
		network := network
		c.change(&network)
		if err := cfg.Check(Parts{Env: c.env, Network: network}); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("on %s: error %v; want one with %s", c.env.Name, err, c.want)
		}
		if network.CriticHidden = []int{8}; c.env == image {
			if err := cfg.Check(Parts{Env: c.env, Network: network}); err != nil {
				t.Errorf("a dense critic of images: %v", err)
			}
		}
	}
	var input CriticInput
	if err := input.UnmarshalText([]byte("all")); err == nil || !strings.Contains(err.Error(), `"own", "world"`) {
		t.Errorf("an unknown input: %v", err)
	}
	for _, input := range []CriticInput{OwnObservation, WorldState} {
		cfg.CriticInput = input
		p, err := NewPPO(t.Context(), engine.New(open(t)), race(t), cfg, Network(network))
		if err != nil {
			t.Fatal(err)
		}
		if cpu := open(t).Info().Type; p.form.On && input == WorldState || !p.form.On && input == OwnObservation && cpu == vk.CPU {
			t.Errorf("critic input %v: joint updates %v", input, p.form.On)
		}
		p.Close()
	}
}
