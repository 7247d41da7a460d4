package hybrid

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// guided is a small ERL: agents of an algorithm beside populations of a search.
type guided struct {
	agent            string
	members, horizon int
	replay           rl.ReplayConfig
	options          envs.Options
	algorithm        ec.Algorithm
	cfg              ERLConfig
	perStep          float64 // updates for each step; 0: 1
	discount         float64
}

// smallERL has two populations with an agent each. Iterations are: warm-up, learning, injection, learning, injection …
func smallERL(agent string, algorithm ec.Algorithm) guided {
	g := guided{
		agent: agent, members: 2, horizon: 7, replay: rl.DefaultReplay(), options: envs.Options{TimeLimit: 10}, algorithm: algorithm, cfg: DefaultERL(),
		discount: 0.99,
	}
	g.replay.Capacity, g.replay.Batch = 1000, 8
	g.cfg.Warmup, g.cfg.Injection, g.cfg.Episodes = 1, 3, 2
	return g
}

// genetic and vanilla are small searches.
func genetic() ec.GAConfig {
	c := ec.DefaultGA()
	c.Population, c.EliteRatio, c.InitialStd, c.MutationStd = 6, 0.5, 0.5, 0.2
	return c
}

func vanilla() ec.VanillaESConfig {
	c := ec.DefaultVanillaES()
	c.Population, c.Elites, c.NoiseStd = 6, 3, 0.3
	return c
}

// agents are off-policy agents in the pendulum: after a rollout of random actions they take horizon steps in one environment, and make as many updates.
func (g guided) agents(t testing.TB, seed uint32, opts ...rl.Option) (*rl.OffPolicy, error) {
	t.Helper()
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	return offPolicy(t.Context(), engine.New(open(t), engine.Seed(seed)), env, g.agent, func(c *rl.OffPolicyConfig) {
		c.Members, c.RolloutLength, c.LearningStarts, c.Discount = g.members, g.horizon, g.horizon, g.discount
		if g.perStep > 0 {
			c.UpdatesPerStep = g.perStep
		}
	}, append([]rl.Option{rl.Replays(g.replay), rl.Environment(g.options)}, opts...))
}

// offPolicy makes agents with networks of one small layer.
func offPolicy(
	ctx context.Context, eng *engine.Engine, env *envs.Environment, name string, set func(*rl.OffPolicyConfig), opts []rl.Option,
) (*rl.OffPolicy, error) {
	network := rl.DefaultOffPolicyNetwork()
	switch network.Hidden = []int{8}; name {
	case "ddpg":
		c := rl.DefaultDDPG()
		set(&c.OffPolicyConfig)
		return rl.NewDDPG(ctx, eng, env, c, append([]rl.Option{rl.Network(network)}, opts...)...)
	case "sac":
		c := rl.DefaultSAC()
		set(&c.OffPolicyConfig)
		network.StateDependentStd = true
		return rl.NewSAC(ctx, eng, env, c, append([]rl.Option{rl.Network(network)}, opts...)...)
	}
	c := rl.DefaultTD3()
	set(&c.OffPolicyConfig)
	c.PolicyDelay = 1
	return rl.NewTD3(ctx, eng, env, c, append([]rl.Option{rl.Network(network)}, opts...)...)
}

func (g guided) open(t testing.TB, seed uint32) *ERL {
	t.Helper()
	agents, err := g.agents(t, seed)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewERL(t.Context(), agents, g.algorithm, g.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// begin is open with a run begun.
func (g guided) begin(t testing.TB, seed uint32) *ERL {
	t.Helper()
	e := g.open(t, seed)
	initialized(t, e)
	return e
}

// values and words read a tensor.
func values(t testing.TB, x *engine.Tensor) []float32 {
	t.Helper()
	got, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func words(t testing.TB, x *engine.Tensor) []uint32 {
	t.Helper()
	got, err := x.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// saved is the saved tensor of a name.
func saved(t testing.TB, w engine.Workflow, name string) *engine.Tensor {
	t.Helper()
	x := w.State().Lookup(name)
	if x == nil {
		var names []string
		for _, x := range w.State().Tensors() {
			names = append(names, x.Name())
		}
		t.Fatalf("no tensor %q; there are %q", name, names)
	}
	return x
}

// rows are a member's rows [n][row] of a tensor [M · n, row].
func rows(all []float32, member, members, n int) [][]float32 {
	row := len(all) / (members * n)
	var out [][]float32
	for i := range n {
		out = append(out, all[(member*n+i)*row:][:row])
	}
	return out
}

// orderOf are candidates by their fitness, the best first.
func orderOf(fitness []float32) []int {
	order := make([]int, len(fitness))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case fitness[a] > fitness[b]:
			return -1
		case fitness[a] < fitness[b]:
			return 1
		}
		return 0
	})
	return order
}

// near is whether all numbers are within a tolerance of those wanted.
func near(got, want []float32, tolerance float64) bool {
	for i, x := range got {
		if !(math.Abs(float64(x)-float64(want[i])) <= tolerance) {
			return false
		}
	}
	return len(got) == len(want)
}
