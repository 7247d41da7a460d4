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

// TestGradient compares the gradients of actor and critic with central differences of the losses in float64.
func TestGradient(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(3))
	const gaussian = 2 // actions of the Gaussian; the categorical has 3
	for _, hidden := range [][]int{{7, 6}, {33}, {64, 64}} {
		for _, norm := range []bool{false, true} {
			for i, kind := range []nn.Activation{nn.ReLU, nn.Tanh, nn.ELU, nn.Swish} {
				for j, action := range []envs.Space{envs.Discrete(3), envs.Symmetric(make([]float32, gaussian)...)} {
					// A driver takes seconds to compile the large ones: tanh without, swish with layer normalization stand for them.
					if hidden[0] == 64 && !(kind == nn.Tanh && !norm && j == 0 || kind == nn.Swish && norm && j == 1) {
						continue
					}
					cfg, network := DefaultPPO(), DefaultNetwork()
					cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2
					network.Hidden, network.Activation, network.LayerNorm = hidden, kind, norm
					// Settings that change the kernels go round, so that all meet.
					cfg.ClipValue, cfg.NormalizeAdvantage = i%2 == 0, i%2 == 1 || norm
					network.NormalizeObs, network.ObsLimit = i < 2, 1.5
					g := newGradientCase(t, eng, 5, action, network, cfg)
					g.check(t, 4)
				}
			}
		}
	}
	// Networks that are evaluated layer by layer; the last minibatch has one transition less.
	for i, hidden := range [][]int{{}, {9, 8, 7}, {256, 256}} {
		for j, action := range []envs.Space{envs.Discrete(3), envs.Symmetric(make([]float32, gaussian)...)} {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2
			cfg.ClipValue, cfg.NormalizeAdvantage = i%2 == 0, j == 0
			network.Hidden, network.LayerNorm, network.NormalizeObs, network.ObsLimit = hidden, i == 1, j == 0, 1.5
			newGradientCase(t, eng, 5, action, network, cfg).check(t, 4)
		}
	}
	// One network over more rows than one workgroup takes.
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 1, 131, 3, 1, 2
	network.Hidden = []int{7, 6}
	g := newGradientCase(t, eng, 4, envs.Discrete(2), network, cfg)
	if n := g.ppo.splits(); n < 3 {
		t.Errorf("%d splits; want at least 3", n)
	}
	g.check(t, 8)
}

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
	g := &gradientCase{ppo: p, eng: eng, name: fmt.Sprintf("%v and critic, gaussian %v, normalized %v", p.agent.actor, !p.agent.discrete, network.NormalizeObs)}
	dice := rand.New(rand.NewPCG(uint64(len(g.name)), 9))
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
	row := a.params.Size("parameter")
	scales := map[int]bool{} // of layer normalization, which are about 1
	for _, l := range a.actor.Layers() {
		for i := range l.Out {
			scales[l.Scale+i] = l.Norms
		}
	}
	g.params = draw(a.params, func(i int) float64 {
		at := i % row
		x := dice.NormFloat64() / math.Sqrt(float64(append(network.Hidden, features)[0]))
		if scales[at] || scales[at-a.criticBase] {
			x = 1 + 0.3*dice.NormFloat64()
		}
		return x
	})
	if a.normalizer != nil {
		g.normalizer = draw(a.normalizer.Values(), func(i int) float64 {
			if i/features%2 == 1 {
				return 0.5 + dice.Float64()
			}
			return dice.NormFloat64() / 3
		})
	}
	g.obs = draw(p.ro.Obs, normal)
	g.action = draw(p.ro.Action, func(int) float64 {
		if a.discrete {
			return float64(dice.IntN(a.actor.Out))
		}
		return dice.NormFloat64()
	})
	// The policy and the values that made the trajectories are near the present ones, so that some samples are clipped and some not.
	g.logProb = draw(p.ro.LogProb, func(i int) float64 {
		y, logStd := g.outputs(g.memberParams(g.member(i)), g.member(i), i)
		lp, _ := logProb(y, logStd, g.act(i))
		return lp + 0.2*dice.NormFloat64()
	})
	g.value = draw(p.value, func(i int) float64 {
		return g.critic(g.memberParams(g.member(i)), g.member(i), i) + 0.3*dice.NormFloat64()
	})
	g.advantage, g.target = draw(p.advantage, normal), draw(p.target, func(i int) float64 { return g.value[i] + dice.NormFloat64() })
	vary := func(around float64) func(int) float64 {
		return func(int) float64 { return around * (1 + 0.5*dice.Float64()) }
	}
	draw(p.clip, vary(0.2))
	draw(p.entropyWeight, vary(0.05))
	draw(p.actorWeight, vary(0.8))
	draw(p.criticWeight, vary(0.5))
	write(t, p.clock.Tensor(), []float64{11, 0})
	return g
}

// member owns element i of [T, P, E].
func (g *gradientCase) member(i int) int {
	return i / g.ppo.cfg.Environments % g.ppo.cfg.Members
}

func (g *gradientCase) memberParams(m int) []float64 {
	row := len(g.params) / g.ppo.cfg.Members
	return g.params[m*row : (m+1)*row]
}

func (g *gradientCase) act(i int) []float64 {
	n := g.ppo.env.ActionWords()
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
	if !a.discrete {
		logStd = row[a.logStd : a.logStd+a.actor.Out]
	}
	return forward(a.actor, row, g.input(m, i)), logStd
}

func (g *gradientCase) critic(row []float64, m, i int) float64 {
	return forward(g.ppo.agent.critic, row[g.ppo.agent.criticBase:], g.input(m, i))[0]
}

