package rl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// gruQ is a GRU without biases before it and a linear layer of action values after it, in float64.
type gruQ struct {
	model  nn.Recurrent
	params []float64
}

// step returns the values and the memory after a step.
func (g gruQ) step(x, h []float64) (q, next []float64) {
	l, u := g.model.Layers(), g.model.Units
	cell, out := l[0], l[1]
	product := func(x []float64, at, gate, j int) (sum float64) {
		for i, v := range x {
			sum += v * g.params[at+i*3*u+gate*u+j]
		}
		return sum
	}
	next, q = make([]float64, u), make([]float64, g.model.Out)
	for j := range u {
		bias := func(gate int) float64 { return g.params[cell.Bias+gate*u+j] }
		r := 1 / (1 + math.Exp(-(product(x, cell.Weight, 0, j) + bias(0) + product(h, cell.Recurrent, 0, j))))
		z := 1 / (1 + math.Exp(-(product(x, cell.Weight, 1, j) + bias(1) + product(h, cell.Recurrent, 1, j))))
		n := math.Tanh(product(x, cell.Weight, 2, j) + bias(2) + r*(product(h, cell.Recurrent, 2, j)+g.params[cell.RecurrentBias+j]))
		next[j] = (1-z)*n + z*h[j]
	}
	for a := range q {
		q[a] = g.params[out.Bias+a]
		for j, v := range next {
			q[a] += v * g.params[out.Weight+j*g.model.Out+a]
		}
	}
	return q, next
}

// over returns the values at consecutive steps, and the memory that the step after them begins with.
func (g gruQ) over(obs [][]float64, ends []bool, h []float64) (q [][]float64, last []float64) {
	for t, x := range obs {
		var y []float64
		y, h = g.step(x, h)
		q = append(q, y)
		if ends[t] {
			h = make([]float64, len(h))
		}
	}
	return q, h
}

// qSequence is a sequence of a batch: what the first steps bring the memory up to date with, and what is learned from.
type qSequence struct {
	burn, learn         [][]float64
	burnEnds, learnEnds []bool
	memory              []float64
	action              []int
	reward              []float64
	done                []envs.Done
}

// loss is the sum of the squared errors, with the values of next steps and the memory after the burn-in held constant.
func (s qSequence) loss(online gruQ, memory, next []float64, discount float64) (sum float64) {
	q, _ := online.over(s.learn, s.learnEnds, memory)
	for t, d := range s.done {
		if d&envs.Void != 0 {
			continue
		}
		target := s.reward[t]
		if d&envs.Terminated == 0 {
			target += discount * next[t+1]
		}
		e := q[t][s.action[t]] - target
		sum += e * e
	}
	return sum
}

// values are those that steps bootstrap from, of the targets: at their own best actions or, with double, at those of the network.
func (s qSequence) values(online, target gruQ, double bool) (values []float64) {
	of, _ := target.over(s.learn, s.learnEnds, s.starts(target))
	by := of
	if double {
		by, _ = online.over(s.learn, s.learnEnds, s.starts(online))
	}
	for t, q := range of {
		values = append(values, q[slices.Index(by[t], slices.Max(by[t]))])
	}
	return values
}

// An update of DQN with memory is compared with float64: sequences of a replay, whose first steps only bring the memory up to date, from that with
// which the policy acted; the values of the next observations are those at the next step.
func TestRecurrentQUpdate(t *testing.T) {
	for name, double := range map[string]bool{"plain": false, "double": true} {
		t.Run(name, func(t *testing.T) { testRecurrentQUpdate(t, double) })
	}
}

