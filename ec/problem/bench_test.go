package problem

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// BenchmarkPopulations measures the time of a generation of algorithms that store a population, on a cheap problem.
func BenchmarkPopulations(b *testing.B) {
	eng := engine.New(open(b), engine.Seed(1))
	for _, joints := range []int{64, 1024} {
		const population = 1024
		ga, coded, de, shade, pso, cso, grid := ec.DefaultGA(), ec.RealCodedGA(), ec.DefaultDE(), ec.DefaultSHADE(), ec.DefaultPSO(),
			ec.DefaultCSO(), ec.DefaultMAPElites()
		ga.Population, coded.Population, de.Population, shade.Population, pso.Population, cso.Population, grid.Population = population,
			population, population, population, population, population, population
		for i, algo := range []ec.Algorithm{ga, coded, de, shade, pso, cso, grid} {
			b.Run(fmt.Sprintf("%s-%d-%d", algo.Name(), i, joints), func(b *testing.B) {
				s, err := ec.NewSearch(b.Context(), eng, algo, Arm(joints), 1)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				if err := s.Init(b.Context()); err != nil {
					b.Fatal(err)
				}
				done := 0
				step := func() {
					ticket, err := s.Step(b.Context(), done)
					done++
					if err == nil {
						err = ticket.Wait(b.Context())
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				step() // compiles the kernels
				for b.Loop() {
					step()
				}
			})
		}
	}
}
