// Package optim holds the optimizers. They update all members at once, each with its own learning rate.
package optim

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// Rule is an update rule. The numbers are as in shaders/engine/optim/update.comp.
type Rule uint32

const (
	SGD     Rule = iota // with momentum Beta1
	RMSProp             // decay Beta2 of the squares (Tieleman, Hinton, 2012)
	Adam                // Kingma, Ba, 2015, algorithm 1
	AdamW               // Loshchilov, Hutter, 2019, algorithm 2
	ClipUp              // N. E. Toklu, P. Liskowski, R. K. Srivastava, 2020, algorithm 2: normalized steps, and a velocity with momentum Beta1 and a maximum norm
)

var ruleNames = [...]string{"sgd", "rmsprop", "adam", "adamw", "clipup"}

func (o Rule) String() string { return config.NameOf(o, ruleNames[:]) }

// UnmarshalText parses a rule's name: sgd, rmsprop, adam, adamw or clipup.
func (o *Rule) UnmarshalText(text []byte) error {
	return config.UnmarshalName(o, "optimizer", ruleNames[:], text)
}

// MarshalText returns a rule's name.
func (o Rule) MarshalText() ([]byte, error) { return config.MarshalName(o, "optimizer", ruleNames[:]) }

// Config is an update rule with its constants.
type Config struct {
	Rule        Rule
	Beta1       float64 // decay of the mean of gradients; for SGD and ClipUp the momentum
	Beta2       float64 // decay of the mean of squares
	Epsilon     float64
	WeightDecay float64 // decoupled in AdamW and ClipUp; the others add it to the gradient (L2)
	MaxNorm     float64 // gradients, for ClipUp the velocity, are scaled down to this norm; 0: no clipping
	// CorrectionInterval is the number of updates that Adam's bias corrections count as one, which makes later steps shorter; 0: 1.
	CorrectionInterval int
}

// DefaultAdam is Adam with the paper's constants.
var DefaultAdam = Config{Rule: Adam, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}

// Default returns a rule with customary constants: SGD with momentum 0.9, RMSProp with decay 0.99 (V. Mnih et al.,
// 2016), Adam, AdamW with decay 0.01, and ClipUp with momentum 0.9 and a maximum speed of 0.15 (N. E. Toklu et al.,
// 2020, section 4).
func Default(rule Rule) Config {
	c := DefaultAdam
	switch c.Rule = rule; rule {
	case RMSProp:
		c.Beta2 = 0.99
	case AdamW:
		c.WeightDecay = 0.01
	case ClipUp:
		c.MaxNorm = 0.15
	}
	return c
}

// Optimizer updates parameters [M, row] by gradients [splits, M, row].
type Optimizer struct {
	cfg    Config
	params *engine.Tensor
	rate   *engine.Tensor
	first  *engine.Tensor // [M, row]
	second *engine.Tensor // [M, row]
	count  *engine.Tensor // [M]: number of updates made
	refuse *engine.Tensor // [M]: number of gradients that were not finite
	norm   *engine.Tensor // [M]
	factor *engine.Tensor // [M, 4]
	target *engine.Tensor // follows the parameters; nil: no target
	tau    *engine.Tensor // [M]
	due    *engine.Tensor // [M] u32; nil: all members are due
	sums   *engine.Tensor // [M, parts, 4]: see normParts; nil: one workgroup takes the norm of a member's gradient
}

// New makes the parameters "params" [M, row], row a multiple of four, and their optimizer's state. rate [M] holds the
// learning rates. Parameters, first and second moments are one stack of tensors.
func New(s *engine.State, cfg Config, rate *engine.Tensor, row int) *Optimizer {
	p := engine.Members(rate.Len())
	stack := s.Stack(engine.Float32, []string{"params", "optimizer/first_moment", "optimizer/second_moment"}, p, engine.Axis("parameter", row))
	s = s.Sub("optimizer")
	o := &Optimizer{
		cfg: cfg, params: stack[0], first: stack[1], second: stack[2], rate: rate,
		count:  s.Tensor("updates", engine.Uint32, p),
		refuse: s.Tensor("refused", engine.Uint32, p),
		norm:   s.Scratch("norm", engine.Float32, p),
		factor: s.Scratch("factors", engine.Float32, p, engine.Axis("factor", 4)),
	}
	if parts := normParts(row); parts > 1 {
		o.sums = s.Scratch("norm_sums", engine.Float32, p, engine.Axis("part", parts), engine.Axis("sum", 4))
	}
	return o
}

