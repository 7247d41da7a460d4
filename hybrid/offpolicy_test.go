package hybrid

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// TestOverOffPolicy: PBT over TD3, SAC and DQN searches what they declare. A replaced member has everything of its parent's but its hyperparameters and
// its replay, and a run that is resumed between two exchanges ends with the same digest.
func TestOverOffPolicy(t *testing.T) {
	critics := []string{"agent/actor/params", "agent/critics/optimizer/second_moment", "agent/target_critics", "rollout/env_state"}
	for _, c := range []struct {
		name string
		want []string
		has  []string // tensors that copies take over
	}{
		{"td3", []string{"actor_learning_rate", "critic_learning_rate", "discount", "exploration_noise", "noise_clip", "policy_delay", "target_noise"}, critics},
		{"sac", []string{"actor_learning_rate", "critic_learning_rate", "discount", "target_entropy", "temperature_learning_rate"}, critics},
		{"discrete sac", []string{"actor_learning_rate", "critic_learning_rate", "discount", "target_entropy_scale", "temperature_learning_rate"}, critics},
		{"dqn", []string{"discount", "exploration_end", "learning_rate"},
			[]string{"agent/network/params", "agent/network/optimizer/second_moment", "agent/target", "rollout/env_state"}},
		{"dqn with memory", []string{"discount", "exploration_end", "learning_rate"},
			[]string{"agent/network/params", "agent/target", "rollout/env_state", "rollout/stepped/memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh := func() *PBT {
				cfg := DefaultPBT()
				cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Bottom = 1, 2, 2, 0.5
				return kinds[0].over(t, smallAgents(t, c.name), cfg)
			}
			through := fresh()
			if !slices.Equal(through.names, c.want) {
				t.Fatalf("it searches %v; want %v", through.names, c.want)
			}
			initialized(t, through)
			steps(t, through, 0, 2)
			dir := t.TempDir()
			if _, err := through.State().Save(t.Context(), dir, 2); err != nil {
				t.Fatal(err)
			}
			steps(t, through, 2, 5)
			want := digest(t, through)
			resumed := fresh()
			if err := resumed.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			load(t, resumed, dir, 2)
			steps(t, resumed, 2, 5)
			if got := digest(t, resumed); got != want {
				t.Errorf("resumed between two exchanges: digest %s; want %s", got, want)
			}
			replaced(t, through, c.has)
		})
	}
}

// TestOverOffPolicyCounters: an iteration of PBT over an off-policy agent is one submission, two with an exchange, and nothing crosses the bus, whatever
// a replaced member copies.
func TestOverOffPolicyCounters(t *testing.T) {
	for _, agent := range []string{"td3", "sac", "discrete sac", "dqn"} {
		for name, inherit := range map[string]Inheritance{"everything": Everything, "policy": PolicyOnly} {
			t.Run(agent+", "+name, func(t *testing.T) {
				cfg := DefaultPBT()
				cfg.Warmup, cfg.Interval, cfg.Episodes, cfg.Bottom, cfg.Inherit = 1, 2, 2, 0.5, inherit
				p := kinds[0].over(t, smallAgents(t, agent), cfg)
				initialized(t, p)
				steps(t, p, 0, 5)
				transfers(t, p, 5, 11, 6+3, 0)
			})
		}
	}
}

