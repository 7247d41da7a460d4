package rl

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestGradientParts: gradients of parts of a minibatch add up to the gradient of the whole, by difference quotients in float64, and so do losses: of
// networks in lanes and layer by layer, also of parts that differ in size.
func TestGradientParts(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(21))
	for i, hidden := range [][]int{{7, 6}, {9, 8, 7}} {
		for j, action := range []envs.Space{envs.Discrete(3), envs.Symmetric(0, 0)} {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2 // minibatches of 8 and 7 transitions
			cfg.GradientParts, cfg.ClipValue, cfg.NormalizeAdvantage = []int{3, 7, 2, 3}[2*i+j], i == 0, i != j || j == 0
			network.Hidden, network.NormalizeObs, network.ObsLimit = hidden, j == 0, 1.5
			newGradientCase(t, eng, 5, action, network, cfg).check(t, 4)
		}
	}
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches, cfg.GradientParts = 1, 131, 5, 1, 2, 2
	network.Hidden = []int{7, 6}
	g := newGradientCase(t, eng, 4, envs.Discrete(2), network, cfg)
	if n := g.ppo.agent.actor.pass.Splits(); n < 2 {
		t.Errorf("%d splits; want at least 2", n)
	}
	g.check(t, 8)
	// What devices hand over does not depend on the number of splits, which may differ where devices do.
	for i, x := range g.ppo.parts.results(0, true) {
		want := rowOf(x)
		if i%2 == 1 {
			want = 4
		}
		if x.Len() != want {
			t.Errorf("a part hands over %v, %d elements; want %d", x, x.Len(), want)
		}
	}
}

// partsCase is a workflow whose gradients have parts.
type partsCase struct {
	name string
	make func(ctx context.Context, eng *engine.Engine) (onPolicyWorkflow, error)
}

// inParts makes a workflow by a constructor.
func inParts[C any, W onPolicyWorkflow](
	t *testing.T, construct func(context.Context, *engine.Engine, *envs.Environment, C, ...Option) (W, error), env string, c C, opts ...Option,
) func(context.Context, *engine.Engine) (onPolicyWorkflow, error) {
	of := lookup(t, env)
	return func(ctx context.Context, eng *engine.Engine) (onPolicyWorkflow, error) {
		return construct(ctx, eng, of, c, append(slices.Clone(opts), Environment(envs.Options{TimeLimit: 8}))...)
	}
}

func partsCases(t *testing.T) []partsCase {
	layered, lanes := DefaultNetwork(), DefaultNetwork()
	layered.Hidden, layered.NormalizeObs, layered.NormalizeReward = []int{9, 8, 7}, true, true
	lanes.Hidden = []int{7, 6}
	memory := layered
	memory.Hidden, memory.Layers = nil, cells(nn.GRU, 3, 4)
	ppo := DefaultPPO()
	ppo.Members, ppo.Environments, ppo.RolloutLength, ppo.Epochs, ppo.Minibatches, ppo.AnnealSteps, ppo.GradientParts = 2, 5, 9, 3, 2, 400, 3
	whole := ppo
	whole.Environments, whole.Minibatches, whole.GradientParts = 12, 2, 3
	a2c := DefaultA2C()
	a2c.Environments, a2c.GradientParts, a2c.NormalizeAdvantage = 7, 2, true
	impala := DefaultIMPALA()
	impala.Environments, impala.RolloutLength, impala.Epochs, impala.Minibatches, impala.GradientParts = 7, 6, 2, 2, 3
	carried := impala
	carried.Environments = 12
	one := memory
	one.Shared = ShareAll
	mappo := ppo
	mappo.Members, mappo.GradientParts, mappo.CriticInput = 1, 2, WorldState
	return []partsCase{
		{"ppo", inParts(t, NewPPO, "CartPole-v1", ppo, Network(layered))},
		{"ppo in lanes", inParts(t, NewPPO, "Pendulum-v1", ppo, Network(lanes))},
		{"ppo with memory", inParts(t, NewPPO, "CartPole-v1", whole, Network(memory))},
		{"ppo of a world", inParts(t, NewPPO, "SimpleSpread-v3", mappo, Network(layered))},
		{"a2c", inParts(t, NewA2C, "CartPole-v1", a2c, Network(layered))},
		{"impala", inParts(t, NewIMPALA, "CartPole-v1", impala, Network(layered))},
		{"ppo of one network with memory", inParts(t, NewPPO, "CartPole-v1", whole, Network(one))},
		{"impala with memory", inParts(t, NewIMPALA, "CartPole-v1", carried, Network(memory))},
	}
}

