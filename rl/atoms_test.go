package rl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// updateAtoms are distributions with some targets beyond their ends.
var updateAtoms = CriticConfig{Atoms: 7, MinValue: -2, MaxValue: 3, ClippedDouble: true}

// distributional are settings with such critics.
func distributional(c TD3Config, clipped bool) TD3Config {
	c.CriticConfig = updateAtoms
	c.ClippedDouble = clipped
	return c
}

func softmax(logits []float64) []float64 {
	out := logSoftmax(logits)
	for i, l := range out {
		out[i] = math.Exp(l)
	}
	return out
}

func (c CriticConfig) atom(i int) float64 {
	return c.MinValue + (c.MaxValue-c.MinValue)*float64(i)/float64(c.Atoms-1)
}

func (c CriticConfig) mean(p []float64) (sum float64) {
	for i, x := range p {
		sum += x * c.atom(i)
	}
	return sum
}

// project is a distribution at r + f (z - shift), projected on the atoms (M. G. Bellemare et al., 2017, equation 7).
func (c CriticConfig) project(p []float64, r, f, shift float64) []float64 {
	m := make([]float64, c.Atoms)
	for j, x := range p {
		place := min(max(r+f*(c.atom(j)-shift), c.MinValue), c.MaxValue)
		for i := range m {
			m[i] += x * max(0, 1-math.Abs(place-c.atom(i))/(c.atom(1)-c.atom(0)))
		}
	}
	return m
}

// descendDistributions steps critics that are distributions towards the next actions' distributions (Y. Seo et al., "FastTD3", 2025, section 2).
func (f *memberReference) descendDistributions(alpha float64, next func(row int) (action []float64, logProb float64)) {
	ac := f.c.ac
	outputs := func(critics, obs, action []float64) (out [][]float64) {
		x, row := append(append([]float64(nil), obs...), action...), len(critics)/ac.twins
		for i := range ac.twins {
			out = append(out, forward(ac.critics.Model(), critics[i*row:], x))
		}
		return out
	}
	targets := make([][][]float64, updateRows) // of each critic
	for i := range targets {
		action, logProb := next(i)
		for _, y := range outputs(f.values["target critics"], f.row("next", i, updateObs), action) {
			m := ac.distribution.project(softmax(y), f.hyper["reward_scale"]*f.values["reward"][i], f.values["factor"][i], alpha*logProb)
			targets[i] = append(targets[i], m)
		}
		if ac.distribution.ClippedDouble {
			smaller := targets[i][0]
			if ac.distribution.mean(targets[i][1]) < ac.distribution.mean(smaller) {
				smaller = targets[i][1]
			}
			targets[i] = [][]float64{smaller, smaller}
		}
	}
	f.descend("critics", "critic_learning_rate", func(critics []float64) (loss float64) {
		for i, m := range targets {
			for c, y := range outputs(critics, f.row("obs", i, updateObs), f.row("action", i, updateAction)) {
				for k, l := range logSoftmax(y) {
					loss -= m[c][k] * l / updateRows
				}
			}
		}
		return loss
	})
}

// TestCategoricalLossOfInfinity: if the next action of a row that bootstraps has no finite log-density, its gradient is not
// finite and does not change the gradients of other rows and members.
func TestCategoricalLossOfInfinity(t *testing.T) {
	const members, rows, atoms = 2, 5, 7
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	p, row := engine.Members(members), engine.Axis("row", rows)
	critic, atom := engine.Axis("critic", 2), engine.Axis("atom", atoms)
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Float32, dims...) }
	reward, factor, logProb, loss := tensor("reward", p, row), tensor("factor", p, row), tensor("log_prob", p, row), tensor("loss", p, row)
	next, value, at := tensor("next", p, critic, row, atom), tensor("value", p, critic, row, atom), tensor("gradient", p, critic, row, atom)
	temperature, scale, chosen := tensor("temperature", p), tensor("scale", p), tensor("chosen", p, critic, row)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, temperature, []float64{1, 1})
	write(t, scale, []float64{1, 1})
	write(t, factor, slices.Repeat([]float64{0.9}, members*rows))
	const bad = rows - 1 // the last row of the first member
	gradient := func(density float64) []float64 {
		x := make([]float64, members*rows)
		x[bad] = density
		write(t, logProb, x)
		poison(t, at, loss, chosen)
		size := uint32(8)
		run(t, eng, func(r *engine.Recorder) {
			r.Dispatch(categoricalQLossKernel{
				Reward: reward.Range(), Factor: factor.Range(), NextValue: next.Range(), NextLogProb: logProb.Range(), Temperature: temperature.Range(),
				RewardScale: scale.Range(), Value: value.Range(), AtValue: at.Range(), Loss: loss.Range(), Chosen: chosen.Range(),
				Rows: rows, Atoms: atoms, Low: -2, High: 3, LocalSizeX: size, Critics: 2,
			}.call(1, members, 1))
		})
		return read(t, at)
	}
	want := gradient(0)
	for _, density := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		for i, x := range gradient(density) {
			if of := i / atoms; of == bad || of == rows+bad {
				if !math.IsNaN(x) {
					t.Errorf("density %g: gradient %d is %g; want NaN", density, i, x)
				}
			} else if x != want[i] {
				t.Errorf("density %g: gradient %d is %g; want %g", density, i, x, want[i])
			}
		}
	}
}

