package envs

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Policy is a network that acts, with the head that converts its outputs into actions.
type Policy struct {
	nn.Weights
	Network nn.Model
	Head    nn.Head // its parameters, if any, directly follow the network's in the row

	Placement Placement // where the network's weights are stored during episodes; Automatic: where it costs least

	// Rows says which row of Params, then [K, row], plays each seat of a world of several agents, [M, E, D] u32; nil: the
	// member's own. Row p is member p's own: the steps of seats that others play are Void, and their episodes are not
	// among the finished ones. The normalizer is then [K, 2, In], a head's noise [K].
	Rows *engine.Tensor
	// Matches draws Rows anew where an episode begins; nil: they stay as they are.
	Matches *Matches

	// Prepare records what computes Params, before everything else of each recording of a rollout; nil: they are there.
	Prepare func(r *engine.Recorder)

	Normalizer *engine.Tensor // [M, 2, In]: mean and reciprocal deviation of observations; nil: none
	ObsLimit   float32        // normalized observations are clipped to ±ObsLimit
}

// prepare records computing the policy's parameters; p may be nil.
func (p *Policy) prepare(r *engine.Recorder) {
	if p != nil && p.Prepare != nil {
		p.Prepare(r)
	}
}

// check checks the policy against the environment in which it acts.
func (p *Policy) check(env *Environment) error {
	h, space := p.Head, env.Action
	if err := h.Check(); err != nil {
		return fmt.Errorf("envs: policy in %q: %w", env.Name, err)
	}
	switch {
	case h.Kind.Discrete() != space.IsDiscrete() || h.Size != space.Size():
		return fmt.Errorf("envs: %v head of size %d acts in %q, which has %v", h.Kind, h.Size, env.Name, space)
	case p.Network.Inputs().Size() != env.ObsSize() || p.Network.Outputs() != h.Outputs():
		return fmt.Errorf("envs: network %v acts in %q, which has %d observations and %v; its %v head wants %d outputs",
			p.Network, env.Name, env.ObsSize(), space, h.Kind, h.Outputs())
	case p.Base != 0:
		return fmt.Errorf("envs: network %v begins at %d of the rows %v; want 0", p.Network, p.Base, p.Params)
	case p.Network.Size()+h.Parameters() > p.Row():
		return fmt.Errorf("envs: network %v and the %d parameters of its %v head in the rows %v, which are too short", p.Network, h.Parameters(), h.Kind, p.Params)
	case h.Noise != nil && h.Noise.Len() != p.Params.Size(engine.MemberAxis):
		return fmt.Errorf("envs: exploration noise %v of the policies %v; want one value each", h.Noise, p.Params)
	case h.Noise != nil && h.Kind == nn.Deterministic && !space.bounded():
		return fmt.Errorf("envs: exploration noise in %q, whose actions %v have no bounds to clip to", env.Name, space)
	}
	return nil
}

// owners returns how many members have a network of their own.
func (p *Policy) owners() uint32 {
	if v := p.Perturbation; v != nil {
		return uint32(v.Vectors.Size(engine.MemberAxis) * v.Vectors.Size(nn.NetworkAxis))
	}
	return uint32(p.Params.Size(engine.MemberAxis))
}

// head returns where kernels find the parameters of the owners' heads: rows of so many floats, and where they begin in a row.
func (p *Policy) head() (params vk.Range, row, base uint32) {
	if v := p.Perturbation; v != nil {
		at, _ := v.Layout.Vector(p.Network.Size()) // a head without parameters has none there
		return v.Vectors.Range(), uint32(v.Vectors.Size("float")), uint32(at)
	}
	return p.Params.Range(), uint32(p.Row()), uint32(p.Network.Size())
}

// Member reads the parameters of a member and its normalizer [2, In]: mean and reciprocal deviation; nil without one.
func (p *Policy) Member(ctx context.Context, member int) (params, normalizer []float32, err error) {
	if p.Prepare != nil {
		program, err := p.Params.Engine().Record("policy", p.Prepare)
		if err != nil {
			return nil, nil, err
		}
		defer program.Free()
		if err := program.Run(ctx); err != nil {
			return nil, nil, err
		}
	}
	if params, err = p.Params.Index(member).ReadFloat32(ctx); err != nil {
		return nil, nil, err
	}
	if p.Normalizer != nil {
		normalizer, err = p.Normalizer.Index(member).ReadFloat32(ctx)
	}
	return params, normalizer, err
}
