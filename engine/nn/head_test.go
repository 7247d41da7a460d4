package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// headCase is a batch of a head's outputs with its tensors.
type headCase struct {
	head          Head
	members, rows int
	base, row     int // the offset of the head's parameters in the members' rows, and the floats of a row
	batch         HeadBatch

	outputs, params, noise []float32
	action, logProb        *engine.Tensor
	state                  *engine.State
}

const (
	headStream    = 77
	headIteration = 5
	headUpdate    = 3
)

// newHeadCase makes a batch; draw draws output (member, row, output).
func newHeadCase(t *testing.T, head Head, members, rows int, draw func(m, i, o int) float64) *headCase {
	t.Helper()
	s := testState(t)
	c := &headCase{head: head, members: members, rows: rows, base: 4, row: Align(4 + head.Parameters()), state: s}
	p, b := engine.Members(members), engine.Axis("row", rows)
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Tensor(name, engine.Float32, dims...) }
	c.batch = HeadBatch{
		Parameters: Weights{Params: tensor("params", p, engine.Axis("parameter", c.row)), Base: c.base},
		Outputs:    tensor("outputs", p, b, engine.Axis("output", head.Outputs())),
		Draws:      Draws{Stream: headStream, Clock: engine.NewClock(s), Update: s.Tensor("update", engine.Uint32, engine.Axis("counter", 1))},
	}
	if head.Kind == Deterministic || head.Kind == EpsilonGreedy {
		c.head.Noise = tensor("noise", p)
	}
	c.action, c.logProb = tensor("action", p, b, engine.Axis("word", head.Words())), tensor("log_prob", p, b)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.batch.Draws.Clock.Tensor().WriteUint32(t.Context(), []uint32{headIteration, 0}); err != nil {
		t.Fatal(err)
	}
	if err := c.batch.Draws.Update.WriteUint32(t.Context(), []uint32{headUpdate}); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(3, uint64(rows)))
	c.outputs, c.params = make([]float32, members*rows*head.Outputs()), make([]float32, members*c.row)
	for i := range c.outputs {
		c.outputs[i] = float32(draw(i/head.Outputs()/rows, i/head.Outputs()%rows, i%head.Outputs()))
	}
	for i := range c.params {
		c.params[i] = float32(dice.NormFloat64()/2 - 0.5)
	}
	fill(t, c.batch.Outputs, c.outputs)
	fill(t, c.batch.Parameters.Params, c.params)
	if c.head.Noise != nil {
		for m := range members {
			c.noise = append(c.noise, 0.1+0.2*float32(m))
		}
		fill(t, c.head.Noise, c.noise)
	}
	return c
}

func (c *headCase) y(m, i int) []float64 {
	n := c.head.Outputs()
	out := make([]float64, n)
	for o := range out {
		out[o] = float64(c.outputs[(m*c.rows+i)*n+o])
	}
	return out
}

func (c *headCase) logStds(m int) []float64 {
	out := make([]float64, c.head.Parameters())
	for o := range out {
		out[o] = float64(c.params[m*c.row+c.base+o])
	}
	return out
}

// rng returns the random number generator of a row.
func (c *headCase) rng(m, i int) *engine.Rng {
	key := engine.Philox([2]uint32{c.state.Engine().Seed(), headStream}, [4]uint32{uint32(m), 0, headIteration, headUpdate})
	return engine.NewRng(key[0], key[1], uint32(m), uint32(i), 0)
}

// sample runs Sample and returns the actions and their log-probabilities.
func (c *headCase) sample(t *testing.T) (action, logProb []float32) {
	t.Helper()
	fill(t, c.action, nil)
	fill(t, c.logProb, nil)
	record(t, c.state, func(r *engine.Recorder) { c.head.Sample(r, c.batch, c.action, c.logProb) })
	return read(t, c.action), read(t, c.logProb)
}

