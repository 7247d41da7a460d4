package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// trajectory is a trajectory's data of one environment, and the present networks' outputs, in float64.
type trajectory struct {
	value, nextValue, ratio, reward []float64 // [T]
	done                            []envs.Done
}

// thresholds are a member's hyperparameters.
type thresholds struct{ discount, lambda, rho, c, policyRho float64 }

// targets are equation 1 as a sum: every temporal difference up to the episode's end, by the product of the ratios
// before it.
func (x trajectory) targets(h thresholds) []float64 {
	out := make([]float64, len(x.value))
	for s := range out {
		out[s] = x.value[s]
		weight := 1.0
		for t := s; t < len(x.value); t++ {
			out[s] += weight * min(h.rho, x.ratio[t]) * x.difference(t, x.nextValue[t], h)
			if x.done[t].Over() {
				break
			}
			weight *= h.discount * h.lambda * min(h.c, x.ratio[t])
		}
	}
	return out
}

// difference is r + γ next - V(s) of step t.
func (x trajectory) difference(t int, next float64, h thresholds) float64 {
	if x.done[t]&envs.Terminated != 0 {
		next = 0
	}
	return x.reward[t] + h.discount*next - x.value[t]
}

// advantages are as in section 4.2 or, mixed, as in acme.
func (x trajectory) advantages(targets []float64, mixed bool, h thresholds) []float64 {
	out := make([]float64, len(targets))
	for t := range out {
		next := x.nextValue[t]
		if t+1 < len(out) && !x.done[t].Over() {
			next = targets[t+1]
			if mixed {
				next = h.lambda*next + (1-h.lambda)*x.value[t+1]
			}
		}
		out[t] = min(h.policyRho, x.ratio[t]) * x.difference(t, next, h)
	}
	return out
}

// lambdaReturns are as in R. Sutton, A. Barto, "Reinforcement Learning", 2018, equation 12.2 in its recursive form.
func (x trajectory) lambdaReturns(h thresholds) []float64 {
	out := make([]float64, len(x.value))
	for t := len(out) - 1; t >= 0; t-- {
		next := x.nextValue[t]
		if t+1 < len(out) && !x.done[t].Over() {
			next = (1-h.lambda)*next + h.lambda*out[t+1]
		}
		out[t] = x.value[t] + x.difference(t, next, h)
	}
	return out
}

// partsOf lists the environments of a member's minibatch of whole trajectories, or the transitions in [T, E] of another.
func (m *minibatches) partsOf(seed uint32, member, iteration, epoch, index int) []int {
	n := m.Environments
	if !m.Trajectories {
		n *= m.Horizon
	}
	key := engine.Philox([2]uint32{seed, m.Stream}, [4]uint32{uint32(member), 0, uint32(iteration), uint32(epoch)})
	size, more := n/m.Count, n%m.Count
	begin := index*size + min(index, more)
	if index < more {
		size++
	}
	out := make([]int, size)
	for i := range out {
		out[i] = int(engine.Permute(uint32(begin+i), uint32(n), key))
	}
	return out
}

// TestVTrace compares targets and advantages with the definition in float64: every head, thresholds on both sides of
// the ratios, episodes that end in every way, every minibatch of two epochs. On policy the targets are the
// lambda-returns.
func TestVTrace(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	heads := []func(*NetworkConfig) envs.Space{
		func(*NetworkConfig) envs.Space { return envs.Discrete(3) },
		func(*NetworkConfig) envs.Space { return envs.Symmetric(1, 1) },
		func(n *NetworkConfig) envs.Space {
			n.StateDependentStd, n.Squash, n.MinLogStd, n.MaxLogStd = true, true, -1, 0.5
			return envs.Symmetric(1, 1, 1)
		},
		func(n *NetworkConfig) envs.Space { n.Bins = 4; return envs.Symmetric(1, 1) },
	}
	for i, size := range [][4]int{{1, 1, 1, 1}, {7, 3, 5, 2}, {33, 2, 67, 4}, {129, 5, 13, 3}} {
		for j, head := range heads {
			for _, spread := range []float64{0, 0.4} { // of the log-ratios: 0 is on policy
				cfg, network := DefaultIMPALA(), DefaultNetwork()
				cfg.RolloutLength, cfg.Members, cfg.Environments, cfg.Minibatches, cfg.Epochs = size[0], size[1], size[2], size[3], 2
				cfg.MixValues = (i+j)%2 == 1
				network.Hidden = []int{4}
				action := head(&network)
				t.Run(fmt.Sprintf("%v, %d, %g", size, j, spread), func(t *testing.T) {
					newVTraceCase(t, newIMPALALearner(t, eng, spaces(2, action), network, cfg), spread).check(t, eng)
				})
			}
		}
	}
}

