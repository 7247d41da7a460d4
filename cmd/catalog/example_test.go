package catalog_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/cmd/catalog"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// A program starts from TOML as evorl run does: what is wrong with the text is found before anything is computed.
func Example() {
	const text = `
workflow = "openes"
env = "CartPole-v1"
iterations = 40

[openes]
learning_rate = 0.05
noise_std = 0.1
`
	ctx := context.Background()
	cfg, err := new(catalog.Catalog).Parse("cartpole.toml", []byte(text), config.Set("seed=3"))
	if err != nil {
		log.Fatal(err) // names file, line and what would be right
	}
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	search, err := cfg.Build(ctx, engine.New(dev, engine.Seed(cfg.Run.Seed)))
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(cfg.Run.Iterations)); err != nil {
		log.Fatal(err)
	}
	evaluation, err := search.Evaluate(ctx, cfg.Evaluation.Episodes)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("balances for 475 of 500 steps:", evaluation.Means()[0] >= 475)
	// Output: balances for 475 of 500 steps: true
}
