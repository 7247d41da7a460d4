package rl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

const (
	updateMembers, updateRows = 3, 13
	updateObs, updateAction   = 5, 2
)

// updateCase is a learner with random parameters and batch. Every member has its own hyperparameters.
type updateCase struct {
	o          *OffPolicy
	ac         *actorCritic
	batch      ReplayBatch
	references []*memberReference
	pass       Pass // of the updates
}

func (a *actorCritic) itself() *actorCritic { return a }

func (t *soft) common() *soft { return t }

// newUpdateCase makes a learner of continuous actions without environments. extra are values of each member for hyperparameters besides those that
// all learners have.
func newUpdateCase(
	t *testing.T, network NetworkConfig, build func(*OffPolicy, learnerParts) (learner, error), extra map[string][updateMembers]float64,
) *updateCase {
	t.Helper()
	return newUpdateCaseOf(t, envs.Symmetric(make([]float32, updateAction)...), network, build, extra)
}

// newUpdateCaseOf is newUpdateCase of any actions.
func newUpdateCaseOf(
	t *testing.T, action envs.Space, network NetworkConfig, build func(*OffPolicy, learnerParts) (learner, error), extra map[string][updateMembers]float64,
) *updateCase {
	t.Helper()
	return newUpdateCaseOfActors(t, 1, action, network, build, extra)
}

// newUpdateCaseOfActors is newUpdateCaseOf of members with several actors.
func newUpdateCaseOfActors(
	t *testing.T, actors int, action envs.Space, network NetworkConfig, build func(*OffPolicy, learnerParts) (learner, error),
	extra map[string][updateMembers]float64,
) *updateCase {
	t.Helper()
	network.Activation = nn.Tanh
	adam := optim.DefaultAdam
	adam.Epsilon = 1e-3 // so that the first steps depend on the size of gradients, not on their signs alone
	hyper := map[string][updateMembers]float64{
		"reward_scale": {1, 0.1, 3}, "actor_learning_rate": {3e-4, 1e-2, 1e-3}, "critic_learning_rate": {1e-3, 1e-2, 3e-4}, "tau": {0.005, 0.3, 1},
	}
	for name, values := range extra {
		hyper[name] = values
	}
	parts := learnerParts{env: spaces(updateObs, action), network: network, batch: updateRows, actors: actors, optimizer: adam}
	o, batch := bareOffPolicy(t, engine.New(open(t), engine.Seed(3)), updateMembers, parts, build)
	c := &updateCase{o: o, batch: batch, ac: o.learner.(interface{ itself() *actorCritic }).itself()}
	c.draw(t, hyper)
	return c
}

// bareOffPolicy makes an off-policy workflow with nothing but the learner, and the batch of its updates, all poisoned.
func bareOffPolicy(
	t *testing.T, eng *engine.Engine, members int, parts learnerParts, build func(*OffPolicy, learnerParts) (learner, error),
) (*OffPolicy, ReplayBatch) {
	t.Helper()
	o := &OffPolicy{Base: engine.NewBase(eng, members, maxMetrics), env: parts.env, cfg: OffPolicyConfig{Members: members}}
	o.rates = newRates(o.State(), o.Clock(), ScheduleConfig{}, 1, 1)
	t.Cleanup(func() {
		if err := o.State().Close(); err != nil {
			t.Error(err)
		}
	})
	parts.rewardScale = o.Hyper().Add("reward_scale", 1)
	var err error
	if o.learner, err = build(o, parts); err != nil {
		t.Fatal(err)
	}
	tensor := func(name string, more ...engine.Dim) *engine.Tensor {
		dims := append([]engine.Dim{engine.Members(members), engine.Axis("transition", parts.batch*max(parts.actors, 1))}, more...)
		return o.State().Sub("batch").Scratch(name, engine.Float32, dims...)
	}
	feature := engine.Axis("feature", parts.env.ObsSize())
	batch := ReplayBatch{
		Obs: tensor("obs", feature), NextObs: tensor("next", feature), Action: tensor("action", engine.Axis("action", parts.env.Action.Head().Words())),
		Reward: tensor("reward"), Factor: tensor("factor"),
	}
	if err := o.State().Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.State().Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o, batch
}