// TestVTraceOfManyActions: as TestVTrace, of actors whose logits are read from memory; of a thousand for more steps than an invocation has loop iterations for.
func TestVTraceOfManyActions(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	for i, of := range []struct {
		action envs.Space
		bins   int
		size   [4]int
	}{
		{envs.Discrete(49), 0, [4]int{33, 2, 13, 4}}, {envs.Discrete(64), 0, [4]int{7, 3, 5, 2}}, {envs.Discrete(1000), 0, [4]int{129, 1, 3, 2}},
		{envs.Symmetric(1, 1, 1), 21, [4]int{7, 2, 5, 2}},
	} {
		cfg, network := DefaultIMPALA(), DefaultNetwork()
		cfg.RolloutLength, cfg.Members, cfg.Environments, cfg.Minibatches, cfg.Epochs = of.size[0], of.size[1], of.size[2], of.size[3], 2
		cfg.MixValues = i%2 == 1
		network.Hidden, network.Bins = []int{4}, of.bins
		t.Run(fmt.Sprintf("%v, %d bins", of.action, of.bins), func(t *testing.T) {
			c := newVTraceCase(t, newIMPALALearner(t, eng, spaces(2, of.action), network, cfg), 0.4)
			if c.vtrace.present == nil {
				t.Fatalf("%d logits are held", c.agent.head.Outputs())
			}
			poison(t, c.vtrace.present)
			c.check(t, eng)
		})
	}
}

// TestVTraceForms: log-probabilities of a kernel of its own give the bits of those that V-trace's computes.
func TestVTraceForms(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(7))
	cfg, network := DefaultIMPALA(), DefaultNetwork()
	cfg.RolloutLength, cfg.Members, cfg.Environments, cfg.Minibatches = 9, 3, 11, 2
	network.Hidden = []int{4}
	c := newVTraceCase(t, newIMPALALearner(t, eng, spaces(2, envs.Discrete(nn.HeldLogits)), network, cfg), 0.4)
	s := eng.NewState()
	defer s.Close()
	update := s.Scratch("update", engine.Uint32, engine.Axis("update", 1))
	apart := *c.vtrace
	apart.makePresent(s, c.minibatches)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	poison(t, apart.present)
	m := c.minibatches
	var of [][]int
	for member := range m.Members {
		of = append(of, m.partsOf(eng.Seed(), member, 11, 0, 0))
	}
	c.writeOutputs(t, of)
	var forms [2][]float64
	for i, v := range []*vtrace{c.vtrace, &apart} {
		zero(t, v.advantage, v.target)
		run(t, eng, func(r *engine.Recorder) {
			v.recordCorrection(r, minibatch{m, update, 0}, c.agent, c.actorLoss.Outputs, c.criticLoss.Outputs)
		})
		forms[i] = append(read(t, v.advantage), read(t, v.target)...)
	}
	if !slices.Equal(forms[0], forms[1]) {
		t.Error("targets and advantages differ")
	}
}

// vtraceCase is a learner with random trajectories and outputs.
type vtraceCase struct {
	*IMPALA
	onPolicy                        bool
	outputs                         []float64 // [T, M, E, Out]
	value, nextValue, ratio, reward []float64 // [T, M, E]
	done                            []float64
	hyper                           []thresholds // [M]
}

func newVTraceCase(t *testing.T, p *IMPALA, spread float64) *vtraceCase {
	t.Helper()
	dice := rand.New(rand.NewPCG(3, uint64(p.common.RolloutLength)))
	numbers := func(n int, f func() float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(float32(f()))
		}
		return values
	}
	draw := func(to *engine.Tensor, f func() float64) []float64 {
		values := numbers(to.Len(), f)
		write(t, to, values)
		return values
	}
	uniform := func(low, high float64) func() float64 {
		return func() float64 { return low + (high-low)*dice.Float64() }
	}
	x, h, v := p.minibatches.Trajectory, p.agent.head, p.vtrace
	c := &vtraceCase{IMPALA: p, onPolicy: spread == 0, reward: draw(x.Reward, dice.NormFloat64)}
	c.done = draw(x.Done, func() float64 { return float64(max(0, dice.IntN(16)-12)) }) // terminated, truncated, or both
	n, all := len(c.reward), p.common.Members*p.common.Environments
	c.outputs, c.value = numbers(n*h.Outputs(), dice.NormFloat64), numbers(n, dice.NormFloat64)
	c.nextValue = numbers(n, dice.NormFloat64)
	for i := range n - all {
		if c.done[i] == 0 {
			c.nextValue[i] = c.value[i+all]
		}
	}
	for i, d := range c.done {
		if envs.Done(d)&envs.Terminated != 0 && i%2 == 0 { // the value after the end has no effect
			c.nextValue[i] = math.NaN()
		}
	}
	action := make([]float64, n*h.Words())
	for i := range action {
		action[i] = float64(dice.IntN(h.Width()))
		if h.Kind == nn.Gaussian { // near its mean, so that log-probabilities are small
			action[i] = float64(float32(c.outputs[i/h.Words()*h.Outputs()+i%h.Words()] + 0.3*dice.NormFloat64()))
		}
	}
	write(t, x.Action, action)
	params, row := draw(p.agent.Actor(), uniform(-1, 0.5)), rowOf(p.agent.Actor())
	c.ratio = make([]float64, n)
	old := draw(x.LogProb, dice.NormFloat64)
	for i := range n {
		m := i / p.common.Environments % p.common.Members
		logStd := params[m*row+p.agent.headBase() : m*row+p.agent.headBase()+h.Parameters()]
		now, _ := logProb(h, c.outputs[i*h.Outputs():(i+1)*h.Outputs()], logStd, action[i*h.Words():(i+1)*h.Words()])
		old[i] = float64(float32(now + spread*old[i]))
		c.ratio[i] = math.Exp(now - old[i])
	}
	write(t, x.LogProb, old)
	low := 0.6
	if c.onPolicy {
		low = 1.1 // so that ratios of 1 but for rounding are not clipped
	}
	discount, lambda := draw(v.discount, uniform(0.9, 1)), draw(v.lambda, uniform(0.7, 1))
	rho, cs, policyRho := draw(v.rho, uniform(low, 1.7)), draw(v.c, uniform(low, 1.7)), draw(v.policyRho, uniform(low, 1.7))
	for m := range p.common.Members {
		c.hyper = append(c.hyper, thresholds{discount[m], lambda[m], rho[m], cs[m], policyRho[m]})
	}
	write(t, p.Clock().Tensor(), []float64{11, 0})
	return c
}

