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

// Population based training, driven step by step: every iteration is one submission, or two where members are exchanged, and nothing is
// read back unless asked for.
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
		Warmup: 4, Interval: 4, Episodes: 4, Top: 0.25, Bottom: 0.25, Perturb: 0.2,
		Search: map[string]hybrid.Prior{"learning_rate": {Prior: hybrid.LogUniform, Low: 1e-5, High: 1e-2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer pbt.Close()
	if err := pbt.Init(ctx); err != nil {
		log.Fatal(err)
	}
	for i := range 12 {
		ticket, err := pbt.Step(ctx, i)
		if err != nil {
			log.Fatal(err)
		}
		if err := ticket.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	members, err := pbt.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	moved := 0
	for _, m := range members {
		if m.Ancestor != m.Index {
			moved++
		}
	}
	fmt.Println(len(members), "members, of whom some descend from others:", moved > 0)
	// Output: 8 members, of whom some descend from others: true
}