// gaussian computes in float64, from the definitions, the action of a Gaussian head with outputs y and the given
// noise, and its log-probability.
func gaussian(h Head, y, logStds, noise []float64) (action []float64, logProb float64) {
	for o := range h.Size {
		logStd := 0.0
		if h.StateDependent {
			low, high := float64(h.LogStdLow), float64(h.LogStdHigh)
			logStd = low + (high-low)*(math.Tanh(y[h.Size+o])+1)/2
		} else {
			logStd = logStds[o]
		}
		u := y[o] + math.Exp(logStd)*noise[o]
		logProb -= noise[o]*noise[o]/2 + logStd + math.Log(2*math.Pi)/2
		a := u
		if h.Squash {
			a = math.Tanh(u)
			logProb += 2 * math.Log(math.Cosh(u)) // 1 - tanh^2 = 1 / cosh^2
		}
		action = append(action, a)
	}
	return action, logProb
}

func gaussianHeads() []Head {
	return []Head{
		{Kind: Gaussian, Size: 3},
		{Kind: Gaussian, Size: 2, Squash: true},
		{Kind: Gaussian, Size: 3, Squash: true, StateDependent: true, LogStdLow: -5, LogStdHigh: 2},
		{Kind: Gaussian, Size: 1, StateDependent: true, LogStdLow: -3, LogStdHigh: 0},
	}
}

func headName(h Head) string {
	return fmt.Sprintf("%v of %d, squashed %v, state-dependent %v", h.Kind, h.Size, h.Squash, h.StateDependent)
}

// TestGaussianHead compares samples and exact log-probabilities with the definitions in float64, for samples to ±20,
// where tanh is 1 in float32.
func TestGaussianHead(t *testing.T) {
	for _, h := range gaussianHeads() {
		for _, members := range []int{1, 3, 17} {
			const rows = 67
			c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 {
				if o < h.Size {
					return 20 * math.Sin(float64(7*m+3*i+o))
				}
				return 2 * math.Cos(float64(5*m+i+3*o))
			})
			action, logProb := c.sample(t)
			worst, worstLog := 0.0, 0.0
			for j, got := range logProb {
				m, i := j/rows, j%rows
				rng := c.rng(m, i)
				var noise []float64
				for range h.Size {
					noise = append(noise, float64(rng.Normal()))
				}
				want, wantLog := gaussian(h, c.y(m, i), c.logStds(m), noise)
				for o, w := range want {
					worst = max(worst, math.Abs(float64(action[j*h.Size+o])-w)/max(1, math.Abs(w)))
				}
				worstLog = max(worstLog, math.Abs(float64(got)-wantLog)/max(1, math.Abs(wantLog)))
			}
			t.Logf("%s, %d members: largest deviation of actions %.1e, of log-probabilities %.1e", headName(h), members, worst, worstLog)
			// The product of deviation and noise, up to 30, is rounded before tanh.
			if !(worst <= 5e-6 && worstLog <= 2e-6) {
				t.Errorf("%s, %d members: actions deviate by %g, log-probabilities by %g; want at most 5e-6 and 2e-6", headName(h), members, worst, worstLog)
			}
		}
	}
}

// headLoss is a weighted sum of actions and log-probabilities.
func headLoss(h Head, y, logStds, noise, atAction []float64, atLogProb float64) float64 {
	action, logProb := gaussian(h, y, logStds, noise)
	sum := atLogProb * logProb
	for o, a := range action {
		sum += atAction[o] * a
	}
	return sum
}

// difference returns the central difference of f with respect to x[i].
func difference(x []float64, i int, f func() float64) float64 {
	const step = 1e-5
	at := x[i]
	defer func() { x[i] = at }()
	x[i] = at + step
	above := f()
	x[i] = at - step
	return (above - f()) / (2 * step)
}

