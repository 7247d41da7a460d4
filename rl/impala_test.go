package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestIMPALAUpdate compares the parameters and losses after all updates of an iteration with the definitions in
// float64: V-trace by the networks of the moment, gradients as difference quotients, clipping and Adam. Minibatches
// are of different sizes; networks are held in lanes and layered.
func TestIMPALAUpdate(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	for name, change := range map[string]func(*NetworkConfig, *IMPALAConfig) envs.Space{
		"categorical": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.NormalizeObs, n.ObsLimit = true, 1.5
			return envs.Discrete(3)
		},
		"gaussian": func(_ *NetworkConfig, c *IMPALAConfig) envs.Space {
			c.MixValues, c.MaxGradNorm, c.AnnealSteps = true, 0, 90
			return envs.Symmetric(1, 1)
		},
		"layered": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Hidden, n.LayerNorm, n.StateDependentStd, n.Squash, n.MinLogStd, n.MaxLogStd = []int{5, 6, 4}, true, true, true, -1, 0.5
			return envs.Symmetric(1, 1)
		},
		"layered bins": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Hidden, n.Bins, n.NormalizeObs, n.ObsLimit = []int{5, 6, 4}, 3, true, 1.5
			c.Environments, c.Minibatches = 4, 1
			return envs.Symmetric(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, network := DefaultIMPALA(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 4, 5, 2, 2
			cfg.OptimizerEpsilon, cfg.MaxGradNorm = 1e-4, 0.3
			network.Hidden = []int{7, 6}
			action := change(&network, &cfg)
			newImpalaCase(t, newIMPALALearner(t, eng, spaces(4, action), network, cfg)).check(t, eng)
		})
	}
}

// impalaCase is a learner with random parameters and trajectories.
type impalaCase struct {
	*IMPALA
	params                                                   []float64 // [M, row] of actor and critic
	obs, nextObs, normalizer, action, logProb, reward, flags []float64
	hyper                                                    []thresholds
	rate, actorWeight, criticWeight, entropyWeight           []float64
}

const clockAt, stepsBefore = 11, 6 // iteration, and steps of each environment before it