// smallAgents are four agents in the pendulum, of DQN and discrete SAC in CartPole, that normalize observations; DQN's with all its parts.
func smallAgents(t testing.TB, name string) *rl.OffPolicy {
	t.Helper()
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	td3, sac, replay := rl.DefaultTD3(), rl.DefaultSAC(), rl.DefaultReplay()
	td3.Members, td3.Environments, td3.RolloutLength, td3.LearningStarts = 4, 2, 4, 8
	sac.OffPolicyConfig = td3.OffPolicyConfig
	replay.Capacity, replay.Batch = 64, 8
	network, stochastic := rl.DefaultOffPolicyNetwork(), rl.DefaultSACNetwork()
	network.Hidden, stochastic.Hidden = []int{8}, []int{8}
	network.NormalizeObs, stochastic.NormalizeObs = true, true
	options := rl.Environment(envs.Options{TimeLimit: 12})
	cartpole, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	dqn, prioritized := rl.DefaultDQN(), replay
	dqn.OffPolicyConfig, dqn.Double, dqn.Dueling, dqn.Atoms = td3.OffPolicyConfig, true, true, 5
	prioritized.Prioritized, prioritized.Steps = true, 2
	eng := engine.New(open(t), engine.Seed(3))
	var o *rl.OffPolicy
	switch name {
	case "td3":
		o, err = rl.NewTD3(t.Context(), eng, env, td3, rl.Network(network), rl.Replays(replay), options)
	case "td3 without target actor":
		td3.TargetActor = false
		o, err = rl.NewTD3(t.Context(), eng, env, td3, rl.Network(network), rl.Replays(replay), options)
	case "sac":
		o, err = rl.NewSAC(t.Context(), eng, env, sac, rl.Network(stochastic), rl.Replays(replay), options)
	case "discrete sac":
		o, err = rl.NewSAC(t.Context(), eng, cartpole, sac, rl.Network(stochastic), rl.Replays(replay), options)
	case "dqn with memory":
		network.Hidden, network.Layers = nil, []nn.LayerConfig{{Kind: nn.GRU, Units: 5}}
		o, err = rl.NewDQN(t.Context(), eng, cartpole, dqn, rl.Network(network), rl.Replays(replay),
			rl.Sequences(rl.SequenceConfig{BurnIn: 1, Steps: 3, Stored: true}), options)
	default:
		o, err = rl.NewDQN(t.Context(), eng, cartpole, dqn, rl.Network(network), rl.Replays(prioritized), options)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestPolicyOnly: with inherit = policy a replaced member takes over its parent's actor, normalizer and hyperparameters; the actor's optimizer forgets,
// its target is a copy of it, SAC's temperature is the initial one, and all else stays its own.
func TestPolicyOnly(t *testing.T) {
	for agent, of := range map[string]struct{ actor, target string }{
		"td3": {"agent/actor/params", "agent/target_actor"}, "dqn": {"agent/network/params", "agent/target"},
		"td3 without target actor": {"agent/actor/params", ""},
		"sac":                      {"agent/actor/params", ""}, "discrete sac": {"agent/actor/params", ""},
	} {
		t.Run(agent, func(t *testing.T) {
			cfg := DefaultPBT()
			cfg.Inherit, cfg.Bottom, cfg.Episodes = PolicyOnly, 0.5, 2
			p := kinds[0].over(t, smallAgents(t, agent), cfg)
			initialized(t, p)
			steps(t, p, 0, 3)
			before := snapshot(t, p.State())
			run(t, p, func(r *engine.Recorder) {
				p.ranking.recordRank(r, p)
				p.exchange.choose(r, p)
				p.inherit(r)
			})
			after, want := snapshot(t, p.State()), before.clone()
			replaced := 0
			for m, parent := range after["pbt/parent"] {
				want["pbt/parent"][m] = parent
				if int(parent) == m {
					continue
				}
				replaced++
				for _, x := range p.State().Tensors() {
					name := x.Name()
					critics, optimizer := strings.Contains(name, "critics"), strings.Contains(name, "optimizer/")
					switch {
					case name == of.actor || name == "pbt/ancestor" || strings.HasPrefix(name, "hyper/") || strings.Contains(name, "normalizer"):
						want.copyMember(x, m, int(parent))
					case optimizer && !critics || name == "agent/temperature/params": // whose logarithm begins at 0
						inner := x.Len() / 4
						clear(want[name][m*inner:][:inner])
					}
				}
				if of.target != "" {
					inner := p.State().Lookup(of.target).Len() / 4
					copy(want[of.target][m*inner:][:inner], want[of.actor][int(parent)*inner:])
				}
			}
			if replaced != 2 {
				t.Errorf("%d of 4 members were replaced; want 2", replaced)
			}
			for name := range want {
				if !slices.Equal(after[name], want[name]) {
					t.Errorf("%s is %x; want %x", name, after[name][:min(16, len(after[name]))], want[name][:min(16, len(want[name]))])
				}
			}
		})
	}
}

// replaced exchanges, and compares the replaced members with their parents.
func replaced(t *testing.T, p *PBT, has []string) {
	t.Helper()
	ring := p.State().Lookup("replay/obs")
	before, err := ring.ReadBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exchanged(t, p, has)
	after, err := ring.ReadBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, after) {
		t.Error("the exchange changed replays")
	}
}

// exchanged makes an exchange, and checks that half of four members are copies in these tensors.
func exchanged(t *testing.T, p *PBT, has []string) {
	t.Helper()
	run(t, p, p.recordExchange)
	members, err := p.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copies := 0
	for _, m := range members {
		if m.Parent == m.Index {
			continue
		}
		copies++
		for _, name := range has {
			x := p.State().Lookup(name)
			data, err := x.ReadFloat32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			outer, count, inner, _ := x.Split(engine.MemberAxis)
			for i := range outer * inner {
				at := i / inner * count * inner
				if data[at+m.Index*inner+i%inner] != data[at+m.Parent*inner+i%inner] {
					t.Fatalf("%s of member %d differs from that of its parent %d", name, m.Index, m.Parent)
				}
			}
		}
	}
	if copies != 2 {
		t.Errorf("%d members of 4 are copies; want 2", copies)
	}
}
