package ec_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/indicator"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// A small network learns to balance a pole: four searches run at once on the device, each with 128 candidates per
// generation.
func Example() {
	ctx := context.Background()
	dev, err := vk.Open() // the first GPU, else the software driver
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		log.Fatal(err)
	}
	policy := problem.Policy(env, envs.Options{}, problem.DefaultNetwork(), problem.DefaultPolicy())
	algo := ec.DefaultOpenES()
	algo.LearningRate, algo.NoiseStd = 0.05, 0.1
	search, err := ec.NewSearch(ctx, engine.New(dev, engine.Seed(3)), algo, policy, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(60)); err != nil {
		log.Fatal(err)
	}
	evaluation, err := search.Evaluate(ctx, 20) // episodes of each search's solution
	if err != nil {
		log.Fatal(err)
	}
	for member, mean := range evaluation.Means() {
		fmt.Println(member, "balances for 475 of 500 steps:", mean >= 475)
	}
	// Output:
	// 0 balances for 475 of 500 steps: true
	// 1 balances for 475 of 500 steps: true
	// 2 balances for 475 of 500 steps: true
	// 3 balances for 475 of 500 steps: true
}

// Any Go function can be minimised by telling its negative as fitness.
func ExampleAskTell() {
	rosenbrock := func(x []float32) float32 {
		a, b := x[0], x[1]
		return 100*(b-a*a)*(b-a*a) + (1-a)*(1-a)
	}
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	search, err := ec.NewAskTell(engine.New(dev, engine.Seed(1)), ec.DefaultSHADE(), ec.Space{
		Members: 1, Dim: 2, Low: []float32{-5, -5}, High: []float32{5, 5},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := search.Begin(ctx, [][]float32{{-3, 4}}); err != nil {
		log.Fatal(err)
	}
	for range 100 {
		candidates, err := search.Ask(ctx) // candidates of each member
		if err != nil {
			log.Fatal(err)
		}
		fitness := make([]float32, len(candidates[0]))
		for i, x := range candidates[0] {
			fitness[i] = -rosenbrock(x)
		}
		if err := search.Tell(ctx, ec.Results{Fitness: [][]float32{fitness}}); err != nil {
			log.Fatal(err)
		}
	}
	fitness, x, err := search.Best(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f with a loss below 1e-6: %t\n", x[0], -fitness[0] < 1e-6)
	// Output: [1.00 1.00] with a loss below 1e-6: true
}

// NSGA-II spreads 100 solutions over the front of two objectives.
func ExampleSearch_severalObjectives() {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	zdt1, err := problem.ZDT(1, 0)
	if err != nil {
		log.Fatal(err)
	}
	search, err := ec.NewSearch(ctx, engine.New(dev, engine.Seed(1)), ec.DefaultNSGA2(), zdt1, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(200)); err != nil {
		log.Fatal(err)
	}
	found, err := search.ReadFront(ctx)
	if err != nil {
		log.Fatal(err)
	}
	best, err := zdt1.Front(500)
	if err != nil {
		log.Fatal(err)
	}
	distance, err := indicator.IGD(found[0].Objectives, best)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d solutions, mean distance of the true front from them below 0.01: %t\n", len(found[0].Objectives), distance < 0.01)
	// Output: 100 solutions, mean distance of the true front from them below 0.01: true
}
