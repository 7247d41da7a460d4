package ec

import (
	"context"
	"fmt"
)

// Front is the result of a search with several objectives: solutions [N][dim] and their objectives [N][K], maximised.
// Some may be dominated; indicator.NonDominated selects the others.
type Front struct {
	Solutions  [][]float32
	Objectives [][]float64
}

// ReadSolution reads every member's current solutions [M][N][dim]: the mean of a distribution or the best of a
// population, N = 1; with several objectives the population, see ReadFront.
func (s *Search) ReadSolution(ctx context.Context) ([][][]float32, error) {
	if err := s.State().Ready(); err != nil {
		return nil, fmt.Errorf("ec: %w", err)
	}
	return s.space.read(ctx, s.generation.Solution())
}

// ReadBest reads the best fitness of all generations [M], NaN before the first, and its candidates [M][dim], before
// the first the start; nil with several objectives.
func (s *Search) ReadBest(ctx context.Context) (fitness []float32, x [][]float32, err error) {
	if err := s.State().Ready(); err != nil {
		return nil, nil, fmt.Errorf("ec: %w", err)
	}
	return s.generation.ranking.read(ctx)
}

// ReadFront reads every member's front; nil with one objective.
func (s *Search) ReadFront(ctx context.Context) ([]Front, error) {
	candidates, objectives := s.generation.Front()
	if candidates == nil {
		return nil, nil
	}
	x, err := s.space.read(ctx, candidates)
	if err != nil {
		return nil, err
	}
	f, err := objectives.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	k := s.space.Objectives
	out := make([]Front, len(x))
	for m, rows := range blocks(f, len(x), len(x[0]), k, k) {
		out[m].Solutions = x[m]
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
