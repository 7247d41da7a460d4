package rl

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// policyCase has random parameters and trajectories of an on-policy learner, and computes its updates in float64.
type policyCase struct {
	of                                                       *onPolicy
	dice                                                     *rand.Rand
	params                                                   []float64 // [M, row] of actor and critic
	obs, nextObs, normalizer, action, logProb, reward, flags []float64
	actorMemory, criticMemory                                []float64 // [M, E, H]: that counted in the first step; nil: the network has none
	rate, actorWeight, criticWeight, entropyWeight           []float64
}

const clockAt, stepsBefore = 11, 6 // iteration, and steps of each environment before it

// cells is a network with memory: some dense units, a cell of as many and one less, and as many after it.
func cells(kind nn.Kind, units ...int) []nn.LayerConfig {
	tanh := nn.Tanh
	layers := []nn.LayerConfig{{Kind: kind, Units: units[0]}}
	if len(units) > 1 {
		dense := nn.LayerConfig{Kind: nn.Dense, Units: units[1], Activation: &tanh}
		layers = []nn.LayerConfig{dense, layers[0], dense}
	}
	return layers
}

func newPolicyCase(t *testing.T, p *onPolicy) *policyCase {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, uint64(p.agent.head.Kind)))
	c := &policyCase{of: p, dice: dice, params: make([]float64, p.common.Members*p.joint("params").row())}
	for i := range c.params {
		c.params[i] = float64(float32(0.5 * dice.NormFloat64()))
	}
	p.joint("params").write(t, c.params)
	if p.agent.normalizer != nil {
		c.normalizer = c.draw(t, p.agent.normalizer.Values(), c.uniform(0.3, 1.2))
	}
	x, head := p.minibatches.Trajectory, p.agent.head
	c.obs, c.nextObs = c.draw(t, x.Obs, dice.NormFloat64), c.draw(t, x.NextObs, dice.NormFloat64)
	c.reward, c.flags = c.draw(t, x.Reward, dice.NormFloat64), c.draw(t, x.Done, func() float64 { return float64(max(0, dice.IntN(12)-8)) })
	all, features := p.common.Members*p.common.Environments, p.env.ObsSize()
	for i := range c.nextObs { // inside an episode the next observation is the next step's
		if at := i / features; at+all < len(c.flags) && c.flags[at] == 0 {
			c.nextObs[i] = c.obs[i+all*features]
		}
	}
	write(t, x.NextObs, c.nextObs)
	if x.Memory != nil {
		c.drawMemory(t)
	}
	c.action = c.draw(t, x.Action, func() float64 {
		if head.Kind != nn.Gaussian {
			return float64(dice.IntN(head.Width()))
		}
		return dice.NormFloat64()
	})
	c.logProb = make([]float64, len(c.reward))
	for at := range c.logProb {
		m := at / p.common.Environments % p.common.Members
		now, _ := c.policy(c.member(m), m, at)
		c.logProb[at] = float64(float32(now + 0.3*dice.NormFloat64()))
	}
	write(t, x.LogProb, c.logProb)
	write(t, p.Clock().Tensor(), []float64{clockAt, stepsBefore})
	return c
}

// drawMemory draws what the networks remember: episodes begin in some environments, where the critic's memory counts as zero. The actor's is zero already.
func (c *policyCase) drawMemory(t *testing.T) {
	t.Helper()
	x := c.of.minibatches.Trajectory
	c.actorMemory = c.draw(t, x.Memory, c.dice.NormFloat64)
	words := []uint32{7, 0, 1<<30 | 7, 9} // of episodes that go on, begin, have ended, go on
	begins := c.draw(t, x.Begins.Words, func() float64 { return float64(words[c.dice.IntN(len(words))]) })
	switch m := c.of.agent.critic.memory; {
	case m == nil:
	case c.of.agent.shares():
		c.criticMemory = c.actorMemory
	default:
		c.criticMemory = c.draw(t, m.critic.carried, c.dice.NormFloat64)
		h := len(c.criticMemory) / len(begins)
		for i, w := range begins {
			if word := uint32(w); word == 0 || word>>30 != 0 {
				clear(c.criticMemory[i*h:][:h])
			}
		}
	}
}

