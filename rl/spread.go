package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// spread is mixed exploration: a member's environments explore by different amounts, from that of the first level to that of the last. Each level has an equal
// share of the environments, and a copy of the policy.
type spread struct {
	levels        int
	spacing       spacing
	first, last   *engine.Tensor // [M]: see spacing
	params, noise *engine.Tensor // [M · levels, row], [M · levels]
}

// spacing is how levels of exploration lie between the first and the last.
type spacing bool

const (
	evenly   spacing = false // Z. Li et al., "Parallel Q-Learning", 2023, section 3.3
	byPowers spacing = true  // the first one to the power of 1 to 1 + last: D. Horgan et al., "Distributed Prioritized Experience Replay", 2018
)

func newSpread(s *engine.State, levels int, by spacing, first, last, params *engine.Tensor) *spread {
	all := engine.Members(levels * first.Len())
	return &spread{
		levels: levels, spacing: by, first: first, last: last,
		params: s.Scratch("params", engine.Float32, all, engine.Axis("parameter", params.Size("parameter"))), noise: s.Scratch("noise", engine.Float32, all),
	}
}

// policy returns a policy that explores by these levels.
func (s *spread) policy(of envs.Policy) *envs.Policy {
	of.Weights, of.Head.Noise = nn.Weights{Params: s.params}, s.noise
	return &of
}

// record records copying the members' parameters, and computing their levels.
func (s *spread) record(r *engine.Recorder, params *engine.Tensor) {
	copies, fours := s.noise.Len(), s.params.Size("parameter")/4
	groups := r.Share(copies, fours)
	r.Dispatch(spreadKernel{
		Params: params.Range(), First: s.first.Range(), Last: s.last.Range(), Spread: s.params.Range(), Noise: s.noise.Range(),
		Row: uint32(fours), Copies: uint32(s.levels), Powers: bool(s.spacing), LocalSizeX: r.WorkgroupFor(fours / int(groups)),
	}.call(groups, uint32(copies), 1))
}

// checkLevels checks that each of so many levels of exploration has an equal share of the environments of every actor.
func (c OffPolicyConfig) checkLevels(levels int) error {
	switch n := c.Environments / c.Actors; {
	case levels < 2 || n%levels == 0:
		return nil
	case c.Actors == 1:
		return config.Invalid("exploration_levels", "%d levels for %d environments; want a divisor of environments", levels, c.Environments)
	default:
		return config.Invalid("exploration_levels", "%d levels for %d environments of an actor; want a divisor of environments / actors", levels, n)
	}
}
