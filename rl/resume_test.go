package rl

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// workflow is something small that the tests of steps and of resuming make again and again.
type workflow struct {
	name string
	make func(t testing.TB, eng *engine.Engine) (counted, error)
}

// makes returns what makes a workflow by a constructor.
func makes[C any, W counted](
	construct func(context.Context, *engine.Engine, *envs.Environment, C, ...Option) (W, error), env string, c C, opts ...Option,
) func(testing.TB, *engine.Engine) (counted, error) {
	return func(t testing.TB, eng *engine.Engine) (counted, error) {
		return construct(t.Context(), eng, lookup(t, env), c, opts...)
	}
}

// counted is a workflow with a known number of dispatches per step, with its rollout in one of them.
type counted interface {
	engine.Trainable
	dispatches() int
}

func workflows() []workflow {
	network := DefaultNetwork()
	network.Hidden, network.Activation, network.NormalizeObs = []int{7}, nn.Swish, true
	ppo := DefaultPPO()
	ppo.Members, ppo.Environments, ppo.RolloutLength, ppo.Epochs, ppo.Minibatches = 32, 5, 9, 2, 2 // so many that their updates are fused
	one := ppo
	one.Members, one.AnnealSteps, one.NormalizeAdvantage = 1, 400, false
	behind := ppo
	behind.Members, behind.Environments, behind.Actors, behind.Lag = 2, 6, 3, 1
	a2c := DefaultA2C()
	a2c.Members, a2c.Environments = 2, 9
	impala := DefaultIMPALA()
	impala.Members, impala.Environments, impala.RolloutLength, impala.Epochs, impala.Minibatches, impala.AnnealSteps = 3, 5, 9, 2, 2, 400
	single := impala
	single.Members, single.Epochs, single.Minibatches, single.MixValues, single.MaxGradNorm = 1, 1, 1, true, 0.5
	apart := impala
	apart.Environments, apart.Actors, apart.Lag = 6, 3, 2
	plain := network
	plain.NormalizeObs, plain.LayerNorm, plain.NormalizeReward = false, true, true
	plain.CriticHidden = []int{9, 5}
	return append([]workflow{
		{"ppo", makes(NewPPO, "CartPole-v1", ppo, Network(network), Environment(envs.Options{TimeLimit: 8}))},
		{"ppo of one member", makes(NewPPO, "Pendulum-v1", one, Network(plain), Environment(envs.Options{TimeLimit: 12}))},
		{"ppo whose actors lag behind", makes(NewPPO, "CartPole-v1", behind, Network(network), Environment(envs.Options{TimeLimit: 8}))},
		{"a2c", makes(NewA2C, "Acrobot-v1", a2c, Network(network), Environment(envs.Options{TimeLimit: 11}))},
		{"impala", makes(NewIMPALA, "CartPole-v1", impala, Network(network), Environment(envs.Options{TimeLimit: 8}))},
		{"impala whose actors lag behind", makes(NewIMPALA, "CartPole-v1", apart, Network(network), Environment(envs.Options{TimeLimit: 8}))},
		{"impala of continuous actions", makes(NewIMPALA, "Pendulum-v1", single, Network(plain), Environment(envs.Options{TimeLimit: 12}))},
	}, offPolicies()...)
}

func (w workflow) open(t testing.TB, dev *vk.Device, seed uint32) counted {
	t.Helper()
	p, err := w.make(t, engine.New(dev, engine.Seed(seed)))
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

// begin is open with a run begun.
func (w workflow) begin(t testing.TB, dev *vk.Device, seed uint32) counted {
	t.Helper()
	p := w.open(t, dev, seed)
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// steps runs iterations and returns the digest of the state after them.
func steps(t testing.TB, p engine.Workflow, from, to int) string {
	t.Helper()
	for i := from; i < to; i++ {
		ticket, err := p.Step(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	digest, err := p.State().Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestResume: a run saved half way and resumed in a fresh workflow ends with the same digest as one that went through; so does a
// rerun, and a run of another seed does not.
func TestResume(t *testing.T) {
	for _, w := range append(workflows(), fusedWorkflows()...) {
		t.Run(w.name, func(t *testing.T) { w.resumes(t, open(t)) })
	}
}

// resumes is TestResume of one workflow.
func (w workflow) resumes(t *testing.T, dev *vk.Device) {
	t.Helper()
	through := steps(t, w.begin(t, dev, 8), 0, 6)
	half := w.begin(t, dev, 8)
	before := steps(t, half, 0, 3)
	dir := t.TempDir()
	m, err := half.State().Save(t.Context(), dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest != before || m.Digest == through {
		t.Errorf("the checkpoint's digest is %s; the state's is %s, at the end %s", m.Digest, before, through)
	}
	if again := steps(t, half, 3, 6); again != through {
		t.Errorf("a rerun with a save in between has the digest %s; want %s", again, through)
	}
	if err := half.Close(); err != nil {
		t.Fatal(err)
	}

	fresh := w.open(t, dev, 8)
	reload(t, fresh.State(), filepath.Join(dir, "00000003"))
	if resumed := steps(t, fresh, 3, 6); resumed != through {
		t.Errorf("the resumed run ends with the digest %s; want %s", resumed, through)
	}
	if other := steps(t, w.begin(t, dev, 9), 0, 6); other == through {
		t.Error("another seed ends with the same digest")
	}
}

// reload loads a checkpoint into poisoned state: memory may hold anything before a resume.
func reload(t *testing.T, s *engine.State, path string) {
	t.Helper()
	if err := s.Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	saved, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
}
