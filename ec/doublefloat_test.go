package ec

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// doubleFloatGiven is given with double-float fitness.
type doubleFloatGiven struct{ given }

func (g doubleFloatGiven) New(_ context.Context, _ *engine.State, _ engine.Clock, _, population int) (Evaluation, error) {
	return doubleFloatGivenEvaluation{givenEvaluation{population}}, nil
}

type doubleFloatGivenEvaluation struct{ givenEvaluation }

func (doubleFloatGivenEvaluation) DoubleFloatFitness() bool { return true }
func (doubleFloatGivenEvaluation) RecordDoubleFloat(*engine.Recorder, *engine.Tensor, *engine.Tensor, int, *engine.Tensor, *engine.Tensor) {
}

// TestDoubleFloatFitness: candidates whose fitness differs only in the low part are ranked by it, and metrics and
// candidates have the same precision; against float64.
func TestDoubleFloatFitness(t *testing.T) {
	const members, dim = 4, 6
	eng := engine.New(open(t), engine.Seed(9))
	for _, population := range []int{1, 7, 129, 4097} {
		t.Run(fmt.Sprintf("population %d", population), func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			s, err := NewSearch(ctx, eng, CMAESConfig{Population: population, InitStd: 1e-9}, doubleFloatGiven{given{dim}}, members)
			must(err)
			defer s.Close()
			s.addStopMetrics()
			must(s.Init(ctx))
			must(s.State().Poison(ctx))
			must(s.generation.strategy.(*cmaES).mean.Fill(ctx, 3))
			raw, rest := make([]float32, members*population), make([]float32, members*population)
			exact := make([]float64, members*population)  // the exact fitness
			ranked := make([]float64, members*population) // below it where it is not finite
			for m := range members {
				worst := math.Inf(1)
				for p := range population {
					at := m*population + p
					// Three neighbouring floats, with steps far below their spacing.
					raw[at] = math.Float32frombits(math.Float32bits(-150) + uint32(p*p%3))
					rest[at] = float32(p*37%population-population/2) / float32(population) * (1 << 15) / (1 << 32)
					switch {
					case m == 1: // the low part is zero
						raw[at], rest[at] = float32(math.Sin(float64(p*p))), 0
					case m == 2 && p%11 == 3, m == 3:
						raw[at], rest[at] = []float32{nan, inf, -inf}[p%3], nan
						ranked[at] = math.Inf(-1)
						continue
					}
					exact[at] = float64(raw[at]) + float64(rest[at])
					ranked[at], worst = exact[at], min(worst, exact[at])
				}
				for p := range population {
					if at := m*population + p; math.IsNaN(float64(rest[at])) && m < 3 {
						exact[at] = worst
					}
				}
			}
			must(s.fitness.WriteFloat32(ctx, raw))
			must(s.fitnessLow.WriteFloat32(ctx, rest))
			ticket, err := s.Step(ctx, 0)
			must(err)
			must(ticket.Wait(ctx))
			metrics, err := s.Metrics().Read(0)
			must(err)
			got := mustUint32(t, s.generation.ranking.rank)
			x, err := s.window.ReadFloat32(ctx)
			must(err)
			more, err := s.windowLow.ReadFloat32(ctx)
			must(err)
			row := s.space.Row()
			for m := range members {
				of := exact[m*population:][:population]
				byRank := make([]float64, population)
				for p, want := range ranks(ranked[m*population:][:population]) {
					byRank[want] = of[p]
					if r := got[m*population+p]; int(r) != want {
						t.Fatalf("member %d: candidate %d, %g + %g, has rank %d; want %d", m, p, raw[m*population+p], rest[m*population+p], r, want)
					}
				}
				spread := 0.0
				for i := range dim {
					low, high := math.Inf(1), math.Inf(-1)
					for p := range population {
						at := (m*population+p)*row + i
						v := float64(x[at]) + float64(more[at])
						low, high = min(low, v), max(high, v)
					}
					spread = max(spread, high-low)
				}
				g := s.stopMetrics(metrics, m)
				for name, v := range map[string][2]float64{
					"best": {g.best, byRank[0]}, "median": {g.median, byRank[population/2]}, "quarter": {g.quarter, byRank[3*population/4]},
					"worst": {g.worst, byRank[population-1]},
				} {
					if m < 3 && !(math.Abs(v[0]-v[1]) <= 1e-11+1e-7*(byRank[0]-v[1])) {
						t.Errorf("member %d: %s is %.15g; want %.15g", m, name, v[0], v[1])
					}
				}
				if !(math.Abs(g.spread-spread) <= 1e-5*spread) || population > 1 && !(spread > 0 && spread < 1e-7) {
					t.Errorf("member %d: candidates are %g apart; want %g", m, g.spread, spread)
				}
				if want := g.spread / 3; !(math.Abs(g.relative-want) <= 1e-5*want) {
					t.Errorf("member %d: candidates are %g apart, relative to their size; want %g", m, g.relative, want)
				}
			}
		})
	}
}
