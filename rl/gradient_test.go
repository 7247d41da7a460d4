package rl

import (
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
	lanes, layers := [][]int{{7, 6}, {33}, {64, 64}}, [][]int{{}, {9, 8, 7}, {256, 256}}
	if testing.Short() {
		lanes, layers = lanes[:1], layers[1:2]
	}
	for _, hidden := range lanes {
		for _, norm := range []bool{false, true} {
			for i, kind := range []nn.Activation{nn.ReLU, nn.Tanh, nn.ELU, nn.Swish, nn.GELU} {
				for j, action := range []envs.Space{envs.Discrete(3), envs.Symmetric(make([]float32, gaussian)...)} {
					// A driver takes seconds to compile the large ones, and an instrumented one any: tanh without, swish with layer
					// normalization stand for them.
					if (hidden[0] == 64 || testing.Short()) && !(kind == nn.Tanh && !norm && j == 0 || kind == nn.Swish && norm && j == 1) {
						continue
					}
					cfg, network := DefaultPPO(), DefaultNetwork()
					cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2
					network.Hidden, network.Activation, network.LayerNorm = hidden, kind, norm
					if hidden[0] == 7 && kind == nn.Tanh {
						network.CriticHidden = []int{9}
					}
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
	for i, hidden := range layers {
		for j, action := range []envs.Space{envs.Discrete(3), envs.Symmetric(make([]float32, gaussian)...)} {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 2, 5, 3, 2, 2
			cfg.ClipValue, cfg.NormalizeAdvantage = i%2 == 0, j == 0
			network.Hidden, network.LayerNorm, network.NormalizeObs, network.ObsLimit = hidden, i == 1, j == 0, 1.5
			newGradientCase(t, eng, 5, action, network, cfg).check(t, 4)
		}
	}
	// Heads with deviations as outputs, and bins, in both forms of the network.
	for i, hidden := range [][]int{{7, 6}, {9, 8, 7}} {
		for j, change := range []func(*NetworkConfig){
			func(n *NetworkConfig) { n.StateDependentStd, n.Squash, n.MinLogStd, n.MaxLogStd = true, true, -1, 0.5 },
			func(n *NetworkConfig) { n.Bins = 3 },
		} {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 3, 5, 3, 2, 2
			cfg.NormalizeAdvantage = i != j
			network.Hidden = hidden
			change(&network)
			newGradientCase(t, eng, 5, envs.Symmetric(make([]float32, gaussian)...), network, cfg).check(t, 4)
		}
	}
	// One network over more rows than one workgroup takes.
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 1, 131, 3, 1, 2
	network.Hidden = []int{7, 6}
	g := newGradientCase(t, eng, 4, envs.Discrete(2), network, cfg)
	if n := g.ppo.agent.actor.pass.Splits(); n < 3 {
		t.Errorf("%d splits; want at least 3", n)
	}
	g.check(t, 8)
}

// check compares the gradient of each member, and the reported losses, for the last minibatch of the last epoch.
func (g *gradientCase) check(t *testing.T, each int) {
	t.Helper()
	p := g.ppo
	cfg, a := p.cfg, p.agent
	epoch, index := cfg.Epochs-1, cfg.Minibatches-1
	// Gaps between the parts stay zero; everything else must be written.
	poison(t, p.actorLoss.Sums, p.criticLoss.Sums)
	if p.minibatches.Moments != nil {
		poison(t, p.minibatches.Moments)
	}
	row := p.gradients().row()
	gaps := make([]float64, cfg.Members*row)
	used := make([]bool, row)
	mark := func(base, n int) {
		for i := range n {
			used[base+i] = true
		}
	}
	mark(0, a.actor.Model().Size()+a.head.Parameters())
	if b, ok := a.critic.Model().(nn.Branch); ok {
		mark(b.At, b.Size()-b.At)
	} else {
		mark(rowOf(a.Actor()), a.critic.Model().Size())
	}
	for i := range gaps {
		if used[i%row] {
			gaps[i] = math.NaN()
		}
	}
	if p.parts != nil {
		for _, n := range a.learning() {
			poisonGradient(t, n)
		}
		for _, part := range p.gradients().parts() {
			poison(t, part.tensor)
		}
		for _, l := range []partedLoss{p.parts.actor, p.parts.critic} {
			poison(t, l.sums, l.total, l.partSums)
		}
	} else {
		p.gradients().write(t, gaps)
	}
	run(t, g.eng, func(r *engine.Recorder) {
		p.minibatches.recordMoments(r)
		p.recordGradients(r, cfg.Epochs*cfg.Minibatches)
	})
	gradient := p.gradients().read(t)
	actorLosses, criticLosses := p.losses()
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
		at := g.minibatch(m, epoch, index)
		hyper := func(tensor *engine.Tensor) float64 { return read(t, tensor)[m] }
		fixed := map[*engine.Tensor]float64{}
		for _, tensor := range []*engine.Tensor{p.actorLoss.Clip, p.actorLoss.Weight, p.criticLoss.Weight, p.actorLoss.EntropyWeight} {
			fixed[tensor] = hyper(tensor)
		}
		hyper = func(tensor *engine.Tensor) float64 { return fixed[tensor] }
		want := g.loss(g.memberParams(m), m, at, hyper)
		for name, pair := range map[string][2]float64{
			"actor loss": {reported(actorLosses, 0, m), want.actor}, "entropy": {reported(actorLosses, 1, m), want.entropy},
			"divergence": {reported(actorLosses, 2, m), want.divergence}, "clipped share": {reported(actorLosses, 3, m), want.clipped},
			"critic loss": {reported(criticLosses, 0, m), want.critic},
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
				t.Errorf("%s: the gradient of member %d by parameter %d is %g; the difference quotient is %g, the largest %g",
					g.name, m, i, gradient[m*row+i], slope, largest)
			}
		}
	}
	t.Logf("%s: largest deviation %.1e of the largest gradient", g.name, worst)
}

// recordGradients records the gradients of actor and critic for the first count minibatches; the last one's remain.
func (p *PPO) recordGradients(r *engine.Recorder, count int) {
	prepare := func(r *engine.Recorder, m minibatch) { m.recordInputs(r, p.agent) }
	if p.parts != nil {
		p.parts.begin(r, prepare)
	}
	r.Repeat(count, func(r *engine.Recorder, i engine.Counter) { p.recordMinibatch(r, i.Tensor(), prepare) })
	if p.parts != nil {
		p.parts.recordLosses(r)
	}
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
	for k, net := range []nn.Model{a.actor.Model(), a.critic.Model()} {
		base := k * criticBase(a)
		for _, l := range net.Layers() {
			some(base+l.Weight, l.In*l.Out)
			some(base+l.Bias, l.Out)
			if l.Norms {
				some(base+l.Scale, l.Out)
				some(base+l.Shift, l.Out)
			}
		}
	}
	if n := a.head.Parameters(); n > 0 {
		some(a.headBase(), n)
	}
	return out
}