func newImpalaCase(t *testing.T, p *IMPALA) *impalaCase {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, uint64(p.agent.head.Kind)))
	draw := func(to *engine.Tensor, f func() float64) []float64 {
		values := make([]float64, to.Len())
		for i := range values {
			values[i] = float64(float32(f()))
		}
		write(t, to, values)
		return values
	}
	uniform := func(low, high float64) func() float64 {
		return func() float64 { return low + (high-low)*dice.Float64() }
	}
	c := &impalaCase{IMPALA: p, params: make([]float64, p.common.Members*p.joint("params").row())}
	for i := range c.params {
		c.params[i] = float64(float32(0.5 * dice.NormFloat64()))
	}
	p.joint("params").write(t, c.params)
	if p.agent.normalizer != nil {
		c.normalizer = draw(p.agent.normalizer.Values(), uniform(0.3, 1.2))
	}
	x, v, head := p.minibatches.Trajectory, p.vtrace, p.agent.head
	c.obs, c.nextObs = draw(x.Obs, dice.NormFloat64), draw(x.NextObs, dice.NormFloat64)
	c.reward, c.flags = draw(x.Reward, dice.NormFloat64), draw(x.Done, func() float64 { return float64(max(0, dice.IntN(12)-8)) })
	all, features := p.common.Members*p.common.Environments, p.env.ObsSize()
	for i := range c.nextObs { // inside an episode the next observation is the next step's
		if at := i / features; at+all < len(c.flags) && c.flags[at] == 0 {
			c.nextObs[i] = c.obs[i+all*features]
		}
	}
	write(t, x.NextObs, c.nextObs)
	c.action = draw(x.Action, func() float64 {
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
	discount, lambda := draw(v.discount, uniform(0.8, 1)), draw(v.lambda, uniform(0.7, 1))
	rho, cs, policyRho := draw(v.rho, uniform(0.9, 1.3)), draw(v.c, uniform(0.7, 1.1)), draw(v.policyRho, uniform(0.9, 1.5))
	for m := range p.common.Members {
		c.hyper = append(c.hyper, thresholds{discount[m], lambda[m], rho[m], cs[m], policyRho[m]})
	}
	c.rate, c.entropyWeight = draw(p.Hyper().Lookup("learning_rate"), uniform(0.01, 0.02)), draw(p.actorLoss.EntropyWeight, uniform(0.01, 0.1))
	c.actorWeight, c.criticWeight = draw(p.actorLoss.Weight, uniform(0.5, 1.5)), draw(p.criticLoss.Weight, uniform(0.5, 1.5))
	write(t, p.Clock().Tensor(), []float64{clockAt, stepsBefore})
	return c
}

func (c *impalaCase) member(m int) []float64 {
	row := c.joint("params").row()
	return c.params[m*row : (m+1)*row]
}

func (c *impalaCase) input(obs []float64, m, at int) []float64 {
	n := c.env.ObsSize()
	var values []float64
	if c.normalizer != nil {
		values = c.normalizer[m*2*n : (m+1)*2*n]
	}
	return normalized(obs[at*n:(at+1)*n], values, c.agent.cfg.ObsLimit)
}

// policy is the log-probability of the action at an element of [T, M, E], and the entropy.
func (c *impalaCase) policy(params []float64, m, at int) (logp, entropy float64) {
	a, words := c.agent, c.agent.head.Words()
	y := forward(a.actor.Model(), params, c.input(c.obs, m, at))
	return logProb(a.head, y, params[a.headBase():a.headBase()+a.head.Parameters()], c.action[at*words:(at+1)*words])
}

func (c *impalaCase) critic(params, obs []float64, m, at int) float64 {
	return forward(c.agent.critic.Model(), params[rowOf(c.agent.Actor()):], c.input(obs, m, at))[0]
}

// check runs the updates and compares.
func (c *impalaCase) check(t *testing.T, eng *engine.Engine) {
	t.Helper()
	poison(t, c.actorLoss.Sums, c.criticLoss.Sums, c.actorLoss.Outputs, c.criticLoss.Outputs, c.vtrace.nextValue, c.vtrace.advantage, c.vtrace.target)
	run(t, eng, c.recordUpdates)
	got, row := c.joint("params").read(t), c.joint("params").row()
	for m := range c.common.Members {
		want, losses := c.update(eng.Seed(), m)
		d := deviation(got[m*row:(m+1)*row], want)
		if !(d <= 1e-6) {
			t.Errorf("parameters of member %d deviate by %g of the largest; want at most 1e-6", m, d)
		}
		if moved := deviation(want, c.member(m)); !(moved > 0.01) {
			t.Errorf("member %d moved by %g only", m, moved)
		}
		reported := func(tensor *engine.Tensor, what int) (sum float64) {
			values := byMember(t, tensor, c.common.Members)
			n := len(values) / c.common.Members
			for _, v := range values[m*n+what*n/4 : m*n+(what+1)*n/4] {
				sum += v
			}
			return sum
		}
		for what, pair := range map[string][2]float64{
			"actor loss": {reported(c.actorLoss.Sums, 0), losses.actor}, "entropy": {reported(c.actorLoss.Sums, 1), losses.entropy},
			"divergence": {reported(c.actorLoss.Sums, 2), losses.divergence}, "clipped share": {reported(c.actorLoss.Sums, 3), losses.clipped},
			"critic loss": {reported(c.criticLoss.Sums, 0), losses.critic},
		} {
			if d := math.Abs(pair[0] - pair[1]); !(d <= 1e-5) {
				t.Errorf("the last %s of member %d is %g; want %g", what, m, pair[0], pair[1])
			}
		}
		t.Logf("member %d: parameters deviate by %.1e", m, d)
	}
}

// update is a member's parameters after all updates, and the losses of the last.
func (c *impalaCase) update(seed uint32, m int) ([]float64, losses) {
	params, adam := append([]float64(nil), c.member(m)...), c.agent.actor.optimizer.Config()
	first, second := make([]float64, len(params)), make([]float64, len(params))
	var last losses
	for u := range c.cfg.Epochs * c.cfg.Minibatches {
		environments := c.minibatches.environmentsOf(seed, m, clockAt, u/c.cfg.Minibatches, u%c.cfg.Minibatches)
		loss := c.loss(params, m, environments)
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
		if norm = math.Sqrt(norm); c.cfg.MaxGradNorm > 0 {
			scale = min(1, c.cfg.MaxGradNorm/norm)
		}
		if c.cfg.AnnealSteps > 0 {
			rate *= 1 - float64(stepsBefore*c.cfg.Environments)/float64(c.cfg.AnnealSteps)
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

// loss is the loss of a member over trajectories, as a function of parameters; targets and advantages belong to the
// present parameters.
func (c *impalaCase) loss(now []float64, m int, environments []int) func(params []float64) losses {
	h, targets, advantages := c.hyper[m], map[int]float64{}, map[int]float64{}
	for _, e := range environments {
		var x trajectory
		var at []int
		for step := range c.common.RolloutLength {
			i := (step*c.common.Members+m)*c.common.Environments + e
			logp, _ := c.policy(now, m, i)
			at, x.ratio = append(at, i), append(x.ratio, math.Exp(logp-c.logProb[i]))
			x.value, x.nextValue = append(x.value, c.critic(now, c.obs, m, i)), append(x.nextValue, c.critic(now, c.nextObs, m, i))
			x.reward, x.done = append(x.reward, c.reward[i]), append(x.done, envs.Done(c.flags[i]))
		}
		target := x.targets(h)
		for step, advantage := range x.advantages(target, c.cfg.MixValues, h) {
			targets[at[step]], advantages[at[step]] = target[step], advantage
		}
	}
	share := 1 / float64(len(targets))
	return func(params []float64) losses {
		var l losses
		for i, target := range targets {
			logp, entropy := c.policy(params, m, i)
			ratio := math.Exp(logp - c.logProb[i])
			l.actor -= share * advantages[i] * logp
			l.entropy += share * entropy
			l.divergence += share * (ratio - 1 - math.Log(ratio))
			if ratio > h.rho {
				l.clipped += share
			}
			l.critic += share * math.Pow(c.critic(params, c.obs, m, i)-target, 2) / 2
		}
		l.total = c.actorWeight[m]*l.actor + c.criticWeight[m]*l.critic - c.entropyWeight[m]*l.entropy
		return l
	}
}

// TestIMPALARefused: settings that cannot be are one error each, which names the setting as TOML does.
func TestIMPALARefused(t *testing.T) {
	eng := engine.New(open(t))
	for _, c := range []struct {
		change func(*IMPALAConfig)
		want   string
	}{
		{func(c *IMPALAConfig) { c.Environments = 0 }, `"environments" is 0: want at least 1`},
		{func(c *IMPALAConfig) { c.Minibatches = 257 }, `"minibatches": 257 minibatches of 256 trajectories`},
		{func(c *IMPALAConfig) { c.RolloutLength, c.Environments = 32768, 1<<17 }, `"environments": 4294967296 transitions per member`},
		{func(c *IMPALAConfig) { c.Lambda = 1.5 }, `"lambda" is 1.5: want at least 0 and at most 1`},
		{func(c *IMPALAConfig) { c.RhoThreshold = 0 }, `"rho_threshold" is 0: want above 0`},
		{func(c *IMPALAConfig) { c.CThreshold = -1 }, `"c_threshold" is -1: want above 0`},
		{func(c *IMPALAConfig) { c.PGRhoThreshold = math.NaN() }, `"pg_rho_threshold" is NaN`},
		{func(c *IMPALAConfig) { c.OptimizerEpsilon = 0 }, `"optimizer_epsilon" is 0: want above 0`},
	} {
		cfg := DefaultIMPALA()
		c.change(&cfg)
		p, err := NewIMPALA(t.Context(), eng, lookup(t, "CartPole-v1"), cfg)
		if err == nil {
			p.Close()
		}
		prefix := `rl: impala on "CartPole-v1": `
		if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one line with %q", err, fmt.Sprint(prefix, c.want))
		}
	}
	if m := eng.Device().Memory(); m.Buffers != 0 {
		t.Errorf("%d buffers are left", m.Buffers)
	}
}