// Follow makes target parameters, of the shape of the parameters, follow them in every update by Polyak averaging
// with tau [M], in the update's own pass (T. P. Lillicrap et al., 2016, algorithm 1):
// target = (1 - tau) target + tau params. nil: no target. Call it before Step.
func (o *Optimizer) Follow(target, tau *engine.Tensor) { o.target, o.tau = target, tau }

// Only restricts updates to members with an element of due [M] u32 that is not 0; nil: all are updated. Targets follow in
// every member. Call it before Step.
func (o *Optimizer) Only(due *engine.Tensor) { o.due = due }

// Reset records setting the moments and the counts of updates and refused gradients to zero.
func (o *Optimizer) Reset(r *engine.Recorder) {
	for _, x := range []*engine.Tensor{o.first, o.second, o.count, o.refuse} {
		r.Fill(x, 0)
	}
}

// Renew records that members with another one as source [M] u32 have moments and counts as at the beginning
// (engine.Renew).
func (o *Optimizer) Renew(r *engine.Recorder, source *engine.Tensor) {
	for _, x := range []*engine.Tensor{o.first, o.second, o.count, o.refuse} {
		engine.Renew(r, source, x, nil)
	}
}

// Params returns the parameters [M, row].
func (o *Optimizer) Params() *engine.Tensor { return o.params }

// Rows returns the tensors [M, row] with an element for every parameter: the parameters, and first and second moments.
func (o *Optimizer) Rows() []*engine.Tensor { return []*engine.Tensor{o.params, o.first, o.second} }

// Rate returns the learning rates [M].
func (o *Optimizer) Rate() *engine.Tensor { return o.rate }

// Config returns the configuration that the optimizer was made with.
func (o *Optimizer) Config() Config { return o.cfg }

// Updates returns the numbers of updates made, [M].
func (o *Optimizer) Updates() *engine.Tensor { return o.count }

// Norm returns the norm [M] of the last gradients before clipping, or -1 if a gradient was not finite and the update
// was skipped.
func (o *Optimizer) Norm() *engine.Tensor { return o.norm }

// Refused returns the numbers of gradients that were not finite, [M].
func (o *Optimizer) Refused() *engine.Tensor { return o.refuse }

