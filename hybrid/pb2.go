package hybrid

import (
	"context"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// Sizes of shaders/hybrid/gaussian_process.glsl and pb2_choose.comp.
const (
	pb2Places     = 68  // observations and members' settings
	pb2Settings   = 60  // settings of the Gaussian process that are compared
	pb2Candidates = 256 // candidates per member
	pb2Spread     = 0.1 // deviation of the candidates near the member's own setting
	pb2Dimensions = 16  // largest number of hyperparameters
)

// pb2 explores by population-based bandits (J. Parker-Holder, V. Nguyen, S. Roberts, "Provably Efficient Online
// Hyperparameter Optimization with Population-Based Bandits", 2020). A Gaussian process models the gain in fitness per
// interval as a function of time and the hyperparameters' unit coordinates; pb2 chooses the settings with the greatest
// upper confidence bounds. The process's own settings are the most likely ones of a grid, where the paper uses
// gradient ascent of the likelihood. It keeps the newest `rows` observations.
type pb2 struct {
	members, row int
	rows         int // of observations, a multiple of the members

	inputs, gains, times *engine.Tensor // [R, row], [R], [R]
	count                *engine.Tensor // [1] u32: number of exchanges
	previous             *engine.Tensor // [M]: a member's fitness after the last exchange, its parent's if it is a copy; NaN before the first exchange
	units, chosen        *engine.Tensor // [M, row]
	likelihood           *engine.Tensor // [pb2Settings]
}

func newPB2(p *PBT, s *engine.State) (*pb2, error) {
	members, d := p.inner.Describe().Members, len(p.names)
	switch {
	case d < 1 || d > pb2Dimensions:
		return nil, config.Invalid("search", "%d values for pb2 to choose; want 1 to %d", d, pb2Dimensions)
	case 2*members > pb2Places:
		return nil, fmt.Errorf("pb2 of %d members; want at most %d", members, pb2Places/2)
	case p.State().Engine().Device().Info().Limits.MaxInvocations < pb2Candidates:
		return nil, fmt.Errorf("pb2 on a device with workgroups of fewer than %d invocations; want perturb", pb2Candidates)
	}
	e := &pb2{members: members, row: (d + 3) / 4 * 4, rows: (pb2Places - members) / members * members}
	s = s.Sub("pb2")
	n, r, c := engine.Members(members), engine.Axis("row", e.rows), engine.Axis("coordinate", e.row)
	e.inputs, e.gains, e.times = s.Tensor("inputs", engine.Float32, r, c), s.Tensor("gains", engine.Float32, r), s.Tensor("times", engine.Float32, r)
	e.count, e.previous = s.Tensor("exchanges", engine.Uint32, engine.Axis("count", 1)), s.Tensor("previous", engine.Float32, n).Own()
	e.units, e.chosen = s.Scratch("units", engine.Float32, n, c), s.Scratch("chosen", engine.Float32, n, c)
	e.likelihood = s.Scratch("likelihood", engine.Float32, engine.Axis("setting", pb2Settings))
	return e, s.Err()
}

// init implements initializer: it clears the observations.
func (e *pb2) init(ctx context.Context) error {
	nan := float32(math.NaN())
	if err := e.gains.Fill(ctx, nan); err != nil {
		return err
	}
	return e.previous.Fill(ctx, nan)
}

func (e *pb2) observe(r *engine.Recorder, p *PBT) {
	groups := uint32(e.members+7) / 8
	r.Fill(e.units, 0)
	for i, name := range p.names {
		prior := p.cfg.Search[name]
		low, high := prior.coordinates()
		r.Dispatch(pb2LocateKernel{
			Values: p.inner.Hyper().Lookup(name).Range(), Units: e.units.Range(),
			Members: uint32(e.members), Row: uint32(e.row), At: uint32(i), Prior: uint32(prior.Prior), Low: float32(low), High: float32(high),
		}.call(groups, 1, 1))
	}
	r.Dispatch(pb2ObserveKernel{
		Fitness: p.fitness.Range(), Previous: e.previous.Range(), Units: e.units.Range(), Count: e.count.Range(),
		Inputs: e.inputs.Range(), Gains: e.gains.Range(), Times: e.times.Range(),
		Members: uint32(e.members), Row: uint32(e.row), Rows: uint32(e.rows),
	}.call(groups, 1, 1))
}

func (e *pb2) explore(r *engine.Recorder, p *PBT) {
	quads, dimensions := uint32(e.row/4), uint32(len(p.names))
	r.Dispatch(pb2FitKernel{
		Inputs: e.inputs.Range(), Gains: e.gains.Range(), Times: e.times.Range(), Likelihood: e.likelihood.Range(),
		Rows: uint32(e.rows), Workgroup: 128, Quads: quads, Dimensions: dimensions,
	}.call(pb2Settings, 1, 1))
	r.Dispatch(pb2ChooseKernel{
		Inputs: e.inputs.Range(), Gains: e.gains.Range(), Times: e.times.Range(), Likelihood: e.likelihood.Range(),
		Source: p.parent.Range(), Units: e.units.Range(), Fitness: p.fitness.Range(), Clock: p.Clock().Tensor().Range(),
		Chosen: e.chosen.Range(), Previous: e.previous.Range(), Count: e.count.Range(),
		Rows: uint32(e.rows), Members: uint32(e.members), Settings: pb2Settings, Seed: r.Engine().Seed(), Stream: p.stream("pb2", ""), Spread: pb2Spread,
		Workgroup: pb2Candidates, Quads: quads, Dimensions: dimensions,
	}.call(1, 1, 1))
	for i, name := range p.names {
		prior := p.cfg.Search[name]
		low, high := prior.coordinates()
		r.Dispatch(pb2ApplyKernel{
			Source: p.parent.Range(), Units: e.chosen.Range(), Values: p.inner.Hyper().Lookup(name).Range(),
			Members: uint32(e.members), Row: uint32(e.row), At: uint32(i), Prior: uint32(prior.Prior), Low: float32(low), High: float32(high),
		}.call(uint32(e.members+7)/8, 1, 1))
	}
}
