package view_test

import (
	"context"
	"log"
	"os"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/view"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// An agent learns, and a page shows an episode of it.
func Example() {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	env, err := envs.Lookup("InvertedPendulum-v5")
	if err != nil {
		log.Fatal(err)
	}
	ppo, err := rl.NewPPO(ctx, engine.New(dev), env, rl.DefaultPPO())
	if err != nil {
		log.Fatal(err)
	}
	defer ppo.Close()
	if err := ppo.Init(ctx); err != nil {
		log.Fatal(err)
	}
	if err := engine.Learn(ctx, ppo, engine.Iterations(100)); err != nil {
		log.Fatal(err)
	}
	episode, err := ppo.Evaluator().Record(ctx, ppo.Clock(), 0)
	if err != nil {
		log.Fatal(err)
	}
	show, err := view.New(env, episode, 1)
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Create("episode.html")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	if err := show.WritePage(file); err != nil {
		log.Fatal(err)
	}
}