// TestGaussianHeadBackward compares the gradients at outputs and parameters, with the noise held fixed, with central
// differences in float64.
func TestGaussianHeadBackward(t *testing.T) {
	for _, h := range gaussianHeads() {
		const members, rows, splits = 3, 41, 2
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 1.5 * math.Sin(float64(7*m+3*i+5*o)) })
		s := testState(t)
		tensor := func(name string, values []float32) *engine.Tensor {
			return vectorOf(t, s, name, values, engine.Members(members), engine.Axis("value", len(values)/members))
		}
		atAction, atLogProb := normals(members*rows*h.Size), normals(members*rows)
		g := HeadGradients{
			Action: tensor("at_action", atAction), LogProb: tensor("at_log_prob", atLogProb), Outputs: tensor("at_outputs", make([]float32, len(c.outputs))),
		}
		if h.Parameters() > 0 {
			g.Parameters = s.Scratch("gradient", engine.Float32, engine.Axis("split", splits), engine.Members(members), engine.Axis("parameter", c.row))
			fill(t, g.Parameters, nil)
		}
		fill(t, g.Outputs, nil)
		record(t, c.state, func(r *engine.Recorder) { c.head.Backward(r, c.batch, g) })
		got := read(t, g.Outputs)
		worst := 0.0
		check := func(what string, got, want float64) {
			t.Helper()
			d := math.Abs(got-want) / max(1, math.Abs(want))
			if worst = max(worst, d); !(d <= 2e-5) {
				t.Errorf("%s: gradient at %s is %g; want %g", headName(h), what, got, want)
			}
		}
		wantParameters := make([]float64, members*h.Parameters())
		for m := range members {
			logStds := c.logStds(m)
			for i := range rows {
				j := m*rows + i
				rng, y := c.rng(m, i), c.y(m, i)
				var noise, weights []float64
				for o := range h.Size {
					noise, weights = append(noise, float64(rng.Normal())), append(weights, float64(atAction[j*h.Size+o]))
				}
				loss := func() float64 { return headLoss(h, y, logStds, noise, weights, float64(atLogProb[j])) }
				for o := range y {
					check(fmt.Sprintf("output %d of member %d, row %d", o, m, i), float64(got[j*h.Outputs()+o]), difference(y, o, loss))
				}
				for o := range logStds {
					wantParameters[m*h.Parameters()+o] += difference(logStds, o, loss)
				}
			}
		}
		if h.Parameters() > 0 {
			parts := read(t, g.Parameters)
			for m := range members {
				for o := range c.row {
					sum, poisoned := 0.0, true
					for k := range splits {
						v := parts[(k*members+m)*c.row+o]
						sum, poisoned = sum+float64(v), poisoned && isPoison(v)
					}
					if inside := o >= c.base && o < c.base+h.Parameters(); inside {
						check(fmt.Sprintf("parameter %d of member %d", o-c.base, m), sum, wantParameters[m*h.Parameters()+o-c.base])
					} else if !poisoned {
						t.Errorf("%s: element %d of the gradient of member %d was written", headName(h), o, m)
					}
				}
			}
		}
		t.Logf("%s: largest deviation %.1e", headName(h), worst)
	}
}

// vectorOf makes a scratch tensor with the values.
func vectorOf(t *testing.T, s *engine.State, name string, values []float32, dims ...engine.Dim) *engine.Tensor {
	t.Helper()
	x := s.Scratch(name, engine.Float32, dims...)
	fill(t, x, values)
	return x
}

