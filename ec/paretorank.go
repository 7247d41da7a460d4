package ec

import "github.com/evorl/evorl/engine"

// Fronts ranks by several objectives, all maximised: by non-dominated front, then by crowding distance (K. Deb et
// al., 2002, sections III.A and III.B).
type Fronts struct {
	merged *merged
	sorted *engine.Tensor // [1, n, K]: the objectives ordered by rank
	order  *engine.Tensor // [n] u32: the member of each rank
}

// NewFronts makes the tensors to rank n ≥ 1 members by 2 to 16 objectives.
func NewFronts(s *engine.State, n, objectives int) (*Fronts, error) {
	m, err := newMerged(s, Space{Members: 1, Objectives: objectives}, n, 0)
	if err != nil {
		return nil, err
	}
	m.twins = true
	return &Fronts{
		merged: m, sorted: s.Scratch("sorted", engine.Float32, engine.Axis("population", 1), candidates(n), engine.Axis("objective", objectives)),
		order: m.order.View(candidates(n)),
	}, s.Err()
}

// Rank records the ranks [n] u32 of objectives [1, n, K], 0 for the best. Members with equal keys are ranked by their
// indices; members with objectives of -math.MaxFloat32 share the last front.
func (f *Fronts) Rank(r *engine.Recorder, objectives, rank *engine.Tensor) {
	f.merged.record(r, objectives, objectives)
	f.merged.crowd(r)
	f.merged.survive(r, f.sorted)
	engine.Order(r, f.order, rank) // the inverse of a permutation
}