// draw draws batch, parameters and hyperparameters, and gives them to the references.
func (c *updateCase) draw(t *testing.T, hyper map[string][updateMembers]float64) {
	t.Helper()
	c.references = nil
	for m := range updateMembers {
		c.references = append(c.references, &memberReference{
			c: c, member: m, hyper: map[string]float64{}, values: map[string][]float64{}, moments: map[string][2][]float64{}, steps: map[string]int{},
		})
	}
	dice := rand.New(rand.NewPCG(4, 2))
	set := func(name string, x *engine.Tensor, draw func(i int) float64) {
		values, n := make([]float64, x.Len()), x.Len()/updateMembers
		for i := range values {
			values[i] = float64(float32(draw(i)))
		}
		write(t, x, values)
		for m, f := range c.references {
			f.values[name] = append([]float64(nil), values[m*n:][:n]...)
		}
	}
	normal := func(scale float64) func(int) float64 { return func(int) float64 { return scale * dice.NormFloat64() } }
	set("obs", c.batch.Obs, normal(1))
	set("next", c.batch.NextObs, normal(1))
	set("action", c.batch.Action, func(int) float64 {
		if space := c.o.env.Action; space.IsDiscrete() {
			return float64(dice.IntN(space.Size()))
		}
		return 2*dice.Float64() - 1
	})
	set("reward", c.batch.Reward, normal(1))
	set("factor", c.batch.Factor, func(i int) float64 { return []float64{0.9, 0.99, 0, 0.5}[i%4] })
	set("actor", c.ac.actor.params(), normal(0.4))
	set("critics", c.ac.critics.params(), normal(0.4))
	set("target critics", c.ac.targetCritics, normal(0.4))
	if d, err := c.o.deterministic(); err == nil {
		set("target actor", d.targetActor, normal(0.4))
	}
	if of, ok := c.o.learner.(interface{ common() *soft }); ok && of.common().learned() {
		set("temperature", of.common().temperature, func(i int) float64 { return []float64{math.Log(0.1 + 0.3*float64(i)), 0, 0, 0}[i%4] })
	}
	for name, values := range hyper {
		set(name, c.o.Hyper().Lookup(name), func(m int) float64 { return values[m] })
		for _, f := range c.references {
			f.hyper[name] = f.values[name][0]
		}
	}
}

// run runs updates, and compares the tensors with the references after each.
func (c *updateCase) run(t *testing.T, updates int, step func(f *memberReference), compared map[string]*engine.Tensor) {
	t.Helper()
	ctx, eng := t.Context(), c.o.State().Engine()
	number := c.o.State().Sub("test").Scratch("number", engine.Uint32, engine.Axis("count", 1))
	block := c.o.learner.block(updates)
	for first := 0; first < updates; first += block {
		for at := range block {
			if err := number.WriteUint32(ctx, []uint32{uint32(first + at)}); err != nil {
				t.Fatal(err)
			}
			run(t, eng, func(r *engine.Recorder) {
				c.o.learner.prepare(r)
				if many := c.o.learner.many(); many.On() {
					many.Record(r, c.batch.inLanes(), number, updates)
					return
				}
				c.o.learner.update(r, update{batch: c.batch, number: number, block: block, at: at, pass: c.pass})
			})
			for _, f := range c.references {
				step(f)
				f.updates++
			}
			for name, x := range compared {
				all := read(t, x)
				n := len(all) / updateMembers
				for m, f := range c.references {
					off := deviation(all[m*n:][:n], f.values[name])
					t.Logf("update %d: %s of member %d: deviation %.1e of the largest", first+at, name, m, off)
					if !(off <= 1e-5) {
						t.Errorf("update %d: %s of member %d deviates by %g of the largest", first+at, name, m, off)
					}
				}
			}
		}
	}
}

// memberReference is one member in float64, gradients by central differences of the losses.
type memberReference struct {
	c       *updateCase
	member  int
	hyper   map[string]float64
	values  map[string][]float64    // of tensors, by the test's names
	moments map[string][2][]float64 // of Adam
	steps   map[string]int          // of Adam
	updates int
	credit  float64 // updates of the critics since one of the actor
}

