package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// gradientCase is a learner with random parameters and trajectories.
type gradientCase struct {
	name string
	ppo  *PPO
	eng  *engine.Engine

	params, normalizer, obs, action, logProb, value, advantage, target []float64
}

func newGradientCase(t *testing.T, eng *engine.Engine, features int, action envs.Space, network NetworkConfig, cfg PPOConfig) *gradientCase {
	t.Helper()
	p := newLearner(t, eng, spaces(features, action), network, cfg)
	g := &gradientCase{ppo: p, eng: eng, name: fmt.Sprintf("%v and critic, %v, state-dependent %v, normalized %v",
		p.agent.actor.Model(), p.agent.head.Kind, p.agent.head.StateDependent, network.NormalizeObs)}
	drawn := fmt.Sprintf("%v and critic, gaussian %v, normalized %v", p.agent.actor.Model(), p.agent.head.Kind == nn.Gaussian, network.NormalizeObs)
	dice := rand.New(rand.NewPCG(uint64(len(drawn)), 9)) // other words in the name draw no other case
	draw := func(to *engine.Tensor, f func(i int) float64) []float64 {
		values := make([]float64, to.Len())
		for i := range values {
			values[i] = float64(float32(f(i)))
		}
		write(t, to, values)
		return values
	}
	normal := func(int) float64 { return dice.NormFloat64() }
	a := p.agent
	params := p.joint("params")
	row := params.row()
	scales := map[int]bool{} // of layer normalization, which are about 1
	for _, l := range a.actor.Model().Layers() {
		for i := range l.Out {
			scales[l.Scale+i] = l.Norms
		}
	}
	g.params = make([]float64, cfg.Members*row)
	for i := range g.params {
		at := i % row
		x := dice.NormFloat64() / math.Sqrt(float64(append(network.Hidden, features)[0]))
		if scales[at] || scales[at-criticBase(a)] {
			x = 1 + 0.3*dice.NormFloat64()
		}
		g.params[i] = float64(float32(x))
	}
	params.write(t, g.params)
	if a.normalizer != nil {
		g.normalizer = draw(a.normalizer.Values(), func(i int) float64 {
			if i/features%2 == 1 {
				return 0.5 + dice.Float64()
			}
			return dice.NormFloat64() / 3
		})
	}
	g.obs = draw(p.minibatches.Trajectory.Obs, normal)
	g.action = draw(p.minibatches.Trajectory.Action, func(int) float64 {
		if a.head.Kind != nn.Gaussian {
			return float64(dice.IntN(a.head.Width()))
		}
		return dice.NormFloat64()
	})
	// The policy and the values that made the trajectories are near the present ones, so that some samples are clipped and some not.
	g.logProb = draw(p.minibatches.Trajectory.LogProb, func(i int) float64 {
		y, logStd := g.outputs(g.memberParams(g.member(i)), g.member(i), i)
		lp, _ := logProb(a.head, y, logStd, g.act(i))
		return lp + 0.2*dice.NormFloat64()
	})
	g.value = draw(p.estimates.value, func(i int) float64 {
		return g.critic(g.memberParams(g.member(i)), g.member(i), i) + 0.3*dice.NormFloat64()
	})
	g.advantage, g.target = draw(p.estimates.advantage, normal), draw(p.estimates.target, func(i int) float64 { return g.value[i] + dice.NormFloat64() })
	vary := func(around float64) func(int) float64 {
		return func(int) float64 { return around * (1 + 0.5*dice.Float64()) }
	}
	draw(p.actorLoss.Clip, vary(0.2))
	draw(p.actorLoss.EntropyWeight, vary(0.05))
	draw(p.actorLoss.Weight, vary(0.8))
	draw(p.criticLoss.Weight, vary(0.5))
	write(t, p.Clock().Tensor(), []float64{11, 0})
	return g
}

// member owns element i of [T, M, E].
func (g *gradientCase) member(i int) int {
	return i / g.ppo.cfg.Environments % g.ppo.cfg.Members
}