// begin opens the workflow beside other devices and begins a run.
func (c partsCase) begin(t *testing.T, others ...*vk.Device) onPolicyWorkflow {
	t.Helper()
	p, err := c.make(t.Context(), engine.New(open(t), engine.Beside(others...), engine.Seed(7)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// opened waits until all other devices can take part.
func opened(t *testing.T, p onPolicyWorkflow) {
	t.Helper()
	for _, s := range p.learns().shared.sites[1:] {
		select {
		case <-s.opened:
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s has not compiled its kernels", s.name)
		}
	}
}

// measures reads the losses of the last minibatch.
func measures(t *testing.T, p onPolicyWorkflow) map[string][]float64 {
	t.Helper()
	rows, all := p.learns().rows, map[string][]float64{}
	for name, row := range map[string]*engine.Tensor{"actor": rows.actorLoss, "critic": rows.criticLoss, "entropy": rows.entropy,
		"divergence": rows.divergence, "clipped": rows.clipped, "norm": rows.norm} {
		all[name] = read(t, row)
	}
	return all
}

// during calls f when a part of the next iteration's gradients has been handed over.
func during(p onPolicyWorkflow, f func() error) <-chan error {
	a, ended := p.learns().shared, make(chan error, 1)
	before := a.round
	go func() {
		for ; ; time.Sleep(100 * time.Microsecond) {
			a.mu.Lock()
			round := a.round
			a.mu.Unlock()
			if round == before {
				continue
			}
			round.mu.Lock()
			n := len(round.results)
			round.mu.Unlock()
			if n > 0 {
				ended <- f()
				return
			}
		}
	}()
	return ended
}

// TestPartsShared: a run whose gradients have parts ends with the same bits on one device, on two and on three, also if it is saved and resumed on another
// number of them, if a device fails in the middle of an iteration, and after a run that was given up.
func TestPartsShared(t *testing.T) {
	for i, c := range partsCases(t) {
		t.Run(c.name, func(t *testing.T) {
			const iterations = 6
			one := c.begin(t)
			half := steps(t, one, 0, 3)
			dir := t.TempDir()
			if _, err := one.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			want := steps(t, one, 3, iterations)
			if half == want {
				t.Fatal("nothing has changed in three iterations")
			}
			check := func(what string, p onPolicyWorkflow) {
				t.Helper()
				if got := steps(t, p, iterations, iterations); got != want {
					t.Errorf("%s it ends with %s; want %s, as on one device", what, got, want)
				}
				if got, want := measures(t, p), measures(t, one); !maps.EqualFunc(got, want, slices.Equal[[]float64]) {
					t.Errorf("%s the losses are %v; want %v", what, got, want)
				}
			}
			two := c.begin(t, open(t))
			steps(t, two, 0, 1)
			opened(t, two)
			steps(t, two, 1, iterations)
			check("on two devices", two)
			if parts, done, lost := Shared(two); len(done) != 2 || done[0] == 0 || done[1] == 0 || done[0]+done[1] != parts || lost != nil {
				t.Errorf("of %d parts the devices computed %v, and %v are lost; want some each", parts, done, lost)
			}
			if i > 0 { // what follows does not depend on the algorithm
				return
			}

			failing := vktest.Open(t)
			three := c.begin(t, vktest.Open(t), failing)
			reload(t, three.State(), filepath.Join(dir, "00000003"))
			steps(t, three, 3, 4)
			opened(t, three)
			closed := during(three, failing.Close)
			steps(t, three, 4, iterations)
			if err := <-closed; err != nil {
				t.Fatal(err)
			}
			if parts, done, lost := Shared(three); len(lost) != 1 || !strings.Contains(lost[0].Error(), "device 2 (") {
				t.Errorf("of %d parts the devices computed %v, and %v are lost; want device 2", parts, done, lost)
			}
			check("resumed on three devices, of which one fails", three)

			ctx, stop := context.WithCancel(t.Context())
			stopped := during(two, func() error { stop(); return nil })
			for i := iterations; ; i++ {
				if _, err := two.Step(ctx, i); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("an iteration that is given up ends with %v", err)
					}
					break
				}
			}
			<-stopped
			if err := two.Init(t.Context()); err != nil {
				t.Fatal(err)
			}
			steps(t, two, 0, iterations)
			check("begun again", two)
		})
	}
}
