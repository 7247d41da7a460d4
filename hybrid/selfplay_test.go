package hybrid

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// signsSource is a game of two seats: both see a sign, one of three, and a seat that shows it when the other does not wins a point. A game is six signs. The
// script shows every sign.
const signsSource = `// environment: Signs
//! max_steps = 6
//! iterations = 5

#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 2
#define OBS_SIZE 3
#define ACTION_SIZE 3
#define DISCRETE 1
#define ENV_SCRIPT

uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng) { return uint(s[0]); }

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = floor(rng_uniform(rng) * 3.0);
    s[1] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    reward[0] = float(action[0] == uint(s[0])) - float(action[1] == uint(s[0]));
    reward[1] = -reward[0];
    s[0] = floor(rng_uniform(rng) * 3.0);
    s[1] += 1.0;
    terminated = s[1] >= 6.0;
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    for (uint i = 0u; i < 3u; i++) obs[i] = uint(s[0]) == i ? 1.0 : 0.0;
}
`

func signs(t testing.TB) *envs.Environment {
	t.Helper()
	env, err := envs.FromGLSL("signs.glsl", []byte(signsSource))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// smallPool enters often, into a pool that is soon full.
func smallPool() SelfPlayConfig {
	c := DefaultSelfPlay()
	c.Capacity, c.Opponents, c.Latest, c.AppendSamples, c.AppendWinRate, c.AppendGames = 3, PrioritisedDraw, 0.3, 60, 0.9, 4
	return c
}

func newSelfPlay(t testing.TB, seed uint32, env *envs.Environment, agent rl.PPOConfig, cfg SelfPlayConfig) *SelfPlay {
	t.Helper()
	ppo, err := rl.NewPPO(t.Context(), engine.New(open(t), engine.Seed(seed)), env, agent, network(), cfg.Pool())
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewSelfPlay(ppo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestResumeSelfPlay: a run that is cut has the bits of one that is not: pools, results and draws are part of the state.
func TestResumeSelfPlay(t *testing.T) {
	env := signs(t)
	resumes(t, func() engine.Workflow { return newSelfPlay(t, 3, env, small(3), smallPool()) }, 11)
}

// TestSelfPlayStaysOnDevice: an iteration is one submission, and nothing crosses the bus.
func TestSelfPlayStaysOnDevice(t *testing.T) {
	staysOnDevice(t, newSelfPlay(t, 3, signs(t), small(3), smallPool()))
}

// TestSelfPlayMembersAreIndependent: a member alone has the pool, and the results, that it has among others.
func TestSelfPlayMembersAreIndependent(t *testing.T) {
	env := signs(t)
	alone, both := newSelfPlay(t, 3, env, small(1), smallPool()), newSelfPlay(t, 3, env, small(2), smallPool())
	for _, p := range []*SelfPlay{alone, both} {
		initialized(t, p)
		steps(t, p, 0, 9)
	}
	for _, of := range [][2]*engine.Tensor{{alone.payoff, both.payoff}, {alone.serial, both.serial}} {
		a, b := words(t, of[0]), words(t, of[1])
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%v: element %d of member 0 is %d alone and %d beside another", of[0], i, a[i], b[i])
			}
		}
	}
}

// TestSelfPlayEntersOnce: a member that does not learn enters once, and so does one that plays about as well as its newest opponent, where that counts.
func TestSelfPlayEntersOnce(t *testing.T) {
	agent, cfg := rl.DefaultPPO(), smallPool()
	agent.Members, agent.Environments, agent.RolloutLength, agent.Epochs, agent.LearningRate = 2, 16, 24, 1, 0
	cfg.Latest, cfg.Opponents, cfg.AppendSamples, cfg.AppendWinRate, cfg.AppendGames = 0, NewestDraw, 24*16, 0, 20
	entered := func(rate, difference float64) []uint32 {
		t.Helper()
		agent.LearningRate, cfg.AppendDifference = rate, difference
		network := rl.DefaultNetwork()
		network.Hidden = []int{8} // without moments of observations, which change always
		ppo, err := rl.NewPPO(t.Context(), engine.New(open(t), engine.Seed(2)), signs(t), agent, rl.Network(network), cfg.Pool())
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewSelfPlay(ppo, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		initialized(t, p)
		steps(t, p, 0, 6)
		return words(t, p.entries)
	}
	if got := entered(0, 0); !slices.Equal(got, []uint32{1, 1}) {
		t.Errorf("%d entries of members that do not learn; want one each", got)
	}
	if got := entered(1e-6, 0); !slices.Equal(got, []uint32{7, 7}) {
		t.Errorf("%d entries of members that change a little in each of six iterations; want seven each", got)
	}
	if got := entered(1e-6, 0.25); !slices.Equal(got, []uint32{1, 1}) {
		t.Errorf("%d entries of members that win about half of their games against the newest; want one each", got)
	}
}

// TestStoredPools: pools read from a checkpoint are the device's. The untrained policy enters before the first iteration, others after one.
func TestStoredPools(t *testing.T) {
	p, dir := newSelfPlay(t, 3, signs(t), small(2), smallPool()), t.TempDir()
	initialized(t, p)
	const kept = 7
	read := func(after int) []Pool {
		t.Helper()
		if _, err := p.State().Save(t.Context(), dir, after); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(checkpoint.Path(dir, int64(after)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := StoredPools(c)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Pools(t.Context())
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) { // NaN is not equal to itself
			t.Errorf("after %d iterations the checkpoint has %v; the device %v, %v", after, got, want, err)
		}
		return got
	}
	for m, pool := range read(0) {
		if len(pool.Opponents) != 1 || pool.Opponents[0].Entered != 0 || pool.Opponents[0].Number != 1 {
			t.Errorf("member %d begins with %+v; want the untrained policy", m, pool)
		}
	}
	steps(t, p, 0, kept)
	for m, pool := range read(kept) {
		if len(pool.Opponents) != 3 {
			t.Fatalf("member %d: %d opponents; want 3", m, len(pool.Opponents))
		}
		for i, o := range pool.Opponents { // after each third iteration, of 24 steps
			if want := 3 * (o.Number - 1); o.Entered > want || o.Entered < 1 && o.Number > 1 || i > 0 && o.Entered <= pool.Opponents[i-1].Entered {
				t.Errorf("member %d: opponent %+v; want entries in order, the last by iteration %d", m, o, want)
			}
		}
	}
	other := newPPO(t, 1, "CartPole-v1", small(1))
	defer other.Close()
	initialized(t, other)
	if _, err := other.State().Save(t.Context(), dir, 1); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(checkpoint.Path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if pools, err := StoredPools(c); err != nil || pools != nil {
		t.Errorf("of PPO: pools %v, %v; want none", pools, err)
	}
}

func numbers(t testing.TB, of *engine.Tensor) []float32 {
	t.Helper()
	values, err := of.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestSelfPlayLearns: members beat the first opponents of their pools, which are untrained: by a mean return of at least 2.5 of 6 signs, of which a policy
// that shows a sign at random gets a third.
func TestSelfPlayLearns(t *testing.T) {
	agent := rl.DefaultPPO()
	agent.Members, agent.Environments, agent.RolloutLength, agent.Epochs, agent.Minibatches, agent.LearningRate = 2, 16, 24, 4, 2, 3e-3
	cfg := DefaultSelfPlay()
	cfg.Capacity, cfg.Opponents, cfg.Latest, cfg.AppendSamples, cfg.AppendWinRate = 4, UniformDraw, 0.5, 1<<30, 0
	p := newSelfPlay(t, 1, signs(t), agent, cfg) // nobody else enters
	initialized(t, p)
	before, err := p.Evaluate(t.Context(), 64)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, p, 0, 40)
	after, err := p.Evaluate(t.Context(), 64)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Metrics().Read(39)
	if err != nil {
		t.Fatal(err)
	}
	for i, mean := range after.Means() {
		t.Logf("member %d: mean return %.2f, then %.2f; win rate %.2f", i, before.Means()[i], mean, m[WinRateMetric][i])
		if !(mean >= 2.5) {
			t.Errorf("member %d: mean return %.2f against its first opponent after learning, %.2f before; want at least 2.5", i, mean, before.Means()[i])
		}
		if rate := m[WinRateMetric][i]; !(rate >= 0.8) {
			t.Errorf("member %d: win rate %.2f; want at least 0.8", i, rate)
		}
		if n := m["opponents/pool"][i]; n != 1 {
			t.Errorf("member %d: a pool of %g; want 1", i, n)
		}
	}
}

// TestSelfPlayScripted: a member that plays against the world's script alone learns not to lose to it, and evaluations are against the player that is
// asked for.
func TestSelfPlayScripted(t *testing.T) {
	agent := rl.DefaultPPO()
	agent.Environments, agent.RolloutLength, agent.Epochs, agent.Minibatches, agent.LearningRate = 16, 24, 4, 2, 3e-3
	cfg := DefaultSelfPlay()
	cfg.Capacity, cfg.Latest, cfg.Scripted, cfg.Evaluation = 2, 0, 1, envs.ScriptedPlayer
	p := newSelfPlay(t, 1, signs(t), agent, cfg)
	initialized(t, p)
	evaluated := func() float64 {
		t.Helper()
		e, err := p.Evaluate(t.Context(), 64)
		if err != nil {
			t.Fatal(err)
		}
		return e.Means()[0]
	}
	before := evaluated()
	steps(t, p, 0, 40)
	if after := evaluated(); !(before < -2.5 && after > -1 && after <= 0) {
		t.Errorf("mean return %.2f against the script, and %.2f before learning; want -1 to 0, and less than -2.5", after, before)
	}
	if pool, err := p.Pools(t.Context()); err != nil || pool[0].Opponents[0].Results != (Results{}) {
		t.Errorf("pool %+v, %v; want no games against it", pool, err)
	}
	cfg.Scripted, cfg.Random, cfg.Evaluation = 0, 1, envs.RandomPlayer
	p = newSelfPlay(t, 1, signs(t), agent, cfg)
	initialized(t, p)
	steps(t, p, 0, 40)
	if after := evaluated(); !(after > 2.5) {
		t.Errorf("mean return %.2f against random actions; want at least 2.5", after)
	}
}

func TestSelfPlayRefused(t *testing.T) {
	eng := engine.New(open(t))
	cartPole, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = rl.NewPPO(t.Context(), eng, cartPole, small(1), network(), smallPool().Pool())
	if err == nil || !strings.Contains(err.Error(), "1 seats; want two") {
		t.Errorf("a pool with one agent: %v", err)
	}
	if _, err := rl.NewSAC(t.Context(), eng, cartPole, rl.DefaultSAC(), smallPool().Pool()); err == nil || !strings.Contains(err.Error(), "with a replay") {
		t.Errorf("a pool of SAC: %v", err)
	}
	for want, change := range map[string]func(*SelfPlayConfig){
		"append_samples":               func(c *SelfPlayConfig) { c.AppendSamples, c.AppendWinRate = 0, 0 },
		"capacity":                     func(c *SelfPlayConfig) { c.Capacity = 0 },
		"no pool of 4":                 func(c *SelfPlayConfig) { c.Capacity = 4 },
		"scripted and random are 1.05": func(c *SelfPlayConfig) { c.Scripted, c.Random = 0.5, 0.25 },
	} {
		ppo, err := rl.NewPPO(t.Context(), eng, signs(t), small(1), network(), smallPool().Pool())
		if err != nil {
			t.Fatal(err)
		}
		cfg := smallPool()
		change(&cfg)
		if _, err := NewSelfPlay(ppo, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}
