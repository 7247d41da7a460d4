package ec

import (
	"context"
	"math"

	"github.com/evorl/evorl/engine"
)

// bounds holds a space's bounds on the device, constants [row].
type bounds struct {
	scope     *engine.State // of the algorithm that owns them
	space     Space
	low, high *engine.Tensor // [row]; zero without bounds
}

func newBounds(s *engine.State, space Space) *bounds {
	row := engine.Axis("parameter", space.Row())
	padded := func(bound []float32) func() []float32 {
		return func() []float32 {
			values := make([]float32, space.Row())
			copy(values, bound)
			return values
		}
	}
	return &bounds{
		scope: s, space: space,
		low: engine.Constant(s, "low", padded(space.Low), row), high: engine.Constant(s, "high", padded(space.High), row),
	}
}

// notEvaluated is the fitness of stored candidates that have not been evaluated.
var notEvaluated = float32(math.NaN())

// population is stored candidates [M, N, row], the state of many algorithms.
type population struct {
	*bounds
	rows  *engine.Tensor // [M, N, row]
	start *engine.Tensor // [M, row], used by Init only
	size  int            // N
	std   float64        // deviation of the initial candidates from the start, without bounds
}

// newPopulation makes a population of n candidates of each member.
func newPopulation(s *engine.State, name string, b *bounds, n int, std float64) *population {
	m, row := engine.Members(b.space.Members), engine.Axis("parameter", b.space.Row())
	return &population{
		bounds: b, size: n, std: std,
		rows:  s.Tensor(name, engine.Float32, m, candidates(n), row),
		start: s.Scratch(name+"/start", engine.Float32, m, row),
	}
}

// init forms the initial candidates: the first is the start [M, dim], the others are uniform in the bounds or,
// without bounds, normal around the start.
func (p *population) init(ctx context.Context, start []float32) error {
	if err := p.start.WriteFloat32(ctx, p.space.Pad(start)); err != nil {
		return err
	}
	program, err := p.scope.Engine().Record("initial population", func(r *engine.Recorder) {
		recordInitial(r, p.bounds, p.start, p.std, engine.Clock{}, nil, p.rows)
	})
	if err != nil {
		return err
	}
	defer program.Free()
	return program.Run(ctx)
}

// recordInitial records forming initial candidates into [M, N, row]. If held [M] u32 is not nil, only members
// with an element of 0 get them, different ones in each generation of the clock. A start [M, N, row] is the candidates
// of generation 0.
func recordInitial(r *engine.Recorder, b *bounds, start *engine.Tensor, std float64, clock engine.Clock, held, into *engine.Tensor) {
	members, row := b.space.Members, b.space.Row()
	k := initialKernel{
		Population: into.Range(), Low: b.low.Range(), High: b.high.Range(),
		Start: start.Range(), Seed: b.scope.Engine().Seed(), InitialStream: b.scope.Stream("initial"), Dim: uint32(b.space.Dim),
		Count: uint32(into.Len() / row / members), InitialStd: float32(std), Bounded: b.space.Bounded(), Open: b.space.Open,
		Founded: start.Len() == into.Len() && into.Len() > members*row,
	}
	if held != nil {
		k.Held, k.Clock = held.Range(), clock.Tensor().Range()
	}
	count := into.Len() / members / 4
	groups := r.Share(members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}

// PickRows records copying picked candidates of a stored population [M, N, row] into [M, count, row]. It implements
// Candidates for strategies that store them.
func (s Space) PickRows(r *engine.Recorder, from *engine.Tensor, pick Pick, into *engine.Tensor) {
	s.pickEither(r, from, nil, pick, into)
}

// pickEither is PickRows from two populations: indices from N on are rows of others [M, .., row], which may be nil.
// Of a pick's index [M, .. ≥ count] the first count of each member are used.
func (s Space) pickEither(r *engine.Recorder, from, others *engine.Tensor, pick Pick, into *engine.Tensor) {
	members, row := s.Members, s.Row()
	k := pickKernel{
		Population: from.Range(), Candidates: into.Range(),
		Row: uint32(row), Size: uint32(from.Len() / row / members), Count: uint32(into.Len() / row / members), First: uint32(pick.First),
	}
	if others != nil {
		k.Others, k.More = others.Range(), uint32(others.Len()/row/members)
	}
	if pick.Index != nil {
		k.Pick, k.Picks = pick.Index.Range(), uint32(pick.Index.Len()/members)
	}
	count := int(k.Count) * row / 4
	groups := r.Share(members, count)
	k.LocalSizeX = r.WorkgroupFor(count / int(groups))
	r.Dispatch(k.call(groups, uint32(members), 1))
}
