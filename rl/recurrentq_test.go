package rl

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
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

// loss is half the sum of the squared errors, with targets and the memory after the burn-in held constant.
func (s qSequence) loss(online gruQ, memory []float64, next [][]float64, discount float64) (sum float64) {
	q, _ := online.over(s.learn, s.learnEnds, memory)
	for t, d := range s.done {
		if d&envs.Void != 0 {
			continue
		}
		target := s.reward[t]
		if d&envs.Terminated == 0 {
			target += discount * slices.Max(next[t+1])
		}
		e := q[t][s.action[t]] - target
		sum += e * e / 2
	}
	return sum
}

// Deep Q-learning with memory (M. Hausknecht, P. Stone, 2015; R2D2): sequences of a replay, whose first steps only bring the memory up to date, from
// that with which the policy acted; the values of the next observations are the targets' at the next step. The loss is computed by the host.
// One update is compared with float64.
func TestRecurrentQUpdate(t *testing.T) {
	const (
		members, environments, horizon = 2, 3, 4
		discount, rate                 = 0.9, 0.05
	)
	env := lookup(t, "CartPole-v1")
	eng := engine.New(open(t), engine.Seed(4))
	s := eng.NewState()
	t.Cleanup(func() { _ = s.Close() })
	clock, p := engine.NewClock(s), engine.Members(members)
	model := nn.Recurrent{In: 4, Out: 2, Cell: nn.GRU, Units: 3}
	row := nn.Align(model.Size())
	rates := s.Tensor("learning_rate", engine.Float32, p)
	sgd := optim.New(s, optim.Config{Rule: optim.SGD}, rates, row)
	weights := nn.Weights{Params: sgd.Params()}
	targets := nn.Weights{Params: s.Tensor("targets", engine.Float32, sgd.Params().Dims()...)}
	policy := &envs.Policy{Weights: weights, Network: model, Head: env.Action.Head()}
	limit := envs.Options{TimeLimit: 13} // so that episodes are truncated, too
	rollout, err := envs.NewRollout(t.Context(), s, env, envs.RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Policy: policy, Trajectory: true, Options: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
	replay, err := NewReplay(s.Sub("replay"), engine.NewHyper(s, members), rollout.Trajectory, ReplayConfig{
		Capacity: 240, Batch: 1, BatchShare: 1, Steps: 1, EndShare: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := SequenceConfig{BurnIn: 4, Steps: 10, Batch: 20, Stored: true}
	sequences, err := replay.NewSequences(s.Sub("sequences"), rollout.Trajectory, cfg)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(s.Sub("learner"), model, members, cfg.Batch)
	if err != nil {
		t.Fatal(err)
	}
	pass := func(name string, steps int) *nn.Sequence {
		t.Helper()
		q, err := net.NewSequence(s.Sub(name), steps, cfg.Batch)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	burn, learn, ahead := pass("burn", cfg.BurnIn), pass("learn", cfg.Steps+1), pass("ahead", cfg.Steps+1)
	values := func(name string, steps int) *engine.Tensor {
		return s.Scratch(name, engine.Float32, p, engine.Time(steps), engine.Axis("sequence", cfg.Batch), engine.Axis("output", model.Out))
	}
	unused, online, next, atOnline := values("unused", cfg.BurnIn), values("online", cfg.Steps+1), values("next", cfg.Steps+1), values("at_online", cfg.Steps+1)
	gradient := s.Scratch("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", learn.Splits())}, sgd.Params().Dims()...)...)
	update := s.Scratch("update", engine.Uint32, engine.Axis("count", 1))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, x := range []*engine.Tensor{weights.Params, targets.Params} {
		params := make([]float32, x.Len())
		for m := range members {
			model.Init(params[m*row:], nn.Orthogonal, 1, 1, engine.NewRng(4, uint32(i), uint32(m), 0, 0))
		}
		if err := x.WriteFloat32(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	write(t, rates, []float64{rate, rate})
	before := read(t, weights.Params)

	b := sequences.Batch()
	run(t, eng, func(r *engine.Recorder) {
		rollout.RecordFirst(r, clock)
		for range 60 / horizon {
			rollout.Record(r, clock, policy)
			replay.Append(r, rollout.Trajectory, false)
			clock.Tick(r, 1, horizon)
		}
		sequences.Sample(r, clock, update)
		from := func(w nn.Weights) nn.Inputs { // with which a pass over the steps to learn from begins
			burn.Forward(r, w, nn.Inputs{Parts: []*engine.Tensor{b.BurnIn.Obs}, Memory: b.Memory}, b.BurnIn.Ends, unused)
			burn.Release()
			return nn.Inputs{Parts: []*engine.Tensor{b.Learn.Obs}, Memory: burn.Memory(), Begins: nn.Begins{Words: b.Begins}}
		}
		ahead.Forward(r, targets, from(targets), b.Learn.Ends, next)
		ahead.Release()
		learn.Forward(r, weights, from(weights), b.Learn.Ends, online)
		r.Host("loss", func(ctx context.Context) error {
			q, err := online.ReadFloat32(ctx)
			if err != nil {
				return err
			}
			slopes, ahead := make([]float32, len(q)), read(t, next)
			action, reward, done := read(t, b.Learn.Action), read(t, b.Learn.Reward), read(t, b.Learn.Done)
			for i, d := range done {
				if envs.Done(d)&envs.Void != 0 {
					continue
				}
				target := reward[i]
				if envs.Done(d)&envs.Terminated == 0 {
					after := i + cfg.Batch // of the next step
					target += discount * slices.Max(ahead[after*model.Out:][:model.Out])
				}
				at := i*model.Out + int(action[i])
				slopes[at] = q[at] - float32(target)
			}
			return atOnline.WriteFloat32(ctx, slopes)
		})
		learn.Backward(r, atOnline, nn.SequenceGradients{Gradients: nn.Gradients{Params: gradient}})
		sgd.Step(r, gradient)
	})

	after, target := read(t, weights.Params), read(t, targets.Params)
	ended, truncated, begins, through := 0, 0, 0, 0.0
	for m := range members {
		var batch []qSequence
		for i := range cfg.Batch {
			batch = append(batch, sequenceOf(t, b, m, i))
		}
		was := gruQ{model, before[m*row:][:model.Size()]}
		slope := make([]float64, model.Size())
		for _, q := range batch {
			if q.burnEnds[cfg.BurnIn-1] {
				begins++
			}
			for t, d := range q.done {
				if t < cfg.Steps && d&envs.Void != 0 {
					truncated++
				}
				if d.Over() {
					ended++
				}
			}
			ahead, memory := q.starts(gruQ{model, target[m*row:][:model.Size()]}), q.starts(was)
			next, _ := gruQ{model, target[m*row:][:model.Size()]}.over(q.learn, q.learnEnds, ahead)
			for k := range slope {
				const h = 1e-5
				moved := func(by float64, throughBurnIn bool) float64 {
					g := gruQ{model, slices.Clone(was.params)}
					g.params[k] += by
					if throughBurnIn {
						return q.loss(g, q.starts(g), next, discount)
					}
					return q.loss(g, memory, next, discount)
				}
				d := (moved(h, false) - moved(-h, false)) / (2 * h)
				slope[k] += d
				through = max(through, math.Abs((moved(h, true)-moved(-h, true))/(2*h)-d))
			}
		}
		var got, want []float64
		for k, d := range slope {
			got, want = append(got, after[m*row+k]-before[m*row+k]), append(want, -rate*d)
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
