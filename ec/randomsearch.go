package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// RandomSearchConfig are the settings of random search.
type RandomSearchConfig struct {
	Population int     `min:"1" max:"1048576" doc:"Candidates per generation, N."`
	NoiseStd   float64 `above:"0" doc:"Deviation of the candidates from the start, without bounds, per member." member:""`
}

// DefaultRandomSearch has the population of EvoRL's searches (B. Zheng et al., 2025, table 3) and the standard normal
// distribution.
func DefaultRandomSearch() RandomSearchConfig {
	return RandomSearchConfig{Population: 128, NoiseStd: 1}
}

// randomSearch is pure random search (S. H. Brooks, "A Discussion of Random Methods for Seeking Maxima", 1958): all
// candidates come from one distribution, uniform in the bounds or, without bounds, normal around the start. Its
// solution is the best of them.
type randomSearch struct {
	cfg    RandomSearchConfig
	space  Space
	clock  engine.Clock
	noise  *Noise
	start  *engine.Tensor // [M, row]
	best   *engine.Tensor // [M, row]
	std    *engine.Tensor // [M]
	bounds *bounds        // nil: no bounds
}

// Name implements Algorithm.
func (c RandomSearchConfig) Name() string { return "random-search" }

// New implements Algorithm.
func (c RandomSearchConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	rs := &randomSearch{cfg: c, space: space, clock: clock, best: space.Tensor(s, "best")}
	if space.Bounded() {
		rs.bounds = newBounds(s, space)
	} else {
		rs.noise, rs.start, rs.std = NewNoise(s, clock, space, c.Population, false), space.Tensor(s, "start"), hyper.Add("noise_std", c.NoiseStd)
	}
	return rs, s.Err()
}

func (rs *randomSearch) Population() int          { return rs.cfg.Population }
func (rs *randomSearch) Solution() *engine.Tensor { return rs.best }

func (rs *randomSearch) Init(ctx context.Context, start []float32) error {
	if rs.start != nil {
		if err := rs.start.WriteFloat32(ctx, rs.space.Pad(start)); err != nil {
			return err
		}
	}
	return rs.best.WriteFloat32(ctx, rs.space.Pad(start))
}

// Ask implements Strategy. It records nothing: candidates do not depend on the state.
func (rs *randomSearch) Ask(*engine.Recorder) {}

func (rs *randomSearch) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	if rs.bounds == nil {
		rs.noise.Candidates(r, rs.start, rs.std, pick, into)
		return
	}
	members, row := rs.space.Members, rs.space.Row()
	count := into.Len() / row / members
	low, high := rs.bounds.low.Range(), rs.bounds.high.Range()
	k := uniformKernel{
		Low: low, High: high, Candidates: into.Range(), Clock: rs.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: rs.bounds.scope.Stream("uniform"), Row: uint32(row), Count: uint32(count), First: uint32(pick.First),
	}
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	groups := r.Share(members, count*row/4)
	k.LocalSizeX = r.WorkgroupFor(count * row / 4 / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

func (rs *randomSearch) TellCandidates(r *engine.Recorder, _ Injection, scores Scores) {
	rs.Tell(r, scores)
}

func (rs *randomSearch) Tell(r *engine.Recorder, scores Scores) { r.Copy(rs.best, scores.Fittest) }
