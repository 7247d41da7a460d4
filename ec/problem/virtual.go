package problem

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// scales returns how many parameters of a candidate, its last ones, are scales of virtual batch normalization.
func (p *policy) scales() int {
	if p.network.VirtualBatchNorm == 0 {
		return 0
	}
	return nn.VirtualScales(p.model())
}

// checkVirtual checks that the network's layers can be normalized by a reference batch, if they are to be.
func (p *policy) checkVirtual() error {
	rows := p.network.VirtualBatchNorm
	refused := func(format string, args ...any) error {
		return &SettingError{"network", "virtual_batch_norm", fmt.Sprintf(format, args...)}
	}
	switch {
	case rows == 0:
		return nil
	case p.actor != nil:
		return refused("actors of reinforcement learning learn by gradients, which do not pass through a reference batch: want 0")
	case rows > p.network.RandomSteps:
		return refused("%d observations of %d random steps: want at most network.random_steps", rows, p.network.RandomSteps)
	}
	if err := nn.CheckVirtualBatch(p.model()); err != nil {
		return refused("%v", err)
	}
	return nil
}

// newVirtual makes virtual batch normalization for so many networks of every search.
func (p *policy) newVirtual(s *engine.State, searches, networks int) (*nn.VirtualBatch, error) {
	return nn.NewVirtualBatch(s, p.model(), searches, networks, p.network.VirtualBatchNorm, p.head().Parameters())
}

// virtually makes a policy of networks with virtual batch normalization act by equal networks without, which are computed before it acts; v nil: it is
// as it is.
func (e *rollouts) virtually(policy *envs.Policy, v *nn.VirtualBatch) *envs.Policy {
	if v == nil {
		return policy
	}
	params, o := policy.Params, e.observations
	policy.Params = v.Folded()
	policy.Prepare = func(r *engine.Recorder) {
		v.Record(r, params, nn.Inputs{Parts: []*engine.Tensor{o.reference}, Normalizer: o.values(), Limit: float32(e.network.ObsLimit)})
	}
	return policy
}

// keep records making observations [T, M, E, O] at even distances, step by step, the reference batch.
func (o *observations) keep(r *engine.Recorder, obs *engine.Tensor) {
	if o.reference == nil {
		return
	}
	rows, environments := o.network.VirtualBatchNorm, obs.Len()/(obs.Size(engine.TimeAxis)*o.members*o.env.ObsSize())
	steps := obs.Size(engine.TimeAxis) * environments
	for m := range o.members {
		for i := range rows {
			at := i * steps / rows
			r.Copy(o.reference.Index(m).Index(i), obs.Index(at/environments).Index(m).Index(at%environments))
		}
	}
}