// drawWeights draws the learning rates and the weights of the losses.
func (c *policyCase) drawWeights(t *testing.T) {
	t.Helper()
	o := c.of
	c.rate, c.entropyWeight = c.draw(t, o.Hyper().Lookup("learning_rate"), c.uniform(0.01, 0.02)), c.draw(t, o.actorLoss.EntropyWeight, c.uniform(0.01, 0.1))
	c.actorWeight, c.criticWeight = c.draw(t, o.actorLoss.Weight, c.uniform(0.5, 1.5)), c.draw(t, o.criticLoss.Weight, c.uniform(0.5, 1.5))
}

func (c *policyCase) draw(t *testing.T, to *engine.Tensor, f func() float64) []float64 {
	t.Helper()
	values := make([]float64, to.Len())
	for i := range values {
		values[i] = float64(float32(f()))
	}
	write(t, to, values)
	return values
}

func (c *policyCase) uniform(low, high float64) func() float64 {
	return func() float64 { return low + (high-low)*c.dice.Float64() }
}

func (c *policyCase) member(m int) []float64 {
	row := c.of.joint("params").row()
	return c.params[m*row : (m+1)*row]
}

func (c *policyCase) input(obs []float64, m, at int) []float64 {
	n := c.of.env.ObsSize()
	var values []float64
	if c.normalizer != nil {
		values = c.normalizer[m*2*n : (m+1)*2*n]
	}
	return normalized(obs[at*n:(at+1)*n], values, c.of.agent.cfg.ObsLimit)
}

// outputs are a network's at an element of [T, M, E], or at its next observation. A network with memory replays the trajectory from its first step.
func (c *policyCase) outputs(model nn.Model, row, first []float64, m, at int, next bool) []float64 {
	obs := c.obs
	if next {
		obs = c.nextObs
	}
	if first == nil {
		return forward(model, row, c.input(obs, m, at))
	}
	all := c.of.common.Members * c.of.common.Environments
	lane, h := at%all, len(first)/all
	memory := first[lane*h:][:h]
	for i := lane; i < at || next && i == at; i += all {
		if _, memory = remember(model, row, c.input(c.obs, m, i), memory); c.flags[i] != 0 && i < at {
			memory = make([]float64, h)
		}
	}
	y, _ := remember(model, row, c.input(obs, m, at), memory)
	return y
}

// policy is the log-probability of the action at an element of [T, M, E], and the entropy.
func (c *policyCase) policy(params []float64, m, at int) (logp, entropy float64) {
	a, words := c.of.agent, c.of.agent.head.Words()
	y := c.outputs(a.actor.Model(), params, c.actorMemory, m, at, false)
	return logProb(a.head, y, params[a.headBase():a.headBase()+a.head.Parameters()], c.action[at*words:(at+1)*words])
}

// critic is the value of the observation at an element, or of the next.
func (c *policyCase) critic(params []float64, m, at int, next bool) float64 {
	a := c.of.agent
	if a.world != nil {
		return forward(a.critic.Model(), params[criticBase(a):], c.state(m, at, next))[0]
	}
	return c.outputs(a.critic.Model(), params[criticBase(a):], c.criticMemory, m, at, next)[0]
}

// state is what a critic of the world sees at an element, or after its step: the observations of all seats of the world, the element's first.
func (c *policyCase) state(m, at int, next bool) []float64 {
	obs, n, seats := c.obs, c.of.env.ObsSize(), c.of.env.Seats()
	if all := c.of.common.Members * c.of.common.Environments; next && c.flags[at] == 0 && at+all < len(c.flags) { // inside an episode
		at, next = at+all, false
	}
	if next {
		obs = c.nextObs
	}
	var all []float64
	seat := at % c.of.common.Environments % seats
	for k := range seats {
		from := at - seat + (seat+k)%seats
		if next && envs.Done(c.flags[from])&envs.Terminated != 0 { // has left
			all = append(all, c.input(make([]float64, n), m, 0)...)
			continue
		}
		all = append(all, c.input(obs, m, from)...)
	}
	return all
}