// TestSquashSaturates: the derivative of a squashed action keeps its relative precision where tanh is 1 in float32.
func TestSquashSaturates(t *testing.T) {
	h := Head{Kind: Deterministic, Size: 1, Squash: true}
	const rows = 81
	c := newHeadCase(t, h, 1, rows, func(_, i, _ int) float64 { return float64(i-40) / 2 })
	c.head.Noise = nil
	ones := slices.Repeat([]float32{1}, rows)
	s := testState(t)
	g := HeadGradients{
		Action:  vectorOf(t, s, "at_action", ones, engine.Members(1), engine.Axis("row", rows)),
		Outputs: vectorOf(t, s, "at_outputs", nil, engine.Members(1), engine.Axis("row", rows)),
	}
	record(t, c.state, func(r *engine.Recorder) { c.head.Backward(r, c.batch, g) })
	for i, got := range read(t, g.Outputs) {
		u := float64(c.outputs[i])
		want := 1 / math.Pow(math.Cosh(u), 2)
		if !(math.Abs(float64(got)-want) <= 1e-5*want) {
			t.Errorf("the derivative of tanh at %g is %g; want %g", u, got, want)
		}
	}
}

// TestLogitHeads: indices are drawn with their probabilities; log-probabilities and gradients agree with the
// definitions.
func TestLogitHeads(t *testing.T) {
	for _, h := range []Head{
		{Kind: Categorical, Size: 5}, {Kind: Binned, Size: 3, Bins: 4}, {Kind: Binned, Size: 1, Bins: 2},
		{Kind: Categorical, Size: 49}, {Kind: Categorical, Size: 64}, {Kind: Categorical, Size: 1000}, {Kind: Binned, Size: 3, Bins: 41},
	} {
		const members, rows = 3, 37
		rounding := 1e-6 // of the sums of probabilities
		if h.InMemory() {
			rounding = 1e-5
		}
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 3 * math.Sin(float64(11*m+7*i+3*o)) })
		action, logProb := c.sample(t)
		s := testState(t)
		weights := normals(members * rows)
		g := HeadGradients{
			LogProb: vectorOf(t, s, "at_log_prob", weights, engine.Members(members), engine.Axis("row", rows)),
			Outputs: vectorOf(t, s, "at_outputs", slices.Repeat([]float32{poison}, len(c.outputs)), engine.Members(members), engine.Axis("row", len(c.outputs)/members)),
		}
		record(t, c.state, func(r *engine.Recorder) { c.head.Backward(r, c.batch, g) })
		gradient := read(t, g.Outputs)
		width := h.Width()
		for j := range members * rows {
			m, i := j/rows, j%rows
			y, rng, want := c.y(m, i), c.rng(m, i), 0.0
			for o := range h.Words() {
				logits := y[o*width : (o+1)*width]
				sum, below := 0.0, 0.0
				for _, l := range logits {
					sum += math.Exp(l)
				}
				a := float64(action[j*h.Words()+o])
				if h.Kind == Binned {
					a = (a + 1) / 2 * float64(h.Bins-1)
				}
				chosen := int(math.Round(a))
				if math.Abs(a-float64(chosen)) > 1e-5 || chosen < 0 || chosen >= width {
					t.Fatalf("%v head: action %g", h.Kind, action[j*h.Words()+o])
				}
				for b := range chosen {
					below += math.Exp(logits[b]) / sum
				}
				p := math.Exp(logits[chosen]) / sum
				if u := float64(rng.Uniform()); u < below-rounding || u > below+p+rounding {
					t.Errorf("%v head: index %d for %g; its interval is %g to %g", h.Kind, chosen, u, below, below+p)
				}
				want += math.Log(p)
				for b, l := range logits {
					w := -math.Exp(l) / sum
					if b == chosen {
						w++
					}
					w *= float64(weights[j])
					if got := float64(gradient[j*h.Outputs()+o*width+b]); !(math.Abs(got-w) <= 2e-6) {
						t.Errorf("%v head: gradient at output %d of row %d is %g; want %g", h.Kind, o*width+b, j, got, w)
					}
				}
			}
			if d := math.Abs(float64(logProb[j]) - want); !(d <= 2e-6*max(1, math.Abs(want))) {
				t.Errorf("%v head: log-probability %g; want %g", h.Kind, logProb[j], want)
			}
		}
	}
}

