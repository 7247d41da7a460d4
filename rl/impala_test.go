package rl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestIMPALAUpdate compares the parameters and losses after all updates of an iteration with the definitions in
// float64: V-trace by the networks of the moment, gradients as difference quotients, clipping and Adam. Minibatches
// are of different sizes; networks are held in lanes, layered, with memory, and shared by actor and critic.
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
		"gru": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Layers, n.Hidden, n.NormalizeObs, n.ObsLimit = cells(nn.GRU, 3, 4), nil, true, 1.5
			c.Environments, c.Epochs, c.MixValues = 2, 1, true
			return envs.Discrete(3)
		},
		"lstm": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Layers, n.Hidden = cells(nn.LSTM, 3), nil
			c.Members, c.Environments, c.Minibatches = 1, 3, 1
			return envs.Symmetric(1, 1)
		},
		"shared layers": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Shared, n.NormalizeObs, n.ObsLimit = ShareAll, true, 1.5
			return envs.Symmetric(1, 1)
		},
		"shared gru": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Shared, n.Layers, n.Hidden = ShareAll, cells(nn.GRU, 3, 4), nil
			c.Environments, c.Epochs = 2, 1
			return envs.Discrete(3)
		},
		"shared lstm": func(n *NetworkConfig, c *IMPALAConfig) envs.Space {
			n.Shared, n.Layers, n.Hidden = ShareAll, cells(nn.LSTM, 3), nil
			c.Members, c.Environments, c.Minibatches, c.MixValues = 1, 3, 1, true
			return envs.Discrete(2)
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
	*policyCase
	hyper []thresholds
}

func newImpalaCase(t *testing.T, p *IMPALA) *impalaCase {
	t.Helper()
	c := &impalaCase{IMPALA: p, policyCase: newPolicyCase(t, &p.onPolicy)}
	v, draw := p.vtrace, c.draw
	discount, lambda := draw(t, v.discount, c.uniform(0.8, 1)), draw(t, v.lambda, c.uniform(0.7, 1))
	rho, cs := draw(t, v.rho, c.uniform(0.9, 1.3)), draw(t, v.c, c.uniform(0.7, 1.1))
	policyRho := draw(t, v.policyRho, c.uniform(0.9, 1.5))
	for m := range p.common.Members {
		c.hyper = append(c.hyper, thresholds{discount[m], lambda[m], rho[m], cs[m], policyRho[m]})
	}
	c.drawWeights(t)
	return c
}

// check runs the updates and compares.
func (c *impalaCase) check(t *testing.T, eng *engine.Engine) {
	t.Helper()
	poison(t, c.actorLoss.Sums, c.criticLoss.Sums, c.actorLoss.Outputs, c.criticLoss.Outputs, c.vtrace.nextValue, c.vtrace.advantage, c.vtrace.target)
	run(t, eng, func(r *engine.Recorder) {
		if c.passed != nil {
			c.agent.Values(r, c.minibatches.Trajectory, c.passed, nil)
		}
		c.recordUpdates(r)
	})
	c.compare(t, c.cfg.Epochs, c.cfg.Minibatches, c.loss)
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
			x.value, x.nextValue = append(x.value, c.critic(now, m, i, false)), append(x.nextValue, c.critic(now, m, i, true))
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
			l.critic += share * math.Pow(c.critic(params, m, i, false)-target, 2) / 2
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
		{func(c *IMPALAConfig) { c.Actors = 3 }, `"actors": 3 parts of 256 environments; want a divisor of them`},
		{func(c *IMPALAConfig) { c.Lag = 65 }, `"lag" is 65: want at least 0 and at most 64`},
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