// check compares every minibatch. Elements of other minibatches must stay poisoned.
func (c *vtraceCase) check(t *testing.T, eng *engine.Engine) {
	t.Helper()
	s := eng.NewState()
	defer s.Close()
	update := s.Scratch("update", engine.Uint32, engine.Axis("update", 1))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, worst, size, compared := c.minibatches, 0.0, 0.0, 0
	for u := range c.cfg.Epochs * c.cfg.Minibatches {
		var of [][]int // environments of each member
		for member := range m.Members {
			of = append(of, m.partsOf(eng.Seed(), member, 11, u/m.Count, u%m.Count))
		}
		c.writeOutputs(t, of)
		write(t, update, []float64{float64(u)})
		poison(t, c.vtrace.advantage, c.vtrace.target)
		run(t, eng, func(r *engine.Recorder) {
			c.vtrace.recordCorrection(r, minibatch{m, update, 0}, c.agent, c.actorLoss.Outputs, c.criticLoss.Outputs)
		})
		advantage, target := read(t, c.vtrace.advantage), read(t, c.vtrace.target)
		for member, h := range c.hyper {
			for _, e := range of[member] {
				x := c.trajectory(member, e)
				wantTarget := x.targets(h)
				if c.onPolicy {
					wantTarget = x.lambdaReturns(h)
				}
				for step, want := range x.advantages(wantTarget, c.cfg.MixValues, h) {
					at := c.at(step, member, e)
					for _, d := range []float64{advantage[at] - want, target[at] - wantTarget[step]} {
						if worst = max(worst, math.Abs(d)); d != d {
							t.Fatalf("step %d of environment %d, member %d is not a number", step, e, member)
						}
					}
					size = max(size, math.Abs(want), math.Abs(wantTarget[step]))
					advantage[at], target[at] = math.NaN(), math.NaN()
					compared++
				}
			}
		}
		for at := range target {
			if advantage[at] == advantage[at] || target[at] == target[at] {
				t.Fatalf("element %d is of another minibatch and was written", at)
			}
		}
	}
	if want := c.cfg.Epochs * len(c.reward); compared != want {
		t.Errorf("two epochs have %d transitions; want %d", compared, want)
	}
	t.Logf("largest deviation %.1e", worst/size)
	if !(worst <= 2e-6*size) {
		t.Errorf("targets and advantages deviate by %g of the largest; want at most 2e-6", worst/size)
	}
}

// writeOutputs writes the rows that networks would give for a minibatch; those beyond it are not numbers.
func (c *vtraceCase) writeOutputs(t *testing.T, of [][]int) {
	t.Helper()
	m, out := c.minibatches, c.agent.head.Outputs()
	rows := m.Rows
	y, value, next := make([]float64, m.Members*rows*out), make([]float64, m.Members*rows), make([]float64, m.Members*rows)
	for i := range y {
		y[i], value[i/out], next[i/out] = math.NaN(), math.NaN(), math.NaN()
	}
	for member, environments := range of {
		for step := range m.Horizon {
			for j, e := range environments {
				at, row := c.at(step, member, e), member*rows+step*len(environments)+j
				copy(y[row*out:(row+1)*out], c.outputs[at*out:])
				value[row], next[row] = c.value[at], c.nextValue[at]
			}
		}
	}
	write(t, c.actorLoss.Outputs, y)
	write(t, c.criticLoss.Outputs, value)
	write(t, c.vtrace.nextValue, next)
}

// at is the element of [T, M, E].
func (c *vtraceCase) at(step, member, environment int) int {
	return (step*c.common.Members+member)*c.common.Environments + environment
}

func (c *vtraceCase) trajectory(member, environment int) trajectory {
	var x trajectory
	for step := range c.common.RolloutLength {
		at := c.at(step, member, environment)
		x.value, x.nextValue = append(x.value, c.value[at]), append(x.nextValue, c.nextValue[at])
		x.ratio, x.reward, x.done = append(x.ratio, c.ratio[at]), append(x.reward, c.reward[at]), append(x.done, envs.Done(c.done[at]))
	}
	return x
}
