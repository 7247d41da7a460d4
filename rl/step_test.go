package rl

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestStep: a step is one submission, moves nothing across the bus, and runs as many kernels as its settings ask for.
func TestStep(t *testing.T) {
	dev := open(t)
	for _, w := range workflows() {
		t.Run(w.name, func(t *testing.T) {
			p := w.begin(t, dev, 1)
			steps(t, p, 0, 2) // the first records, and is measured
			before := dev.Counters()
			const n = 4
			for i := 2; i < 2+n; i++ {
				ticket, err := p.Step(t.Context(), i)
				if err != nil {
					t.Fatal(err)
				}
				if err := ticket.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Metrics().Read(i); err != nil {
					t.Fatal(err)
				}
			}
			after := dev.Counters()
			if got := after.Submissions - before.Submissions; got != n {
				t.Errorf("%d steps took %d submissions; want one each", n, got)
			}
			if up, down := after.BytesUp-before.BytesUp, after.BytesDown-before.BytesDown; up != 0 || down != 0 {
				t.Errorf("%d steps moved %d bytes up and %d down; want none", n, up, down)
			}
			if got, want := int(after.Dispatches-before.Dispatches), n*p.dispatches(); got != want {
				t.Errorf("%d steps ran %d kernels; want %d", n, got, want)
			}
			if got := after.Pipelines - before.Pipelines; got != 0 {
				t.Errorf("%d pipelines were compiled in later steps", got)
			}
		})
	}
}

// dispatches is how many kernels a step runs, of rollouts within one dispatch.
func (p *PPO) dispatches() int {
	n := 2 + 1 + 1 // values of both observations, advantages, explained variance
	if p.cfg.NormalizeAdvantage {
		n++
	}
	if p.form.On {
		return n + 2 + p.around() // the order of transitions, all updates
	}
	return n + p.updates(0) + p.around()
}

func (p *IMPALA) dispatches() int {
	return p.updates(2+1+2+1) + p.around() // rows of both observations, next values, outputs of actor and critic, V-trace
}

// updates is how many kernels the updates run, each after so many of preparation. There are few enough that none counts them
// (vk.PlainCommands).
func (o *onPolicy) updates(prepare int) int {
	return o.common.epochs * o.common.minibatches * (prepare + 4) // two gradients, their norm, the update
}

// around is how many kernels a step runs beside the updates.
func (o *onPolicy) around() int {
	n := 1 + len(o.rates.scheduled) // the rollout, learning rates
	if parts := o.common.Actors; parts > 1 {
		n += parts - 1 + parts*len(o.collector.rollout.Parts()[0].Written()) // rollouts, and joining what they write
	}
	if o.common.Lag > 0 {
		n++ // how far the weights are behind
	}
	if o.agent.normalizer != nil {
		n += 2 // the moments, and values left out
	}
	if o.agent.rewards != nil {
		n += 3 // discounted returns, their moments, scaling
	}
	if o.actorLoss.Sums.Size("split") > 1 {
		n += 4 + 1 // sums of the actor's losses, of the critic's; single parts are copied
	}
	return n + 3 + 1 + 1 + 1 // returns, lengths and diverged episodes, refused gradients, ring, clock
}

