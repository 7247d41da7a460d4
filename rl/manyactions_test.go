package rl

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestLossOfManyActions compares gradients of actors whose logits are read from memory with central differences of the losses in float64.
func TestLossOfManyActions(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	for i, of := range []struct {
		action envs.Space
		bins   int
		length int // of rollouts
	}{
		{envs.Discrete(49), 0, 5}, {envs.Discrete(64), 0, 5}, {envs.Discrete(1000), 0, 5}, {envs.Symmetric(1, 1), 41, 5},
		{envs.Discrete(nn.MaxLogits), 0, 45}, // rows of several workgroups
	} {
		cfg, network := DefaultPPO(), DefaultNetwork()
		cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, of.length, 3, 2, 2
		cfg.NormalizeAdvantage = i%2 == 0
		network.Hidden, network.Bins = []int{9, 8}, of.bins
		g := newGradientCase(t, eng, 5, of.action, network, cfg)
		if !g.ppo.actorLoss.InMemory {
			t.Fatalf("%s: %d logits are held", g.name, g.ppo.agent.head.Outputs())
		}
		if n := g.ppo.actorLoss.Sums.Size("split"); of.length > 5 && n < 3 {
			t.Errorf("%s: %d splits; want at least 3", g.name, n)
		}
		poison(t, g.ppo.actorLoss.Outputs)
		g.check(t, 4)
	}
}

// TestLossForms: logits that are read from memory give the bits of those that are held: the gradient and the sums of the losses, of whole minibatches and of
// parts, of importance ratios that are clipped and of those that advantages contain.
func TestLossForms(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(4))
	for _, of := range []struct {
		action envs.Space
		bins   int
		ratio  bool
	}{{envs.Discrete(nn.HeldLogits), 0, false}, {envs.Discrete(nn.HeldLogits), 0, true}, {envs.Symmetric(1, 1, 1), nn.HeldLogits / 3, false}} {
		cfg, network := DefaultPPO(), DefaultNetwork()
		cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 7, 3, 1, 2 // one transition less in the second
		network.Hidden, network.Bins = []int{9, 8, 7}, of.bins
		g := newGradientCase(t, eng, 5, of.action, network, cfg)
		p := g.ppo
		p.actorLoss.RatioInAdvantage = of.ratio
		var forms [2][]float64
		for i := range forms {
			p.actorLoss.InMemory = i == 1
			poison(t, p.actorLoss.Sums)
			run(t, eng, func(r *engine.Recorder) {
				p.minibatches.recordMoments(r)
				p.recordGradients(r, cfg.Minibatches)
			})
			forms[i] = slices.Concat(read(t, p.agent.actor.pass.Into()), read(t, p.actorLoss.Sums))
		}
		for i, want := range forms[0] {
			if got := forms[1][i]; math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s: element %d is %g of logits in memory, and %g of held ones", g.name, i, got, want)
			}
		}
	}
}

// TestAtomsOfManyActions: distributions of so many actions that a software driver would leave the loops of their loss are refused.
func TestAtomsOfManyActions(t *testing.T) {
	info := open(t).Info()
	for _, c := range []struct {
		actions int
		dueling bool
		refused bool
	}{{18, true, false}, {23, true, false}, {24, true, true}, {422, false, false}, {423, false, true}} {
		cfg := DefaultDQN()
		cfg.Atoms, cfg.Dueling = 51, c.dueling
		err := cfg.checkAtoms(info, c.actions)
		refused := c.refused && !info.Type.GPU() // whose loops have no such limit
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "want fewer atoms") {
			t.Errorf("%d actions, dueling %v: %v", c.actions, c.dueling, err)
		}
	}
	cfg := DefaultDQN()
	cfg.Atoms = 51
	if info.Type.GPU() {
		return
	}
	if _, err := NewDQN(t.Context(), engine.New(open(t)), pickWorlds(t, 1000), cfg); err == nil || !strings.Contains(err.Error(), "51 atoms of 1000 actions") {
		t.Errorf("error %v; want one about 51 atoms of 1000 actions", err)
	}
}

// pickWorld observes a number between 0 and 1; the reward is 1 for the action that it stands for.
type pickWorld struct {
	actions, want, steps int
	rng                  *engine.Rng
}

func (w *pickWorld) observe(obs []float32) {
	w.want = int(w.rng.Uint32() % uint32(w.actions))
	obs[0] = float32(w.want) / float32(w.actions)
}

func (w *pickWorld) Reset(seed uint32, obs []float32) error {
	w.rng, w.steps = engine.NewRng(seed, 0, 0, 0, 0), 0
	w.observe(obs)
	return nil
}

func (w *pickWorld) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	if int(action[0]) == w.want {
		reward = 1
	}
	w.steps++
	w.observe(obs)
	return reward, w.steps == 8, false, nil
}

func pickWorlds(t testing.TB, actions int) *envs.Environment {
	t.Helper()
	env, err := envs.NewOutside(envs.Spec{
		Name: "Pick-v0", Observation: envs.Box([]float32{0}, []float32{1}), Action: envs.Discrete(actions), MaxSteps: 8,
	}, envs.Worlds(func() (envs.World, error) { return &pickWorld{actions: actions}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// manyAgents are agents that learn discrete actions, with small iterations.
var manyAgents = []struct {
	name string
	make func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error)
}{
	{"ppo", func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error) {
		cfg := DefaultPPO()
		cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 8, 16, 2, 2
		return NewPPO(ctx, eng, env, cfg)
	}},
	{"a2c", func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error) {
		cfg := DefaultA2C()
		cfg.Environments = 8
		return NewA2C(ctx, eng, env, cfg)
	}},
	{"impala", func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error) {
		cfg := DefaultIMPALA()
		cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 8, 16, 2, 2
		return NewIMPALA(ctx, eng, env, cfg)
	}},
	{"dqn", func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error) {
		cfg, replay := DefaultDQN(), DefaultDQNReplay()
		cfg.LearningStarts, replay.Capacity, replay.Batch = 64, 1024, 32
		return NewDQN(ctx, eng, env, cfg, Replays(replay))
	}},
	{"sac", func(ctx context.Context, eng *engine.Engine, env *envs.Environment) (engine.Workflow, error) {
		cfg, replay := DefaultSAC(), DefaultReplay()
		cfg.LearningStarts, replay.Capacity, replay.Batch = 64, 1024, 32
		return NewSAC(ctx, eng, env, cfg, Replays(replay))
	}},
}

// TestManyActions: agents learn, act and are evaluated in a world of a thousand actions that the host steps.
func TestManyActions(t *testing.T) {
	for _, of := range manyAgents {
		t.Run(of.name, func(t *testing.T) {
			w, err := of.make(t.Context(), engine.New(open(t), engine.Seed(1)), pickWorlds(t, 1000))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := engine.Learn(t.Context(), w, engine.Iterations(2)); err != nil {
				t.Fatal(err)
			}
			e, err := w.Evaluate(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range e.Means() {
				if !(m >= 0 && m <= 8) {
					t.Errorf("a mean return of %g; want 0 to 8", m)
				}
			}
		})
	}
}
