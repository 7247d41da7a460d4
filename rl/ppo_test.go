package rl_test

import (
	"context"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

func TestPPOLearnsCartPole(t *testing.T) {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	cfg := rl.DefaultPPO()
	cfg.Members = 32
	start := time.Now()
	ppo, err := rl.NewPPO(ctx, engine.New(dev, engine.Seed(1)), env, envs.Options{}, rl.DefaultNetwork(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer ppo.Close()
	t.Log("built", time.Since(start))
	if err := ppo.Init(ctx); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	n := 200
	for i := range n {
		ticket, err := ppo.Step(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			t.Log("first", time.Since(start))
			start = time.Now()
		}
		if i%20 == 0 || i == n-1 {
			m, err := ppo.Metrics().Read(i)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(i, m["episode/return"][:8], m["policy/entropy"][0], m["loss/critic"][0], m["gradient/norm"][0], m["policy/kl"][0])
		}
	}
	d := time.Since(start)
	t.Logf("%v; %.0f env steps/s", d, float64((n-1)*ppo.Describe().StepsPerIter)/d.Seconds())
	ev, err := ppo.Evaluate(ctx, 20)
	if err != nil {
		t.Fatal(err)
	}
	for p := range 8 {
		t.Log(p, ev.Returns[p][:8])
	}
}
