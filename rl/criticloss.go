package rl

import "github.com/evorl/evorl/engine"

// criticLoss is half the squared error of values. If clipped, it is the larger of that and the same of values whose
// change since before the updates is clipped to ±epsilon (as in OpenAI's baselines).
type criticLoss struct {
	*gradient
	clip, weight *engine.Tensor // [P]
	clipped      bool
}

// Record records the gradient [splits, P, row] of the loss over a minibatch.
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
	engine.Mean(r, loss, l.sums.Index(0), nil, float32(l.sums.Size("split"))) // each split has its part of the mean, so they are added
}
