package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestHeadForms: outputs that are read from memory give the bits of those that are held in an array: actions, drawn and most likely, log-probabilities, and
// gradients at the outputs.
func TestHeadForms(t *testing.T) {
	for _, h := range []Head{
		{Kind: Categorical, Size: HeldLogits}, {Kind: Categorical, Size: 2}, {Kind: Binned, Size: 2, Bins: 7},
		{Kind: EpsilonGreedy, Size: HeldLogits}, {Kind: EpsilonGreedy, Size: 7, Dueling: true},
	} {
		const members, rows = 2, 133
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 3 * math.Sin(float64(11*m+7*i+3*o)) })
		s, weights := testState(t), normals(members*rows)
		for _, mode := range []bool{false, true} {
			var forms [2][]float32
			for i := range forms {
				c.batch.Mode, c.batch.reads = mode, i == 1
				action, logProb := c.sample(t)
				forms[i] = slices.Concat(action, logProb)
				if h.Kind == EpsilonGreedy {
					continue // no gradient
				}
				g := HeadGradients{
					LogProb: vectorOf(t, s, "at_log_prob", weights, engine.Members(members), engine.Axis("row", rows)),
					Outputs: vectorOf(t, s, "at_outputs", slices.Repeat([]float32{poison}, len(c.outputs)), engine.Members(members),
						engine.Axis("row", len(c.outputs)/members)),
				}
				record(t, c.state, func(r *engine.Recorder) { c.head.Backward(r, c.batch, g) })
				forms[i] = append(forms[i], read(t, g.Outputs)...)
			}
			for i, want := range forms[0] {
				if got := forms[1][i]; math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%v head of %d outputs, mode %v: element %d is %g of outputs in memory, and %g of held ones", h.Kind, h.Outputs(), mode, i, got, want)
				}
			}
		}
	}
}

// TestManyValues: the greedy action of many values, the first among equals, and exploration over all of them.
func TestManyValues(t *testing.T) {
	for _, h := range []Head{{Kind: EpsilonGreedy, Size: 49}, {Kind: EpsilonGreedy, Size: 1000, Dueling: true}} {
		const members, rows = 3, 333
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return math.Sin(float64(11*m+7*i) + 0.3*float64(o/2)) }) // equal in pairs
		if !h.InMemory() {
			t.Fatalf("%d values are held", h.Outputs())
		}
		action, logProb := c.sample(t)
		for j, got := range action {
			m, i := j/rows, j%rows
			y := c.y(m, i)[:h.Size]
			best := slices.Index(y, slices.Max(y))
			rng, want, epsilon := c.rng(m, i), best, float64(c.noise[m])
			if float64(rng.Uniform()) < epsilon {
				want = int(float64(rng.Uniform()) * float64(h.Size))
			}
			p := epsilon / float64(h.Size)
			if want == best {
				p += 1 - epsilon
			}
			if int(got) != want || !(math.Abs(float64(logProb[j])-math.Log(p)) <= 2e-6) {
				t.Fatalf("row %d of member %d: action %g with log-probability %g; want %d with %g", i, m, got, logProb[j], want, math.Log(p))
			}
		}
		c.batch.Mode = true
		action, _ = c.sample(t)
		for j, got := range action {
			if y := c.y(j/rows, j%rows)[:h.Size]; int(got) != slices.Index(y, slices.Max(y)) {
				t.Fatalf("row %d: the greedy action is %g; want %d", j, got, slices.Index(y, slices.Max(y)))
			}
		}
	}
}

// TestManyRows: the gradient of more rows of logits than an invocation has loop iterations for.
func TestManyRows(t *testing.T) {
	h := Head{Kind: Categorical, Size: MaxLogits}
	const members, rows = 1, 41
	c := newHeadCase(t, h, members, rows, func(_, i, o int) float64 { return math.Sin(float64(7*i + 3*o)) })
	action, logProb := c.sample(t)
	s := testState(t)
	g := HeadGradients{
		LogProb: vectorOf(t, s, "at_log_prob", slices.Repeat([]float32{1}, rows), engine.Members(members), engine.Axis("row", rows)),
		Outputs: vectorOf(t, s, "at_outputs", slices.Repeat([]float32{poison}, len(c.outputs)), engine.Members(members), engine.Axis("row", len(c.outputs))),
	}
	record(t, c.state, func(r *engine.Recorder) { c.head.Backward(r, c.batch, g) })
	gradient := read(t, g.Outputs)
	for i := range rows {
		y, sum := c.y(0, i), 0.0
		for _, l := range y {
			sum += math.Exp(l)
		}
		if want := y[int(action[i])] - math.Log(sum); !(math.Abs(float64(logProb[i])-want) <= 1e-5*math.Abs(want)) {
			t.Fatalf("row %d: log-probability %g; want %g", i, logProb[i], want)
		}
		for o, l := range y {
			want := -math.Exp(l) / sum
			if o == int(action[i]) {
				want++
			}
			if got := float64(gradient[i*h.Size+o]); !(math.Abs(got-want) <= 2e-6) {
				t.Fatalf("row %d: the gradient at logit %d is %g; want %g", i, o, got, want)
			}
		}
	}
}

// TestTooManyLogits: more logits than kernels can read are refused.
func TestTooManyLogits(t *testing.T) {
	for _, h := range []Head{
		{Kind: Categorical, Size: MaxLogits + 1}, {Kind: Binned, Size: 101, Bins: 100}, {Kind: EpsilonGreedy, Size: MaxLogits, Dueling: true},
		{Kind: EpsilonGreedy, Size: MaxLogits + 1, Atoms: 2},
	} {
		if err := h.Check(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("want at most %d", MaxLogits)) {
			t.Errorf("%v head of size %d: error %v; want one about %d logits", h.Kind, h.Size, err, MaxLogits)
		}
	}
	for _, h := range []Head{{Kind: Categorical, Size: MaxLogits}, {Kind: EpsilonGreedy, Size: 300, Atoms: 51, Dueling: true}} {
		if err := h.Check(); err != nil {
			t.Errorf("%v head of size %d: %v", h.Kind, h.Size, err)
		}
	}
}
