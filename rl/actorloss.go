package rl

import "github.com/evorl/evorl/engine"

// actorLoss is PPO's clipped surrogate with an entropy bonus (J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equations 7 and
// 9). With one pass over the data the ratio is 1 and it is that of advantage actor-critic (V. Mnih et al., 2016).
//
// With ratioInAdvantage it is -advantage log π: advantages are constants that importance ratios have been multiplied into, as V-trace does, and
// clip is the ratio from which those are clipped, for the metric alone.
type actorLoss struct {
	*gradient
	clip, weight, entropyWeight *engine.Tensor // [P]
	ratioInAdvantage            bool
}

// Record records the loss's gradient [splits, P, row] over a minibatch.
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

// recordMetrics records the loss, the policy's entropy, its divergence from the one that acted, and the share of ratios beyond the clip [P]
// each.
func (l *actorLoss) recordMetrics(r *engine.Recorder, loss, entropy, divergence, clipped *engine.Tensor) {
	for i, row := range []*engine.Tensor{loss, entropy, divergence, clipped} {
		engine.Mean(r, row, l.sums.Index(i), nil, float32(l.sums.Size("split"))) // the parts are shares of a mean, so they are added
	}
}