// Step records one update by the gradient [splits, M, ...], summed over splits.
func (o *Optimizer) Step(r *engine.Recorder, gradient *engine.Tensor) {
	splits, members, row, err := o.shape(gradient)
	if err == nil && o.due != nil && o.due.Len() != members {
		err = fmt.Errorf("optim: updates of parameters %v with due members %v; want one element for each member", o.params, o.due)
	}
	if err == nil && o.target != nil {
		err = checkFollow(o.target, o.params, o.tau)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	c := o.cfg
	parts, sums := o.sumParts(r, gradient, splits, row)
	norm := normKernel{
		Gradient: gradient.Range(), Norm: o.norm.Range(), Factors: o.factor.Range(), Updates: o.count.Range(), Refused: o.refuse.Range(),
		First: o.first.Range(), LearningRate: o.rate.Range(), Clipup: c.Rule == ClipUp, Beta1: float32(c.Beta1),
		CorrectionInterval: uint32(max(c.CorrectionInterval, 1)),
		Splits:             uint32(splits), Row: uint32(row), MaxNorm: float32(c.MaxNorm),
		LogBeta1: float32(math.Log(c.Beta1)), LogBeta2: float32(math.Log(c.Beta2)), Workgroup: r.WorkgroupFor(row / 4 * (splits + 1)),
		Sums: sums, Parts: parts,
	}
	if o.due != nil {
		norm.Due = o.due.Range()
	}
	r.Dispatch(norm.call(uint32(members), 1, 1))
	groups := r.Share(members, row/4)
	update := updateKernel{
		Params: o.params.Range(), Gradient: gradient.Range(), First: o.first.Range(), Second: o.second.Range(),
		LearningRate: o.rate.Range(), Factors: o.factor.Range(),
		Splits: uint32(splits), Row: uint32(row),
		Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Gain1: float32(1 - c.Beta1), Gain2: float32(1 - c.Beta2),
		Epsilon: float32(c.Epsilon), WeightDecay: float32(c.WeightDecay), Rule: uint32(c.Rule), LocalSizeX: r.WorkgroupFor(row / 4 * (splits + 1) / int(groups)),
	}
	if o.target != nil {
		update.Target, update.Tau = o.target.Range(), o.tau.Range()
	}
	if engine.WideStores(r.Engine().Device().Info()) {
		r.Dispatch(updateWideKernel(update).call(groups, uint32(members), 1))
		return
	}
	r.Dispatch(update.call(groups, uint32(members), 1))
}

// normParts returns how many workgroups take the norm of a member's gradient, 1 of short ones. It depends on the row alone, so that sums are in the same order
// with any number of members and on every device.
func normParts(row int) int {
	const (
		part  = 16 << 10 // floats
		least = 4        // parts that are worth another dispatch
		most  = 256      // whose sums one workgroup adds
	)
	if row < least*part {
		return 1
	}
	return min((row+part-1)/part, most)
}

// sumParts records the sums over the parts of a gradient, if it has several.
func (o *Optimizer) sumParts(r *engine.Recorder, gradient *engine.Tensor, splits, row int) (parts uint32, sums vk.Range) {
	if o.sums == nil {
		return 0, vk.Range{}
	}
	n := o.sums.Size("part")
	part := (row/4 + n - 1) / n
	k := normPartsKernel{
		Gradient: gradient.Range(), Sums: o.sums.Range(), Splits: uint32(splits), Row: uint32(row), Part: uint32(part),
		Clipup: o.cfg.Rule == ClipUp, Workgroup: r.WorkgroupFor(part * (splits + 1)),
	}
	if o.cfg.Rule == ClipUp {
		k.First = o.first.Range()
	}
	r.Dispatch(k.call(uint32(n), uint32(o.rate.Len()), 1))
	return uint32(n), o.sums.Range()
}

// shape checks a gradient against the parameters.
func (o *Optimizer) shape(gradient *engine.Tensor) (splits, members, row int, err error) {
	splits, members, row, ok := gradient.Split(engine.MemberAxis)
	switch {
	case !ok || members != o.rate.Len() || members*row != o.params.Len():
		err = fmt.Errorf("optim: a gradient %v of parameters %v; want [splits, ...] of them", gradient, o.params)
	case row%4 != 0:
		err = fmt.Errorf("optim: parameters %v: rows of %d; want a multiple of 4", o.params, row)
	}
	return splits, members, row, err
}

// checkFollow checks the shapes of a target, its source and tau.
func checkFollow(target, source, tau *engine.Tensor) error {
	outer, members, size, ok := source.Split(engine.MemberAxis)
	targetOuter, targetMembers, targetSize, targetOk := target.Split(engine.MemberAxis)
	switch {
	case !ok || outer != 1 || size%4 != 0:
		return fmt.Errorf("optim: source parameters %v; want [member, n] with n a multiple of 4", source)
	case !targetOk || targetOuter != 1 || targetMembers != members || targetSize != size:
		return fmt.Errorf("optim: target %v of source %v; want the same members and sizes", target, source)
	case tau.Len() != members:
		return fmt.Errorf("optim: target %v with tau %v; want one for each of %d members", target, tau, members)
	case target == source:
		return fmt.Errorf("optim: %v is its own target", target)
	}
	return nil
}