func testRecurrentQUpdate(t *testing.T, double bool) {
	const members, rate, epsilon = 2, 0.05, 0.5
	cfg := DefaultDQN()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = members, 3, 4, 1.0/12, 180
	cfg.LearningRate, cfg.OptimizerEpsilon, cfg.Discount, cfg.Double = rate, epsilon, 0.9, double
	network, replay := DefaultDQNNetwork(), DefaultDQNReplay()
	network.Hidden, network.Layers = nil, []nn.LayerConfig{{Kind: nn.GRU, Units: 3}}
	replay.Capacity, replay.Batch, replay.Save = 240, 20, true
	along := SequenceConfig{BurnIn: 4, Steps: 10, Stored: true}
	o, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(4)), lookup(t, "CartPole-v1"), cfg, Network(network), Replays(replay), Sequences(along),
		Environment(envs.Options{TimeLimit: 13})) // so that episodes are truncated, too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	learner := o.learner.(*qLearner)
	weights, targets := learner.network.params(), learner.target
	row := weights.Len() / members
	model := nn.Recurrent{In: 4, Out: 2, Cell: nn.GRU, Units: 3}
	if model.Size() != learner.network.Model().Size() {
		t.Fatalf("a network of %d parameters; want %d", learner.network.Model().Size(), model.Size())
	}
	for i, x := range []*engine.Tensor{weights, targets} {
		params := make([]float32, x.Len())
		for m := range members {
			model.Init(params[m*row:][:row], nn.Orthogonal, 1, 1, engine.NewRng(4, uint32(i), uint32(m), 0, 0))
		}
		if err := x.WriteFloat32(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	before, target := read(t, weights), read(t, targets)
	poisonState(t, o)
	if _, err := o.Step(t.Context(), 0); err != nil {
		t.Fatal(err)
	}

	after, b := read(t, weights), o.sequences.Batch()
	ended, truncated, begins, through := 0, 0, 0, 0.0
	for m := range members {
		was, aim := gruQ{model, before[m*row:][:model.Size()]}, gruQ{model, target[m*row:][:model.Size()]}
		slope := make([]float64, model.Size())
		for i := range replay.Batch {
			q := sequenceOf(t, b, m, i)
			if q.burnEnds[along.BurnIn-1] {
				begins++
			}
			for t, d := range q.done {
				if t < along.Steps && d&envs.Void != 0 {
					truncated++
				}
				if d.Over() {
					ended++
				}
			}
			memory, next := q.starts(was), q.values(was, aim, double)
			for k := range slope {
				const h = 1e-5
				moved := func(by float64, throughBurnIn bool) float64 {
					g := gruQ{model, slices.Clone(was.params)}
					g.params[k] += by
					if throughBurnIn {
						return q.loss(g, q.starts(g), next, cfg.Discount)
					}
					return q.loss(g, memory, next, cfg.Discount)
				}
				d := (moved(h, false) - moved(-h, false)) / (2 * h)
				slope[k] += d / float64(replay.Batch*along.Steps) // of the mean
				through = max(through, math.Abs((moved(h, true)-moved(-h, true))/(2*h)-d))
			}
		}
		var got, want []float64
		for k, d := range slope {
			got, want = append(got, after[m*row+k]-before[m*row+k]), append(want, -rate*d/(math.Abs(d)+epsilon)) // Adam's first step
		}
		if d := deviation(got, want); !(d <= 2e-6) {
			t.Errorf("member %d: the step deviates from float64 by %.3g of the largest; want at most 2e-6", m, d)
		}
	}
	t.Logf("%d ends, %d of them truncations, %d at the end of a burn-in; gradients through burn-ins up to %.2g", ended, truncated, begins, through)
	if truncated < 5 || ended < truncated+5 || begins == 0 || through < 1e-2 {
		t.Error("too little of these to tell")
	}
}

// starts returns the memory with which the steps to learn from begin.
func (s qSequence) starts(g gruQ) []float64 {
	_, h := g.over(s.burn, s.burnEnds, s.memory)
	return h
}

// sequenceOf reads sequence i of a member.
func sequenceOf(t *testing.T, b SequenceBatch, member, i int) (s qSequence) {
	t.Helper()
	count := b.Index.Size("sequence")
	rows := func(p SequenceSteps, x *engine.Tensor) (rows [][]float64) {
		steps, values := p.Reward.Size(engine.TimeAxis), read(t, x)
		size := x.Len() / p.Reward.Len()
		for k := range steps {
			rows = append(rows, values[((member*steps+k)*count+i)*size:][:size])
		}
		return rows
	}
	s.burn, s.learn = rows(b.BurnIn, b.BurnIn.Obs), rows(b.Learn, b.Learn.Obs)
	h := b.Memory.Size("float")
	s.memory = read(t, b.Memory)[(member*count+i)*h:][:h]
	for _, e := range rows(b.BurnIn, b.BurnIn.Ends) {
		s.burnEnds = append(s.burnEnds, e[0] != 0)
	}
	action, reward, done := rows(b.Learn, b.Learn.Action), rows(b.Learn, b.Learn.Reward), rows(b.Learn, b.Learn.Done)
	for k, e := range rows(b.Learn, b.Learn.Ends) {
		s.learnEnds = append(s.learnEnds, e[0] != 0)
		s.action, s.reward, s.done = append(s.action, int(action[k][0])), append(s.reward, reward[k][0]), append(s.done, envs.Done(done[k][0]))
	}
	return s
}

// TestNextRows: the losses take the outputs for the next observations some rows ahead, as if these were apart; the last rows have none.
func TestNextRows(t *testing.T) {
	const members, rows, ahead, actions, atoms = 2, 131, 7, 3, 5
	eng := engine.New(open(t), engine.Seed(1))
	s := eng.NewState()
	t.Cleanup(func() { _ = s.Close() })
	size := func(n int) engine.Dim { return engine.Axis("element", n) }
	rng := engine.NewRng(2, 0, 0, 0, 0)
	draw := func(name string, n int, value func() float32) *engine.Tensor {
		x, values := s.Tensor(name, engine.Float32, engine.Members(members), size(n)), make([]float64, members*n)
		for i := range values {
			values[i] = float64(value())
		}
		write(t, x, values)
		return x
	}
	normal, one := rng.Normal, func() float32 { return 1 }
	for name, outputs := range map[string]int{"values": actions + 1, "atoms": atoms * (actions + 1)} {
		t.Run(name, func(t *testing.T) {
			tensor := func(what string, n int, value func() float32) *engine.Tensor { return draw(name+"_"+what, n, value) }
			value, next := tensor("value", rows*outputs, normal), tensor("next", rows*outputs, normal)
			shifted := func(what string, of *engine.Tensor) *engine.Tensor {
				all := read(t, of)
				x := tensor(what, rows*outputs, one)
				moved := make([]float64, len(all))
				for i := range moved {
					member, row := i/(rows*outputs), i/outputs%rows
					moved[i] = all[(member*rows+min(row+ahead, rows-1))*outputs+i%outputs]
				}
				write(t, x, moved)
				return x
			}
			apart, choices := shifted("apart", next), shifted("choices", value)
			action := tensor("action", rows, func() float32 { return float32(rng.Uint32() % actions) })
			reward, factor, weight := tensor("reward", rows, normal), tensor("factor", rows, rng.Uniform), tensor("weight", rows, rng.Uniform)
			each := func(what string) *engine.Tensor { return tensor(what, 1, one) }
			scale, interval, tau, share := each("scale"), each("interval"), each("tau"), each("share")
			count := s.Tensor(name+"_count", engine.Uint32, size(1))
			if err := count.WriteUint32(t.Context(), []uint32{0}); err != nil {
				t.Fatal(err)
			}
			results := func(next, choice *engine.Tensor, ahead uint32) (all []float64) {
				out := []*engine.Tensor{value, action, reward, factor} // shapes of what is written
				for i, of := range out {
					out[i] = s.Tensor(fmt.Sprintf("%s_out_%d_%d", name, i, ahead), engine.Float32, of.Dims()...)
					poison(t, out[i])
				}
				k := dqnLossKernel{
					Value: value.Range(), NextValue: next.Range(), NextChoice: choice.Range(), Action: action.Range(), Reward: reward.Range(), Factor: factor.Range(),
					Weight: weight.Range(), RewardScale: scale.Range(), Clock: count.Range(), Update: count.Range(), Interval: interval.Range(), Tau: tau.Range(),
					AtValue: out[0].Range(), Error: out[1].Range(), Loss: out[2].Range(), Chosen: out[3].Range(), Share: share.Range(),
					Rows: rows, Ahead: ahead, Actions: actions, Updates: 1, Dueling: true, LocalSizeX: 64,
				}
				run(t, eng, func(r *engine.Recorder) {
					if outputs == actions+1 {
						r.Dispatch(k.call(rows/64+1, members, 1))
						return
					}
					r.Dispatch(dqnCategoricalLossKernel{
						Value: k.Value, NextValue: k.NextValue, NextChoice: k.NextChoice, Action: k.Action, Reward: k.Reward, Factor: k.Factor, Weight: k.Weight,
						RewardScale: k.RewardScale, Clock: k.Clock, Update: k.Update, Interval: k.Interval, Tau: k.Tau, Share: k.Share,
						AtValue: k.AtValue, Error: k.Error, Loss: k.Loss, Chosen: k.Chosen,
						Rows: k.Rows, Ahead: k.Ahead, Actions: k.Actions, Updates: k.Updates, Dueling: k.Dueling, LocalSizeX: k.LocalSizeX,
						Atoms: atoms, Low: -2, High: 3,
					}.call(rows/64+1, members, 1))
				})
				for _, x := range out {
					all = append(all, read(t, x)...)
				}
				return all
			}
			got, want := results(next, value, ahead), results(apart, choices, 0)
			if !slices.Equal(got, want) {
				t.Errorf("losses and gradients of rows with the next outputs %d ahead differ from those with the outputs apart", ahead)
			}
		})
	}
}

// TestRecurrentQLearns: with memory DQN turns to the side that was shown at the maze's beginning. Without, it cannot know: TestRecurrentPPOLearns. The
// settings of configs/dqn-rnn-tmaze.toml, but for fewer steps.
func TestRecurrentQLearns(t *testing.T) {
	cfg := DefaultDQN()
	cfg.Environments, cfg.RolloutLength, cfg.UpdatesPerStep, cfg.LearningStarts = 16, 11, 1.0/22, 1760
	cfg.LearningRate, cfg.ExplorationSteps, cfg.Double = 1e-3, 28160, true
	network, replay := DefaultDQNNetwork(), DefaultDQNReplay()
	network.Hidden, network.Layers = nil, cells(nn.GRU, 32)
	replay.Capacity, replay.Batch = 22000, 32
	o, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "TMaze-v0"), cfg, Network(network), Replays(replay),
		Sequences(SequenceConfig{Steps: 11, Stored: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got := learn(t, o, 240*cfg.Environments*cfg.RolloutLength); !(got >= 0.95) {
		t.Errorf("mean return %.2f; want at least 0.95: 1 with memory, 0.5 without", got)
	}
}
