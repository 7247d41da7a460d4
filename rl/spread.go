package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// spread is mixed exploration: a member's environments explore with different deviations, evenly spaced from the
// lowest to the highest (Z. Li et al., "Parallel Q-Learning", 2023, section 3.3).
type spread struct {
	levels          int
	lowest, highest *engine.Tensor // [P]
	params, noise   *engine.Tensor // [P · levels, row], [P · levels]
}

func newSpread(s *engine.State, levels int, lowest, highest, params *engine.Tensor) *spread {
	all := engine.Members(levels * lowest.Len())
	return &spread{
		levels: levels, lowest: lowest, highest: highest,
		params: s.Scratch("params", engine.Float32, all, engine.Axis("parameter", params.Size("parameter"))), noise: s.Scratch("noise", engine.Float32, all),
	}
}

// policy returns a policy that explores with these deviations.
func (s *spread) policy(of envs.Policy) *envs.Policy {
	of.Weights, of.Head.Noise = nn.Weights{Params: s.params}, s.noise
	return &of
}

// record records copying the actors.
func (s *spread) record(r *engine.Recorder, params *engine.Tensor) {
	copies, fours := s.noise.Len(), s.params.Size("parameter")/4
	groups := r.Share(copies, fours)
	r.Dispatch(spreadKernel{
		Params: params.Range(), Lowest: s.lowest.Range(), Highest: s.highest.Range(), Spread: s.params.Range(), Noise: s.noise.Range(),
		Row: uint32(fours), Copies: uint32(s.levels), LocalSizeX: r.WorkgroupFor(fours / int(groups)),
	}.call(groups, uint32(copies), 1))
}
