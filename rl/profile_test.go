package rl

import (
	"context"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

func TestProfile(t *testing.T) {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	env, _ := envs.Lookup("CartPole-v1")
	cfg := DefaultPPO()
	cfg.Members = 256
	ppo, err := NewPPO(ctx, engine.New(dev, engine.Seed(1)), env, envs.Options{}, DefaultNetwork(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer ppo.Close()
	ppo.Init(ctx)
	ppo.step.Run(ctx)
	for range 2 {
		k, err := ppo.step.Profile(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range k {
			t.Logf("%+v", x)
		}
	}
}