// TestSubmissions: at default slicing a step of an ordinary size is at most four submissions.
func TestSubmissions(t *testing.T) {
	dev := open(t)
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, network.Hidden = 8, []int{16}
	p, err := NewPPO(t.Context(), engine.New(dev), lookup(t, "CartPole-v1"), cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps(t, p, 0, 3)
	before := dev.Counters().Submissions
	steps(t, p, 3, 5)
	got := float64(dev.Counters().Submissions-before) / 2
	if t.Logf("%g submissions a step", got); got > 4 {
		t.Errorf("%g submissions a step; want at most 4", got)
	}
}

// TestMetrics: every metric of a step has a value for each member, once episodes have ended.
func TestMetrics(t *testing.T) {
	dev := open(t)
	for _, w := range workflows() {
		p := w.begin(t, dev, 2)
		steps(t, p, 0, 2)
		before := envSteps(t, p)
		steps(t, p, 2, 3)
		rows, err := p.Metrics().Read(2)
		if err != nil {
			t.Fatal(err)
		}
		members := p.Describe().Members
		for name, values := range rows {
			if len(values) != members {
				t.Errorf("%s: %d values of %s; want %d", w.name, len(values), name, members)
			}
			for m, v := range values {
				if v != v || name == "gradient/norm" && !(v > 0) {
					t.Errorf("%s: %s of member %d is %g", w.name, name, m, v)
				}
			}
		}
		_, taken, err := p.Clock().Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		environments := 0
		for _, at := range p.State().Tensors() {
			if name := at.Name(); strings.HasPrefix(name, "rollout/") && strings.HasSuffix(name, "/episode_step") {
				environments += at.Len()
			}
		}
		if after := envSteps(t, p); after != int64(environments*taken) || after-before != int64(p.Describe().StepsPerIter) {
			t.Errorf("%s: %d environment steps, %d before the third iteration; want %d × %d, and %d an iteration",
				w.name, after, before, environments, taken, p.Describe().StepsPerIter)
		}
	}
}

// TestDescribe: a workflow says what it learns where, and how many steps an iteration takes.
func TestDescribe(t *testing.T) {
	dev := open(t)
	wants := map[string]engine.Description{
		"ppo":                          {Workflow: "ppo", Environment: "CartPole-v1", Members: 32, StepsPerIter: 32 * 45},
		"ppo of one member":            {Workflow: "ppo", Environment: "Pendulum-v1", Members: 1, StepsPerIter: 45},
		"a2c":                          {Workflow: "a2c", Environment: "Acrobot-v1", Members: 2, StepsPerIter: 90},
		"impala":                       {Workflow: "impala", Environment: "CartPole-v1", Members: 3, StepsPerIter: 135},
		"impala of continuous actions": {Workflow: "impala", Environment: "Pendulum-v1", Members: 1, StepsPerIter: 45},
	}
	for _, w := range workflows() {
		want, ok := wants[w.name]
		if !ok {
			continue // the steps of off-policy workflows are counted by TestMetrics
		}
		if got := w.open(t, dev, 2).Describe(); got != want {
			t.Errorf("%s is described as %+v; want %+v", w.name, got, want)
		}
	}
}

// TestRepeatedSteps: environment steps are those for which an action is kept, also those of the random actions before the first iteration.
func TestRepeatedSteps(t *testing.T) {
	eng, env := engine.New(open(t), engine.Seed(2)), lookup(t, "Pendulum-v1")
	ppo, td3 := DefaultPPO(), DefaultTD3()
	ppo.Environments, ppo.RolloutLength, ppo.Minibatches = 3, 5, 1
	td3.Environments, td3.RolloutLength, td3.LearningStarts, td3.UpdatesPerStep = 3, 4, 20, 0.25
	network, replay := DefaultOffPolicyNetwork(), DefaultReplay()
	network.Hidden, replay.Capacity, replay.Batch = []int{6}, 120, 8
	opts := []Option{Network(network), Environment(envs.Options{ActionRepeat: 3, TimeLimit: 30})}
	p, err := NewPPO(t.Context(), eng, env, ppo, opts...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewTD3(t.Context(), eng, env, td3, append(opts, Replays(replay))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   engine.Workflow
		want int64 // of two iterations
	}{{p, 2 * 15 * 3}, {o, (24 + 2*12) * 3}} {
		if err := c.of.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		steps(t, c.of, 0, 2)
		if got := envSteps(t, c.of); got != c.want {
			t.Errorf("%s has taken %d environment steps in two iterations; want %d", c.of.Describe().Workflow, got, c.want)
		}
		if err := c.of.Close(); err != nil {
			t.Error(err)
		}
	}
}

func envSteps(t testing.TB, w engine.Workflow) int64 {
	t.Helper()
	n, err := engine.EnvSteps(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
