package rl

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// sharedCase is a learner of two members with several actors each, and a batch.
type sharedCase struct {
	o     *OffPolicy
	d     *td3
	batch ReplayBatch
}

func newSharedCase(t *testing.T, eng *engine.Engine, actors int) *sharedCase {
	t.Helper()
	const members = 2
	env := spaces(updateObs, envs.Symmetric(make([]float32, updateAction)...))
	network := DefaultOffPolicyNetwork()
	network.Hidden, network.Activation = []int{6, 5}, nn.Tanh
	o := &OffPolicy{
		Base: engine.NewBase(eng, members, maxMetrics), env: env, cfg: OffPolicyConfig{Members: members, Environments: 1, RolloutLength: 8, UpdatesPerStep: 1},
	}
	o.rates = newRates(o.State(), o.Clock(), ScheduleConfig{}, 1, 1)
	t.Cleanup(func() { o.State().Close() })
	adam := optim.DefaultAdam
	adam.Epsilon = 1e-3
	parts := learnerParts{env: env, network: network, batch: updateRows, actors: actors, optimizer: adam, rewardScale: o.Hyper().Add("reward_scale", 1)}
	d, err := newTD3(o, parts, TD3Config{PolicyDelay: 1, DelayTargets: true, TargetActor: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.learner = d
	c := &sharedCase{o: o, d: d}
	s, p, b := o.State().Sub("batch"), engine.Members(members), engine.Axis("transition", actors*updateRows)
	c.batch = ReplayBatch{
		Obs:     s.Scratch("obs", engine.Float32, p, b, engine.Axis("feature", updateObs)),
		NextObs: s.Scratch("next", engine.Float32, p, b, engine.Axis("feature", updateObs)),
		Action:  s.Scratch("action", engine.Float32, p, b, engine.Axis("action", updateAction)),
		Reward:  s.Scratch("reward", engine.Float32, p, b), Factor: s.Scratch("factor", engine.Float32, p, b),
	}
	if err := o.State().Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][]float64{
		"reward_scale": {1, 0.5}, "actor_learning_rate": {1e-2, 1e-3}, "critic_learning_rate": {0, 0}, "tau": {0.3, 0.005}, "policy_delay": {1, 1},
	} {
		write(t, o.Hyper().Lookup(name), values)
	}
	return c
}

// TestSharedCritics: one of a member's two actors learns from a batch what it would learn as the only one, beside the same critics; and the
// gradient of the critics is the mean of those that each actor alone gives them. With delays that members vary, only the actors of those that are due
// learn.
func TestSharedCritics(t *testing.T) {
	t.Run("each update", func(t *testing.T) { testSharedCritics(t, false) })
	t.Run("delayed", func(t *testing.T) { testSharedCritics(t, true) })
}

func testSharedCritics(t *testing.T, delayed bool) {
	eng := engine.New(open(t), engine.Seed(3))
	both := newSharedCase(t, eng, 2)
	alone := []*sharedCase{newSharedCase(t, eng, 1), newSharedCase(t, eng, 1)}
	for _, c := range append(alone, both) {
		if delayed {
			c.o.Hyper().Vary("policy_delay")
			write(t, c.o.Hyper().Lookup("policy_delay"), []float64{1, 2})
		}
	}
	dice := rand.New(rand.NewPCG(8, 1))
	// Values of two members with two actors each; each alone has a half of them.
	share := func(of func(*sharedCase) *engine.Tensor, draw func() float64) {
		whole := make([]float64, of(both).Len())
		for i := range whole {
			whole[i] = float64(float32(draw()))
		}
		write(t, of(both), whole)
		n := len(whole) / 4
		for l, c := range alone {
			write(t, of(c), append(append([]float64(nil), whole[l*n:][:n]...), whole[(2+l)*n:][:n]...))
		}
	}
	same := func(of func(*sharedCase) *engine.Tensor) {
		values := make([]float64, of(both).Len())
		for i := range values {
			values[i] = float64(float32(0.4 * dice.NormFloat64()))
		}
		for _, c := range append(alone, both) {
			write(t, of(c), values)
		}
	}
	share(func(c *sharedCase) *engine.Tensor { return c.batch.Obs }, dice.NormFloat64)
	share(func(c *sharedCase) *engine.Tensor { return c.batch.NextObs }, dice.NormFloat64)
	share(func(c *sharedCase) *engine.Tensor { return c.batch.Action }, func() float64 { return 2*dice.Float64() - 1 })
	share(func(c *sharedCase) *engine.Tensor { return c.batch.Reward }, dice.NormFloat64)
	share(func(c *sharedCase) *engine.Tensor { return c.batch.Factor }, dice.Float64)
	share(func(c *sharedCase) *engine.Tensor { return c.d.actor.params() }, func() float64 { return 0.4 * dice.NormFloat64() })
	share(func(c *sharedCase) *engine.Tensor { return c.d.targetActor }, func() float64 { return 0.4 * dice.NormFloat64() })
	same(func(c *sharedCase) *engine.Tensor { return c.d.critics.params() })
	same(func(c *sharedCase) *engine.Tensor { return c.d.targetCritics })
	critics := func(c *sharedCase) []float64 {
		g := read(t, c.d.critics.pass.Into())
		n := c.d.critics.params().Len()
		sum := make([]float64, n)
		for i, v := range g {
			sum[i%n] += v
		}
		return sum
	}
	began := read(t, both.d.actor.params())
	for _, c := range append(alone, both) {
		number := c.o.State().Sub("test").Scratch("number", engine.Uint32, engine.Axis("count", 1))
		write(t, number, []float64{0})
		run(t, eng, func(r *engine.Recorder) {
			c.d.prepare(r)
			c.d.update(r, update{batch: c.batch, number: number, block: c.d.block(1)})
		})
	}
	for name, of := range map[string]func(c *sharedCase) *engine.Tensor{
		"actor": func(c *sharedCase) *engine.Tensor { return c.d.actor.params() }, "target actor": func(c *sharedCase) *engine.Tensor { return c.d.targetActor },
	} {
		whole := read(t, of(both))
		n := len(whole) / 4
		for l, c := range alone {
			want := read(t, of(c))
			for m := range 2 {
				if off := deviation(whole[(2*m+l)*n:][:n], want[m*n:][:n]); !(off <= 1e-6) {
					t.Errorf("%s %d of member %d deviates by %g from the one that learned alone", name, l, m, off)
				}
			}
		}
	}
	for i, v := range read(t, both.d.actor.params())[len(began)/2:] {
		if delayed && v != began[len(began)/2+i] {
			t.Fatalf("parameter %d of an actor that is not due has changed", i)
		}
	}
	got, first, second := critics(both), critics(alone[0]), critics(alone[1])
	for i := range first {
		first[i] = (first[i] + second[i]) / 2
	}
	if off := deviation(got, first); !(off <= 1e-5) {
		t.Errorf("the critics' gradient deviates by %g from the mean of both", off)
	}

	before := read(t, both.d.critics.params())
	run(t, eng, both.o.Restart)
	actors, targets := read(t, both.d.actor.params()), read(t, both.d.targetActor)
	for i, v := range targets {
		if v != actors[i] {
			t.Fatalf("after a restart number %d of the targets is %g; want the actor's, %g", i, v, actors[i])
		}
	}
	for _, name := range []string{"first_moment", "second_moment", "updates"} {
		for i, v := range read(t, both.o.State().Lookup("agent/actor/optimizer/"+name)) {
			if v != 0 {
				t.Fatalf("after a restart number %d of %s is %g", i, name, v)
			}
		}
	}
	for i, v := range read(t, both.d.critics.params()) {
		if v != before[i] {
			t.Fatalf("a restart has changed number %d of the critics", i)
		}
	}
}

// TestSharedSoftCritics: updates of SAC with two actors per member, against float64: critics and temperature learn from the rows of both, each
// actor from its own. A restart resets the actors' optimizers and leaves critics and temperature.
func TestSharedSoftCritics(t *testing.T) {
	for _, learned := range []bool{true, false} {
		network := DefaultSACNetwork()
		network.Hidden = []int{6, 5}
		extra := map[string][updateMembers]float64{"target_entropy": {-1, -0.5, -2}, "temperature_learning_rate": {1e-2, 1e-3, 0.1}}
		if !learned {
			extra["temperature"] = [updateMembers]float64{0.2, 1, 0.01}
		}
		u := newUpdateCaseOfActors(t, 2, envs.Symmetric(make([]float32, updateAction)...), network, func(o *OffPolicy, parts learnerParts) (learner, error) {
			return newSAC(o, parts, SACConfig{LearnTemperature: learned})
		}, extra)
		a := u.o.learner.(*sac)
		compared := map[string]*engine.Tensor{"actor": a.actor.params(), "critics": a.critics.params(), "target critics": a.targetCritics}
		if learned {
			compared["temperature"] = a.temperature
		}
		u.run(t, 2, stepSAC, compared)

		kept := map[string][]float64{}
		for _, x := range u.o.State().Tensors() {
			kept[x.Name()] = read(t, x)
		}
		run(t, u.o.State().Engine(), u.o.Restart)
		for name, before := range kept {
			reset := strings.HasPrefix(name, "agent/actor/optimizer/")
			for i, v := range read(t, u.o.State().Lookup(name)) {
				if want := before[i]; !reset && v != want || reset && v != 0 {
					t.Fatalf("learned %v: after a restart number %d of %s is %g, before it was %g", learned, i, name, v, want)
				}
			}
		}
		if moment := kept["agent/actor/optimizer/second_moment"]; len(moment) == 0 || moment[0] == 0 {
			t.Error("the actors' optimizers had nothing to reset")
		}
	}
}

// TestActorsErrors: what members of several actors cannot do is refused.
func TestActorsErrors(t *testing.T) {
	eng, env := engine.New(open(t)), lookup(t, "Pendulum-v1")
	small := DefaultTD3()
	small.RolloutLength, small.LearningStarts = 8, 8
	network := DefaultOffPolicyNetwork()
	network.Hidden = []int{4}
	normalized := network
	normalized.NormalizeObs = true
	if _, err := NewTD3(t.Context(), eng, env, small, Network(normalized), Actors(2)); err == nil || !strings.Contains(err.Error(), "network.normalize_obs") {
		t.Errorf("error %v; want one of network.normalize_obs", err)
	}
	for want, opts := range map[string][]Option{
		"\"replay.shared\"":  {Objectives(2)},
		"with 3 actors each": {Objectives(2), Actors(3), Replays(ReplayConfig{Capacity: 9, Batch: 2, BatchShare: 1, Steps: 1, Shared: true})},
	} {
		if _, err := NewTD3(t.Context(), eng, env, small, append(opts, Network(network))...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
	dqn := DefaultDQN()
	if _, err := NewDQN(t.Context(), eng, lookup(t, "CartPole-v1"), dqn, Actors(2)); err == nil || !strings.Contains(err.Error(), "a member has one actor") {
		t.Errorf("error %v; want one that a member of DQN has one actor", err)
	}
	o, err := NewTD3(t.Context(), eng, env, small, Network(network), Actors(2))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := eng.Record("collect", o.Collect); err == nil || !strings.Contains(err.Error(), "act only at random") {
		t.Errorf("error %v; want one that such members do not act", err)
	}
}