// losses are what a minibatch's rows give: the weighted sum that is minimized, and its parts as the kernels report them.
type losses struct{ total, actor, entropy, divergence, clipped, critic float64 }

// loss computes the losses of member m with the parameters row over elements at of [T, P, E].
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
	epsilon, share := hyper(g.ppo.clip), 1/float64(len(at))
	var l losses
	for k, i := range at {
		y, logStd := g.outputs(row, m, i)
		lp, entropy := logProb(y, logStd, g.act(i))
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
	l.total = hyper(g.ppo.actorWeight)*l.actor + hyper(g.ppo.criticWeight)*l.critic - hyper(g.ppo.entropyWeight)*l.entropy
	return l
}

// check compares the gradient of each member, and the reported losses, for the last minibatch of the last epoch.
func (g *gradientCase) check(t *testing.T, each int) {
	t.Helper()
	p := g.ppo
	cfg, a := p.cfg, p.agent
	epoch, minibatch := cfg.Epochs-1, cfg.Minibatches-1
	// Gaps between the parts stay zero; everything else must be written.
	poison(t, p.moments, p.actorLosses, p.criticLosses)
	gaps := make([]float64, p.gradient.Len())
	row := a.params.Size("parameter")
	used := make([]bool, row)
	mark := func(base, n int) {
		for i := range n {
			used[base+i] = true
		}
	}
	mark(0, a.actor.Size())
	mark(a.criticBase, a.critic.Size())
	if !a.discrete {
		mark(a.logStd, a.actor.Out)
	}
	for i := range gaps {
		if used[i%row] {
			gaps[i] = math.NaN()
		}
	}
	write(t, p.gradient, gaps)
	run(t, g.eng, func(r *engine.Recorder) {
		p.recordMoments(r)
		p.recordGradient(r, epoch, minibatch)
	})
	parts := read(t, p.gradient)
	gradient := make([]float64, len(g.params))
	for i, v := range parts {
		gradient[i%len(gradient)] += v
	}
	reported := func(tensor *engine.Tensor, what, m int) float64 {
		values, sum := read(t, tensor), 0.0
		n := len(values) / 4
		for i := range n / cfg.Members {
			sum += values[what*n+i*cfg.Members+m]
		}
		return sum
	}

	dice := rand.New(rand.NewPCG(4, 5))
	worst := 0.0
	for m := range cfg.Members {
		at := g.minibatch(m, epoch, minibatch)
		hyper := func(tensor *engine.Tensor) float64 { return read(t, tensor)[m] }
		fixed := map[*engine.Tensor]float64{}
		for _, tensor := range []*engine.Tensor{p.clip, p.actorWeight, p.criticWeight, p.entropyWeight} {
			fixed[tensor] = hyper(tensor)
		}
		hyper = func(tensor *engine.Tensor) float64 { return fixed[tensor] }
		want := g.loss(g.memberParams(m), m, at, hyper)
		for name, pair := range map[string][2]float64{
			"actor loss": {reported(p.actorLosses, 0, m), want.actor}, "entropy": {reported(p.actorLosses, 1, m), want.entropy},
			"divergence": {reported(p.actorLosses, 2, m), want.divergence}, "clipped share": {reported(p.actorLosses, 3, m), want.clipped},
			"critic loss": {reported(p.criticLosses, 0, m), want.critic},
		} {
			if d := math.Abs(pair[0] - pair[1]); !(d <= 2e-6*max(1, math.Abs(pair[1]))) {
				t.Errorf("%s: %s of member %d is %g; want %g", g.name, name, m, pair[0], pair[1])
			}
		}
		largest := 0.0
		for _, v := range gradient[m*row : (m+1)*row] {
			largest = max(largest, math.Abs(v))
		}
		for _, i := range g.places(dice, each) {
			const h = 1e-5
			moved := append([]float64(nil), g.memberParams(m)...)
			moved[i] += h
			up := g.loss(moved, m, at, hyper).total
			moved[i] -= 2 * h
			slope := (up - g.loss(moved, m, at, hyper).total) / (2 * h)
			d := math.Abs(gradient[m*row+i]-slope) / largest
			worst = max(worst, d)
			if !(d <= 5e-6) {
				t.Errorf("%s: the gradient of member %d by parameter %d is %g; the difference quotient is %g, the largest %g", g.name, m, i, gradient[m*row+i], slope, largest)
			}
		}
	}
	t.Logf("%s: largest deviation %.1e of the largest gradient", g.name, worst)
}

// places are some parameters of every kind in a member's row.
func (g *gradientCase) places(dice *rand.Rand, each int) []int {
	a := g.ppo.agent
	var out []int
	some := func(base, n int) {
		for range each {
			out = append(out, base+dice.IntN(n))
		}
		out = append(out, base+n-1)
	}
	for base, net := range map[int]nn.MLP{0: a.actor, a.criticBase: a.critic} {
		for _, l := range net.Layers() {
			some(base+l.Weight, l.In*l.Out)
			some(base+l.Bias, l.Out)
			if l.Norms {
				some(base+l.Scale, l.Out)
				some(base+l.Shift, l.Out)
			}
		}
	}
	if !a.discrete {
		some(a.logStd, a.actor.Out)
	}
	return out
}

// minibatch lists the elements in [T, P, E] of a member's minibatch.
func (g *gradientCase) minibatch(m, epoch, index int) []int {
	c := g.ppo.cfg
	key := engine.Philox([2]uint32{g.eng.Seed(), engine.Stream("minibatch")}, [4]uint32{uint32(m), 0, 11, uint32(epoch)})
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
