package nn

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Normalizer keeps running mean and deviation of observations, one pair a member and feature, and normalizes by them: observation
// features of any scale reach the network with mean 0 and deviation 1. Its moments are saved with the state.
type Normalizer struct {
	moments *engine.Tensor // [P, 3, O]: count, mean, sum of squared deviations
	values  *engine.Tensor // [P, 2, O]: mean, 1 / deviation
	leftOut *engine.Tensor // [P, O]: values of the last batch that were not finite
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

// Values is [P, 2, O]: mean and reciprocal deviation, as kernels take it.
func (n *Normalizer) Values() *engine.Tensor { return n.values }

// LeftOut is [P, O]: how many values of the last batch that Record took were not finite. They are left out of the moments.
func (n *Normalizer) LeftOut() *engine.Tensor { return n.leftOut }

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

// Record records taking a batch of observations [T, P, E, O] into the running moments. Values that are not finite are left out and counted.
func (n *Normalizer) Record(r *engine.Recorder, obs *engine.Tensor) {
	horizon, members, inner, ok := obs.Split(engine.MemberAxis)
	features := n.values.Dims()[2].Size
	if !ok || members != n.values.Dims()[0].Size || inner%features != 0 {
		r.Fail(fmt.Errorf("nn: observations %v do not fit normalizer %v", obs, n.values))
		return
	}
	r.Dispatch(normalizerKernel{
		Obs: obs.Range(), Moments: n.moments.Range(), Normalizer: n.values.Range(), LeftOut: n.leftOut.Range(),
		Horizon: uint32(horizon), Environments: uint32(inner / features), Workgroup: r.WorkgroupFor(horizon * inner / features),
	}.call(uint32(members), uint32(features), 1))
}

// Merge records taking sums [P, 1 + 2 O] over a batch of observations into the running moments: how many there are, and the sums of
// their deviations from the normalizer's mean and of the squares of those. No observations change nothing.
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
