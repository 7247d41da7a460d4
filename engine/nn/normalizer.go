package nn

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Normalizer tracks the running mean and standard deviation of every observation feature of each member and
// normalizes by them, so that features of any scale reach the network with mean 0 and deviation 1. Its moments are
// saved with the state.
type Normalizer struct {
	moments *engine.Tensor // [M, 3, O]: count, mean, sum of squared deviations
	values  *engine.Tensor // [M, 2, O]: mean, 1 / deviation
	leftOut *engine.Tensor // [M, O]: number of non-finite values in the last batch
}

// NewNormalizer makes a normalizer of observations with the given number of features.
func NewNormalizer(s *engine.State, members, features int) *Normalizer {
	s = s.Sub("normalizer")
	p, o := engine.Members(members), engine.Axis("feature", features)
	return &Normalizer{
		moments: s.Tensor("moments", engine.Float32, p, engine.Axis("moment", 3), o),
		values:  s.Tensor("values", engine.Float32, p, engine.Axis("moment", 2), o),
		leftOut: s.Scratch("left_out", engine.Float32, p, o),
	}
}

// Values returns [M, 2, O]: mean and reciprocal deviation, as kernels read them.
func (n *Normalizer) Values() *engine.Tensor { return n.values }

// LeftOut returns [M, O]: the number of non-finite values in the last batch that Record saw. They are excluded from
// the moments.
func (n *Normalizer) LeftOut() *engine.Tensor { return n.leftOut }

// Inherited returns what members that become copies of others take over: the moments.
func (n *Normalizer) Inherited() []*engine.Tensor { return []*engine.Tensor{n.moments, n.values} }

// Init sets mean 0 and deviation 1.
func (n *Normalizer) Init(ctx context.Context) error {
	dims := n.values.Dims()
	values := make([]float32, n.values.Len())
	features := dims[2].Size
	for i := range values {
		if i/features%2 == 1 {
			values[i] = 1
		}
	}
	return n.values.WriteFloat32(ctx, values)
}

// Record records an update of the running moments by a batch of observations [T, M, E, O]. Non-finite values are
// excluded and counted.
func (n *Normalizer) Record(r *engine.Recorder, obs *engine.Tensor) { n.RecordTransitions(r, obs, nil) }

// RecordTransitions is Record without the observations of steps that are no transitions, by the flags done [T, M, E] of a trajectory (envs.Done); nil: all
// are. Non-finite values are counted in all steps.
func (n *Normalizer) RecordTransitions(r *engine.Recorder, obs, done *engine.Tensor) {
	horizon, members, inner, ok := obs.Split(engine.MemberAxis)
	features := n.values.Dims()[2].Size
	if !ok || members != n.values.Dims()[0].Size || inner%features != 0 {
		r.Fail(fmt.Errorf("nn: observations %v do not fit normalizer %v", obs, n.values))
		return
	}
	k := normalizerKernel{
		Obs: obs.Range(), Moments: n.moments.Range(), Normalizer: n.values.Range(), LeftOut: n.leftOut.Range(),
		Horizon: uint32(horizon), Environments: uint32(inner / features), Workgroup: r.WorkgroupFor(horizon * inner / features),
	}
	if done != nil {
		if done.Len()*features != obs.Len() {
			r.Fail(fmt.Errorf("nn: flags %v of observations %v; want one for each", done, obs))
			return
		}
		k.Done = done.Range()
	}
	r.Dispatch(k.call(uint32(members), uint32(features), 1))
}

// Merge records an update of the running moments by the sums [M, 1 + 2 O] over a batch of observations: their number,
// then the sums of their deviations from the normalizer's mean, then the sums of squared deviations. An empty batch
// changes nothing.
func (n *Normalizer) Merge(r *engine.Recorder, sums *engine.Tensor) {
	members, features := n.values.Dims()[0].Size, n.values.Dims()[2].Size
	if sums.Len() != members*(1+2*features) {
		r.Fail(fmt.Errorf("nn: sums %v do not fit normalizer %v", sums, n.values))
		return
	}
	size := r.Workgroup()
	r.Dispatch(normalizerMergeKernel{
		Sums: sums.Range(), Moments: n.moments.Range(), Normalizer: n.values.Range(), Members: uint32(members), Features: uint32(features), LocalSizeX: size,
	}.call((uint32(members*features)+size-1)/size, 1, 1))
}