// TestDeterministicHead: exploration noise has each member's deviation and limit, and noisy actions stay in the
// range; without noise, and in mode, the action is the network's output.
func TestDeterministicHead(t *testing.T) {
	for _, h := range []Head{{Kind: Deterministic, Size: 3, Squash: true}, {Kind: Deterministic, Size: 2, NoiseLimit: 0.25}} {
		const members, rows = 3, 53
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 1.3 * math.Sin(float64(11*m+7*i+3*o)) })
		clipped := 0
		for _, mode := range []bool{false, true} {
			c.batch.Mode = mode
			action, logProb := c.sample(t)
			for j := range members * rows {
				m, i := j/rows, j%rows
				rng := c.rng(m, i)
				for o, want := range c.y(m, i) {
					if h.Squash {
						want = math.Tanh(want)
					}
					if !mode {
						noise := float64(c.noise[m]) * float64(rng.Normal())
						if limit := float64(h.NoiseLimit); limit > 0 {
							noise = min(max(noise, -limit), limit)
						}
						if want += noise; math.Abs(want) > 1 {
							clipped++
						}
						want = min(max(want, -1), 1)
					}
					if got := float64(action[j*h.Size+o]); !(math.Abs(got-want) <= 1e-6) {
						t.Errorf("mode %v: action %g; want %g", mode, got, want)
					}
				}
				if logProb[j] != 0 {
					t.Errorf("the log-probability of a deterministic action is %g; want 0", logProb[j])
				}
			}
		}
		if clipped == 0 {
			t.Error("no action was clipped to the range")
		}
	}
}

// TestEpsilonGreedyHead: with each member's probability epsilon the action is uniformly random, otherwise the one of
// the largest value, the first among equals.
func TestEpsilonGreedyHead(t *testing.T) {
	h := Head{Kind: EpsilonGreedy, Size: 4}
	const members, rows = 3, 4001
	c := newHeadCase(t, h, members, rows, func(m, _, o int) float64 { return []float64{-1, 2, 2, 0}[o] })
	action, logProb := c.sample(t)
	for m := range members {
		epsilon := float64(c.noise[m])
		counts := make([]float64, h.Size)
		for i := range rows {
			a := int(action[m*rows+i])
			counts[a]++
			want := epsilon / float64(h.Size)
			if a == 1 {
				want += 1 - epsilon
			}
			if got := float64(logProb[m*rows+i]); !(math.Abs(got-math.Log(want)) <= 1e-6) {
				t.Fatalf("member %d: log-probability %g of action %d; want %g", m, got, a, math.Log(want))
			}
		}
		for a, n := range counts {
			p := epsilon / float64(h.Size)
			if a == 1 {
				p += 1 - epsilon
			}
			if limit := 4 * math.Sqrt(rows*p*(1-p)); math.Abs(n-rows*p) > limit {
				t.Errorf("member %d took action %d %g times of %d; want %g ± %g", m, a, n, rows, rows*p, limit)
			}
		}
	}
	c.batch.Mode = true
	action, _ = c.sample(t)
	for _, a := range action {
		if a != 1 {
			t.Fatalf("the greedy action of values -1, 2, 2, 0 is %g; want 1, the first of equals", a)
		}
	}
}

// TestValueHeads: the greedy action has the largest value, with atoms the expectation over their softmax, with
// dueling the value including the state's outputs. Without exploration every action is greedy.
func TestValueHeads(t *testing.T) {
	for _, h := range []Head{{Size: 3, Dueling: true}, {Size: 4, Atoms: 5}, {Size: 2, Atoms: 51, Dueling: true}, {Size: 1, Atoms: 2, Dueling: true}} {
		h.Kind = EpsilonGreedy
		const members, rows = 3, 203
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 3 * math.Sin(float64(11*m+7*i+3*o)) })
		fill(t, c.head.Noise, make([]float32, members))
		action, logProb := c.sample(t)
		counts := make([]int, h.Size)
		for j, got := range action {
			y := c.y(j/rows, j%rows)
			values := make([]float64, h.Size)
			for a := range values {
				if values[a] = y[a]; h.Atoms > 1 { // otherwise the state's output does not matter to which is largest
					values[a] = expected(h, y, a)
				}
			}
			counts[int(got)]++
			if best := slices.Max(values); !(values[int(got)] >= best-1e-5) || logProb[j] != 0 {
				t.Errorf("%d atoms, dueling %v: action %g with log-probability %g of the values %g", h.Atoms, h.Dueling, got, logProb[j], values)
			}
		}
		if slices.Contains(counts, 0) {
			t.Errorf("%d atoms, dueling %v: some actions are never taken: %d", h.Atoms, h.Dueling, counts)
		}
	}
}

