package ec

import (
	"fmt"

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
	Grouped                     // B. Sarkar et al., 2025: (F − mean of its group) / √(variance of all + 10⁻⁵), see GroupWeights
	byRank                      // from a list, see Utilities
)

var shapingNames = [...]string{"raw", "centered_rank", "standardize", "normalize", "grouped"}

func (s Shaping) String() string { return config.NameOf(s, shapingNames[:]) }

// UnmarshalText parses a shaping's name: raw, centered_rank, standardize, normalize or grouped.
func (s *Shaping) UnmarshalText(text []byte) error {
	return config.UnmarshalName(s, "shaping", shapingNames[:], text)
}

// MarshalText returns a shaping's name.
func (s Shaping) MarshalText() ([]byte, error) {
	return config.MarshalName(s, "shaping", shapingNames[:])
}

// Weights records the weights [M, N] of a generation's candidates, for shapings other than Grouped. If their fitness is constant, all weights are
// zero.
func (s Shaping) Weights(r *engine.Recorder, scores Scores, weights *engine.Tensor) {
	recordShape(r, s, false, scores, scores.Finite, weights, 0)
}

// GroupWeights records the weights [M, N] of Grouped, with groups of so many consecutive candidates; the population is a multiple. If the fitness of all
// candidates is constant, all weights are zero.
func GroupWeights(r *engine.Recorder, scores Scores, group int, weights *engine.Tensor) {
	recordShape(r, Grouped, false, scores, scores.Finite, weights, group)
}

// Advantages records Weights minus their mean, for shapings other than Grouped: the baseline of policy gradients (R. J. Williams, 1992).
func (s Shaping) Advantages(r *engine.Recorder, scores Scores, weights *engine.Tensor) {
	recordShape(r, s, true, scores, scores.Finite, weights, 0)
}

// Utilities records the weights [M, N] of a generation's candidates by their ranks, from utilities [N], the best
// candidate's first.
func Utilities(r *engine.Recorder, scores Scores, utilities, weights *engine.Tensor) {
	recordShape(r, byRank, false, scores, utilities, weights, 0)
}

func recordShape(r *engine.Recorder, s Shaping, center bool, scores Scores, utilities, weights *engine.Tensor, group int) {
	fitness := scores.Finite
	if s == CenteredRank {
		fitness = scores.Fitness // whether ranks differ, which they do where only some of it is finite
	}
	members := scores.Finite.Size(engine.MemberAxis)
	population := scores.Finite.Len() / members
	if (s == Grouped) != (group > 0) || group > 0 && population%group != 0 {
		r.Fail(fmt.Errorf("ec: shaping %d of %d candidates in groups of %d; want grouped with a divisor of the population", s, population, group))
		return
	}
	r.Dispatch(shapeKernel{
		Fitness: fitness.Range(), Rank: scores.Rank.Range(), Utility: utilities.Range(), Weight: weights.Range(),
		Population: uint32(population), Group: uint32(group), Workgroup: r.WorkgroupFor(4 * population), Shape: uint32(s), Center: center,
	}.call(uint32(members), 1, 1))
}