// rng draws the random numbers of a row's action.
func (f *memberReference) rng(stream uint32, row int) *engine.Rng {
	key := engine.Philox([2]uint32{f.c.o.State().Engine().Seed(), stream}, [4]uint32{uint32(f.member), 0, 0, uint32(f.updates)})
	return engine.NewRng(key[0], key[1], uint32(f.member), uint32(row), 0)
}

func (f *memberReference) row(name string, i, n int) []float64 { return f.values[name][i*n:][:n] }

// q are the values of a stack of critics.
func (f *memberReference) q(critics, obs, action []float64) []float64 {
	x, row := append(append([]float64(nil), obs...), action...), len(critics)/f.c.ac.twins
	var q []float64
	for i := range f.c.ac.twins {
		out := forward(f.c.ac.critics.Model(), critics[i*row:], x)
		if d := f.c.ac.distribution; d != nil {
			out = []float64{d.mean(softmax(out))}
		}
		q = append(q, out[0])
	}
	return q
}

// descendCritics steps the critics towards the target values of next actions, and log-probabilities.
func (f *memberReference) descendCritics(alpha float64, next func(row int) (action []float64, logProb float64)) {
	if f.c.ac.distribution != nil {
		f.descendDistributions(alpha, next)
		return
	}
	y := make([]float64, len(f.values["reward"]))
	for i := range y {
		action, logProb := next(i)
		least := math.Inf(1)
		for _, q := range f.q(f.values["target critics"], f.row("next", i, updateObs), action) {
			least = min(least, q)
		}
		y[i] = f.hyper["reward_scale"]*f.values["reward"][i] + f.values["factor"][i]*(least-alpha*logProb)
	}
	f.descend("critics", "critic_learning_rate", func(critics []float64) (loss float64) {
		for i := range y {
			for _, q := range f.q(critics, f.row("obs", i, updateObs), f.row("action", i, updateAction)) {
				loss += (q - y[i]) * (q - y[i]) / float64(len(y))
			}
		}
		return loss
	})
}

// descend steps values by the central differences of a loss.
func (f *memberReference) descend(name, rate string, loss func([]float64) float64) {
	const h = 1e-5
	x := f.values[name]
	gradient := make([]float64, len(x))
	for i := range x {
		was := x[i]
		x[i] = was + h
		up := loss(x)
		x[i] = was - h
		gradient[i] = (up - loss(x)) / (2 * h)
		x[i] = was
	}
	f.adam(name, rate, gradient)
}

// adam steps values by a gradient (D. P. Kingma, J. Ba, 2015, algorithm 1).
func (f *memberReference) adam(name, rate string, gradient []float64) {
	c, x := f.c.ac.actor.optimizer.Config(), f.values[name]
	moments, ok := f.moments[name]
	if !ok {
		moments = [2][]float64{make([]float64, len(x)), make([]float64, len(x))}
		f.moments[name] = moments
	}
	if name == "critics" {
		if limit := f.c.ac.critics.optimizer.Config().MaxNorm; limit > 0 {
			norm := 0.0
			for _, g := range gradient {
				norm += g * g
			}
			for i := range gradient {
				gradient[i] *= min(1, limit/math.Sqrt(norm))
			}
		}
	}
	f.steps[name]++
	t := float64(f.steps[name])
	for i, g := range gradient {
		m, v := &moments[0][i], &moments[1][i]
		*m, *v = c.Beta1**m+(1-c.Beta1)*g, c.Beta2**v+(1-c.Beta2)*g*g
		x[i] -= f.hyper[rate] * *m / (1 - math.Pow(c.Beta1, t)) / (math.Sqrt(*v/(1-math.Pow(c.Beta2, t))) + c.Epsilon)
	}
}

// follow lets a target follow its source.
func (f *memberReference) follow(target, source string) {
	for i, w := range f.values[source] {
		f.values[target][i] += f.hyper["tau"] * (w - f.values[target][i])
	}
}
