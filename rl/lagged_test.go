package rl

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// apartIMPALA returns small settings with the environments in parts and weights that lag behind.
func apartIMPALA(parts, lag int) (IMPALAConfig, NetworkConfig) {
	cfg, network := DefaultIMPALA(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.LearningRate = 2, 6, 5, 1, 2, 0.05
	cfg.Actors, cfg.Lag = parts, lag
	network.Hidden, network.NormalizeObs = []int{7}, true
	return cfg, network
}

// apartPPO is apartIMPALA for PPO.
func apartPPO(parts, lag int) (PPOConfig, NetworkConfig) {
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.LearningRate = 2, 6, 5, 1, 1, 0.05
	cfg.Actors, cfg.Lag = parts, lag
	network.Hidden, network.NormalizeObs = []int{7}, true
	return cfg, network
}

// TestLagged: actions of every part are drawn by the weights, and the normalization, of so many iterations ago; of the first ones before there are as many. The
// metric tells it, and ratios are to the probabilities that acted.
func TestLagged(t *testing.T) {
	for _, lag := range []int{0, 1, 3} {
		impala, network := apartIMPALA(3, lag)
		ppo, same := apartPPO(3, lag)
		testLagged(t, network, parted(t, NewIMPALA, "CartPole-v1", impala, Network(network)))
		testLagged(t, same, parted(t, NewPPO, "CartPole-v1", ppo, Network(same)))
		ppo.Actors = 1
		testLagged(t, same, parted(t, NewPPO, "SimpleSpread-v3", ppo, Network(same)))
	}
}

func testLagged(t *testing.T, network NetworkConfig, construct func(context.Context, *engine.Engine, ...Option) (apart, error)) {
	t.Helper()
	of, err := construct(t.Context(), engine.New(open(t), engine.Seed(4)))
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	if err := of.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := of.(onPolicyWorkflow).learns()
	cfg, lag, n := p.common, p.common.Lag, p.env.ObsSize()
	var params, moments [][]float64 // before each iteration
	model, differ := p.agent.actor.Model(), 0.0
	for i := range 6 {
		params, moments = append(params, read(t, p.agent.Actor())), append(moments, read(t, p.agent.normalizer.Values()))
		poisonState(t, p)
		steps(t, p, i, i+1)
		x := p.collector.Trajectory()
		obs, action, logProb := read(t, x.Obs), read(t, x.Action), read(t, x.LogProb)
		for _, at := range []int{max(0, i-lag), i} {
			row, worst := len(params[at])/cfg.Members, 0.0
			for k, got := range logProb {
				m := k / cfg.Environments % cfg.Members
				in := slices.Clone(obs[n*k : n*k+n])
				for f := range in {
					mean, scale := moments[at][2*n*m+f], moments[at][2*n*m+n+f]
					in[f] = max(-float64(network.ObsLimit), min(float64(network.ObsLimit), (in[f]-mean)*scale))
				}
				out := forward(model, params[at][m*row:], in)
				all := 0.0
				for _, v := range out {
					all += math.Exp(v)
				}
				want := out[int(action[k])] - math.Log(all)
				worst = max(worst, math.Abs(got-want))
			}
			if at == max(0, i-lag) && !(worst < 1e-4) {
				t.Errorf("%s, lag %d, iteration %d: log-probabilities differ by %g from those of the weights of iteration %d", p.name, lag, i, worst, at)
			}
			differ = max(differ, worst)
		}
		rows, err := p.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := rows["policy/lag"], float32(min(i, lag)); lag > 0 && !slices.Equal(got, []float32{want, want}) {
			t.Errorf("%s, lag %d, iteration %d: policy/lag is %v; want %g", p.name, lag, i, got, want)
		}
		for m, got := range rows["policy/kl"] { // where it is of the first update: from the policy that acted
			if first := cfg.epochs*cfg.minibatches == 1; first && (math.Abs(float64(got)) > 1e-5) != (min(i, lag) > 0) {
				t.Errorf("%s, lag %d, iteration %d, member %d: policy/kl is %g; want one above 1e-5 only if the weights that acted are older", p.name, lag, i, m, got)
			}
		}
	}
	if lag > 0 && differ < 1e-2 {
		t.Errorf("%s, lag %d: the newest weights have the same log-probabilities to %g", p.name, lag, differ)
	}
}

// TestLaggedOffPolicy: without noise, the actions of off-policy agents are those of the actors of so many iterations ago.
func TestLaggedOffPolicy(t *testing.T) {
	common, replay := smallOffPolicy()
	cfg, network := DefaultTD3(), DefaultOffPolicyNetwork()
	cfg.OffPolicyConfig, cfg.ExplorationNoise, cfg.ActorLearningRate, network.Hidden = common, 0, 0.02, []int{7}
	cfg.Actors, cfg.Lag = 2, 2
	o, err := NewTD3(t.Context(), engine.New(open(t), engine.Seed(4)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	begun(t, o)
	var params [][]float64 // before each iteration
	differ := 0.0
	for i := range 5 {
		params = append(params, read(t, o.Policy().Params))
		poisonState(t, o)
		steps(t, o, i, i+1)
		x := o.collector.Trajectory()
		obs, action := read(t, x.Obs), read(t, x.Action)
		for _, at := range []int{max(0, i-cfg.Lag), i} {
			row, worst := len(params[at])/cfg.Members, 0.0
			for k, got := range action {
				m := k / cfg.Environments % cfg.Members
				worst = max(worst, math.Abs(got-math.Tanh(forward(o.Policy().Network, params[at][m*row:], obs[3*k:3*k+3])[0])))
			}
			if at == max(0, i-cfg.Lag) && !(worst < 1e-4) {
				t.Errorf("iteration %d: actions differ by %g from those of the actors of iteration %d", i, worst, at)
			}
			differ = max(differ, worst)
		}
	}
	if differ < 1e-2 {
		t.Errorf("the newest actors act alike to %g", differ)
	}
}

// TestParts: parts of the environments have episodes of their own, and one part has those of an agent without parts.
func TestParts(t *testing.T) {
	begin := func(parts int) []float64 {
		cfg, network := apartIMPALA(parts, 0)
		p, err := NewIMPALA(t.Context(), engine.New(open(t), engine.Seed(4)), lookup(t, "CartPole-v1"), cfg, Network(network))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		steps(t, p, 0, 1)
		return read(t, p.collector.Trajectory().Obs)[:2*6*4]
	}
	whole, parts := begin(1), begin(3)
	for m := range 2 {
		first := parts[m*24 : m*24+8]
		if slices.Equal(first, parts[m*24+8:m*24+16]) || slices.Equal(first, parts[m*24+16:m*24+24]) {
			t.Errorf("member %d: two parts begin with the same observations %v", m, first)
		}
		if slices.Equal(first, whole[m*24:m*24+8]) {
			t.Errorf("member %d: the first of three parts begins as all environments together: %v", m, first)
		}
	}
}

// TestLearnsBehind: V-trace and PPO's clip make up for weights that act an iteration late.
func TestLearnsBehind(t *testing.T) {
	impala, ppo := cartPoleIMPALA(), cartPolePPO()
	impala.Members, impala.Actors, impala.Lag = 2, 2, 1
	ppo.Members, ppo.Actors, ppo.Lag = 2, 2, 1
	for _, construct := range []func(context.Context, *engine.Engine, ...Option) (apart, error){
		parted(t, NewIMPALA, "CartPole-v1", impala, Network(smallNetwork())), parted(t, NewPPO, "CartPole-v1", ppo, Network(smallNetwork())),
	} {
		p, err := construct(t.Context(), engine.New(open(t), engine.Seed(1)), Environment(envs.Options{RewardScale: 0.1}))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if got := learn(t, p, 100000); !(got >= 400) {
			t.Errorf("%s: mean return %.1f; want at least 400 of 500", p.Describe().Workflow, got)
		}
	}
}
