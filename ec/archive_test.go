package ec

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestArchiveCandidates: changed candidates enter an archive as they are, the others as they were formed, and Draw
// draws elites uniformly.
func TestArchiveCandidates(t *testing.T) {
	const members, population, dim, drawn = 2, 6, 5, 3000
	eng := engine.New(open(t), engine.Seed(4))
	tessellation := DefaultCVTMAPElites()
	tessellation.Population, tessellation.Centroids, tessellation.Samples = population, 4, 400
	grid := DefaultMAPElites()
	grid.Population, grid.Cells = population, []int{4}
	for _, algorithm := range []Algorithm{grid, tessellation} {
		s := eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		space := Space{Members: members, Dim: dim, DescriptorLow: []float32{0}, DescriptorHigh: []float32{1}}
		hyper := engine.NewHyper(s, members)
		g, err := NewGeneration(s, clock, hyper, algorithm, space)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(ArchiveAlgorithms(), algorithm.Name()) {
			t.Errorf("%s is not named among %v", algorithm.Name(), ArchiveAlgorithms())
		}
		archive := g.Strategy().(Archiver).Archive()
		rows, fitness := g.NewCandidates("rows", population), g.NewFitness("told")
		cells := s.Scratch("cells", engine.Uint32, engine.Members(members), engine.Axis("drawn", drawn))
		elites := g.NewCandidates("elites", drawn)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		run := func(record func(*engine.Recorder)) {
			t.Helper()
			p, err := eng.Record("test", record)
			must(err)
			defer p.Free()
			must(p.Run(t.Context()))
		}
		must(s.Zero(t.Context()))
		must(s.Poison(t.Context()))
		must(hyper.Init(t.Context()))
		must(g.Init(t.Context(), make([]float32, members*dim)))
		run(func(r *engine.Recorder) {
			g.Ask(r)
			g.Candidates(r, Pick{}, rows)
		})
		formed, err := rows.ReadFloat32(t.Context())
		must(err)
		// Candidates 1 and 4 are changed; 0, 1, 2 and 4 have separate cells, 3 is less fit than 2, and 5 is not
		// finite.
		for m := range members {
			for _, c := range []int{1, 4} {
				for i := range dim {
					formed[(m*population+c)*space.Row()+i] = float32(100*m + 10*c + i)
				}
			}
		}
		must(rows.WriteFloat32(t.Context(), formed))
		scores := []float32{1, 2, 3, 2.5, -1, float32(math.NaN())}
		descriptors := []float32{0.1, 0.4, 0.6, 0.6, 0.9, 0.9}
		if of, ok := g.Strategy().(*cvt); ok {
			found, err := of.grid.ReadFloat32(t.Context())
			must(err)
			for i, at := range []int{0, 1, 2, 2, 3, 3} {
				descriptors[i] = found[3+at]
			}
		}
		must(fitness.WriteFloat32(t.Context(), slices.Concat(scores, scores)))
		must(g.Descriptors().WriteFloat32(t.Context(), slices.Concat(descriptors, descriptors)))
		run(func(r *engine.Recorder) {
			g.TellCandidates(r, rows, fitness)
			archive.Draw(r, space, clock, s.Stream("draw"), cells, elites)
		})
		kept, err := archive.Elites.ReadFloat32(t.Context())
		must(err)
		got, err := elites.ReadFloat32(t.Context())
		must(err)
		from, err := cells.ReadUint32(t.Context())
		must(err)
		for m := range members {
			for cell, candidate := range []int{0, 1, 2, 4} {
				want := formed[(m*population+candidate)*space.Row():][:dim]
				if x := kept[(m*4+cell)*space.Row():][:dim]; !slices.Equal(x, want) {
					t.Errorf("%s, member %d, cell %d: elite %v; want %v", algorithm.Name(), m, cell, x, want)
				}
			}
			times := [4]int{}
			for i := range drawn {
				cell := from[m*drawn+i]
				times[cell]++
				want := kept[(m*4+int(cell))*space.Row():][:dim]
				if x := got[(m*drawn+i)*space.Row():][:dim]; !slices.Equal(x, want) {
					t.Fatalf("%s, member %d: %v was drawn of cell %d; want %v", algorithm.Name(), m, x, cell, want)
				}
			}
			for cell, n := range times { // 750 ± 24
				if n < 650 || n > 850 {
					t.Errorf("%s, member %d: cell %d was drawn %d times of %d", algorithm.Name(), m, cell, n, drawn)
				}
			}
		}
	}
}
