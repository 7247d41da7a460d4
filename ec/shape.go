package ec

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Shaping is the transformation of fitness into the weights of an update. The numbers are as in
// shaders/ec/shape.comp.
type Shaping uint32

const (
	Raw          Shaping = iota // the fitness itself
	CenteredRank                // T. Salimans et al., 2017: from −1/2 for the worst to 1/2 for the best
	Standardize                 // to mean 0 and deviation 1
	Normalize                   // from −1 for the worst to 1 for the best
	byRank                      // from a list, see Utilities
)

var shapingNames = [...]string{"raw", "centered_rank", "standardize", "normalize"}

func (s Shaping) String() string { return config.NameOf(s, shapingNames[:]) }

// UnmarshalText parses a shaping's name: raw, centered_rank, standardize or normalize.
func (s *Shaping) UnmarshalText(text []byte) error {
	return config.UnmarshalName(s, "shaping", shapingNames[:], text)
}

// MarshalText returns a shaping's name.
func (s Shaping) MarshalText() ([]byte, error) {
	return config.MarshalName(s, "shaping", shapingNames[:])
}

// Weights records the weights [M, N] of a generation's candidates. If their fitness is constant, all weights are
// zero.
func (s Shaping) Weights(r *engine.Recorder, scores Scores, weights *engine.Tensor) {
	recordShape(r, s, false, scores, scores.Finite, weights)
}

// Advantages records Weights minus their mean: the baseline of policy gradients (R. J. Williams, 1992).
func (s Shaping) Advantages(r *engine.Recorder, scores Scores, weights *engine.Tensor) {
	recordShape(r, s, true, scores, scores.Finite, weights)
}

// Utilities records the weights [M, N] of a generation's candidates by their ranks, from utilities [N], the best
// candidate's first.
func Utilities(r *engine.Recorder, scores Scores, utilities, weights *engine.Tensor) {
	recordShape(r, byRank, false, scores, utilities, weights)
}

func recordShape(r *engine.Recorder, s Shaping, center bool, scores Scores, utilities, weights *engine.Tensor) {
	members := scores.Finite.Size(engine.MemberAxis)
	population := scores.Finite.Len() / members
	r.Dispatch(shapeKernel{
		Fitness: scores.Finite.Range(), Rank: scores.Rank.Range(), Utility: utilities.Range(), Weight: weights.Range(),
		Population: uint32(population), Workgroup: r.WorkgroupFor(4 * population), Shape: uint32(s), Center: center,
	}.call(uint32(members), 1, 1))
}
