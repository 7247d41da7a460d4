package ec

import "context"

// Front is what a search with several objectives has found: solutions [N][dim] and their objectives [N][K], maximised. Some may be dominated by
// others, indicator.NonDominated tells which are not.
type Front struct {
	Solutions  [][]float32
	Objectives [][]float64
}

// ReadFront reads what every member has found; nil with one objective.
func (s *Search) ReadFront(ctx context.Context) ([]Front, error) {
	candidates, objectives := s.Front()
	if candidates == nil {
		return nil, nil
	}
	x, err := candidates.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	f, err := objectives.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	members, k := s.space.Members, s.space.Objectives
	n := len(f) / members / k
	out := make([]Front, members)
	for m, rows := range blocks(x, members, n, s.space.Row(), s.space.Dim) {
		out[m].Solutions = rows
	}
	for m, rows := range blocks(f, members, n, k, k) {
		for _, row := range rows {
			wide := make([]float64, k)
			for i, v := range row {
				wide[i] = float64(v)
			}
			out[m].Objectives = append(out[m].Objectives, wide)
		}
	}
	return out, nil
}
