package problem

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// observations holds each search's moments for normalizing a policy's observations, and its reference batch for normalizing the layers.
type observations struct {
	*policy
	state      *engine.State
	members    int
	normalizer *nn.Normalizer // nil: observations are not normalized
	reference  *engine.Tensor // [M, B, O]: as observed; nil: layers are not normalized
	sums       *engine.Tensor // [M, 1 + 2 O]: over a generation; nil: not collected
	seen       int            // while recording: candidates of each member included in the sums
}

func newObservations(s *engine.State, p *policy, members int) *observations {
	if p.network.NormalizeObs == Unnormalized && p.network.VirtualBatchNorm == 0 {
		return nil
	}
	o := &observations{policy: p, state: s, members: members}
	if p.network.NormalizeObs != Unnormalized {
		o.normalizer = nn.NewNormalizer(s, members, p.env.ObsSize())
	}
	if rows := p.network.VirtualBatchNorm; rows > 0 {
		o.reference = s.Tensor("reference", engine.Float32, engine.Members(members), engine.Axis("row", rows), engine.Axis("feature", p.env.ObsSize()))
	}
	if p.network.NormalizeObs == Running {
		o.sums = s.Scratch("observed", engine.Float32, engine.Members(members), engine.Axis("sum", 1+2*p.env.ObsSize()))
	}
	return o
}

// values returns [M, 2, O], mean and reciprocal deviation; nil if observations are not normalized.
func (o *observations) values() *engine.Tensor {
	if o == nil || o.normalizer == nil {
		return nil
	}
	return o.normalizer.Values()
}

// init begins a search. With a virtual batch it computes the moments of random steps, keeps the reference batch, and adds these steps to taken.
func (o *observations) init(ctx context.Context, taken *engine.Tensor) error {
	if o == nil {
		return nil
	}
	if o.normalizer != nil {
		if err := o.normalizer.Init(ctx); err != nil {
			return err
		}
	}
	if o.network.NormalizeObs != VirtualBatch && o.reference == nil {
		return nil
	}
	steps, err := o.batch(ctx)
	if err != nil {
		return fmt.Errorf("problem: %d random steps in %q: %w", o.network.RandomSteps, o.env.Name, err)
	}
	return taken.WriteUint32(ctx, []uint32{uint32(steps), uint32(steps >> 32)})
}

// batch takes random steps, in whole episodes if there are enough, and adds their observations to the moments.
func (o *observations) batch(ctx context.Context) (steps int64, err error) {
	s := o.state.Temporary("virtual_batch")
	defer s.Close()
	clock := engine.NewClock(s)
	horizon := min(o.network.RandomSteps, o.horizon())
	options := o.options
	options.AutoReset = envs.Normal
	cfg := envs.RolloutConfig{
		Members: o.members, Environments: (o.network.RandomSteps + horizon - 1) / horizon, Horizon: horizon, Options: options,
		Trajectory: true, Begin: true,
	}
	ro, err := envs.NewRollout(ctx, s, o.env, cfg)
	if err != nil {
		return 0, err
	}
	if err := s.Zero(ctx); err != nil {
		return 0, err
	}
	p, err := s.Engine().Record("virtual batch", func(r *engine.Recorder) {
		ro.Record(r, clock, nil)
		if o.network.NormalizeObs == VirtualBatch {
			o.normalizer.Record(r, ro.Obs)
		}
		o.keep(r, ro.Obs)
	})
	if err != nil {
		return 0, err
	}
	defer p.Free()
	return int64(o.members) * int64(cfg.Environments) * int64(horizon) * int64(options.Repeat()), p.Run(ctx)
}

// see records adding the observations of the window of candidates that begins at first to the generation's sums.
func (o *observations) see(r *engine.Recorder, e *rollouts, first int) {
	if o == nil || o.sums == nil {
		return
	}
	k := observedKernel{
		Seen: e.rollout.Seen().Range(), Sums: o.sums.Range(), Window: uint32(e.window), Episodes: uint32(o.episodes()),
		Workgroup: r.WorkgroupFor(e.window * o.episodes()),
	}
	switch {
	case e.alone: // the last slice ends with the population
		k.Skip = uint32((e.window - first%e.window) % e.window)
	case first > 0:
		k.More, k.Skip = true, uint32(o.seen-first)
	}
	o.seen = first + e.window
	r.Dispatch(k.call(uint32(o.members), uint32(1+2*o.env.ObsSize()), 1))
}

// learn records merging the generation's sums into the moments.
func (o *observations) learn(r *engine.Recorder) {
	if o != nil && o.sums != nil {
		o.normalizer.Merge(r, o.sums)
	}
}
