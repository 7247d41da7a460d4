package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// RandomSearchConfig are the settings of random search.
type RandomSearchConfig struct {
	Population int     `min:"1" max:"1048576" doc:"Candidates a generation, P."`
	NoiseStd   float64 `above:"0" doc:"Deviation of the candidates from the start where the space has no bounds, per member."`
}

// DefaultRandomSearch has the population of EvoRL's searches (B. Zheng et al., 2025, table 3) and the standard normal distribution.
func DefaultRandomSearch() RandomSearchConfig {
	return RandomSearchConfig{Population: 128, NoiseStd: 1}
}

// randomSearch is pure random search (S. H. Brooks, "A Discussion of Random Methods for Seeking Maxima", 1958): all candidates come from one distribution,
// uniform between the bounds or, where there are none, normal around the start. Its solution is the best of them.
type randomSearch struct {
	cfg       RandomSearchConfig
	space     Space
	clock     engine.Clock
	noise     *Noise
	start     *engine.Tensor // [M, row]
	best      *engine.Tensor // [M, row]
	std       *engine.Tensor // [M]
	low, high *engine.Tensor // [row]; nil: there are no bounds
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
		row := engine.Axis("parameter", space.Row())
		rs.low, rs.high = s.Scratch("low", engine.Float32, row), s.Scratch("high", engine.Float32, row)
	} else {
		rs.noise, rs.start, rs.std = NewNoise(clock, space, c.Population, false), space.Tensor(s, "start"), hyper.Add("noise_std", c.NoiseStd)
	}
	return rs, s.Err()
}

func (rs *randomSearch) Population() int          { return rs.cfg.Population }
func (rs *randomSearch) Solution() *engine.Tensor { return rs.best }

// Init implements Strategy.
func (rs *randomSearch) Init(ctx context.Context, start []float32) error {
	if rs.start != nil {
		if err := rs.start.WriteFloat32(ctx, rs.space.Pad(start)); err != nil {
			return err
		}
	}
	return rs.best.WriteFloat32(ctx, rs.space.Pad(start))
}

// Constants implements Strategy.
func (rs *randomSearch) Constants(ctx context.Context) error {
	if rs.low == nil {
		return nil
	}
	padding := make([]float32, rs.space.Row()-rs.space.Dim)
	if err := rs.low.WriteFloat32(ctx, append(rs.space.Low[:rs.space.Dim:rs.space.Dim], padding...)); err != nil {
		return err
	}
	return rs.high.WriteFloat32(ctx, append(rs.space.High[:rs.space.Dim:rs.space.Dim], padding...))
}

// Ask implements Strategy: candidates depend on nothing.
func (rs *randomSearch) Ask(*engine.Recorder) {}

// Candidates implements Strategy.
func (rs *randomSearch) Candidates(r *engine.Recorder, pick Pick, into *engine.Tensor) {
	if rs.low == nil {
		rs.noise.Candidates(r, rs.start, rs.std, pick, into)
		return
	}
	members, row := rs.space.Members, rs.space.Row()
	count := into.Len() / row / members
	k := uniformKernel{
		Low: rs.low.Range(), High: rs.high.Range(), Candidates: into.Range(), Clock: rs.clock.Tensor().Range(),
		Seed: r.Engine().Seed(), Stream: engine.Stream("ec/uniform"), Row: uint32(row), Count: uint32(count), First: uint32(pick.First),
	}
	if pick.Index != nil {
		k.Pick = pick.Index.Range()
	}
	groups := r.Share(members, count*row/4)
	k.LocalSizeX = r.WorkgroupFor(count * row / 4 / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// Tell implements Strategy.
func (rs *randomSearch) Tell(r *engine.Recorder, told Told) { r.Copy(rs.best, told.Fittest) }
