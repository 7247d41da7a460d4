package rl

import "math"

// updateAtoms are distributions of which some targets fall beyond the ends.
var updateAtoms = CriticConfig{Atoms: 7, MinValue: -2, MaxValue: 3, ClippedDouble: true}

// distributional are settings with such critics.
func distributional(c deterministicConfig, clipped bool) deterministicConfig {
	c.critic = updateAtoms
	c.critic.ClippedDouble = clipped
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

// descendDistributions steps critics that are distributions towards those of next actions (Y. Seo et al., "FastTD3", 2025, section 2).
func (f *memberReference) descendDistributions(alpha float64, next func(row int) (action []float64, logProb float64)) {
	ac := f.c.ac
	outputs := func(critics, obs, action []float64) (out [][]float64) {
		x, row := append(append([]float64(nil), obs...), action...), len(critics)/ac.twins
		for i := range ac.twins {
			out = append(out, forward(ac.critics.MLP(), critics[i*row:], x))
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
