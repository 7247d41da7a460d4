package engine

import "fmt"

// Counter numbers the turns of a repeated block on the device.
type Counter struct {
	t    *Tensor
	used *bool
}

// Tensor returns [1] u32, which kernels read: the number of the turn, from 0.
func (c Counter) Tensor() *Tensor {
	*c.used = true
	return c.t
}

// Repeat records a block that runs n times, each turn after the one before. body is called once, so that neither recording time nor host
// memory grows with n; what differs between turns, kernels read from the counter. Less than one turn, and a block within another, are
// errors of the recording.
func (r *Recorder) Repeat(n int, body func(r *Recorder, i Counter)) {
	if n < 1 || r.repeating {
		r.Fail(fmt.Errorf("engine: a block of %d turns, within another: %v; want at least 1 turn, outside of other blocks", n, r.repeating))
		return
	}
	if r.counters == nil {
		r.counters = r.eng.NewState()
	}
	i := Counter{r.counters.Scratch("turn", Uint32, Axis("count", 1)), new(bool)}
	r.Fill(i.t, 0)
	r.repeating = true
	defer func() { r.repeating = false }()
	if n == 1 {
		body(r, i)
		return
	}
	r.prog.Repeat(n, func() {
		body(r, i)
		if *i.used {
			r.Dispatch(turnKernel{Turn: i.t.Range()}.call(1, 1, 1))
		}
	})
}
