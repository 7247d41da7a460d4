package ec_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// OpenES follows the gradient of any fitness, estimated from candidates that the caller evaluates: here a cubic is
// fitted to four points.
func ExampleOpenESConfig() {
	points := [][2]float32{{-1, -3}, {0, 1}, {1, 1}, {2, 3}} // of 1 + x - 2x² + x³
	fitness := func(c []float32) (sum float32) {
		for _, p := range points {
			x := p[0]
			d := c[0] + x*(c[1]+x*(c[2]+x*c[3])) - p[1]
			sum -= d * d
		}
		return sum
	}
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	openes := ec.DefaultOpenES()
	openes.Population, openes.LearningRate, openes.NoiseStd, openes.WeightDecay = 64, 0.1, 0.1, 0
	search, err := ec.NewAskTell(engine.New(dev, engine.Seed(1)), openes, ec.Space{Members: 1, Dim: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := search.Begin(ctx, [][]float32{{0, 0, 0, 0}}); err != nil {
		log.Fatal(err)
	}
	for range 300 {
		candidates, err := search.Ask(ctx)
		if err != nil {
			log.Fatal(err)
		}
		values := make([]float32, len(candidates[0]))
		for i, c := range candidates[0] {
			values[i] = fitness(c)
		}
		if err := search.Tell(ctx, ec.Results{Fitness: [][]float32{values}}); err != nil {
			log.Fatal(err)
		}
	}
	found, err := search.Solution(ctx) // the mean of the distribution
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", found[0][0])
	// Output: [1.0 1.0 -2.0 1.0]
}