// lossOf is a loss of a member over the parts of a minibatch (partsOf), as a function of parameters; what is held constant belongs to the parameters now.
type lossOf func(now []float64, m int, parts []int) func(params []float64) losses

// compare compares parameters and losses after all updates with float64.
func (c *policyCase) compare(t *testing.T, epochs, minibatches int, loss lossOf) {
	t.Helper()
	o := c.of
	got, row := o.joint("params").read(t), o.joint("params").row()
	for m := range o.common.Members {
		want, losses := c.update(m, epochs, minibatches, loss)
		d := deviation(got[m*row:(m+1)*row], want)
		if !(d <= 1e-6) {
			t.Errorf("parameters of member %d deviate by %g of the largest; want at most 1e-6", m, d)
		}
		if moved := deviation(want, c.member(m)); !(moved > 0.01) {
			t.Errorf("member %d moved by %g only", m, moved)
		}
		reported := func(tensor *engine.Tensor, what int) (sum float64) {
			values := byMember(t, tensor, o.common.Members)
			n := len(values) / o.common.Members
			for _, v := range values[m*n+what*n/4 : m*n+(what+1)*n/4] {
				sum += v
			}
			return sum
		}
		actorLosses, criticLosses := o.losses()
		for what, pair := range map[string][2]float64{
			"actor loss": {reported(actorLosses, 0), losses.actor}, "entropy": {reported(actorLosses, 1), losses.entropy},
			"divergence": {reported(actorLosses, 2), losses.divergence}, "clipped share": {reported(actorLosses, 3), losses.clipped},
			"critic loss": {reported(criticLosses, 0), losses.critic},
		} {
			if d := math.Abs(pair[0] - pair[1]); !(d <= 1e-5) {
				t.Errorf("the last %s of member %d is %g; want %g", what, m, pair[0], pair[1])
			}
		}
		t.Logf("member %d: parameters deviate by %.1e", m, d)
	}
}

// update is a member's parameters after all updates, and the losses of the last.
func (c *policyCase) update(m, epochs, minibatches int, of lossOf) ([]float64, losses) {
	params, adam := append([]float64(nil), c.member(m)...), c.of.agent.actor.optimizer.Config()
	first, second := make([]float64, len(params)), make([]float64, len(params))
	seed, cfg := c.of.State().Engine().Seed(), c.of.common
	var last losses
	for u := range epochs * minibatches {
		loss := of(params, m, c.of.minibatches.partsOf(seed, m, clockAt, u/minibatches, u%minibatches))
		last = loss(params)
		gradient, norm := make([]float64, len(params)), 0.0
		for i := range params {
			const h = 1e-5
			old := params[i]
			params[i] = old + h
			up := loss(params).total
			params[i] = old - h
			gradient[i] = (up - loss(params).total) / (2 * h)
			params[i] = old
			norm += gradient[i] * gradient[i]
		}
		scale, rate := 1.0, c.rate[m]
		if norm = math.Sqrt(norm); cfg.MaxGradNorm > 0 {
			scale = min(1, cfg.MaxGradNorm/norm)
		}
		if cfg.AnnealSteps > 0 {
			rate *= 1 - float64(stepsBefore*cfg.Environments)/float64(cfg.AnnealSteps)
		}
		for i, g := range gradient {
			g *= scale
			first[i] = adam.Beta1*first[i] + (1-adam.Beta1)*g
			second[i] = adam.Beta2*second[i] + (1-adam.Beta2)*g*g
			mean, square := first[i]/(1-math.Pow(adam.Beta1, float64(u+1))), second[i]/(1-math.Pow(adam.Beta2, float64(u+1)))
			params[i] -= rate * mean / (math.Sqrt(square) + adam.Epsilon)
		}
	}
	return params, last
}

// beginMemory gives a trajectory what a rollout of a policy with memory keeps.
func beginMemory(s *engine.State, t *envs.Trajectory, members, environments, floats int) {
	m, e := engine.Members(members), engine.Environments(environments)
	t.Memory = s.Scratch("first_memory", engine.Float32, m, e, engine.Axis("float", floats))
	t.Begins = nn.Begins{Words: s.Scratch("first_step", engine.Uint32, m, e), Bits: 1<<30 - 1, Zero: true, Also: 3 << 30}
}
