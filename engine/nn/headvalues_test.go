package nn

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestHeadValues compares the values of actions with the expectation over their atoms in float64, and the best of them with the action that the head
// chooses by all outputs. A value is NaN if an output that it depends on is not finite.
func TestHeadValues(t *testing.T) {
	for _, h := range []Head{
		{Size: 4, Atoms: 5}, {Size: 1, Atoms: 2, Dueling: true}, {Size: 3, Atoms: 51, Dueling: true}, {Size: 18, Atoms: 51, Dueling: true}, {Size: 65, Atoms: 3},
	} {
		h.Kind = EpsilonGreedy
		const members, rows = 3, 37
		c := newHeadCase(t, h, members, rows, func(m, i, o int) float64 { return 3 * math.Sin(float64(11*m+7*i+3*o)) })
		c.batch.Mode = true
		values := c.state.Scratch("values", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("action", h.Size))
		if err := c.state.Err(); err != nil {
			t.Fatal(err)
		}
		expect := func() []float32 {
			t.Helper()
			fill(t, values, nil)
			record(t, c.state, func(r *engine.Recorder) { h.Expect(r, c.batch.Outputs, values) })
			return read(t, values)
		}
		got := expect()
		var action []float32
		if h.Outputs() < 300 { // more take minutes to compile where a kernel holds them
			action, _ = c.sample(t)
		}
		for j := range members * rows {
			y, best := c.y(j/rows, j%rows), 0
			for a := range h.Size {
				want := expected(h, y, a)
				if x := float64(got[j*h.Size+a]); !(math.Abs(x-want) <= 1e-5*float64(h.Atoms)) {
					t.Errorf("%d atoms, dueling %v: row %d has %g for action %d; want %g", h.Atoms, h.Dueling, j, x, a, want)
				}
				if got[j*h.Size+a] > got[j*h.Size+best] {
					best = a
				}
			}
			if action != nil && int(action[j]) != best {
				t.Errorf("%d atoms, dueling %v: row %d takes action %g by its outputs; the values are best for %d", h.Atoms, h.Dueling, j, action[j], best)
			}
		}

		const broken, first = 5, 2 // row, and an atom of action 0
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			c.outputs[broken*h.Outputs()+first%h.Atoms] = float32(x)
			fill(t, c.batch.Outputs, c.outputs)
			for i, v := range expect() {
				row, a := i/h.Size, i%h.Size
				if is, want := math.IsNaN(float64(v)), row == broken && (a == 0 || h.Dueling); is != want {
					t.Errorf("%d atoms, dueling %v, an output of row %d is %g: row %d has %g for action %d", h.Atoms, h.Dueling, broken, x, row, v, a)
				} else if isPoison(v) {
					t.Errorf("row %d has no value for action %d", row, a)
				}
			}
		}
	}
}

// expected returns the mean index of an action's atoms, in float64.
func expected(h Head, y []float64, action int) float64 {
	sum, weighted := 0.0, 0.0
	for i := range h.Atoms {
		logit, mean := y[action*h.Atoms+i], 0.0
		for b := range h.Size {
			mean += y[b*h.Atoms+i] / float64(h.Size)
		}
		if h.Dueling {
			logit += y[h.Size*h.Atoms+i] - mean
		}
		sum, weighted = sum+math.Exp(logit), weighted+float64(i)*math.Exp(logit)
	}
	return weighted / sum
}
