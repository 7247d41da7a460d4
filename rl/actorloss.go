package rl

import "github.com/evorl/evorl/engine"

// actorLoss is PPO's clipped surrogate with an entropy bonus (J. Schulman et al., "Proximal Policy Optimization
// Algorithms", 2017, equations 7 and 9). With one epoch the ratio is 1, and the loss is that of advantage actor-critic
// (V. Mnih et al., 2016).
//
// With ratioInAdvantage it is -advantage log π, where advantages are constants that contain the importance ratio, as
// V-trace's do; clip is then the threshold of those ratios, used only by the metric.
type actorLoss struct {
	*gradient
	clip, weight, entropyWeight *engine.Tensor // [P]
	ratioInAdvantage            bool
}

// Record records the gradient [splits, P, row] of the loss over a minibatch.
func (l *actorLoss) Record(r *engine.Recorder, m minibatch) *engine.Tensor {
	k, h := l.kernel(r, m), l.agent.head.Constants()
	k.ClipEpsilon, k.LossWeight, k.EntropyWeight = l.clip.Range(), l.weight.Range(), l.entropyWeight.Range()
	k.Head, k.HeadWidth, k.LogStdLow, k.LogStdHigh, k.HeadBase = h.Head, h.HeadWidth, h.LogStdLow, h.LogStdHigh, uint32(l.agent.headBase())
	k.RatioInAdvantage = l.ratioInAdvantage
	if m.moments != nil {
		k.Moments = m.moments.Range()
	}
	return l.record(r, m, k)
}

// recordMetrics records, each [P], the loss, the policy's entropy, its divergence from the policy that acted, and the
// fraction of clipped ratios.
func (l *actorLoss) recordMetrics(r *engine.Recorder, loss, entropy, divergence, clipped *engine.Tensor) {
	for i, row := range []*engine.Tensor{loss, entropy, divergence, clipped} {
		engine.Mean(r, row, l.sums.Index(i), nil, float32(l.sums.Size("split"))) // each split has its part of the mean, so they are added
	}
}
