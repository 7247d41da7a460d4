package rl_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Eight agents learn to balance a pole, all at once, on whatever device there is.
func Example() {
	best, err := train(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the best balances for 200 steps:", best > 200)
	// Output: the best balances for 200 steps: true
}

func train(ctx context.Context) (best float64, err error) {
	dev, err := vk.Open() // the first GPU, or else the software driver
	if err != nil {
		return 0, err
	}
	defer dev.Close()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		return 0, err
	}
	cfg := rl.DefaultPPO()
	cfg.Members, cfg.LearningRate = 8, 2.5e-3
	ppo, err := rl.NewPPO(ctx, engine.New(dev, engine.Seed(7)), env, cfg)
	if err != nil {
		return 0, err
	}
	defer ppo.Close()
	if err := engine.Learn(ctx, ppo, engine.Iterations(30)); err != nil {
		return 0, err
	}
	evaluation, err := ppo.Evaluate(ctx, 10) // episodes of each agent
	if err != nil {
		return 0, err
	}
	return slices.Max(evaluation.Means()), nil
}