// TestCategoricalLossOfTerminated: where the factor is 0, the next state has no effect on the loss and its gradient even if its values and log-density are
// not finite; elsewhere such values are passed on.
func TestCategoricalLossOfTerminated(t *testing.T) {
	const members, rows, atoms, actions = 2, 5, 7, 3
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	p, row, one := engine.Members(members), engine.Axis("row", rows), engine.Axis("one", 1)
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Float32, dims...) }
	reward, factor, logProb, loss := tensor("reward", p, row), tensor("factor", p, row), tensor("log_prob", p, row), tensor("loss", p, row)
	temperature, scale, action, errs := tensor("temperature", p), tensor("scale", p), tensor("action", p, row), tensor("error", p, row)
	critics := [3]*engine.Tensor{}
	outputs := [3]*engine.Tensor{}
	for i, name := range []string{"next", "value", "gradient"} {
		critics[i] = tensor("critic "+name, p, engine.Axis("critic", 2), row, engine.Axis("atom", atoms))
		outputs[i] = tensor(name, p, row, engine.Axis("output", actions*atoms))
	}
	chosen, means, share, interval := tensor("chosen", p, row), tensor("means", p, engine.Axis("critic", 2), row), tensor("share", p), tensor("interval", p)
	clock, update := s.Scratch("clock", engine.Uint32, one), s.Scratch("update", engine.Uint32, one)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, temperature, []float64{0.5, 1})
	write(t, scale, []float64{1, 2})
	write(t, interval, []float64{1, 1})
	dice := rand.New(rand.NewPCG(1, 2))
	for _, x := range []*engine.Tensor{reward, logProb, critics[0], critics[1], outputs[0], outputs[1]} {
		values := make([]float64, x.Len())
		for i := range values {
			values[i] = dice.NormFloat64()
		}
		write(t, x, values)
	}
	const ended, goesOn = 1, 3 // rows of the first member whose next values are bad
	factors := make([]float64, members*rows)
	for i := range factors {
		factors[i] = 0.9
	}
	factors[ended] = 0
	write(t, factor, factors)
	gradients := func() (of [2][]float64) {
		poison(t, critics[2], outputs[2], loss, chosen, means, errs, share)
		run(t, eng, func(r *engine.Recorder) {
			r.Dispatch(categoricalQLossKernel{
				Reward: reward.Range(), Factor: factor.Range(), NextValue: critics[0].Range(), NextLogProb: logProb.Range(), Temperature: temperature.Range(),
				RewardScale: scale.Range(), Value: critics[1].Range(), AtValue: critics[2].Range(), Loss: loss.Range(), Chosen: means.Range(),
				Rows: rows, Atoms: atoms, Low: -2, High: 3, LocalSizeX: 8, Critics: 2,
			}.call(1, members, 1))
		})
		of[0] = append(read(t, critics[2]), read(t, loss)...)
		run(t, eng, func(r *engine.Recorder) {
			r.Dispatch(dqnCategoricalLossKernel{
				Value: outputs[1].Range(), NextValue: outputs[0].Range(), Action: action.Range(), Reward: reward.Range(), Factor: factor.Range(),
				RewardScale: scale.Range(), Clock: clock.Range(), Update: update.Range(), Interval: interval.Range(), Tau: interval.Range(),
				AtValue: outputs[2].Range(), Error: errs.Range(), Loss: loss.Range(), Chosen: chosen.Range(), Share: share.Range(),
				Rows: rows, Actions: actions, Atoms: atoms, Updates: 1, Low: -2, High: 3, LocalSizeX: 8,
			}.call(1, members, 1))
		})
		of[1] = append(read(t, outputs[2]), append(read(t, loss), read(t, errs)...)...)
		return of
	}
	want := gradients()
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, at := range []int{ended, goesOn} {
			density, values, nexts := read(t, logProb), read(t, critics[0]), read(t, outputs[0])
			was := [3][]float64{slices.Clone(density), slices.Clone(values), slices.Clone(nexts)}
			density[at], values[at*atoms+2], values[(rows+at)*atoms+4] = bad, bad, bad
			for k := range actions {
				nexts[(at*actions+k)*atoms+3] = bad
			}
			for i, x := range []*engine.Tensor{logProb, critics[0], outputs[0]} {
				write(t, x, [3][]float64{density, values, nexts}[i])
			}
			got := gradients()
			for i, name := range []string{"critics", "DQN"} {
				spoiled := 0
				for k, x := range got[i] {
					if math.IsNaN(x) {
						spoiled++
					} else if math.Abs(x-want[i][k]) > 1e-6 {
						t.Errorf("%s, row %d with %g: element %d is %g; want %g", name, at, bad, k, x, want[i][k])
					}
				}
				expected := [2]int{2*atoms + 1, atoms + 2}[i] // a gradient and a loss: of two critics, or of the action taken, which has an error too
				if at == ended {
					expected = 0
				}
				if spoiled != expected {
					t.Errorf("%s, row %d with %g: %d numbers are not finite; want %d", name, at, bad, spoiled, expected)
				}
			}
			for i, x := range []*engine.Tensor{logProb, critics[0], outputs[0]} {
				write(t, x, was[i])
			}
		}
	}
}