func (g *gradientCase) memberParams(m int) []float64 {
	row := len(g.params) / g.ppo.cfg.Members
	return g.params[m*row : (m+1)*row]
}

func (g *gradientCase) act(i int) []float64 {
	n := g.ppo.agent.head.Words()
	return g.action[i*n : (i+1)*n]
}

func (g *gradientCase) input(m, i int) []float64 {
	n := g.ppo.env.ObsSize()
	var values []float64
	if g.normalizer != nil {
		values = g.normalizer[m*2*n : (m+1)*2*n]
	}
	return normalized(g.obs[i*n:(i+1)*n], values, g.ppo.agent.cfg.ObsLimit)
}

func (g *gradientCase) outputs(row []float64, m, i int) (y, logStd []float64) {
	a := g.ppo.agent
	logStd = row[a.headBase() : a.headBase()+a.head.Parameters()]
	return forward(a.actor.Model(), row, g.input(m, i)), logStd
}

func (g *gradientCase) critic(row []float64, m, i int) float64 {
	return forward(g.ppo.agent.critic.Model(), row[criticBase(g.ppo.agent):], g.input(m, i))[0]
}

// losses are what a minibatch's rows give: the weighted sum that is minimized, and its parts as the kernels report them.
type losses struct{ total, actor, entropy, divergence, clipped, critic float64 }

// loss computes the losses of member m with the parameters row over elements at of [T, M, E].
func (g *gradientCase) loss(row []float64, m int, at []int, hyper func(*engine.Tensor) float64) losses {
	cfg := g.ppo.cfg
	var advantages []float64
	for _, i := range at {
		advantages = append(advantages, g.advantage[i])
	}
	mean, variance := 0.0, 1.0
	if cfg.NormalizeAdvantage {
		mean, variance = moments(advantages)
	}
	epsilon, share := hyper(g.ppo.actorLoss.Clip), 1/float64(len(at))
	var l losses
	for k, i := range at {
		y, logStd := g.outputs(row, m, i)
		lp, entropy := logProb(g.ppo.agent.head, y, logStd, g.act(i))
		ratio, advantage := math.Exp(lp-g.logProb[i]), (advantages[k]-mean)/math.Sqrt(variance)
		l.actor -= share * min(ratio*advantage, min(max(ratio, 1-epsilon), 1+epsilon)*advantage)
		l.entropy += share * entropy
		l.divergence += share * (ratio - 1 - math.Log(ratio))
		if math.Abs(ratio-1) > epsilon {
			l.clipped += share
		}
		v := g.critic(row, m, i)
		square := math.Pow(v-g.target[i], 2)
		if cfg.ClipValue {
			moved := g.value[i] + min(max(v-g.value[i], -epsilon), epsilon)
			square = max(square, math.Pow(moved-g.target[i], 2))
		}
		l.critic += share * square / 2
	}
	l.total = hyper(g.ppo.actorLoss.Weight)*l.actor + hyper(g.ppo.criticLoss.Weight)*l.critic - hyper(g.ppo.actorLoss.EntropyWeight)*l.entropy
	return l
}

// minibatch lists the elements in [T, M, E] of a member's minibatch.
func (g *gradientCase) minibatch(m, epoch, index int) []int {
	c := g.ppo.cfg
	key := engine.Philox([2]uint32{g.eng.Seed(), g.ppo.minibatches.Stream}, [4]uint32{uint32(m), 0, 11, uint32(epoch)})
	n := c.RolloutLength * c.Environments
	size, more := n/c.Minibatches, n%c.Minibatches
	begin := index*size + min(index, more)
	if index < more {
		size++
	}
	var out []int
	for i := range size {
		x := engine.Permute(uint32(begin+i), uint32(n), key)
		t, e := int(x)/c.Environments, int(x)%c.Environments
		out = append(out, (t*c.Members+m)*c.Environments+e)
	}
	return out
}
