package rl

import "github.com/evorl/evorl/engine"

// criticLoss is half the squared error of values or, clipped, the larger of that and the one of values that have moved by at most epsilon from those
// before the updates (as OpenAI's baselines have it).
type criticLoss struct {
	*gradient
	clip, weight *engine.Tensor // [P]
	clipped      bool
}

// Record records the loss's gradient [splits, P, row] over a minibatch.
func (l *criticLoss) Record(r *engine.Recorder, m minibatch) *engine.Tensor {
	k := l.kernel(r, m)
	k.ClipEpsilon, k.LossWeight, k.Critic, k.ClipValue = l.clip.Range(), l.weight.Range(), true, l.clipped
	if l.clipped {
		k.Value = m.estimates.value.Range()
	}
	return l.record(r, m, k)
}

// recordMetrics records the loss [P].
func (l *criticLoss) recordMetrics(r *engine.Recorder, loss *engine.Tensor) {
	engine.Mean(r, loss, l.sums.Index(0), nil, float32(l.sums.Size("split"))) // the parts are shares of a mean, so they are added
}