// TestHeadRefuses: invalid heads and mismatched tensors give errors that say what was wanted.
func TestHeadRefuses(t *testing.T) {
	s := testState(t)
	noise := s.Scratch("noise", engine.Float32, engine.Members(2))
	for _, c := range []struct {
		head Head
		want string
	}{
		{Head{Kind: 9, Size: 1}, "HeadKind(9)"},
		{Head{Kind: Categorical}, "size 0; want at least 1"},
		{Head{Kind: Binned, Size: 2, Bins: 1}, "1 bins; want at least 2"},
		{Head{Kind: Gaussian, Size: 2, StateDependent: true, LogStdLow: 1, LogStdHigh: 1}, "want the lower limit below the upper"},
		{Head{Kind: Gaussian, Size: 2, Noise: noise}, "only deterministic and epsilon_greedy heads"},
		{Head{Kind: Deterministic, Size: 2, NoiseLimit: float32(math.NaN())}, "want at least 0"},
		{Head{Kind: EpsilonGreedy, Size: 2, Atoms: -1}, "-1 atoms; want at least 0"},
		{Head{Kind: Categorical, Size: 2, Dueling: true}, "only epsilon_greedy heads"},
		{Head{Kind: Categorical, Size: 2, Atoms: 5}, "only epsilon_greedy heads"},
	} {
		if err := c.head.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v; want %q", c.head, err, c.want)
		}
	}
	const members, rows = 2, 3
	outputs := s.Scratch("outputs", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("output", 2))
	other := s.Scratch("other", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("word", 5))
	logProb := s.Scratch("log_prob", engine.Float32, engine.Members(members), engine.Axis("row", rows))
	clock := engine.NewClock(s)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	batch := HeadBatch{Outputs: outputs, Draws: Draws{Clock: clock}}
	for want, f := range map[string]func(*engine.Recorder){
		"want [M, rows, 3]":  func(r *engine.Recorder) { Head{Kind: Categorical, Size: 3}.Sample(r, batch, logProb, logProb) },
		"want [2, 3, 1]":     func(r *engine.Recorder) { Head{Kind: Categorical, Size: 2}.Sample(r, batch, other, logProb) },
		"without parameters": func(r *engine.Recorder) { Head{Kind: Gaussian, Size: 2}.Sample(r, batch, outputs, logProb) },
		"which have none": func(r *engine.Recorder) {
			Head{Kind: Categorical, Size: 2}.Backward(r, batch, HeadGradients{Action: logProb, Outputs: outputs})
		},
		"epsilon_greedy head has no": func(r *engine.Recorder) {
			Head{Kind: EpsilonGreedy, Size: 2}.Backward(r, batch, HeadGradients{Outputs: outputs})
		},
		"a gradient nothing for the": func(r *engine.Recorder) { Head{Kind: Deterministic, Size: 2}.Backward(r, batch, HeadGradients{}) },
		"log-probabilities [2, 3]": func(r *engine.Recorder) {
			Head{Kind: Categorical, Size: 2}.Backward(r, batch, HeadGradients{LogProb: other, Outputs: outputs})
		},
	} {
		p, err := s.Engine().Record("refused", f)
		if err == nil {
			p.Free()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
