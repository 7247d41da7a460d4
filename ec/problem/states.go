package problem

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// States describes single states by what BehaviourConfig averages over the steps of a policy's episodes: observations,
// or the feet that touch the ground (1 or 0).
type States struct {
	env        *envs.Environment
	features   *engine.Tensor // [B] u32; nil: feet
	touch      *envs.Touch    // nil: observations
	descriptor *engine.Tensor // [N, B]
	low, high  []float32
}

// NewStates makes the descriptors of at most `most` states at once; its tensors are in s.
//
// Errors: as config.Check, and *SettingError.
func NewStates(s *engine.State, env *envs.Environment, behaviour BehaviourConfig, most int) (*States, error) {
	if err := config.Check(behaviour); err != nil {
		return nil, err
	}
	d, err := behaviour.of(env)
	if err != nil {
		return nil, err
	}
	x := &States{env: env, low: d.low, high: d.high}
	if d.feet {
		if x.touch, err = envs.NewTouch(s, env); err != nil {
			return nil, err
		}
	} else {
		x.features = engine.Constant(s, "described", d.features, engine.Axis("descriptor", len(d.observations)))
	}
	x.descriptor = s.Scratch("state_descriptor", engine.Float32, engine.Axis("state", most), engine.Axis("descriptor", len(d.low)))
	return x, s.Err()
}

// Descriptors returns the descriptors [N, B] of the states last recorded.
func (x *States) Descriptors() *engine.Tensor { return x.descriptor }

// Bounds returns the bounds of the descriptors, [2, B]: low, high.
func (x *States) Bounds() []float32 { return append(append([]float32(nil), x.low...), x.high...) }

// Record records describing the states with observations [.., O].
func (x *States) Record(r *engine.Recorder, obs *engine.Tensor) {
	count, size := obs.Len()/x.env.ObsSize(), x.descriptor.Size("descriptor")
	if x.touch != nil {
		x.touch.Record(r, obs, x.descriptor)
		return
	}
	if count*x.env.ObsSize() != obs.Len() || count*size > x.descriptor.Len() {
		r.Fail(fmt.Errorf("problem: descriptors %v of states %v; want %d observations of each, and room for all", x.descriptor, obs, x.env.ObsSize()))
		return
	}
	local, groups := r.Invocations(count * size)
	r.Dispatch(describedKernel{
		Obs: obs.Range(), Feature: x.features.Range(), Descriptor: x.descriptor.Range(), Count: uint32(count * size),
		Features: uint32(x.env.ObsSize()), Described: uint32(size), LocalSizeX: local,
	}.call(groups, 1, 1))
}
