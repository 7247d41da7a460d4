package hybrid_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Population based training, driven step by step. engine.Learn does the same, and keeps the device busy meanwhile.
func Example() {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		log.Fatal(err)
	}
	agents := rl.DefaultPPO()
	agents.Members = 8
	ppo, err := rl.NewPPO(ctx, engine.New(dev, engine.Seed(1)), env, agents)
	if err != nil {
		log.Fatal(err)
	}
	pbt, err := hybrid.NewPBT(ctx, ppo, hybrid.PBTConfig{
		Warmup: 4, Interval: 4, Episodes: 8, Top: 0.25, Bottom: 0.25, Perturb: 0.2,
		Search: map[string]hybrid.Prior{
			"learning_rate": {Prior: hybrid.LogUniform, Low: 1e-4, High: 1e-2},
			"discount":      {Prior: hybrid.Horizon, Low: 3, High: 6}, // 1 - 1/e^3 to 1 - 1/e^6
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer pbt.Close() // and the PPO in it
	if err := pbt.Init(ctx); err != nil {
		log.Fatal(err)
	}

	for iteration := range 13 {
		step, err := pbt.Step(ctx, iteration) // begins with an exchange when one is due: after 4, 8 and 12 iterations
		if err != nil {
			log.Fatal(err)
		}
		if err := step.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}

	members, err := pbt.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	replaced := 0
	for _, m := range members {
		if m.Parent != m.Index {
			replaced++
		}
	}
	fmt.Printf("%d of %d members were replaced in the last exchange\n", replaced, len(members))
	// Output: 2 of 8 members were replaced in the last exchange
}
