package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// CriticConfig holds the settings of the critics of continuous actions; the configurations of TD3 and SAC embed it.
type CriticConfig struct {
	Atoms         int     `min:"0" max:"256" doc:"Atoms of the critics' distribution of returns (M. G. Bellemare et al., 2017); 0: values."`
	MinValue      float64 `doc:"Lowest atom."`
	MaxValue      float64 `doc:"Highest atom."`
	ClippedDouble bool    `doc:"Targets and actor use the smaller critic; otherwise each critic has its own targets, and the actor uses their mean."`
}

// defaultCritic has values and uses the smaller one (S. Fujimoto et al., 2018). If atoms are requested, their
// range is CleanRL's in c51.py.
func defaultCritic() CriticConfig {
	return CriticConfig{MinValue: -100, MaxValue: 100, ClippedDouble: true}
}

// Validate checks constraints across fields.
func (c CriticConfig) Validate() error {
	switch {
	case c.Atoms == 1:
		return config.Invalid("atoms", "a distribution of 1 atom is constant; want 0, or at least 2")
	case c.Atoms > 0 && !(c.MinValue < c.MaxValue):
		return config.Invalid("max_value", "%g is not above min_value, %g", c.MaxValue, c.MinValue)
	case c.Atoms == 0 && !c.ClippedDouble:
		return config.Invalid("clipped_double", "critics that output values always use the smaller of both; want true without atoms")
	}
	return nil
}

// distribution makes the critics' outputs distributions of returns.
type distribution struct {
	CriticConfig
	atTwins *engine.Tensor // [M, twins, B, D]: the gradient with respect to actions
	taken   *engine.Tensor // [M, B, 1]: the values in the actor's loss

	means, atMeans *engine.Tensor // [M, twins, B]: the critics' values, and the gradient with respect to them, for losses with terms besides the value
}

// makeDistribution makes the tensors of distributional critics, if the critics are such.
func (a *actorCritic) makeDistribution(s *engine.State, c CriticConfig) {
	if c.Atoms == 0 {
		return
	}
	p, b := engine.Members(a.members), engine.Axis("transition", a.rows)
	a.distribution = &distribution{
		CriticConfig: c,
		atTwins:      s.Scratch("gradient_at_twins_actions", engine.Float32, p, nn.Networks(a.twins), b, engine.Axis("action", a.head.Size)),
		taken:        s.Scratch("taken_values", engine.Float32, p, b, engine.Axis("value", 1)),
		means:        s.Scratch("mean_values", engine.Float32, p, nn.Networks(a.twins), b),
		atMeans:      s.Scratch("gradient_at_mean_values", engine.Float32, p, nn.Networks(a.twins), b),
	}
}

// loss records the critics' cross-entropies, in place of descendCritics' squared errors.
func (d *distribution) loss(r *engine.Recorder, a *actorCritic, k qLossKernel) {
	r.Dispatch(categoricalQLossKernel{
		Reward: k.Reward, Factor: k.Factor, NextValue: k.NextValue, NextLogProb: k.NextLogProb, Temperature: k.Temperature, RewardScale: k.RewardScale,
		Value: k.Value, AtValue: k.AtValue, Loss: k.Loss, Chosen: a.chosen.Range(), Rows: k.Rows,
		Atoms: uint32(d.Atoms), Low: float32(d.MinValue), High: float32(d.MaxValue),
		LocalSizeX: k.LocalSizeX, Critics: k.Critics, Unclipped: !d.ClippedDouble, LogTemperature: k.LogTemperature,
	}.call((k.Rows+k.LocalSizeX-1)/k.LocalSizeX, uint32(a.members), 1))
}

// ascend records the gradient with respect to actions, atTwins, of a deterministic actor's loss: minus the mean value
// of its actions, or minus the mean of the smaller values.
func (d *distribution) ascend(r *engine.Recorder, a *actorCritic, obs *engine.Tensor) {
	a.critics.pass.Forward(r, a.critics.weights(), inputs(obs, a.actions), a.critics.outputs)
	d.slope(r, a, nil)
	a.critics.pass.InputGradients(r, a.critics.atOutputs, nil, d.atTwins)
}

// slope records the gradient with respect to the critics' outputs, given that with respect to their means; nil: that
// of a deterministic actor's loss.
func (d *distribution) slope(r *engine.Recorder, a *actorCritic, atMeans *engine.Tensor) {
	size, groups := r.Invocations(a.rows)
	k := categoricalSlopeKernel{
		Value: a.critics.outputs.Range(), AtValue: a.critics.atOutputs.Range(), Taken: d.taken.Range(), Rows: uint32(a.rows),
		Atoms: uint32(d.Atoms), Low: float32(d.MinValue), High: float32(d.MaxValue), Share: 1 / float32(a.batch),
		LocalSizeX: size, Critics: uint32(a.twins), Unclipped: !d.ClippedDouble,
	}
	if atMeans != nil {
		k.AtMean = atMeans.Range()
	}
	r.Dispatch(k.call(groups, uint32(a.members), 1))
}

// value records the means of the critics' outputs.
func (d *distribution) value(r *engine.Recorder, a *actorCritic) {
	size, groups := r.Invocations(d.means.Len())
	r.Dispatch(categoricalMeanKernel{
		Value: a.critics.outputs.Range(), Mean: d.means.Range(), Count: uint32(d.means.Len()),
		Atoms: uint32(d.Atoms), Low: float32(d.MinValue), High: float32(d.MaxValue), LocalSizeX: size,
	}.call(groups, 1, 1))
}
