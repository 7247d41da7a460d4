package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// Group steps two optimizers together, such as an actor's and a critic's. Their gradients are scaled by one factor,
// from the norm of both taken as one vector; if either gradient is not finite, neither optimizer updates the member.
// It takes as many dispatches as one optimizer, or one more where gradients are long.
type Group struct {
	maxNorm       float64
	first, second *Optimizer
}

// NewGroup groups two optimizers of the same members, rule and constants; each has its own parameters and
// learning rates. Gradients are scaled down to the norm maxNorm; 0: no clipping. The optimizers' own MaxNorm must be
// 0.
func NewGroup(maxNorm float64, first, second *Optimizer) (*Group, error) {
	a, b := first.cfg, second.cfg
	if first == second {
		return nil, fmt.Errorf("optim: a group of one optimizer, given twice, of parameters %v; want two", first.params)
	}
	if first.rate.Len() != second.rate.Len() {
		return nil, fmt.Errorf("optim: a group of optimizers of %d and of %d members; want the same", first.rate.Len(), second.rate.Len())
	}
	if a.Rule == ClipUp || b.Rule == ClipUp {
		return nil, fmt.Errorf("optim: a group of optimizers %v and %v; clipup, whose step length ignores the gradient's norm, cannot share a norm", a.Rule, b.Rule)
	}
	if a.MaxNorm != 0 || b.MaxNorm != 0 || !(maxNorm >= 0) {
		return nil, fmt.Errorf("optim: a group with the norm %g of optimizers with norms %g and %g; want at least 0, and 0 for each optimizer",
			maxNorm, a.MaxNorm, b.MaxNorm)
	}
	if max(a.CorrectionInterval, b.CorrectionInterval) > 1 {
		return nil, fmt.Errorf("optim: a group of optimizers whose bias corrections count %d and %d updates as one; want 1",
			a.CorrectionInterval, b.CorrectionInterval)
	}
	if err := differ(a, b); err != nil {
		return nil, err
	}
	return &Group{maxNorm: maxNorm, first: first, second: second}, nil
}

// differ returns an error that names the first constant in which two optimizers differ.
func differ(a, b Config) error {
	for _, c := range []struct {
		name string
		a, b any
	}{
		{"rule", a.Rule, b.Rule}, {"beta1", a.Beta1, b.Beta1}, {"beta2", a.Beta2, b.Beta2}, {"epsilon", a.Epsilon, b.Epsilon},
		{"weight decay", a.WeightDecay, b.WeightDecay},
	} {
		if c.a != c.b {
			return fmt.Errorf("optim: a group of optimizers that differ in %s: %v and %v", c.name, c.a, c.b)
		}
	}
	return nil
}

// Norm returns the norm [M] of the last gradients of both before clipping, or -1 if one was not finite and the update
// was skipped.
func (g *Group) Norm() *engine.Tensor { return g.first.norm }

// Step records one update of each optimizer by its gradient [splits, M, ...], summed over splits.
func (g *Group) Step(r *engine.Recorder, first, second *engine.Tensor) {
	var of [2]part
	var err error
	for i, gradient := range []*engine.Tensor{first, second} {
		o := []*Optimizer{g.first, g.second}[i]
		splits, _, row, wrong := o.shape(gradient)
		of[i], err = part{o, gradient, splits, row}, errors.Join(err, wrong)
	}
	if err := errors.Join(err, g.check()); err != nil {
		r.Fail(err)
		return
	}
	g.norm(r, of[0], of[1])
	g.update(r, of[0], of[1])
}

// part is one optimizer's part of an update.
type part struct {
	*Optimizer
	gradient    *engine.Tensor
	splits, row int
}

// loads returns approximately how many vec4 the kernels load per member.
func (p part) loads() int { return p.row / 4 * (p.splits + 1) }

// norm records the norm of both gradients and the factors of both updates.
func (g *Group) norm(r *engine.Recorder, a, b part) {
	c := a.cfg
	parts, sums := a.sumParts(r, a.gradient, a.splits, a.row)
	parts2, sums2 := b.sumParts(r, b.gradient, b.splits, b.row)
	k := normPairKernel{
		Gradient: a.gradient.Range(), Norm: a.Norm().Range(), Factors: a.factor.Range(), Updates: a.count.Range(), Refused: a.refuse.Range(),
		Gradient2: b.gradient.Range(), Norm2: b.Norm().Range(), Factors2: b.factor.Range(), Updates2: b.count.Range(), Refused2: b.refuse.Range(),
		Splits: uint32(a.splits), Splits2: uint32(b.splits), Row: uint32(a.row), Row2: uint32(b.row), MaxNorm: float32(g.maxNorm),
		LogBeta1: float32(math.Log(c.Beta1)), LogBeta2: float32(math.Log(c.Beta2)),
		Workgroup: r.WorkgroupFor(max(a.loads(), b.loads())), Sums: sums, Sums2: sums2, Parts: parts, Parts2: parts2,
	}
	r.Dispatch(k.call(uint32(a.rate.Len()), 1, 1))
}

// update records both updates.
func (g *Group) update(r *engine.Recorder, a, b part) {
	c, members := a.cfg, a.rate.Len()
	groups := r.Share(members, max(a.row, b.row)/4)
	k := updatePairKernel{
		Params: a.params.Range(), Gradient: a.gradient.Range(), First: a.first.Range(), Second: a.second.Range(),
		LearningRate: a.rate.Range(), Factors: a.factor.Range(),
		Params2: b.params.Range(), Gradient2: b.gradient.Range(), First2: b.first.Range(), Second2: b.second.Range(),
		LearningRate2: b.rate.Range(), Factors2: b.factor.Range(),
		Splits: uint32(a.splits), Splits2: uint32(b.splits), Row: uint32(a.row), Row2: uint32(b.row),
		Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Gain1: float32(1 - c.Beta1), Gain2: float32(1 - c.Beta2),
		Epsilon: float32(c.Epsilon), WeightDecay: float32(c.WeightDecay), Rule: uint32(c.Rule),
		LocalSizeX: r.WorkgroupFor(max(a.loads(), b.loads()) / int(groups)),
	}
	if engine.WideStores(r.Engine().Device().Info()) {
		r.Dispatch(updatePairWideKernel(k).call(groups, uint32(members), 1))
		return
	}
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// check validates settings that were changed after NewGroup.
func (g *Group) check() error {
	a, b := g.first, g.second
	if a.due != nil || b.due != nil {
		return fmt.Errorf("optim: a group of optimizers of which %v or %v skips members; want separate optimizers for that", a.params, b.params)
	}
	if a.target != nil || b.target != nil {
		return fmt.Errorf("optim: a group of optimizers, and %v or %v has a target; want each to take its own step", a.params, b.params)
	}
	return nil
}
